"""How many bytes a text takes on the wire, and how much of a text fits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate

from ctxdiff_mcp.gate.clean import escape, unsafe_places

JOINER_SLACK = 8
"""A joiner at a cut loses its second neighbour and becomes an escape."""


def wire_bytes(text: str) -> int:
    """Bytes of a cleaned text inside a JSON string."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    # JSON spells these with two bytes; cleaned text holds no others that need more.
    doubled = text.count('"') + text.count("\\") + text.count("\n") + text.count("\t")
    return size + doubled


def fitting_chars(text: str, budget: int, line_bytes: int = 0) -> int:
    """How many of the text's first code points fit into `budget` bytes once cleaned.

    `line_bytes` is what is added behind each line break.
    """
    worst = wire_bytes(text) * len(escape("\U0010ffff").encode())
    if worst + text.count("\n") * line_bytes <= budget:
        return len(text)  # not even if all of it became escapes
    text = text[: max(budget, 0)]  # each takes a byte at least
    unsafe = unsafe_places(text)
    extra = [wire_bytes(escape(text[at])) - wire_bytes(text[at]) for at in unsafe]
    escapes = [0, *accumulate(extra)]

    def cost(chars: int) -> int:
        start = text[:chars]
        breaks = start.count("\n") * line_bytes
        return wire_bytes(start) + escapes[bisect_left(unsafe, chars)] + breaks

    return bisect_right(range(1, len(text) + 1), budget - JOINER_SLACK, key=cost)
