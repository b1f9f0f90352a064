"""Which folder of traces is meant when nobody says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ctxdiff_capture.errors import SelectionError
from ctxdiff_capture.store.config import ENVIRONMENT_VARIABLE, parse_target

PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"


def at_home(path: str | Path) -> Path:
    """The path with a `~` at its start resolved; as it is where there is no such home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  that of a Path raises then


def runs_folder(runs_dir: Path | None, environ: Mapping[str, str]) -> Path:
    """The folder, or single file, whose runs are shown.

    The first that is set wins: `runs_dir`, the store in `CTXDIFF_STORE`, the project folder that
    Claude Code names, the working directory.

    Raises:
        SelectionError: `CTXDIFF_STORE` names a networked database.
    """
    if runs_dir is not None:
        return at_home(runs_dir)
    named = environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if named and Path(named).is_dir():
        return Path(named)
    if named:
        path = parse_target(named).path
        if path is None:
            raise SelectionError(
                f"{ENVIRONMENT_VARIABLE} names a networked database, which cannot be served yet",
                remedy="unset it, or give --runs-dir",
            )
        return path
    project = environ.get(PROJECT_VARIABLE, "").strip()
    return Path(project) if project and Path(project).is_dir() else Path.cwd()
