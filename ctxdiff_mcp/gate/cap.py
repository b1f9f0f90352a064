"""How many bytes a text takes on the wire, and how much of a text fits."""

from __future__ import annotations

from ctxdiff_mcp.gate.clean import escape, unsafe_places

JSON_DOUBLED = '"\\\n\t'
"""Characters that JSON spells with two bytes; cleaned text holds no others that need more."""
JOINER_SLACK = 8
"""A joiner at a cut loses its second neighbour and becomes an escape."""


def wire_bytes(text: str) -> int:
    """Bytes of a cleaned text inside a JSON string."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return size + sum(text.count(char) for char in JSON_DOUBLED)


def fitting_chars(text: str, budget: int, line_bytes: int = 0) -> int:
    """How many of the text's first code points fit into `budget` bytes once cleaned.

    `line_bytes` is what is added behind each line break.
    """
    worst = wire_bytes(text) * len(escape("\U0010ffff").encode())
    if worst + text.count("\n") * line_bytes <= budget:
        return len(text)  # not even if all of it became escapes
    unsafe = set(unsafe_places(text))
    left = budget - JOINER_SLACK
    for at, char in enumerate(text):
        left -= wire_bytes(escape(char) if at in unsafe else char)
        left -= line_bytes if char == "\n" else 0
        if left < 0:
            return at
    return len(text)
