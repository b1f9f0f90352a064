"""Where in a text credentials stand.

Linear in the text: every repetition is bounded or ends its pattern, and a search goes on behind
what it has looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from ctxdiff_capture.secrets.context import CONTEXTS
from ctxdiff_capture.secrets.judge import looks_random
from ctxdiff_capture.secrets.shapes import Shape, shapes
from ctxdiff_capture.secrets.tags import has_tag

_ESCAPE = re.compile(r"%(?:[2-7][0-9A-Fa-f]|0[ADad])")
"""Of a printable ASCII character or the end of a line, in an address."""


@dataclass(frozen=True, slots=True)
class Span:
    """A credential in a text, by code points."""

    start: int
    end: int
    kind: str


def secret_spans(text: str) -> list[Span]:
    """The credentials in a text, ascending, without overlap."""
    found = _spans(text)
    if "%" in text and _ESCAPE.search(text):
        plain, starts = _without_escapes(text)
        again = (Span(starts[one.start], starts[one.end], one.kind) for one in _spans(plain))
        found = _with(found, again)
    return found


def _without_escapes(text: str) -> tuple[str, list[int]]:
    """The text as an address means it, and where each of its characters, and its end, stood."""
    parts: list[str] = []
    starts: list[int] = []
    done = 0
    for escape in _ESCAPE.finditer(text):
        parts += [text[done : escape.start()], chr(int(escape[0][1:], 16))]
        starts += range(done, escape.start() + 1)
        done = escape.end()
    return "".join([*parts, text[done:]]), [*starts, *range(done, len(text) + 1)]


def _spans(text: str) -> list[Span]:
    found: list[Span] = []
    lowered = text.lower()
    # A private key holds everything else that it looks like; the others are weaker than a prefix.
    first, *rest = CONTEXTS
    for context in (first, None, *rest):
        if context is None:
            for shape in shapes():
                if shape.prefix in text:
                    found = _with(found, _of_shape(shape, text))
        elif any(clue in lowered for clue in context.clues):
            spans = (Span(*item) for item in context.search(text))
            found = _with(found, (s for s in spans if not has_tag(text[s.start : s.end])))
    return found


def masked(text: str, tag: Callable[[str, str], str]) -> str:
    """The text with every credential as its tag; `tag` makes it of kind and value."""
    spans = secret_spans(text)
    if not spans:
        return text
    parts = []
    done = 0
    for span in spans:
        parts += [text[done : span.start], tag(span.kind, text[span.start : span.end])]
        done = span.end
    return "".join([*parts, text[done:]])


def _of_shape(shape: Shape, text: str) -> Iterator[Span]:
    at = text.find(shape.prefix)
    while at >= 0:
        found = shape.pattern.match(text, at)
        if found is None:
            at = text.find(shape.prefix, at + 1)
            continue
        if not shape.is_random or _is_drawn(found[0][len(shape.prefix) :]):
            yield Span(at, found.end(), shape.kind)
        at = text.find(shape.prefix, found.end())


def _is_drawn(rest: str) -> bool:
    """Whether what follows a weak prefix is no name: random, or long without any break."""
    return looks_random(rest) or any(
        len(piece) >= 24 for piece in rest.replace("_", "-").split("-")
    )


def _with(kept: list[Span], more: Iterable[Span]) -> list[Span]:
    """Both in order; what overlaps a kept span is dropped."""
    fresh = sorted(more, key=lambda span: span.start)
    if not fresh:
        return kept
    result: list[Span] = []
    ranked = merge(
        ((span.start, 0, span.end, span) for span in kept),
        ((span.start, 1, span.end, span) for span in fresh),
        key=lambda item: item[:3],
    )
    old = frozenset(map(id, kept))
    for _, _, _, span in ranked:
        if result and span.start < result[-1].end:
            if id(span) in old:  # a kept span wins over the newcomer in front of it
                result[-1] = span
            continue
        result.append(span)
    return result
