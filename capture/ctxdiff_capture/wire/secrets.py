"""Keeping a request's credentials out of what is recorded about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_CREDENTIAL_HEADERS = ("authorization", "x-api-key", "api-key", "proxy-authorization", "cookie")
# Shorter values are no secrets, and replacing them would garble a text.
_SHORTEST = 8
WITHHELD = "[credential]"


def credentials_of(headers: Any) -> tuple[str, ...]:
    """The secrets that a request's headers carry, longest first; schemes (`Bearer`) are none."""
    found: set[str] = set()
    for name in _CREDENTIAL_HEADERS:
        for value in headers.get_list(name):
            found.update(part for part in (value, *value.split()) if len(part) >= _SHORTEST)
    return tuple(sorted(found, key=len, reverse=True))


def without(text: str, credentials: Iterable[str]) -> str:
    """`text` with every credential replaced."""
    for secret in credentials:
        # Errors of the HTTP library quote header values as Python would.
        text = text.replace(secret, WITHHELD).replace(repr(secret)[1:-1], WITHHELD)
    return text
