"""What a single text says more than once."""

# ruff: noqa: RUF001  # full stops and brackets of several scripts
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

READ = 200_000
"""Code points read of a text."""
LEAST_UNIT = 40
"""Code points of a paragraph or line from which saying it twice is telling."""
LEAST_WORDS = 5
LEAST_PASSAGE, PASSAGE_WORDS = 200, 20
"""Code points and words of lines from which they are a passage and no rows of what was pasted."""
LEAST_WHOLE = 12
"""Code points of a text that is nothing but itself twice."""
LEAST_VALUE = 30
"""Code points of a JSON value from which two equal ones are copies."""
NODES = 2_000
DOCUMENTS = 64
FEW_SEEN_IN = 10_000
"""Code points in which most texts show that they have more than three characters."""
WINDOW = 3
"""Lines that are compared together."""
LEAST_LINE = 8
WINDOWS = 512
"""Windows by which a text is known, at most."""
_FULL_STOP = re.compile(r"[。！？]")
_SENTENCE = re.compile(r"[^\W\d_]{2}[)\]\"'»”’」]{0,2}(?:[.!?…:;](?=\s|$)|[。！？؟।])")
"""The end of a sentence behind a word."""
_LABEL = re.compile(r"(?:[-*•>#]{1,6}\s+|[\[(<{【「]?[\w#.-]{1,16}[\])>}】」:.]{1,2}\s+){1,2}")
"""What numbers or names a passage at its start: `[2]`, `b)`, `doc-3:`."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A piece that stands in a text several times."""

    piece: str
    """Captured text."""
    copies: int
    """2 or more."""
    second_at: int
    """Code point at which the second copy starts."""

    @property
    def extra_chars(self) -> int:
        """Code points of all copies but the first."""
        return len(self.piece) * (self.copies - 1)


def repeated(text: str, *, paragraphs_only: bool = False) -> Repeat | None:
    """The paragraph or line that a text repeats at the greatest length; None without one.

    Short ones, and those of few words, are repeated by nature.
    """
    read = text[:READ]
    twice = doubled(read)
    if twice is not None:
        return twice
    units = [unit.strip() for unit in re.split(r"\n[ \t]*\n", read)]
    if not paragraphs_only:
        units += [line.strip() for unit in units if "\n" in unit for line in unit.split("\n")]
    counts = Counter(unit for unit in units if _is_telling(unit))
    found = [Repeat(unit, n, _second(read, unit)) for unit, n in counts.items() if n > 1]
    return max(found, key=lambda one: one.extra_chars, default=None)


def passage_twice(text: str) -> Repeat | None:
    """The longest passage of prose that a text holds again, under another number or name.

    One line or several in a row; rows of tables, logs and code are none.
    """
    read = text[:READ]
    lines = list(_lines(read))
    first: dict[str, int] = {}
    best: Repeat | None = None
    at = 0
    while at < len(lines):
        earlier = first.setdefault(lines[at].said, at)
        count = 0 if earlier == at else _in_common(lines, earlier, at)
        found = _passage(read, lines[at : at + count]) if count else None
        if found is not None and (best is None or found.extra_chars > best.extra_chars):
            best = found
        at += max(1, count)
    return best


def doubled(text: str) -> Repeat | None:
    """The text of which `text` is two copies, with nothing but space between them."""
    bare = text.strip()
    middle = len(bare) // 2
    # The space between two copies is short.
    for length in range(middle, max(LEAST_WHOLE, middle - 5) - 1, -1):
        first, rest = bare[:length], bare[len(bare) - length :]
        if first == rest and not bare[length : len(bare) - length].strip():
            start = len(text) - len(text.lstrip()) + len(bare) - length
            return None if _is_pattern(bare, length) else Repeat(first, 2, start)
    return None


def doubled_in_result(content: Any) -> Repeat | None:
    """The payload that one tool result holds twice: as text and as a value, or in two parts."""
    if isinstance(content, str):
        return doubled(content) or _same_documents(content) or _told_and_held(_value(content))
    return _told_and_held(content)


def windows(text: str) -> frozenset[int]:
    """Hashes of a text's runs of lines, by which overlapping pieces of one text are known."""
    lines = [line.strip() for line in text[:READ].split("\n")]
    telling = [line for line in lines if len(line) >= LEAST_LINE]
    found = {
        crc32("\n".join(telling[at : at + WINDOW]).encode("utf-8", "surrogatepass"))
        for at in range(len(telling) - WINDOW + 1)
    }
    return frozenset(found if len(found) <= WINDOWS else sorted(found)[:WINDOWS])


class _Line(NamedTuple):
    bare: str
    said: str
    """Without what numbers or names it."""
    start: int
    """Of `said`."""
    end: int


def _lines(text: str) -> Iterator[_Line]:
    """The lines that are not empty."""
    for found in re.finditer(r"[^\n]+", text):
        bare = found[0].strip()
        if bare:
            label = _LABEL.match(bare)
            said = bare if label is None else bare[label.end() :]
            end = found.start() + len(found[0].rstrip())
            yield _Line(bare, said, end - len(said), end)


def _in_common(lines: Sequence[_Line], earlier: int, at: int) -> int:
    """How many lines from both places on are the same, those between them at most."""
    count = 1
    while (
        earlier + count < at
        and at + count < len(lines)
        and lines[earlier + count].bare == lines[at + count].bare
    ):
        count += 1
    return count


def _passage(text: str, lines: Sequence[_Line]) -> Repeat | None:
    """The passage that these lines are, where they are prose and no trifle."""
    piece = text[lines[0].start : lines[-1].end]
    ended = sum(1 for line in lines if _SENTENCE.search(line.said))
    is_prose = len(piece.split()) >= PASSAGE_WORDS or len(_FULL_STOP.findall(piece)) > 1
    is_varied = len({line.said for line in lines}) == len(lines)
    if len(piece) < LEAST_PASSAGE or not (is_prose and is_varied) or 2 * ended < len(lines):
        return None
    return Repeat(piece, max(2, text.count(piece)), lines[0].start)


def _is_pattern(text: str, half: int) -> bool:
    """True for a text that repeats less than its half all along: a rule of dashes, equal rows."""
    if len(set(text[: min(half, FEW_SEEN_IN)])) <= 3 and len(set(text[:half])) <= 3:
        return True
    again = text.find(text[: min(half, 32)], 1)
    return 0 < again < half and text.startswith(text[again:])


def _is_telling(unit: str) -> bool:
    return len(unit) >= LEAST_UNIT and len(unit.split()) >= LEAST_WORDS


def _second(text: str, unit: str) -> int:
    return text.index(unit, text.index(unit) + len(unit))


def _same_documents(text: str) -> Repeat | None:
    """Two equal JSON documents inside one text."""
    decoder = json.JSONDecoder()
    met: dict[str, int] = {}
    at, tried = 0, 0
    while tried < DOCUMENTS:
        found = re.compile(r"[{\[]").search(text, at)
        if found is None or found.start() >= READ:
            return None
        tried += 1
        try:
            value, end = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.start() + 1
            continue
        at = end
        spelled = _canonical(value)
        if len(spelled) < LEAST_VALUE:
            continue
        if spelled in met:
            return Repeat(text[found.start() : end], 2, found.start())
        met[spelled] = found.start()
    return None


def _told_and_held(value: Any) -> Repeat | None:
    """A value that stands beside a text which spells it, or a text that stands in two parts."""
    held: set[str] = set()
    told: list[str] = []
    for node in _nodes(value):
        if isinstance(node, dict | list):
            held.add(_canonical(node))
        elif isinstance(node, str) and len(node) >= LEAST_VALUE:
            told.append(node)
    for text in told:
        inner = _value(text)
        if isinstance(inner, dict | list) and inner and _canonical(inner) in held:
            return Repeat(text, 2, 0)
    parts = Counter(_texts_of_parts(value))
    twice = next((text for text, n in parts.items() if n > 1 and len(text) >= LEAST_UNIT), None)
    return None if twice is None else Repeat(twice, parts[twice], 0)


def _texts_of_parts(value: Any) -> Iterator[str]:
    for part in value if isinstance(value, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield text


def _nodes(value: Any) -> Iterator[Any]:
    waiting, seen = [value], 0
    while waiting and seen < NODES:
        node = waiting.pop()
        seen += 1
        yield node
        if isinstance(node, dict):
            waiting += list(node.values())[:NODES]
        elif isinstance(node, list):
            waiting += node[:NODES]


def _value(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")) or len(text) > READ:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""
