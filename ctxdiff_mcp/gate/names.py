"""Which names may stand among the server's own words."""

from __future__ import annotations

import re

MAX_INLINE_CHARS = 40
_PLAIN = re.compile(rf"[A-Za-z0-9_.:/-]{{1,{MAX_INLINE_CHARS}}}", re.ASCII)


def is_inline(name: str) -> bool:
    """True for a name that cannot be mistaken for anything but a name."""
    return _PLAIN.fullmatch(name) is not None
