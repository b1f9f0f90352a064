"""A request body: parsed in one pass, and cut where it repeats from call to call."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
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
        fields, lists, cuts = _read_object(text, list_keys, seen or SeenLists())
    except UnicodeDecodeError:
        return Body(whole, problem="the request body is not UTF-8")
    except (ValueError, IndexError):
        return Body(whole, problem="the request body is not a JSON object")
    except RecursionError:
        return Body(whole, problem="the request body is nested too deeply")
    return Body(_pieces(text, data, cuts), fields, lists)


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


def _read_object(
    text: str, list_keys: Collection[str], seen: SeenLists
) -> tuple[dict[str, Json], dict[str, tuple[Element, ...]], list[int]]:
    fields: dict[str, Json] = {}
    lists: dict[str, tuple[Element, ...]] = {}
    cuts: list[int] = []
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
    return fields, lists, cuts


def _read_list(
    text: str, start: int, cuts: list[int], seen: SeenLists
) -> tuple[tuple[Element, ...], int]:
    """The elements of the list whose bracket opened before `start`, and where it ended."""
    found: list[Element] = []
    ends: list[int] = []
    cut = start
    at = _after_blank(text, start)
    while text[at] != "]":
        if found:
            at = _expect(text, at, ",")
        value, end = _scan(text, at)
        found.append(Element(text[at:end], value))
        ends.append(end - start)
        if len(found) == 1 and (known := seen.common(found[0].raw, text, start)):
            found, ends = list(known.elements), list(known.ends)
            end = start + ends[-1]
        cut = end
        at = _after_blank(text, end)
    elements = tuple(found)
    seen.remember(ListRead(text[start:cut], elements, ends))
    # A piece begins where the one before ended, so that the separator goes with what follows it.
    cuts += [start, *(start + end for end in ends)]
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


def _pieces(text: str, data: bytes, cuts: list[int]) -> tuple[bytes, ...]:
    edges = [0, *cuts, len(text)]
    spans = list(pairwise(edges))
    if len(text) == len(data):  # ASCII: characters are bytes
        return tuple(data[start:end] for start, end in spans if end > start)
    return tuple(text[start:end].encode() for start, end in spans if end > start)
