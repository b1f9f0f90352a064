"""A page of a long text: cut by original code points, then masked and cleaned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ctxdiff_mcp.gate.cap import fitting_chars, wire_bytes
from ctxdiff_mcp.gate.clean import clean
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.gate.secrets import secret_spans


@dataclass(frozen=True, slots=True)
class Page:
    """The part of a text from `start` to `end`; pages tile the text exactly."""

    start: int
    end: int
    total: int
    """Code points of the whole text."""
    shown: str
    """Cleaned, credentials as tags."""
    escapes: int
    secrets: int
    """Tags that stand for text of this page."""


def page_of(text: str, start: int, max_chars: int, budget: int, policy: Policy) -> Page:
    """The page that begins at `start`, with at most `max_chars` code points and `budget` bytes.

    A credential that the page only partly covers is shown as its whole tag.
    """
    start = min(start, len(text))
    stop = min(start + max_chars, len(text))
    shown: list[str] = []
    at, escapes, secrets = start, 0, 0
    for begin, end, tag in _parts(text, start, stop, policy):
        if tag is not None:
            budget -= wire_bytes(tag)
            if budget < 0:
                break
            shown.append(tag)
            secrets += 1
            at = end
            continue
        fits = fitting_chars(text[begin:end], budget)
        piece = clean(text[begin : begin + fits])
        shown.append(piece)
        escapes += piece.count("⟦")
        budget -= wire_bytes(piece)
        at = begin + fits
        if at < end:
            break
    return Page(start, at, len(text), "".join(shown), escapes, secrets)


def _parts(
    text: str, start: int, stop: int, policy: Policy
) -> Iterator[tuple[int, int, str | None]]:
    """Stretches that tile `start` to `stop`; with a tag where a credential stands."""
    at = start
    for span in secret_spans(text) if policy.mask_secrets else []:
        if span.end <= at or span.start >= stop:
            continue
        if span.start > at:
            yield at, span.start, None
        at = min(span.end, stop)
        yield max(span.start, start), at, policy.tags.tag(span.kind, text[span.start : span.end])
    if at < stop:
        yield at, stop, None
