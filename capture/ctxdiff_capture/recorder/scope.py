"""The labels in force where a call is made: agent, step and tags."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from ctxdiff_capture.model import Json, Tag


class Scope:
    """Step and pending tags of one tracer, per context (thread, asyncio task)."""

    def __init__(self) -> None:
        self._step: ContextVar[str | None] = ContextVar("ctxdiff_step", default=None)
        # Each `tag()` is a cell of its own that one call empties. Child tasks inherit the cells
        # themselves, so a tag that was used in a child is used up for its parent too.
        self._tags: ContextVar[tuple[list[tuple[Tag, ...]], ...]] = ContextVar(
            "ctxdiff_tags", default=()
        )

    def mark(self, step: Json) -> None:
        """Set the step from here on; None clears it."""
        self._step.set(name_of(step))

    @contextmanager
    def inside(self, step: Json) -> Generator[None, None, None]:
        """Set the step for a `with` block; the one before it comes back afterwards."""
        token = self._step.set(name_of(step))
        try:
            yield
        finally:
            # Left in another context (a generator that another task closed), which never had
            # this step, there is nothing to undo.
            with suppress(ValueError):
                self._step.reset(token)

    def tag(self, label: Json, items: Json) -> None:
        """Give `label` to texts of the next call that is made here."""
        name = name_of(label) or ""
        tags = tuple(Tag(name, text) for text in _texts_of(items) if text)
        if name and tags:
            unused = tuple(cell for cell in self._tags.get() if cell)
            self._tags.set((*unused, [tags]))

    def take(self) -> tuple[str | None, tuple[Tag, ...]]:
        """The step, and the pending tags in their order; the tags are pending no more."""
        cells = self._tags.get()
        step = self._step.get()
        if not cells:
            return step, ()
        self._tags.set(())
        taken: list[Tag] = []
        for cell in cells:
            # One atomic step: of two calls at once, one gets the tags.
            with suppress(IndexError):
                taken += cell.pop()
        return step, tuple(taken)


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
