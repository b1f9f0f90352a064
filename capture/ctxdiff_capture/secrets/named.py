"""Names under which credentials are sent: of headers, members of a body, parts of an address."""

from __future__ import annotations

import re
from functools import lru_cache

from ctxdiff_capture.secrets.shapes import names

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OF_HEADERS = frozenset(("auth", "cookie", "jwt", "key", "signature", "token"))
"""Last words that say more in a header than elsewhere."""


def ends_of(name: str) -> frozenset[str]:
    """The last one, two and three words of a name, in any spelling: `api_key` of `X-Api-Key`."""
    words = [word.lower() for word in _WORD.findall(name)]
    return frozenset("_".join(words[-count:]) for count in (1, 2, 3))


@lru_cache(maxsize=4096)
def is_credential(name: str) -> bool:
    """Whether the member of that name holds a credential."""
    ends, known = ends_of(name), names()
    is_known = not ends.isdisjoint(known.of_keys) or not ends.isdisjoint(known.of_passwords)
    return is_known or "cookie" in ends or name.lower() == "token"


@lru_cache(maxsize=512)
def is_credential_header(name: str) -> bool:
    """Likewise for a header."""
    return is_credential(name) or not ends_of(name).isdisjoint(_OF_HEADERS)


def is_credential_of_address(name: str) -> bool:
    """Likewise for a part of an address's query."""
    plain = name.lower().replace("-", "_")
    return plain in names().in_addresses or is_credential(name)
