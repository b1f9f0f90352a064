"""Recorded text on a terminal: whatever a text holds, it stays in its line and acts on nothing.

`shown`, `name`, `snippet` and `paragraphs` are how a text gets there; `obeyed_by_nothing` is the
net below them, through which every line passes as it is written.

Credentials are shown as tags, as the server shows them: a terminal's output is pasted into issues.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ctxdiff_mcp.answers.refs import BlockRef
from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.clean import BRACKETS, clean, escape, unsafe_places
from ctxdiff_mcp.gate.raw import raw
from ctxdiff_mcp.gate.scripts import is_hidden
from ctxdiff_mcp.gate.secrets import SecretTags

TAGS = SecretTags()
"""Of this process: the same credential has the same tag wherever a command shows it."""
READ_CHARS = 8_000
"""Of a text of which only the start is shown: a credential there is looked at whole."""
SHORT_NAME = 200
SNIPPET_CHARS = 70
NAME_CHARS = 120
"""Of a name in a line; a longer one would wrap into lines that look like ours."""
HASH_CHARS = 12
"""Digits of a content hash that are shown; a block can be asked for with them."""
UNLABELED = "(unlabeled)"


def masked(text: str) -> str:
    """The text with credentials as tags."""
    return _masked_name(text) if len(text) <= SHORT_NAME else TAGS.masked(text)


def masked_excerpt(text: Captured, origins: Sequence[Captured]) -> Captured:
    """An excerpt without the pieces of its origins' credentials."""
    return Captured(TAGS.masked_by(raw(text), [raw(one) for one in origins]))


@lru_cache(maxsize=10_000)
def _masked_name(text: str) -> str:
    # A run of 5,000 turns shows the same few names on each.
    return TAGS.masked(text)


def shown(text: Captured | str) -> str:
    """The text on one line: line breaks as `⏎`, tabs as `⇥`, all that is not plain as `⟦HEX⟧`."""
    plain = raw(text) if isinstance(text, Captured) else text
    return clean(masked(plain)).replace("\n", "⏎").replace("\t", "⇥")


def cut(text: Captured | str, chars: int = NAME_CHARS) -> str:
    """Like `shown`, and no more than the start of a long text."""
    plain = raw(text) if isinstance(text, Captured) else text
    if len(plain) <= chars:
        return shown(plain)
    return f"{shown(masked(plain[:READ_CHARS])[:chars])}…"


def obeyed_by_nothing(line: str) -> str:
    """A line as it may be written: what acts, hides or breaks it is shown instead.

    Of a line that is made of shown texts nothing is changed.
    """
    if line.isprintable():
        return line
    acting = {at for at in unsafe_places(line) if line[at] not in BRACKETS and is_hidden(line[at])}
    line = "".join(escape(char) if at in acting else char for at, char in enumerate(line))
    return line.replace("\n", "⏎").replace("\t", "⇥")


def paragraphs(text: Captured) -> list[str]:
    """The text line by line, safe to print."""
    return clean(masked(raw(text))).replace("\t", "    ").split("\n")


def name(value: Name | None) -> str:
    """An agent, label or model by its name; `(unlabeled)` for none."""
    return UNLABELED if value is None else cut(value.text)


def snippet(text: Captured, chars: int = SNIPPET_CHARS) -> str:
    """The start of a text in quotes, its blanks folded."""
    # Only the start is looked at: a block may be megabytes long.
    folded = " ".join(masked(raw(text)[: max(chars * 8, READ_CHARS)]).split())
    start = folded if len(folded) <= chars else folded[:chars] + "…"
    return f"'{shown(start)}'"


def block_name(block: BlockRef) -> str:
    """How to ask for a block: the start of its hash, or its ordinal where it has none."""
    return block.content_hash[:HASH_CHARS] or f"b{block.ordinal}"


def approx(*, exact: bool) -> str:
    """The mark of an estimate."""
    return "" if exact else " (~approx)"
