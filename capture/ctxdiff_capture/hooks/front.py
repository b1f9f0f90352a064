"""The part of a tracer that a program's hooks speak to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.hooks.observers import Observers, OnCall
from ctxdiff_capture.hooks.pending import Pending
from ctxdiff_capture.hooks.plain import json_bytes
from ctxdiff_capture.hooks.runs import RunRecorder, Runs
from ctxdiff_capture.model import Decision, Draft, Json, ToolResult
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
        self._runs: Runs[Any] = Runs()
        self._listeners: WeakSet[Any] = WeakSet()

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
            messages: in the form in which the next call takes them, or LangChain's own objects;
                taken as they are now.
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

    def langchain_handler(self, agent: str | None = None, *, by_node: bool = False) -> Any:
        """A callback handler for LangChain and LangGraph: `config={"callbacks": [handler]}`.

        Records the calls of models that send nothing over HTTP, or by a client that is neither
        wrapped nor tapped; a call that a tap sees is recorded from the wire, once. `on_call` is
        told of the latter before it is sent, and of the others when they have ended.

        Args:
            agent: name for all these calls.
            by_node: name a call after the LangGraph node that makes it, where there is one.

        Raises:
            ImportError: langchain-core is not installed.
        """
        from ctxdiff_capture.hooks.langchain import handler  # noqa: PLC0415 - few ask for it

        listener = handler(self._run_recorder(), self._runs, agent, by_node)
        self._listeners.add(listener)
        return listener

    def _end_runs(self) -> None:
        """Record calls of frameworks that have no answer yet as unfinished."""
        for listener in list(self._listeners):
            listener.end_all()

    def _run_recorder(self) -> RunRecorder[Any]:
        """What records runs of frameworks."""
        raise NotImplementedError

    # For frameworks with hooks at these moments; each is a plain callable that gives back nothing.

    def before_model(self, messages: Json, tools: Json = None, *, system: Json = None) -> None:
        """Store what the framework holds before its next model call: the stage `before_model`.

        Args:
            messages: as for `snapshot`, or a state: a mapping whose `messages` they are.
            tools: as for `snapshot`, like the one that follows.
            system: likewise.
        """
        if isinstance(messages, Mapping) and "messages" in messages:
            messages = messages["messages"]
        self.snapshot(messages, tools, "before_model", system=system)

    def after_tool(
        self,
        raw: Json,
        entered: Json,
        *,
        name: str | None = None,
        tool_call_id: str | None = None,
    ) -> None:
        """Store what became of a tool's result: with the next call made here, as a decision.

        Its disposition is `unchanged`, `cut`, `redacted`, `rewritten` or `dropped`; unless it is
        the first, the raw result is stored too, as the stage `tool_result`.

        Args:
            raw: what the tool gave.
            entered: what stands in the history: a content or a whole message; None for nothing.
            name: of the tool.
            tool_call_id: as in the call that asked for it.
        """
        with host_never_sees("note a tool result"):
            self._said.add(
                ToolResult(
                    self._now(),
                    json_bytes(raw),
                    json_bytes(entered),
                    None if name is None else str(name),
                    None if tool_call_id is None else str(tool_call_id),
                )
            )

    def before_complete(self) -> None:
        """A turn of the agent is over: what was said here and joined no call is forgotten.

        Otherwise it would join the first call of the next turn.
        """
        with host_never_sees("end a turn"):
            if forgotten := self._said.take():
                log.info("ctxdiff: %d notes joined no call of this turn", len(forgotten))
