"""What stands for a credential: `[secret:aws-key#3]`, the third distinct AWS key."""

from __future__ import annotations

import re
from urllib.parse import unquote

_TAG = re.compile(r"\[secret:([a-z-]{1,40})#([0-9]{1,12})\]")
_MOST = 1_000_000
_LAYOUT = re.compile(r"\\+[nr]|[\s\\\"']+")


def tag_of(kind: str, number: int) -> str:
    """The tag of the credential of that kind and number (1, 2, ...)."""
    return f"[secret:{kind}#{number}]"


def is_tag(text: str) -> bool:
    """True when the text is a tag and nothing else."""
    return _TAG.fullmatch(text) is not None


def has_tag(text: str) -> bool:
    """True when a tag is in the text."""
    return "[secret:" in text and _TAG.search(text) is not None


def tags_in(text: str) -> list[tuple[str, int]]:
    """Kind and number of the tags in a text, as far as a recorder can have given them."""
    if "[secret:" not in text:
        return []
    found = ((hit[1], int(hit[2])) for hit in _TAG.finditer(text))
    return [(kind, number) for kind, number in found if number <= _MOST]


def identity_of(kind: str, value: str) -> bytes:
    """What makes two values one credential, however a text, JSON or an address spells it."""
    value = unquote(value) if "%" in value else value
    value = _LAYOUT.sub("", value) if kind == "private-key" else value.replace("\\/", "/")
    return value.encode("utf-8", "surrogatepass")
