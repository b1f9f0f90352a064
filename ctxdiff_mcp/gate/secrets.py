"""Credentials in what is shown: as stable tags, also where a text is cut.

`[secret:aws-key#3]` stands for the third distinct AWS key; the same value always has the same tag,
so a changed key is still seen to change. What is a credential, the recorder's detector says.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from ctxdiff_capture.secrets import detect
from ctxdiff_capture.secrets.detect import Span
from ctxdiff_capture.secrets.tags import identity_of, is_tag, tag_of, tags_in

__all__ = ["SecretTags", "Span", "is_tag", "secret_spans", "tags_as_characters"]

PART_CHARS = 5
"""Of a credential: a piece of it that long, or longer, is shown as its tag too."""
SHORTEST = 3
"""A shorter value (`://me:x@`) cannot be told from the letters around it."""
OVERLAP = 65_536
"""Code points in front of a stretch and behind it that are looked through with it. A private key
is the longest credential: 20,000 code points, and three times as many where they are escaped."""
LOOKED_THROUGH = 1_000_000
"""Code points of a text that an excerpt was cut from; of a longer one, only what is around it."""
REMEMBERED = 4_096
"""Texts of which it is remembered where they have credentials, by digest: an answer says the same
names in line after line, and pages and repeated questions would look through a megabyte each."""

_places: OrderedDict[bytes, list[Span]] = OrderedDict()
_lock = threading.Lock()


def secret_spans(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The credentials in a text, ascending, without overlap: those that reach into a stretch.

    It costs as much as the stretch from `start` to `end` and what is around it, however long the
    text is: a credential of up to `OVERLAP` code points is found as in the whole text.
    """
    stop = len(text) if end is None else end
    first, last = max(0, start - OVERLAP), min(stop + OVERLAP, len(text))
    found = _spans(text[first:last])
    moved = (Span(one.start + first, one.end + first, one.kind) for one in found)
    return [one for one in moved if one.end > start and one.start < stop]


def _spans(text: str) -> list[Span]:
    """The credentials in a text. Not to be changed."""
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
    with _lock:
        if key in _places:
            _places.move_to_end(key)
            return _places[key]
    found = detect.secret_spans(text)
    with _lock:
        _places[key] = found
        if len(_places) > REMEMBERED:
            _places.popitem(last=False)
    return found


def tags_as_characters(*texts: str) -> tuple[list[str], dict[int, str]]:
    """The texts with each tag as one character, and the tags, as a table for `str.translate`.

    A comparison then tells that one credential took another's place, and cuts through no tag.
    """
    tags = dict.fromkeys(tag_of(*tag) for text in texts for tag in tags_in(text))
    used = set("".join(texts)) if tags else set()
    free = (code for code in range(0xF0000, 0x10FFFE) if chr(code) not in used)
    table = dict(zip(free, tags, strict=False))
    short = list(texts)
    for code, tag in table.items():
        short = [text.replace(tag, chr(code)) for text in short]
    return short, table


class SecretTags:
    """Numbers distinct credentials by first appearance, for as long as the server lives."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[bytes, int]] = {}
        self._last: dict[str, int] = {}
        self._given: list[tuple[str, bytes, int]] = []
        self._lock = threading.Lock()

    def tag(self, kind: str, value: str) -> str:
        """The tag of a credential; the value itself is not kept."""
        digest = hashlib.sha256(identity_of(kind, value)).digest()
        with self._lock:
            of_kind = self._numbers.setdefault(kind, {})
            if digest not in of_kind:
                self._last[kind] = of_kind[digest] = self._last.get(kind, 0) + 1
                self._given.append((kind, digest, of_kind[digest]))
            return tag_of(kind, of_kind[digest])

    def given(self, after: int = 0) -> tuple[list[tuple[str, bytes, int]], dict[str, int]]:
        """(kind, digest, number) of all tags given, oldest first, and the last number per kind.

        Args:
            after: leave out the first so many.
        """
        with self._lock:
            return self._given[after:], dict(self._last)

    def remember(self, given: Iterable[tuple[str, bytes, int]], last: Mapping[str, int]) -> None:
        """Go on where others stopped: what their `given` told. Before the first tag."""
        with self._lock:
            self._given = list(given)
            self._last = dict(last)
            self._numbers = {}
            for kind, digest, number in self._given:
                self._numbers.setdefault(kind, {})[digest] = number

    def masked(self, text: str) -> str:
        """The text with every credential as its tag."""
        # A recorder may have put tags of its own there: their numbers are not given again.
        for kind, number in tags_in(text):
            with self._lock:
                self._last[kind] = max(self._last.get(kind, 0), number)
        parts, done = [], 0
        for span in secret_spans(text):
            tag = self.tag(span.kind, text[span.start : span.end])
            parts += [text[done : span.start], tag]
            done = span.end
        return "".join([*parts, text[done:]]) if parts else text

    def masked_by(self, text: str, origins: Sequence[str]) -> str:
        """The text with every credential of `origins` as its tag, even where it is cut short.

        `text` is an excerpt of `origins`, however it was cut and joined.
        """
        found = []
        short = [origin for origin in origins if len(origin) <= LOOKED_THROUGH]
        for origin in origins:
            is_long = len(origin) > LOOKED_THROUGH
            for span in _around(text, origin, short) if is_long else secret_spans(origin):
                value = origin[span.start : span.end]
                found += [(at, end, self.tag(span.kind, value)) for at, end in _pieces(text, value)]
        parts, done = [], 0
        for at, end, tag in sorted(found):
            if at >= done:
                parts += [text[done:at], tag]
            done = max(done, end)
        return "".join([*parts, text[done:]])


def _around(text: str, origin: str, others: Sequence[str]) -> list[Span]:
    """The credentials of a long origin about the places where pieces of the text stand in it.

    What stands in one of the others as it is, is taken for a piece of that one.
    """
    found: dict[int, Span] = {}
    waiting = [piece for piece in text.split("…") if piece.strip()]
    while waiting:
        piece = waiting.pop()
        if any(piece in other for other in others):
            continue
        at = origin.find(piece)
        if at >= 0:
            for start in {at, origin.rfind(piece)}:
                spans = secret_spans(origin, start, start + len(piece))
                found |= {span.start: span for span in spans}
        elif len(piece) >= 2 * PART_CHARS:
            middle = len(piece) // 2
            waiting += [piece[:middle], piece[middle:]]
    return [found[start] for start in sorted(found)]


def _pieces(text: str, value: str) -> list[tuple[int, int]]:
    """Stretches of the text that are made of pieces of the value, ascending."""
    size = min(PART_CHARS, len(value))
    pieces = {value[at : at + size] for at in range(len(value) - size + 1)}
    found: list[tuple[int, int]] = []
    for at in range(len(text) - size + 1):
        if size < SHORTEST or text[at : at + size] not in pieces:
            continue
        if found and at <= found[-1][1]:
            found[-1] = (found[-1][0], at + size)
        else:
            found.append((at, at + size))
    return found
