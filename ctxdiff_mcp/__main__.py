"""The command `ctxdiff-mcp`: a server for coding agents by default, else a command line."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command and give its exit status: 0 done, 1 failed, 2 used wrongly.

    Args:
        argv: arguments without the program's name; None takes the process's own.
    """
    from ctxdiff_mcp.cli.main import main as run  # noqa: PLC0415  the path is mended first, below

    return run(sys.argv[1:] if argv is None else argv)


if __name__ == "__main__":
    # `python -m` puts the working directory first, and a file `mcp.py` there would be executed;
    # `-I` and `-P` have left it out already.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    sys.exit(main())
