"""Credentials of every shape, drawn at random, and the places of a recording where they stand."""

from __future__ import annotations

import json
import random
import string
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from ctxdiff_capture.secrets.shapes import Shape, shapes

ALNUM = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Credential:
    """A credential as it stands in a text."""

    text: str
    """With what it is known by: `Authorization: Bearer …`."""
    secret: str
    """What must not be shown, not even six characters of it."""


def drawn(chance: random.Random, alphabet: str, size: int) -> str:
    return "".join(chance.choices(alphabet, k=size))


def mixed(chance: random.Random, size: int) -> str:
    """Letters and digits in turn, so that it looks random to anybody."""
    return "".join(
        chance.choice((string.ascii_letters, string.digits)[at % 2]) for at in range(size)
    )


def _with_prefix(shape: Shape) -> Callable[[random.Random], Credential]:
    def draw(chance: random.Random) -> Credential:
        for size in range(10, 140):
            for alphabet in ("0123456789abcdef", string.ascii_uppercase + string.digits):
                body = drawn(chance, alphabet, size)
                if shape.pattern.fullmatch(shape.prefix + body) and not shape.is_random:
                    return Credential(shape.prefix + body, body)
            body = mixed(chance, size)
            if shape.pattern.fullmatch(shape.prefix + body):
                return Credential(shape.prefix + body, body)
        raise ValueError(shape.prefix)

    return draw


def _around(template: str, size: int, alphabet: str = "") -> Callable[[random.Random], Credential]:
    def draw(chance: random.Random) -> Credential:
        body = drawn(chance, alphabet, size) if alphabet else mixed(chance, size)
        return Credential(template.format(body), body)

    return draw


def _private_key(chance: random.Random) -> Credential:
    kind = chance.choice(["RSA ", "", "OPENSSH ", "EC ", "ENCRYPTED "])
    lines = [drawn(chance, ALNUM + "+/", 64) for _ in range(chance.randint(2, 12))]
    body = "\n".join(lines)
    whole = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"
    return Credential(whole, "".join(lines))


def _basic(chance: random.Random) -> Credential:
    body = b64encode(f"user:{mixed(chance, 15)}".encode()).decode()
    return Credential(f"Authorization: Basic {body}", body)


def _jwt(chance: random.Random) -> Credential:
    parts = [f"eyJ{drawn(chance, ALNUM, 20)}", f"eyJ{drawn(chance, ALNUM, 60)}"]
    whole = ".".join([*parts, drawn(chance, ALNUM + "-_", 43)])
    return Credential(whole, whole)


DRAWERS: dict[str, Callable[[random.Random], Credential]] = {
    **{f"prefix {shape.prefix}": _with_prefix(shape) for shape in shapes()},
    "private key": _private_key,
    "jwt": _jwt,
    "basic": _basic,
    "bearer": _around("Authorization: Bearer {}", 40),
    "connection": _around("postgresql://admin:{}@db.internal:5432/app", 16),
    "connection string": _around("Server=db;User Id=sa;Password={};Encrypt=true", 14),
    "mongodb": _around("mongodb+srv://app:{}@cluster0.x.mongodb.net/?w=1", 18),
    "redis": _around("redis://:{}@cache:6379/0", 20),
    "aws secret": _around("aws_secret_access_key = {}", 40),
    "azure account": _around("AccountKey={}==;EndpointSuffix=core.windows.net", 86),
    "azure signature": _around("?sv=2024-01-01&sig={}%3D&se=2026", 43),
    "azure client secret": _around("aB38Q~{}", 34),
    "azure devops": _around("{}AZDO1a2B", 76),
    "azure service": _around("{}JQQJ99BCACYeBjFXJ3w3AAABACOGq1x2", 52),
    "telegram": _around("123456789:AA{}", 33),
    "named": _around('"apiKey": "{}"', 32),
    "environment": _around("export SERVICE_TOKEN_SECRET={}", 32),
    "password": _around("DB_PASSWORD={}!aA1", 12),
    "query": _around("https://h/x?access_token={}", 40),
}

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: f"use {text} now",
    "json": lambda text: json.dumps({"note": f"use {text}", "n": 1}),
    "json in json": lambda text: json.dumps({"a": json.dumps({"b": f"x {text}\n"})}),
    "address": lambda text: f"https://h/?q={quote(f'use {text} now', safe='')}",
    "header dump": lambda text: f"{{'h': '{text}'}}",
    "markdown": lambda text: f"```\n{text}\n```",
    "after escape": lambda text: f"line\\n{text}\\tend",
    "other script": lambda text: f"密钥 {text}，不要",
}
