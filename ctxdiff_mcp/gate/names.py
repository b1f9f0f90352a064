"""Which names may stand among the server's own words."""

from __future__ import annotations

import re

MAX_INLINE_CHARS = 40
_PLAIN = re.compile(rf"[A-Za-z0-9_.:/-]{{1,{MAX_INLINE_CHARS}}}", re.ASCII)


_HANDLE = re.compile(r"[A-Za-z][0-9]{1,9}", re.ASCII)


def is_handle(name: str) -> bool:
    """True for a name that could be mistaken for the handle of another: `a2`, `r1`."""
    return _HANDLE.fullmatch(name) is not None


def is_inline(name: str) -> bool:
    """True for a name that cannot be mistaken for anything but a name."""
    return _PLAIN.fullmatch(name) is not None
