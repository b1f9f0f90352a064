"""Calls that a framework told of, until a tap sees the same one or they end unseen."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import Generic, Protocol, TypeVar

from ctxdiff_capture.model import Exchange, Tag


class Run(Protocol):
    """A call that has begun: its number and labels are fixed."""

    @property
    def agent(self) -> str | None:
        """Whose call it is."""

    @property
    def step(self) -> str | None:
        """The step it belongs to."""

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Texts that the program marked."""


AnyRun = TypeVar("AnyRun", bound=Run)


class RunRecorder(Protocol[AnyRun]):
    """What records calls that a framework tells of."""

    def begin_run(self, provider: str, agent: str | None) -> AnyRun | None:
        """A call begins, in the context in which it will be sent; None when nothing is recorded."""

    def end_run(self, run: AnyRun, exchange: Exchange) -> None:
        """It ended, and no tap saw it. `exchange` was rebuilt from what the framework holds."""

    def time_ns(self) -> tuple[int, str]:
        """A monotonic clock in nanoseconds, and the time as ISO 8601 in UTC."""


class Runs(Generic[AnyRun]):
    """Runs under way, per context (thread, asyncio task)."""

    def __init__(self) -> None:
        # A cell per run: whoever empties it records the call, so that it is recorded once.
        self._cells: ContextVar[tuple[list[AnyRun], ...]] = ContextVar("ctxdiff_runs", default=())

    def offer(self, run: AnyRun) -> list[AnyRun]:
        """Let a tap that sees a call in this context take `run` for it; the run's cell."""
        cell = [run]
        self._cells.set((*(open_one for open_one in self._cells.get() if open_one), cell))
        return cell

    def taken(self) -> AnyRun | None:
        """The run that a call which is sent here belongs to; None when no framework told of it."""
        for cell in self._cells.get():
            # One atomic step: another call may be sent at this moment.
            with suppress(IndexError):
                return cell.pop()
        return None
