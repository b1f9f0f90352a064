"""`ctxdiff-mcp diff`: what changed between two turns; where two runs or agents part."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import Any

from ctxdiff_capture.errors import SelectionError
from ctxdiff_capture.store.config import SUFFIX

from ctxdiff_mcp.answers.compare import compare_opened
from ctxdiff_mcp.answers.diff import Change, Diff, diff
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.select import find_agent, find_run, find_scope, find_turn
from ctxdiff_mcp.answers.where import at_home
from ctxdiff_mcp.cli.compare import compare_json
from ctxdiff_mcp.cli.numbers import whole_number
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.cli.select import NeedsChoice, Selected, add_common, selected
from ctxdiff_mcp.cli.shapes import block_json, run_json
from ctxdiff_mcp.text.compare import compare_lines
from ctxdiff_mcp.text.diff import diff_lines
from ctxdiff_mcp.text.shown import cut, masked

_SIDE = re.compile(r"(.+):([0-9]+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a session or an agent, and perhaps its own turn."""

    name: str
    turn: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two turns; two runs or agents compare across, whole where no turn is given."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="two runs: each a session's id, a trace file, or FILE#ID",
    )
    add_common(parser)
    more: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--turn", type=whole_number, metavar="N", help="twice: old and new", **more)
    parser.add_argument("--session", metavar="ID[:N]", help="two compare sessions", **more)
    parser.add_argument("--agent", metavar="NAME[:N]", help="two compare agents", **more)


def run(args: argparse.Namespace) -> int:
    """Show the difference.

    Raises:
        SelectionError: the flags do not name two turns.
    """
    if len(args.session) > 2 or len(args.agent) > 2 or len(args.turn) > 2:
        raise SelectionError("a flag is given three times", remedy="a diff has two sides")
    if len(args.session) == 2 and len(args.agent) == 2:
        raise SelectionError(
            "two sessions and two agents", remedy="give two of one and at most one of the other"
        )
    if args.runs:
        return _runs(args)
    if not args.turn and all(side(one).turn is None for one in (*args.session, *args.agent)):
        if len(args.session) == 2:
            old, new = (_opened(args, one) for one in args.session)
            return _compared(args, old, new)
        if len(args.agent) == 2:
            opened = _opened(args, next(iter(args.session), None))
            return _compared(args, opened, opened)
    if len(args.session) == 2:
        answer = _across_sessions(args)
    elif len(args.agent) == 2:
        answer = _across_agents(args)
    else:
        answer = _within(args)
    if args.json:
        write_json(as_json(answer))
    else:
        write_lines(diff_lines(answer))
    return 0


def _runs(args: argparse.Namespace) -> int:
    """Two runs, whole, from one file or two."""
    if len(args.runs) != 2 or args.session or args.turn:
        raise SelectionError(
            "two RUNs and nothing of --session and --turn",
            remedy="write `diff RUN_A RUN_B`; for two turns use --session ID:N twice",
        )
    old, new = (named_run(args, one) for one in args.runs)
    return _compared(args, old, new)


def _compared(args: argparse.Namespace, old: OpenRun, new: OpenRun) -> int:
    agents = [*args.agent, None, None][:2]
    answer = compare_opened(old, new, agent=agents[0], agent_b=agents[1])
    if args.json:
        write_json(compare_json(answer))
    else:
        write_lines(compare_lines(answer))
    return 0


def named_run(args: argparse.Namespace, run: str) -> OpenRun:
    """The run of a session's id, of a file that holds one, or of `FILE#ID`."""
    file, mark, session = run.rpartition("#")
    if not mark or not at_home(file).is_file():
        file, session = (run, "") if _is_file(run) else ("", run)
    if not file:
        return _opened(args, session)
    return _opened(argparse.Namespace(**{**vars(args), "project": file}), session or None)


def _is_file(run: str) -> bool:
    return run.endswith(SUFFIX) or at_home(run).is_file()


def _opened(args: argparse.Namespace, session: str | None) -> OpenRun:
    chosen = selected(args, session)
    return find_run(chosen.source, chosen.run)


def side(value: str) -> Side:
    """`NAME:N` cut at its last colon; without digits behind it the whole is the name."""
    found = _SIDE.fullmatch(value)
    return Side(found[1], int(found[2])) if found else Side(value, None)


def turns_of(sides: tuple[Side, Side], turns: list[int]) -> tuple[int, int]:
    """The turn of each side: its own, else the one in its place, else the only one.

    Raises:
        SelectionError: a side has none.
    """
    found = [
        side.turn if side.turn is not None else turns[min(at, len(turns) - 1)] if turns else None
        for at, side in enumerate(sides)
    ]
    if found[0] is None or found[1] is None:
        raise SelectionError("a side has no turn", remedy="write NAME:N, or give --turn")
    return found[0], found[1]


def _within(args: argparse.Namespace) -> Diff:
    named = [*args.session, *args.agent]
    if len(args.turn) != 2:
        own = any(side(value).turn is not None for value in named)
        problem = "NAME:N needs a second side" if own else "two turns are needed"
        raise SelectionError(problem, remedy="give --turn twice: the old turn and the new one")
    chosen = selected(args, next(iter(args.session), None))
    agent = next(iter(args.agent), None)
    return diff(chosen.source, chosen.run, *args.turn, agent=agent)


def _across_agents(args: argparse.Namespace) -> Diff:
    sides = (side(args.agent[0]), side(args.agent[1]))
    turns = turns_of(sides, args.turn)
    chosen = selected(args, next(iter(args.session), None))
    opened = find_run(chosen.source, chosen.run)
    for one, turn in zip(sides, turns, strict=True):
        find_turn(opened, turn, find_scope(opened, one.name))
    return diff(chosen.source, chosen.run, *turns)


def _across_sessions(args: argparse.Namespace) -> Diff:
    sides = (side(args.session[0]), side(args.session[1]))
    turns = turns_of(sides, args.turn)
    old, new = (selected(args, one.name) for one in sides)
    agent = args.agent[0] if args.agent else _only_agent(old, new)
    if agent is not None:
        for chosen in (old, new):
            find_agent(find_run(chosen.source, chosen.run), agent)
    return diff(old.source, old.run, *turns, agent=agent, run_b=new.run)


def _only_agent(old: Selected, new: Selected) -> str | None:
    """The one agent that both sessions name together; None when they name none.

    Raises:
        NeedsChoice: there are several, so that the sides could be different agents' work.
    """
    agents: dict[str, None] = {}
    for chosen in (old, new):
        run = find_run(chosen.source, chosen.run)
        agents.update((agent, None) for agent in run.agents if agent is not None)
    if len(agents) > 1:
        raise NeedsChoice(
            "the sessions have several agents",
            remedy="name one with --agent",
            rows=[cut(agent) for agent in agents],
        )
    return next(iter(agents), None)


def as_json(answer: Diff) -> dict[str, Any]:
    """Every block of either turn. Texts only of what changed."""
    return {
        **run_json(answer.run_a),
        "run_new": answer.run_b.name,
        "session_id_new": answer.run_b.session_id,
        "seq_old": answer.turn_a,
        "seq_new": answer.turn_b,
        "agent_old": answer.agent_a,
        "agent_new": answer.agent_b,
        "tokens_added": answer.tokens_added,
        "tokens_evicted": answer.tokens_evicted,
        "net_tokens": answer.net_tokens,
        "unchanged_tokens": answer.unchanged_tokens,
        "approximate": not answer.exact,
        "counts": answer.counts,
        "entries": [_entry(answer, change) for change in answer.changes],
    }


def _entry(answer: Diff, change: Change) -> dict[str, Any]:
    text = None if change.kind == "unchanged" else answer.text(change)
    shape: dict[str, Any] = {
        "kind": change.kind,
        "label": change.label,
        "position_old": change.position_old,
        "position_new": change.position_new,
        "block": block_json(change.block, text),
    }
    if change.kind == "modified" and change.before is not None:
        edit = answer.edit(change, mask=masked)
        shape["old_block"] = block_json(change.before)
        shape["first_diff_char"] = edit.first_diff_char
        shape["inline_diff"] = edit.pieces
    return shape
