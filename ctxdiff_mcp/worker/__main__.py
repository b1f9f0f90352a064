"""The process that reads traces for a server. Started by `process`, of no use to anybody else."""

from __future__ import annotations

import os
import signal

from ctxdiff_mcp.worker.frames import PipeChannel


def main() -> None:
    """Answer on the pipes that came as stdin and stdout until the server is gone."""
    # A terminal's Ctrl-C goes to the server too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    channel = _taken_channel()
    from ctxdiff_mcp.worker.loop import serve_questions  # noqa: PLC0415  it might print

    serve_questions(channel, is_own_process=True, at_end=lambda: os._exit(0))
    os._exit(0)


def _taken_channel() -> PipeChannel:
    """The pipes, moved away from the numbers 0 and 1: what is printed goes to stderr."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return PipeChannel(os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb"))


if __name__ == "__main__":
    main()
