"""Keeping a request's credentials out of what is recorded about it."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ctxdiff_capture.secrets.judge import looks_random
from ctxdiff_capture.secrets.named import is_credential_header, is_credential_of_address
from ctxdiff_capture.secrets.spelled import bytes_without, spelled

_SHORTEST_UNMISTAKABLE = 16
_LONGEST_KEPT_BYTES = 2 * 2**20
_ABOUT_BYTES = 64
_BETWEEN = re.compile(r"[\s,;=/]+")
_ALGORITHM = re.compile(r"[A-Z0-9]+(?:-[A-Z0-9]+)+")


def credentials_of(headers: Any, url: str = "") -> tuple[str, ...]:
    """The secrets that a request carries in every spelling, longest first.

    Args:
        headers: of httpx, aiohttp or botocore: `items()` gives names and values.
        url: with its query, and its user and password.
    """
    named = ((text_of(name), text_of(value)) for name, value in headers.items())
    return _spelled(tuple(v for n, v in named if is_credential_header(n)), url)


@lru_cache(maxsize=64)
def _spelled(headers: tuple[str, ...], url: str) -> tuple[str, ...]:
    """Most requests of a program carry the same."""
    values = {part for value in headers for part in _parts_of(value)}
    values.update(_of_address(url))
    return spelled(values)


@lru_cache(maxsize=64)
def unmistakable(credentials: tuple[str, ...]) -> tuple[str, ...]:
    """Those that no text holds by chance: `not-needed`, which local servers take, is none."""
    return tuple(s for s in credentials if len(s) >= _SHORTEST_UNMISTAKABLE and looks_random(s))


class BodySearch:
    """Takes credentials out of request bodies, and searches what a conversation has sent once.

    May be used by several threads.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[str, ...], bytes] = ((), b"")
        """Credentials and the last body that holds none of them."""

    def without(self, body: bytes, credentials: tuple[str, ...]) -> bytes:
        """`body` without `credentials`; the same object when there is none in it."""
        if not credentials:
            return body
        searched, clean = self._last
        start = _shared_start(body, clean) if searched == credentials else 0
        # One may begin in what is shared and end behind it. A character has four bytes at most.
        rest = body[max(0, start - 4 * max(map(len, credentials))) :]
        if bytes_without(rest, credentials) is not rest:
            return bytes_without(body, credentials)
        if len(body) <= _LONGEST_KEPT_BYTES:
            self._last = credentials, body
        return body


def _shared_start(one: bytes, other: bytes) -> int:
    """About how many bytes two bodies begin with that are the same; never too many."""
    start, end = 0, min(len(one), len(other))
    while end - start > _ABOUT_BYTES:
        middle = (start + end) // 2
        if one[start:middle] == other[start:middle]:
            start = middle
        else:
            end = middle
    return start


def text_of(value: Any) -> str:
    """A header's name or value as text; botocore has them as bytes."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _parts_of(value: str) -> Iterator[str]:
    """A header's value, what follows its scheme, and the secrets inside; words are none."""
    yield value
    _, _, rest = value.partition(" ")
    yield rest.strip()
    for part in _BETWEEN.split(value):
        is_long = len(part) >= _SHORTEST_UNMISTAKABLE and any(map(str.isdigit, part))
        if (is_long or looks_random(part)) and not _ALGORITHM.fullmatch(part):
            yield part
    for pair in value.split(";"):  # of a cookie
        yield pair.partition("=")[2].strip()
    try:
        plain = b64decode(rest, validate=True).decode()
    except ValueError:
        return
    if value[:5].lower() == "basic":
        yield plain
        yield plain.partition(":")[2]


def _of_address(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if is_credential_of_address(name):
            yield value
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    for value in (password, *((user,) if looks_random(user) else ())):
        yield value
        yield unquote(value)
