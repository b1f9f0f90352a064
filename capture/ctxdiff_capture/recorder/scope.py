"""The labels in force where a call is made: agent, step and tags."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import thread as pools
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from ctxdiff_capture.model import Json, Tag
from ctxdiff_capture.recorder.threads import Labelled


def _work_here() -> ref[Any] | None:
    """The piece of work that a thread of a pool does now; None on any other thread.

    Such a thread keeps its context from one piece to the next, so a label must know its own. A
    pool drops a piece when it is done.
    """
    if threading.current_thread() is threading.main_thread():
        return None
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to learn what a pool's thread does
    while frame is not None:
        if frame.f_code is _RUN:
            return ref(frame.f_locals["self"])
        frame = frame.f_back  # type: ignore[assignment]
    return None


_RUN = pools._WorkItem.run.__code__  # noqa: SLF001 - see above


@dataclass(slots=True, eq=False)
class _Label:
    """A label that was set, and the work of a pool's thread that it ends with."""

    work: ref[Any] | None = field(default_factory=_work_here)

    @property
    def is_over(self) -> bool:
        return self.work is not None and self.work() is None


@dataclass(slots=True, eq=False)
class _Name(_Label):
    name: str | None = None


@dataclass(slots=True, eq=False)
class _Pending(_Label):
    """Tags of one `tag()`; the one call that takes them empties the cell."""

    cell: list[tuple[Tag, ...]] = field(default_factory=list)


_NOTHING = _Name(work=None)


class Scope(Labelled):
    """Agent, step and pending tags of one tracer, per context (thread, asyncio task).

    A thread that is started, and work that is given to a pool, has the labels of where that was.
    """

    def __init__(self) -> None:
        self._agent: ContextVar[_Name] = ContextVar("ctxdiff_agent", default=_NOTHING)
        self._step: ContextVar[_Name] = ContextVar("ctxdiff_step", default=_NOTHING)
        # Child tasks inherit the cells themselves, so a tag that was used in a child is used up
        # for its parent too.
        self._tags: ContextVar[tuple[_Pending, ...]] = ContextVar("ctxdiff_tags", default=())
        self.variables = (self._agent, self._step, self._tags)

    @property
    def agent(self) -> str | None:
        """The agent in force here."""
        return _in_force(self._agent)

    @contextmanager
    def as_agent(self, agent: Json) -> Generator[None, None, None]:
        """Set the agent for a `with` block."""
        self.follow()
        with _inside(self._agent, agent):
            yield

    def mark(self, step: Json) -> None:
        """Set the step from here on; None clears it."""
        self.follow()
        self._step.set(_Name(name=name_of(step)))

    @contextmanager
    def inside(self, step: Json) -> Generator[None, None, None]:
        """Set the step for a `with` block; the one before it comes back afterwards."""
        self.follow()
        with _inside(self._step, step):
            yield

    def tag(self, label: Json, items: Json) -> None:
        """Give `label` to texts of the next call that is made here."""
        name = name_of(label) or ""
        tags = tuple(Tag(name, text) for text in _texts_of(items) if text)
        if name and tags:
            self.follow()
            unused = tuple(p for p in self._tags.get() if p.cell and not p.is_over)
            self._tags.set((*unused, _Pending(cell=[tags])))

    def take(self) -> tuple[str | None, tuple[Tag, ...]]:
        """The step, and the pending tags in their order; the tags are pending no more."""
        pending = self._tags.get()
        step = _in_force(self._step)
        if not pending:
            return step, ()
        self._tags.set(())
        taken: list[Tag] = []
        for tags in pending:
            # One atomic step: of two calls at once, one gets the tags.
            with suppress(IndexError):
                found = tags.cell.pop()
                taken += () if tags.is_over else found
        return step, tuple(taken)


def _in_force(variable: ContextVar[_Name]) -> str | None:
    label = variable.get()
    return None if label.is_over else label.name


@contextmanager
def _inside(variable: ContextVar[_Name], name: Json) -> Generator[None, None, None]:
    token = variable.set(_Name(name=name_of(name)))
    try:
        yield
    finally:
        # Left in another context (a generator that another task closed), which never had this
        # label, there is nothing to undo.
        with suppress(ValueError):
            variable.reset(token)


def name_of(value: Json) -> str | None:
    """A label, agent or step as text; None stays None."""
    return None if value is None else str(value)


def _texts_of(items: Json) -> list[str]:
    """The texts that `items` names: one text or document, or any number of them."""
    alone = _text_of(items)
    if alone is not None:
        return [alone]
    if not isinstance(items, Iterable):
        return [] if items is None else [str(items)]
    found = []
    for item in items:
        text = _text_of(item)
        found.append(str(item) if text is None and item is not None else text or "")
    return found


def _text_of(item: Json) -> str | None:
    """The text of a string, a dict or a document object; None when it has none."""
    if isinstance(item, str):
        return item
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    for name in ("page_content", "text", "content"):
        value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "".join(_text_of(part) or "" for part in value)
    return "" if isinstance(item, Mapping) else None
