"""What a program said about a call that it has not made yet."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar

from ctxdiff_capture.guard import log
from ctxdiff_capture.model import Said

MOST = 2_000
"""Things that may be pending in one context; the oldest leave first, with a warning."""


class Pending:
    """What was said about the next call, per context (thread, asyncio task)."""

    def __init__(self) -> None:
        # A cell per thing, which one call empties: child tasks inherit the cells themselves, so
        # that what was used in a child is used up for its parent too.
        self._cells: ContextVar[tuple[list[Said], ...]] = ContextVar("ctxdiff_said", default=())
        self._warned = False

    def add(self, said: Said) -> None:
        """Keep `said` for the next call that is made here."""
        cells = self._cells.get()
        if len(cells) >= MOST:
            cells = tuple(cell for cell in cells if cell)[1 - MOST :]
            self._warn()
        self._cells.set((*cells, [said]))

    def take(self) -> tuple[Said, ...]:
        """What is pending here, in its order; it is pending no more."""
        cells = self._cells.get()
        if not cells:
            return ()
        self._cells.set(())
        taken: list[Said] = []
        for cell in cells:
            # One atomic step: of two calls at once, one gets it.
            with suppress(IndexError):
                taken.append(cell.pop())
        return tuple(taken)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "ctxdiff: more than %d snapshots and decisions wait for a call that does not come;"
                " the oldest are dropped",
                MOST,
            )
