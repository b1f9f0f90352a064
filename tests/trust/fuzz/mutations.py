"""What strangers do to JSON and to bytes: edits that hypothesis draws and can make fewer.

Values may hold `Raw`, JSON that Python's own values cannot spell, and `Members`, an object with
its keys as written, some of them twice.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Place = tuple[int, ...]


@dataclass(frozen=True)
class Raw:
    """JSON as it stands on the wire."""

    text: str

    def __repr__(self) -> str:
        return f"Raw({self.text[:40]!r}, {len(self.text)} characters)"


@dataclass(frozen=True)
class Members:
    """An object's members in order, keys once or more."""

    pairs: tuple[tuple[str, Any], ...]


def nested(depth: int, pair: str = "[]") -> Raw:
    """A value in that many lists, or in objects under one key."""
    opening, closing = ("[", "]") if pair == "[]" else ('{"a":', "}")
    return Raw(opening * depth + "1" + closing * depth)


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 1.5, 2**31, 2**53 + 1, 2**63, -(2**64), 10**300),
    *("", "x", "\x00", " ", "0", "null", "data:", "data:image/png;base64,", "é東🎉", "x" * 5_000),
    *("data:image/png;base64," + "A" * 90, "A" * 97 + "=", "%" * 90, "2026-11-30T10:00:00Z"),
    *([], {}, [[]], [None], [{}], {"": None}, {"a": []}, ["x"], [1, "x"], {"type": []}),
    *({"type": "text"}, {"type": 1, "text": 1}, {"text": "x"}, {"text": None}, {"role": {}}),
    *({"message": 5}, {"index": "0"}, {"index": -(2**70)}, {"parts": {}}, {"content": 3}),
    *(Raw("NaN"), Raw("-Infinity"), Raw("1e400"), Raw("-0"), Raw("9" * 400), Raw("9" * 5_000)),
    *(Raw('"\\ud800"'), Raw('"\\udc00\\ud800"'), Raw('{"\\ud83d": "\\ude00"}'), Raw('"\\u0000"')),
    *(Raw("1" + "0" * 20 + ".5e-5"), Raw("tru"), Raw(""), Raw('"\n"'), Raw("'x'")),
    *(nested(90), nested(400), nested(990), nested(960, "{}"), nested(100_000)),
    nested(100_000, "{}"),
)
"""What is put in the place of a value; some of it is no JSON."""

KINDS = ("replace", "delete", "double", "rename", "swap", "wrap", "repeat", "add")


@dataclass(frozen=True)
class Edit:
    """One change to a JSON value. Numbers are taken modulo what there is."""

    kind: str
    at: int
    other: int
    value: Any

    def of(self, value: Any) -> Any:
        """The changed value."""
        places = list(_places(value))
        *holder, index = places[self.at % len(places)] or (0,)
        elsewhere = _get(value, places[self.other % len(places)])
        if not _children(value):
            return self.value
        return _put(value, holder, lambda held: self._changed(held, index, elsewhere))

    def _changed(self, holder: Any, index: int, elsewhere: Any) -> Any:
        inside = _children(holder)
        key, there = inside[index]
        new = {
            "replace": [(key, self.value)],
            "delete": [],
            "double": [(key, there), (key, self.value)][:: 1 if self.other % 2 else -1],
            "rename": [(self.value if isinstance(self.value, str) else "unknown", there)],
            "swap": [(key, elsewhere)],
            "wrap": [(key, [there] if self.other % 2 else {"a": there})],
            "repeat": [(key, there)] * 200,
            "add": [(key, there), ("unknown", self.value)],
        }[self.kind]
        inside[index : index + 1] = new
        if isinstance(holder, list):
            return [inner for _, inner in inside]
        return Members(tuple(inside))


EDITS = st.builds(
    Edit,
    st.sampled_from(KINDS),
    st.integers(0, 2_000),
    st.integers(0, 2_000),
    st.sampled_from(ODD) | st.text(max_size=20) | st.integers() | st.floats(),
)


def edited(value: Any, edits: list[Edit]) -> Any:
    """`value` after the edits, one upon the other."""
    for edit in edits:
        value = edit.of(value)
    return value


def spelled(value: Any) -> str:
    """JSON text, or what looks like it."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, Members | Mapping):
        inside = _children(value)
        return "{" + ", ".join(f"{json.dumps(key)}: {spelled(held)}" for key, held in inside) + "}"
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())


def json_bytes(value: Any) -> bytes:
    """`spelled`, as it is sent."""
    return spelled(value).encode("utf-8", "surrogatepass")


def _children(value: Any) -> list[tuple[str, Any]]:
    """What a list or an object holds, in order; the elements of a list have no name."""
    if isinstance(value, list):
        return [("", inner) for inner in value]
    if isinstance(value, Members):
        return list(value.pairs)
    return list(value.items()) if isinstance(value, Mapping) else []


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where each value inside stands: indices into the children, from the outside in."""
    yield place
    for index, (_, inner) in enumerate(_children(value)[:20]):
        yield from _places(inner, (*place, index))


def _get(value: Any, place: Place) -> Any:
    for index in place:
        value = _children(value)[index][1]
    return value


def _put(value: Any, place: list[int], change: Callable[[Any], Any]) -> Any:
    if not place:
        return change(value)
    index, *rest = place
    inside = _children(value)
    key, there = inside[index]
    inside[index] = key, _put(there, rest, change)
    return [held for _, held in inside] if isinstance(value, list) else Members(tuple(inside))


# Bytes.

HOSTILE = (
    *(b"\xff", b"\x00", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xfe\xff", b"\xc0\xaf", b"\xf4\x90"),
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\x85", b"\xe2\x80\xa8", b"data:", b"event: error\n"),
    *(b":", b"[DONE]", b"data: [DONE]\n\n", b'"', b"\\", b"{", b"}", b"[", b",", b"\x1f\x8b"),
    *(b"<html>", b"\x00\x00\x00\x10", b"id\nretry: 0\n", b"data\n\n"),
)


@dataclass(frozen=True)
class Cut:
    """One change to bytes. Places are taken modulo the length."""

    kind: str
    at: int
    size: int
    value: bytes

    def of(self, data: bytes) -> bytes:
        """The changed bytes."""
        at = self.at % (len(data) + 1)
        end = min(at + self.size, len(data))
        if self.kind == "truncate":
            return data[:at]
        if self.kind == "insert":
            return data[:at] + self.value + data[at:]
        if self.kind == "delete":
            return data[:at] + data[end:]
        if self.kind == "repeat":
            return data[:end] + data[at:end] * 3 + data[end:]
        if self.kind == "overwrite":
            return data[:at] + self.value + data[at + len(self.value) :]
        if self.kind == "crlf":
            return data.replace(b"\n", b"\r\n")
        if self.kind == "cr":
            return data.replace(b"\n", b"\r")
        if self.kind == "gzip":
            return gzip.compress(data, 1, mtime=0)
        return data.decode("utf-8", "replace").encode("utf-16" if self.at % 2 else "utf-32-be")


CUTS = st.builds(
    Cut,
    st.sampled_from(
        ("truncate", "insert", "delete", "repeat", "overwrite", "crlf", "cr", "gzip", "utf")
    ),
    st.integers(0, 10_000),
    st.integers(1, 200),
    st.sampled_from(HOSTILE) | st.binary(max_size=6),
)


def cut(data: bytes, cuts: list[Cut]) -> bytes:
    """`data` after the cuts."""
    for each in cuts:
        data = each.of(data)
    return data
