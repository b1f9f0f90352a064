"""Credentials that are known by what stands around them: names, headers, addresses."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from ctxdiff_capture.secrets.judge import (
    has_both,
    is_key,
    is_password,
    is_placeholder,
    looks_random,
)
from ctxdiff_capture.secrets.named import ends_of, is_credential_of_address
from ctxdiff_capture.secrets.shapes import names

Found = tuple[int, int, str]
"""Start, end, kind."""

_LONGEST_PEM = 20_000
_PEM_START = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(r"(?:\\{1,8}[nr]|[\sA-Za-z0-9+/=:,\"'-])*")
_SOME_BASE64 = re.compile(r"[A-Za-z0-9+/]{6}")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=]{32}")
_JWT = re.compile(
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){0,2}",
    re.ASCII,
)
_TOKEN = r"([A-Za-z0-9._~+/-]{16,}={0,2})"  # noqa: S105 - a pattern
_QUOTE = r"\\{0,7}[\"']"
_ASSIGNED = rf"(?:{_QUOTE})?[ \t]{{0,4}}(?:=>|:=|[:=])[ \t]{{0,4}}"
_BEARER = re.compile(rf"(?<![A-Za-z0-9])(?i:bearer)(?:[ \t]{{1,4}}|%20|\+){_TOKEN}", re.ASCII)
_SCHEME = re.compile(
    rf"(?i:authorization){_ASSIGNED}(?:{_QUOTE})?"
    rf"(?i:token|api-?key|key|negotiate|digest)[ \t]{{1,4}}{_TOKEN}",
    re.ASCII,
)
_BASIC = re.compile(r"(?<![A-Za-z0-9])(?i:basic)(?:[ \t]{1,4}|%20)([A-Za-z0-9+/]{8,}={0,2})")
# The end of an authority is an `@`; a password may hold others, and never a slash or a blank.
_USERINFO = re.compile(r"://[^\s:/@\"'<>\\]{0,100}:([^\s/\"'<>\\)]{1,200})@")
_IN_ADDRESS = re.compile(
    r"[?&;]([A-Za-z][A-Za-z0-9_-]{1,40})=([A-Za-z0-9%._~+/=-]{12,4000})", re.ASCII
)
# The last word of a name under which credentials are kept; the judge looks at all of it.
_NAMED = re.compile(
    r"(?i:passw(?:or)?d|pwd|passphrase|secret|token|key|keystring|credential|authorization)"
    rf"{_ASSIGNED}(?:\\{{0,7}}([\"'])([^\s\"'\\]{{6,512}})(?=\\{{0,7}}[\"'])"
    r"|((?:[^\s\"'`,;&<>(){}\[\]\\|]|&(?![A-Za-z0-9_.-]{1,40}=)){6,512}))"
)
_NAME_END = re.compile(r"[A-Za-z0-9_.-]{0,40}\Z")
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
# Neighbours of a password in a connection string.
_CONNECTION = re.compile(
    r"(?i)(?<![A-Za-z])(?:server|data source|host|hostaddr|user|user id|uid|username|dbname"
    r"|database|initial catalog|port)=\S"
)
_IN_CONNECTION = re.compile(
    r"(?i:(?<![A-Za-z_])(?:password|pwd)) ?= ?([^\s;\"'\\&,()\[\]]{3,128})(?=[\s;\"'\\&]|$)"
)
_NEAR = 120
# Azure's keys say what they are in their middle. Source: Microsoft's "identifiable keys",
# as commonly known 2026-11.
_AZURE_MARK = re.compile(
    r"(?P<storage>(?:APIM|ACDb|\+ABa|\+AMC|\+ASt)[A-Za-z0-9+/]{5}[AQgw]==)"
    r"|(?P<hub>(?:AIoT|\+ASb|\+AEh|\+ARm|AzCa|AzFu)[A-Za-z0-9+/]{5}[A-Za-z0-9+/]=)"
    r"|(?P<search>AzSe[A-Za-z0-9]{6})(?![A-Za-z0-9])"
    r"|(?P<devops>AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])"
    r"|(?P<service>JQQJ9[A-Za-z0-9][A-Za-z0-9]{20,40})(?![A-Za-z0-9])"
)
_BEFORE_MARK = {"storage": 76, "hub": 33, "search": 42, "devops": 76, "service": 52}
"""Characters in front of each mark."""
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/]+")
_AFTER_ESCAPE = r"(?<=\\[nrtbf])"
_AZURE_SECRET = re.compile(
    rf"(?:(?<![A-Za-z0-9_~.-])|{_AFTER_ESCAPE})[A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}}(?![A-Za-z0-9_~-])"
)
_TELEGRAM = re.compile(
    rf"(?:(?<![A-Za-z0-9])|{_AFTER_ESCAPE})[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{32,34}}(?![A-Za-z0-9_-])"
)


@dataclass(frozen=True, slots=True)
class Context:
    """One way to find credentials."""

    clues: tuple[str, ...]
    """A text with none of them has nothing of this kind; lower case."""
    search: Callable[[str], Iterator[Found]]


def _private_keys(text: str) -> Iterator[Found]:
    at = 0
    while found := _PEM_START.search(text, at):
        again = _PEM_START.search(text, found.end(), found.end() + _LONGEST_PEM)
        limit = again.start() if again else found.end() + _LONGEST_PEM
        if end := _PEM_END.search(text, found.end(), limit):
            at = end.end()
            if _is_pem_body(text[found.end() : end.start()]):
                yield found.start(), at, "private-key"
            continue
        # It is cut off: as far as its lines go, if there is any.
        lines = _PEM_LINES.match(text, found.end(), limit)
        at = lines.end() if lines else found.end()
        if body := list(_BASE64_LINE.finditer(text, found.end(), at)):
            rest = re.compile(r"[A-Za-z0-9+/=]*").match(text, body[-1].end())
            yield found.start(), rest.end() if rest else body[-1].end(), "private-key"


def _is_pem_body(text: str) -> bool:
    """Whether there is a key between the lines, and not only words about one."""
    return _PEM_LINES.fullmatch(text) is not None and _SOME_BASE64.search(text) is not None


def _jwts(text: str) -> Iterator[Found]:
    at = text.find("eyJ")
    while at >= 0:
        found = _JWT.match(text, at)
        if found is not None:
            yield *found.span(), "jwt"
        at = text.find("eyJ", found.end() if found else at + 1)


def _bearers(text: str) -> Iterator[Found]:
    for pattern in (_BEARER, _SCHEME):
        for found in pattern.finditer(text):
            if has_both(found[1]) and not is_placeholder(found[1]):
                yield *found.span(1), "bearer-token"


def _basics(text: str) -> Iterator[Found]:
    for found in _BASIC.finditer(text):
        try:
            bare = found[1].rstrip("=")
            plain = b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
        except ValueError:
            continue
        if ":" in plain and plain.isprintable():
            yield *found.span(1), "basic-auth"


def _userinfos(text: str) -> Iterator[Found]:
    for found in _USERINFO.finditer(text):
        if not is_placeholder(found[1]):
            yield *found.span(1), "password"


def _in_addresses(text: str) -> Iterator[Found]:
    for found in _IN_ADDRESS.finditer(text):
        if is_credential_of_address(found[1]) and looks_random(unquote(found[2])):
            yield *found.span(2), "url-signature" if "sig" in found[1].lower() else "url-key"


def _named(text: str) -> Iterator[Found]:
    known = names()
    at = 0
    while found := _NAMED.search(text, at):
        at = found.end()
        group = 2 if found[2] is not None else 3
        start, end = found.span(group)
        front = _NAME_END.search(text, max(0, found.start() - 40), found.start())
        name = (front[0] if front else "") + re.split(r"[^A-Za-z]", found[0], maxsplit=1)[0]
        value = text[start:end]
        if group == 3:
            value = value.rstrip(".:!?")
            end = start + len(value)
            if text[end : end + 1] in ("(", "["):  # it is computed
                continue
        kind = _kind_of(name, value, known.of_passwords, known.of_keys)
        if kind is not None:
            yield start, end, kind


def _kind_of(
    name: str, value: str, of_passwords: frozenset[str], of_keys: frozenset[str]
) -> str | None:
    """What the value under a name is; None when it is no credential."""
    ends = ends_of(name)
    if ends & of_passwords:
        return "password" if is_password(value) else None
    if not ends & of_keys:
        return None
    if "secret" in name.lower() and _AWS_SECRET.fullmatch(value) and has_both(value):
        return "aws-secret"
    if ends & {"account_key", "shared_access_key"} and len(value) >= 40 and has_both(value):
        return "azure-key"
    return "api-key" if is_key(value) else None


def _in_connection_strings(text: str) -> Iterator[Found]:
    for found in _IN_CONNECTION.finditer(text):
        start, end = found.span(1)
        near = text[max(0, found.start() - _NEAR) : found.start()] + text[end : end + _NEAR]
        if _CONNECTION.search(near) and not is_placeholder(found[1]):
            yield start, end, "password"


def _azure_keys(text: str) -> Iterator[Found]:
    for found in _AZURE_MARK.finditer(text):
        start = found.start() - _BEFORE_MARK[found.lastgroup or ""]
        if start >= 0 and _BASE64_RUN.fullmatch(text, start, found.start()):
            yield start, found.end(), "azure-key"


def _of_pattern(pattern: re.Pattern[str], kind: str) -> Callable[[str], Iterator[Found]]:
    return lambda text: ((*found.span(), kind) for found in pattern.finditer(text))


CONTEXTS = (
    Context(("private key",), _private_keys),
    Context(("eyj",), _jwts),
    Context(("azdo", "azse", "azca", "azfu", "jqqj9", "+a", "aiot", "apim", "acdb"), _azure_keys),
    Context(("q~",), _of_pattern(_AZURE_SECRET, "azure-secret")),
    Context((":aa",), _of_pattern(_TELEGRAM, "telegram-token")),
    Context(("bearer", "authorization"), _bearers),
    Context(("basic",), _basics),
    Context(("://",), _userinfos),
    Context(("=",), _in_addresses),
    Context(("password=", "pwd=", "password =", "pwd ="), _in_connection_strings),
    Context(
        ("passw", "pwd", "passphrase", "secret", "token", "key", "credential", "authorization"),
        _named,
    ),
)
"""An earlier one goes before a later one."""
