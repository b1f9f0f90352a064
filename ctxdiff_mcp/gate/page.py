"""A page of a long text: cut by original code points, then masked and cleaned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ctxdiff_mcp.gate.cap import fitting_chars, wire_bytes
from ctxdiff_mcp.gate.clean import LINE_MARK, clean, marked
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
    """Cleaned, credentials as tags, lines marked where that was asked."""
    escapes: int
    secrets: int
    """Tags that stand for text of this page."""


def page_of(
    text: str, start: int, max_chars: int, budget: int, policy: Policy, *, mark_lines: bool = False
) -> Page:
    """The page that begins at `start`, with at most `max_chars` code points and `budget` bytes.

    A credential that the page only partly covers is shown as its whole tag. With `mark_lines`
    every line that is shown begins with a mark, which the budget counts.
    """
    mark_bytes = wire_bytes(LINE_MARK) if mark_lines else 0
    budget -= mark_bytes
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
        fits = fitting_chars(text[begin:end], budget, mark_bytes)
        piece = clean(text[begin : begin + fits])
        shown.append(piece)
        escapes += piece.count("⟦")
        budget -= wire_bytes(piece) + piece.count("\n") * mark_bytes
        at = begin + fits
        if at < end:
            break
    whole = "".join(shown)
    return Page(start, at, len(text), marked(whole) if mark_lines else whole, escapes, secrets)


def _parts(
    text: str, start: int, stop: int, policy: Policy
) -> Iterator[tuple[int, int, str | None]]:
    """Stretches that tile `start` to `stop`; with a tag where a credential stands."""
    at = start
    for span in secret_spans(text, start, stop) if policy.mask_secrets else []:
        if span.start > at:
            yield at, span.start, None
        at = min(span.end, stop)
        yield max(span.start, start), at, policy.tags.tag(span.kind, text[span.start : span.end])
    if at < stop:
        yield at, stop, None
