"""Who is told of every file before it is read, and may refuse it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ctxdiff_mcp.answers.folder import TraceFile


class Watch:
    """Sees nothing and refuses nothing: for those who read files that they trust."""

    seconds_to_list: float | None = None
    """How long one listing may read files that are new to it; None is without end."""

    def refusal(self, file: TraceFile) -> str | None:
        """Why the file must not be read, in a word; None when it may be."""
        del file
        return None

    def listing(self, file: TraceFile) -> AbstractContextManager[None]:
        """Held while the file's sessions are read for a list."""
        del file
        return nullcontext()

    def listed(self) -> None:
        """The list is made: no file is read for it any more."""

    def asked(self, file: TraceFile) -> None:
        """From here on the question is about a run of this file."""
