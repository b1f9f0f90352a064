"""Which names may stand among the server's own words."""

from __future__ import annotations

import re

MAX_INLINE_CHARS = 40
RESERVED = frozenset(
    (
        *("latest", "all", "none", "unknown", "withheld", "absent"),
        *("error", "internal", "next", "valid", "captured", "end"),
    )
)
"""Words that the server says in place of a name, or at the start of a line."""

_PLAIN = re.compile(rf"[A-Za-z0-9_.:/-]{{1,{MAX_INLINE_CHARS}}}", re.ASCII)
_LINK = re.compile(
    r".*(?://|www\.).*|(?:javascript|vbscript|data|file|mailto):.*", re.ASCII | re.IGNORECASE
)
_HANDLE = re.compile(r"[abfLmprvx][0-9]{1,9}", re.ASCII)
_CALL = re.compile(r"ctxdiff_.*", re.ASCII | re.IGNORECASE)
_FIGURE = re.compile(r"[0-9.:/_-]{1,8}|(?=[a-f]*[0-9])[0-9a-f]{8,40}", re.ASCII)


def is_plain(name: str) -> bool:
    """True for a short name of plain characters that is no link."""
    return _PLAIN.fullmatch(name) is not None and _LINK.fullmatch(name) is None


def is_inline(name: str) -> bool:
    """True for a plain name that is no word, handle or call of the server's."""
    return (
        is_plain(name)
        and name.casefold().rstrip(":") not in RESERVED
        and _HANDLE.fullmatch(name) is None
        and _CALL.fullmatch(name) is None
    )


def is_figure(name: str) -> bool:
    """True for a name that could be mistaken for a number or a block's hash."""
    return _FIGURE.fullmatch(name) is not None
