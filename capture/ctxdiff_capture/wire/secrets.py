"""Keeping a request's credentials out of what is recorded about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_CREDENTIAL_HEADERS = frozenset(
    (
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "x-amz-security-token",
        "proxy-authorization",
        "cookie",
    )
)
_CREDENTIAL_PARAMETERS = frozenset(
    ("key", "api_key", "api-key", "access_token", "x-amz-signature", "x-amz-security-token")
)
# Shorter values are no secrets, and replacing them would garble a text.
_SHORTEST = 8
WITHHELD = "[credential]"


def credentials_of(headers: Any, url: str = "") -> tuple[str, ...]:
    """The secrets that a request carries, longest first; schemes (`Bearer`) are none.

    Args:
        headers: of httpx, aiohttp or botocore: `items()` gives names and values.
        url: with its query.
    """
    values = [text_of(v) for n, v in headers.items() if text_of(n).lower() in _CREDENTIAL_HEADERS]
    query = parse_qsl(urlsplit(url).query)
    values += [value for name, value in query if name.lower() in _CREDENTIAL_PARAMETERS]
    found = {part for value in values for part in (value, *value.split()) if len(part) >= _SHORTEST}
    return tuple(sorted(found, key=len, reverse=True))


def text_of(value: Any) -> str:
    """A header's name or value as text; botocore has them as bytes."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def without(text: str, credentials: Iterable[str]) -> str:
    """`text` with every credential replaced."""
    for secret in credentials:
        # Errors of the HTTP library quote header values as Python would.
        text = text.replace(secret, WITHHELD).replace(repr(secret)[1:-1], WITHHELD)
    return text
