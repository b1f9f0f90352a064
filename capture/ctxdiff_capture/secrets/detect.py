"""Where in a text credentials stand.

Linear in the text: every repetition is bounded or ends its pattern, and a search goes on behind
what it has looked at.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from heapq import merge

from ctxdiff_capture.secrets.context import CONTEXTS
from ctxdiff_capture.secrets.judge import looks_random
from ctxdiff_capture.secrets.shapes import SIGNS, Shape, shapes
from ctxdiff_capture.secrets.tags import has_tag

_ESCAPE = re.compile(r"%(?:[2-7][0-9A-Fa-f]|0[ADad])")
"""Of a printable ASCII character or the end of a line, in an address."""
_LETTERS_OF_CLUES = frozenset().union(*(clue for context in CONTEXTS for clue in context.clues))
_FEW_SHAPES = 30
"""So many are looked for in a text as it is; for more it pays to leave out its short words."""
_WORDS_ALONE = bytes(
    code if chr(code) in string.ascii_letters + string.digits + SIGNS else ord(" ")
    for code in range(256)
)
"""For `bytes.translate`: what no shape is made of becomes a blank."""


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
    absent = {letter for letter in _LETTERS_OF_CLUES if letter not in lowered}
    # A private key holds everything else that it looks like; the others are weaker than a prefix.
    first, *rest = CONTEXTS
    for context in (first, None, *rest):
        if context is None:
            for shape in _begun(text):
                found = _with(found, _of_shape(shape, text))
        elif any(absent.isdisjoint(clue) and clue in lowered for clue in context.clues):
            spans = (Span(*item) for item in context.search(text))
            found = _with(found, (s for s in spans if not has_tag(text[s.start : s.end])))
    return found


def _begun(text: str) -> list[Shape]:
    """The shapes whose prefix stands in the text, and maybe enough behind it, in their order."""
    # One character is found in a thirtieth of a prefix's time.
    absent = {letter for letter in _letters_of_prefixes() if letter not in text}
    likely = [shape for shape in shapes() if absent.isdisjoint(shape.prefix)]
    if len(likely) > _FEW_SHAPES:
        text = _long_words(text, min(shape.least for shape in likely))
    return [shape for shape in likely if shape.prefix in text]


@cache
def _letters_of_prefixes() -> frozenset[str]:
    return frozenset().union(*(shape.prefix for shape in shapes()))


def _long_words(text: str, least: int) -> str:
    """The words of a text, by `_WORDS_ALONE`, that have at least so many characters."""
    words = text.encode("utf-8", "surrogatepass").translate(_WORDS_ALONE).split()
    return b" ".join([word for word in words if len(word) >= least]).decode("ascii")


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
