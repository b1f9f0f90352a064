"""The part of a tracer that a program's hooks speak to."""

from __future__ import annotations

from collections.abc import Callable

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.hooks.observers import Observers, OnCall
from ctxdiff_capture.hooks.pending import Pending
from ctxdiff_capture.hooks.plain import json_bytes
from ctxdiff_capture.model import Decision, Draft, Json
from ctxdiff_capture.tokens.counter import Counter


class Hooks:
    """What a program hangs onto the calls of a tracer. Nothing here raises for what it is given.

    Args:
        now: the time as ISO 8601 in UTC.
        count: gives the token counter in use.
    """

    def __init__(self, now: Callable[[], str], count: Callable[[], Counter]) -> None:
        self._now = now
        self._observers = Observers(count)
        self._said = Pending()

    def on_call(
        self, callback: OnCall, *, in_line: bool = False, window: int | None = None
    ) -> Callable[[], None]:
        """Hand `callback` a snapshot of each request that leaves; once, however often it is sent.

        Args:
            callback: gets a `ContextSnapshot`. What it raises is logged and goes no further.
            in_line: call it before the request leaves, in the thread that sends; otherwise it is
                called soon after, in order, on a thread of ours, and the call waits for nothing.
            window: size of the model's window in tokens, for the snapshot's `budget`.

        Returns:
            A function that ends it.

        Raises:
            ValueError: `window` is not positive.
            TypeError: `callback` cannot be called.
        """
        if window is not None and window < 1:
            raise ValueError(f"a window has at least 1 token, not {window!r}")
        if not callable(callback):
            raise TypeError(f"{callback!r} cannot be called")
        return self._observers.add(callback, in_line=in_line, window=window)

    def snapshot(
        self,
        messages: Json,
        tools: Json = None,
        stage: str = "pre_optimization",
        *,
        system: Json = None,
    ) -> None:
        """Store what the next call that is made here would have been at this stage.

        The diff of a stage and the call tells what an optimiser did in between.

        Args:
            messages: in the form in which the next call takes them; taken as they are now.
            tools: likewise; None stands for the tools that the call will have.
            stage: `pre_optimization`, `post_optimization` or a word of your own.
            system: for surfaces with a system text of its own; None as for `tools`.
        """
        with host_never_sees("take a snapshot"):
            self._said.add(
                Draft(
                    str(stage),
                    self._now(),
                    json_bytes(messages),
                    None if tools is None else json_bytes(tools),
                    None if system is None else json_bytes(system),
                )
            )

    def decision(
        self,
        candidate: str,
        disposition: str,
        reason: str | None = None,
        rank: int | None = None,
        tokens: int | None = None,
    ) -> None:
        """Store what your planner decided about a candidate for the next call made here.

        Args:
            candidate: its name, or its text.
            disposition: `included`, `dropped`, `summarized` or a word of your own.
            reason: why.
            rank: its place among the candidates.
            tokens: its size by your count.
        """
        with host_never_sees("note a decision"):
            self._said.add(
                Decision(
                    str(candidate),
                    str(disposition),
                    None if reason is None else str(reason),
                    None if rank is None else int(rank),
                    None if tokens is None else int(tokens),
                )
            )
