"""The process that reads traces for a server. Started by `process`, of no use to anybody else."""

from __future__ import annotations

import os
import signal

from ctxdiff_mcp.worker.frames import PipeChannel
from ctxdiff_mcp.worker.streams import taken_streams


def main() -> None:
    """Answer on the pipes that came as stdin and stdout until the server is gone."""
    # A terminal's Ctrl-C goes to the server too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    channel = PipeChannel(*taken_streams())
    from ctxdiff_mcp.worker.loop import serve_questions  # noqa: PLC0415  it might print

    serve_questions(channel, is_own_process=True, at_end=lambda: os._exit(0))
    os._exit(0)


if __name__ == "__main__":
    main()
