"""Known credentials taken out of texts, however these spell them."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""Shorter values are no secrets, and replacing them would garble a text."""
WITHHELD = "[credential]"

_ESCAPE = re.compile(r"%[0-9A-F]{2}")


def spelled(values: Iterable[str]) -> tuple[str, ...]:
    """The values in every spelling of some length, longest first."""
    found = {spelling for value in values for spelling in _spellings(value)}
    return tuple(sorted((s for s in found if len(s) >= SHORTEST), key=len, reverse=True))


def without(text: str, spellings: Iterable[str]) -> str:
    """`text` with each of `spellings` replaced."""
    for secret in spellings:
        text = text.replace(secret, WITHHELD)
    return text


def bytes_without(data: bytes, spellings: Iterable[str]) -> bytes:
    """Likewise for bytes; the same object when there is none in it."""
    for secret in spellings:
        encoded = secret.encode("utf-8", "surrogateescape")
        if encoded in data:
            data = data.replace(encoded, WITHHELD.encode())
    return data


def _spellings(value: str) -> Iterator[str]:
    """A value as errors and answers may quote it."""
    yield value
    yield repr(value)[1:-1]
    yield json.dumps(value)[1:-1]
    yield html.escape(value)
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted
        yield _ESCAPE.sub(lambda found: found[0].lower(), quoted)
    data = value.encode("utf-8", "surrogateescape")
    yield data.hex()
    for encoded in (b64encode(data), urlsafe_b64encode(data)):
        yield encoded.decode().rstrip("=")
