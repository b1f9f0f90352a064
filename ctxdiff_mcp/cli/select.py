"""From flags to one trace, one session, one window; the grammar that all commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxdiff_capture.errors import SelectionError, StoreError, TraceNotFound
from ctxdiff_capture.store.config import ENVIRONMENT_VARIABLE, SUFFIX, Destination, parse_target
from ctxdiff_capture.store.open import open_reader

from ctxdiff_mcp.answers.source import Listed, Source
from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.numbers import WHOLE, whole_number
from ctxdiff_mcp.text.shown import cut, shown

WINDOW_VARIABLE = "CTXDIFF_CONTEXT_WINDOW"
MAX_ROWS = 40
"""How many sessions a complaint lists."""


class NeedsChoice(SelectionError):
    """Several things fit, or none.

    Args:
        rows: what there is, one line each, shown.
    """

    def __init__(self, problem: str, *, remedy: str, rows: Sequence[str]) -> None:
        super().__init__(problem, remedy=remedy)
        self.rows = tuple(rows)


@dataclass(frozen=True, slots=True)
class Selected:
    """A trace and the handle of one of its sessions, as the answers take them."""

    source: Source
    run: str


def add_common(parser: argparse.ArgumentParser) -> None:
    """The flags of every command that asks about one session."""
    parser.add_argument(
        "--project",
        metavar="FILE|DSN",
        help=f"the trace; else {ENVIRONMENT_VARIABLE}, else the newest *{SUFFIX} in this folder",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_session(parser: argparse.ArgumentParser) -> None:
    """`--session` and `--agent`, at most one each."""
    parser.add_argument("--session", metavar="ID", help="id of the session, or its start")
    parser.add_argument("--agent", metavar="NAME", help="only this agent's turns")


def add_turn(parser: argparse.ArgumentParser) -> None:
    """`--turn`, at most one."""
    parser.add_argument("--turn", type=whole_number, metavar="N", help="number of the turn")


def add_window(parser: argparse.ArgumentParser) -> None:
    """`--context-window`."""
    parser.add_argument(
        "--context-window",
        type=whole_number,
        metavar="N",
        help=f"size of the model's window in tokens; else {WINDOW_VARIABLE}",
    )


def stated_window(args: argparse.Namespace) -> int | None:
    """The window that the flag or the environment states, in tokens.

    Raises:
        SelectionError: it is not a positive whole number.
    """
    window: int | None = args.context_window
    named = "--context-window"
    text = os.environ.get(WINDOW_VARIABLE, "").strip()
    if window is None and text:
        named = WINDOW_VARIABLE
        if not WHOLE.fullmatch(text):
            raise SelectionError(f"{named} is no whole number", remedy="give tokens, as 200000")
        window = int(text)
    if window is not None and window <= 0:
        raise SelectionError(f"{named} is not positive", remedy="give tokens, as 200000")
    return window


def project_path(project: str | None) -> Path:
    """The file or folder that `--project`, the environment or the current folder names.

    Raises:
        SelectionError: the target is of no known form.
        StoreError: it is a database, which cannot be read yet, or there is nothing.
    """
    target = project or os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if project is None and (not target or at_home(target).is_dir()):
        return at_home(target or ".")
    destination: Destination = parse_target(target)
    if destination.path is None:
        open_reader(destination).close()
    assert destination.path is not None
    return destination.path.resolve()


def selected(args: argparse.Namespace, session: str | None) -> Selected:
    """The session of `--project` that `session` names.

    Args:
        args: with `project`; gets `asked`, the words for both that complaints show.
        session: an id or its start; None is fine when the trace holds one session.

    Raises:
        SelectionError: several sessions fit, or none.
        StoreError: there is no trace, or it cannot be read.
    """
    path = project_path(args.project)
    if path.is_dir():
        path = newest_trace(path)
    source = Source(path)
    runs = source.listing().runs
    if not runs:
        open_reader(path).close()  # says in words what is wrong with the file
        raise StoreError(f"{path} cannot be read", remedy="name another file with --project")
    chosen = one_session(runs, session)
    args.asked = f"{path.name}, session {chosen.session.id[:12]}"
    return Selected(source, chosen.handle)


def newest_trace(folder: Path) -> Path:
    """The most recently changed trace directly in the folder.

    Raises:
        TraceNotFound: there is none.
    """
    found = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.lstat().st_mtime_ns)
    if not found:
        raise TraceNotFound(
            "no trace here",
            remedy="record one, or name it with --project FILE; `demo --out FILE` makes one",
        )
    return found[-1].resolve()


def one_session(runs: tuple[Listed, ...], wanted: str | None) -> Listed:
    """The session with that id, or with the only id that starts so; the only one for None.

    Raises:
        NeedsChoice: none or several fit.
    """
    exact = [run for run in runs if run.session.id == wanted]
    fits = exact or [run for run in runs if run.session.id.startswith(wanted or "")]
    if len(fits) == 1:
        return fits[0]
    rows = [session_row(run) for run in (fits or runs)[:MAX_ROWS]]
    if len(fits or runs) > MAX_ROWS:
        rows.append(f"… and {len(fits or runs) - MAX_ROWS} more; `ctxdiff-mcp runs` lists them")
    if wanted is None:
        problem = "the trace holds several sessions"
    else:
        problem = f"{'several sessions start' if fits else 'no session starts'} with {wanted!r}"
    raise NeedsChoice(problem, remedy="name one with --session", rows=rows)


def session_row(run: Listed) -> str:
    """`id  start  turns=N  agents=a, b`."""
    agents = ", ".join(map(cut, run.session.agents)) or "-"
    start = run.started or "-"
    return f"{shown(run.session.id[:12])}  {start}  turns={run.session.calls}  agents={agents}"
