"""Recorded text as one safe line of a terminal: what would act on it is shown instead."""

from __future__ import annotations

from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.clean import clean
from ctxdiff_mcp.gate.raw import raw

SNIPPET_CHARS = 70
HASH_CHARS = 12
"""Digits of a content hash that are shown; a block can be asked for with them."""
UNLABELED = "(unlabeled)"


def shown(text: Captured | str) -> str:
    """The text on one line: line breaks as `⏎`, tabs as `⇥`, all that is not plain as `⟦HEX⟧`."""
    plain = raw(text) if isinstance(text, Captured) else text
    return clean(plain).replace("\n", "⏎").replace("\t", "⇥")


def paragraphs(text: Captured) -> list[str]:
    """The text line by line, safe to print."""
    return clean(raw(text)).replace("\t", "    ").split("\n")


def name(value: Name | None) -> str:
    """An agent, label or model by its name; `(unlabeled)` for none."""
    return UNLABELED if value is None else shown(value.text)


def snippet(text: Captured, chars: int = SNIPPET_CHARS) -> str:
    """The start of a text in quotes, its blanks folded."""
    # Only the start is looked at: a block may be megabytes long.
    folded = " ".join(raw(text)[: chars * 8].split())
    cut = folded if len(folded) <= chars else folded[:chars] + "…"
    return f"'{shown(cut)}'"


def block_name(block: BlockRef) -> str:
    """How to ask for a block: the start of its hash, or its ordinal where it has none."""
    return block.content_hash[:HASH_CHARS] or f"b{block.ordinal}"


def approx(*, exact: bool) -> str:
    """The mark of an estimate."""
    return "" if exact else " (~approx)"
