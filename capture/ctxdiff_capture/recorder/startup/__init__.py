"""A folder for `PYTHONPATH`: every Python that starts with it there is recorded.

Python imports a module `sitecustomize` when it starts; the one here begins to record, as the
environment says (see `environment`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent

PROJECT = "CTXDIFF_RUN_PROJECT"
OUT = "CTXDIFF_RUN_OUT"
PACKAGE = "CTXDIFF_RUN_PACKAGE"
MAIN = "CTXDIFF_RUN_PID"


def environment(
    environ: Mapping[str, str], *, project: str, out: str | None, main_pid: int | None
) -> dict[str, str]:
    """`environ` for a program whose model calls are to be recorded, and those of its children.

    Args:
        environ: the program's environment otherwise.
        project: what is recorded.
        out: the trace's file or folder; None is `CTXDIFF_STORE`, else the folder that is open now,
            wherever the program goes from there.
        main_pid: the process that says at its end what was recorded; None when nobody knows it.
    """
    paths = [str(FOLDER), *filter(None, [environ.get("PYTHONPATH")])]
    made = {
        **environ,
        "PYTHONPATH": os.pathsep.join(paths),
        PROJECT: project,
        PACKAGE: str(FOLDER.parents[1]),
        MAIN: str(main_pid or ""),
    }
    if out is None and not environ.get("CTXDIFF_STORE", "").strip():
        out = os.curdir
    return made if out is None else {**made, OUT: os.path.abspath(out)}  # noqa: PTH100 - as typed
