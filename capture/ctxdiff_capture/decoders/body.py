"""A request body: parsed in one pass, and cut where it repeats from call to call."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from json import JSONDecoder

from ctxdiff_capture.decoders.seen import Element, ListRead, SeenLists
from ctxdiff_capture.model import Json

_BLANK = re.compile(r"[ \t\n\r]*")
_scan = JSONDecoder(strict=False).raw_decode


@dataclass(frozen=True, slots=True)
class Body:
    """What a request body holds."""

    pieces: tuple[bytes, ...]
    """Joined they are the body. A separator goes with the element after it."""
    fields: Mapping[str, Json] = field(default_factory=dict)
    """The members of the object, without those that became `lists`."""
    lists: Mapping[str, tuple[Element, ...]] = field(default_factory=dict)
    digest: str | None = None
    """SHA-256 in hex; None where it was not worked out."""
    problem: str | None = None
    """Why the body could not be read; then there is one piece and nothing else."""


def read_body(data: bytes, list_keys: Collection[str], seen: SeenLists | None = None) -> Body:
    """The body, with the lists under `list_keys` taken element by element.

    `seen` remembers lists from body to body; the result is the same without it.

    Never raises: what is no JSON object is one piece with its `problem`.
    """
    whole = (data,) if data else ()
    try:
        text = data.decode("utf-8")
        cuts = _Cuts(text, data)
        seen = seen or SeenLists()
        fields, lists = _read_object(text, list_keys, cuts, seen)
    except UnicodeDecodeError:
        return Body(whole, problem="the request body is not UTF-8")
    except (ValueError, IndexError):
        return Body(whole, problem="the request body is not a JSON object")
    except RecursionError:
        return Body(whole, problem="the request body is nested too deeply")
    pieces = cuts.pieces()
    return Body(pieces, fields, lists, seen.digests.of(pieces, len(data)))


def members(text: str) -> dict[str, Element]:
    """The members of the JSON object `text`, each with its JSON as written.

    Raises:
        ValueError: `text` is no JSON object.
        RecursionError: it is nested too deeply.
    """
    found: dict[str, Element] = {}
    at = _expect(text, 0, "{")
    try:
        while text[at] != "}":
            if found:
                at = _expect(text, at, ",")
            key, at = _read_key(text, at)
            start = _expect(text, at, ":")
            value, end = _scan(text, start)
            found[key] = Element(text[start:end], value)
            at = _after_blank(text, end)
    except IndexError:
        raise ValueError("the object has no end") from None
    if _after_blank(text, at + 1) != len(text):
        raise ValueError("text after the object")
    return found


class _Cuts:
    """The pieces of a body so far, and where the last one ends."""

    def __init__(self, text: str, data: bytes) -> None:
        self._text = text
        self._data = data
        self._is_ascii = len(text) == len(data)  # then characters are bytes
        self._at = 0
        self._pieces: list[bytes] = []

    def cut(self, at: int) -> None:
        """A piece ends at `at`."""
        if at > self._at:
            self._pieces.append(self.between(self._at, at))
            self._at = at

    def add(self, pieces: Sequence[bytes], at: int) -> None:
        """These pieces come next, and end at `at`."""
        self._pieces += pieces
        self._at = at

    def between(self, start: int, end: int) -> bytes:
        """A part of the body."""
        return self._data[start:end] if self._is_ascii else self._text[start:end].encode()

    def pieces(self) -> tuple[bytes, ...]:
        """All pieces of the body."""
        self.cut(len(self._text))
        return tuple(self._pieces)


def _read_object(
    text: str, list_keys: Collection[str], cuts: _Cuts, seen: SeenLists
) -> tuple[dict[str, Json], dict[str, tuple[Element, ...]]]:
    fields: dict[str, Json] = {}
    lists: dict[str, tuple[Element, ...]] = {}
    at = _expect(text, 1 if text.startswith("\ufeff") else 0, "{")
    while text[at] != "}":
        if fields or lists:
            at = _expect(text, at, ",")
        key, at = _read_key(text, at)
        at = _expect(text, at, ":")
        # The last of equal keys counts, as everywhere in JSON.
        fields.pop(key, None)
        lists.pop(key, None)
        if key in list_keys and text[at] == "[":
            lists[key], at = _read_list(text, at + 1, cuts, seen)
        else:
            fields[key], at = _scan(text, at)
        at = _after_blank(text, at)
    if _after_blank(text, at + 1) != len(text):
        raise ValueError("text after the object")
    return fields, lists


def _read_list(
    text: str, start: int, cuts: _Cuts, seen: SeenLists
) -> tuple[tuple[Element, ...], int]:
    """The elements of the list whose bracket opened before `start`, and where it ended."""
    found: list[Element] = []
    ends: list[int] = []
    pieces: list[bytes] = []
    known = 0
    cut = start
    at = _after_blank(text, start)
    while text[at] != "]":
        if found:
            at = _expect(text, at, ",")
        value, end = _scan(text, at)
        found.append(Element(text[at:end], value))
        ends.append(end - start)
        # A piece begins where the one before ended: the separator goes with what follows it.
        pieces.append(cuts.between(cut, end))
        if len(found) == 2 and (alike := seen.common((found[0].raw, found[1].raw), text, start)):
            known = len(alike.elements)
            found, ends, pieces = list(alike.elements), list(alike.ends), list(alike.pieces)
            end = start + ends[-1]
        cut = end
        at = _after_blank(text, end)
    elements = tuple(found)
    seen.remember(ListRead(text[start:cut], elements, ends, tuple(pieces)), known)
    cuts.cut(start)
    cuts.add(pieces, cut)
    return elements, at + 1


def _read_key(text: str, at: int) -> tuple[str, int]:
    if text[at] != '"':
        raise ValueError(f"no key at {at}")
    key, at = _scan(text, at)
    return str(key), at


def _expect(text: str, at: int, mark: str) -> int:
    """Where the next thing after `mark` begins."""
    at = _after_blank(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"no {mark!r} at {at}")
    return _after_blank(text, at + 1)


def _after_blank(text: str, at: int) -> int:
    if text[at : at + 1] > " ":
        return at
    match = _BLANK.match(text, at)
    return match.end() if match else at
