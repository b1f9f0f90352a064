"""What tells a credential from a word, a name in code, or a placeholder."""

from __future__ import annotations

import re

LEAST_RANDOM = 12
"""Characters of random-looking pieces that make a value random."""

_PIECE = re.compile(r"[A-Za-z0-9]+")
_DIGIT_EDGE = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_CASE_EDGE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PATH_IN_CODE = re.compile(r"[A-Za-z_$][A-Za-z0-9_]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]*)+")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PLACEHOLDER = re.compile(
    r"^[$%*#@!]?[\[{<(]|[\]}>)]$|\$\{|\{\{|\*{3}|\.{3}|…|x{4}|X{4}|(?i:your[_-]|change_?me|placeholder"
    r"|redacted|withheld|\[secret)"
)
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9\s]")))


def looks_random(value: str, least: int = LEAST_RANDOM) -> bool:
    """Whether a value was drawn and not written: letters and digits, or cases, without order."""
    random = sum(len(piece) for piece in _PIECE.findall(value) if _is_mixed(piece))
    return random >= least


def is_key(value: str) -> bool:
    """Whether a value that stands under a key's name is one: random, or a UUID."""
    if _PLACEHOLDER.search(value) or _PATH_IN_CODE.fullmatch(value):
        return False
    return looks_random(value) or _UUID.fullmatch(value) is not None


def is_password(value: str) -> bool:
    """Whether a value that stands under a password's name is more than a word or a name in code."""
    if len(value) < 8 or _PLACEHOLDER.search(value):
        return False
    if _PATH_IN_CODE.fullmatch(value) or _CONSTANT.fullmatch(value):
        return False
    kinds = sum(bool(kind.search(value)) for kind in _CLASSES)
    return (kinds >= 3 and any(c.isdigit() for c in value)) or looks_random(value)


def is_placeholder(value: str) -> bool:
    """Whether a value says that something is to be put in its place."""
    return value.startswith("$") or _PLACEHOLDER.search(value) is not None


def has_both(value: str) -> bool:
    """Whether a value has a letter and a digit."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_mixed(piece: str) -> bool:
    # Names in camel case have few digits, and their cases change less often than at every third
    # character.
    edges, size = len(_DIGIT_EDGE.findall(piece)), len(piece)
    turns = len(_CASE_EDGE.findall(piece)) / size
    if size < 6 or edges < 2:
        return size >= 24 and turns > 0.4
    return size < 12 or edges >= 3 or turns > 0.35
