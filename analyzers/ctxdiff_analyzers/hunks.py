"""What changed inside a block's text: a difference under a budget, and the short form to show.

Common ends are trimmed first; what is left is compared by lines, differing lines by words,
differing words by characters. Each step gives up when the budget is spent, and what it was
given then counts as replaced in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_analyzers.myers import Steps, equal_runs

Op: TypeAlias = Literal["equal", "delete", "insert"]
Granularity: TypeAlias = Literal["characters", "words", "lines", "coarse"]

LEVELS: tuple[Granularity, ...] = ("characters", "words", "lines", "coarse")
WORD = re.compile(r"\w+|\s+|[^\w\s]")
WORDS_UP_TO = 100_000
"""Code points on one side up to which text is cut into words."""
CHARACTERS_UP_TO = 400
"""Code points on one side up to which text is compared character by character."""
PIECE = 400
"""Code points: pieces longer than this on average are not worth comparing whole."""
PIECES_UP_TO = 20_000
"""Pieces that a text is cut into, at most."""
COMMON = (0.5, 0.2, 0.0)
"""Share of the longer text that characters, words, lines must have in common to count."""
CUTS = "\n.,;:}]>) zqjxkvwybpgfmcdulhrsintoae"
"""Where a text may be cut, best first. The rare letters serve texts without punctuation."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work a difference may take, and how much of it is shown."""

    steps: int = 40_000
    """Steps of the matcher over the whole text."""
    context_chars: int = 40
    """Equal text shown on each side of a change, in code points."""
    max_chars: int = 2_000
    """Code points shown in all segments together, at most."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of one operation; offsets are code points. Spans tile both texts in order."""

    op: Op
    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The whole difference of two texts."""

    spans: tuple[Span, ...]
    """equal and delete spans tile the old text, equal and insert spans the new one."""
    equal_chars: int
    deleted_chars: int
    inserted_chars: int
    first_diff_char: int | None
    """Offset of the first difference; None when the texts are equal."""
    granularity: Granularity
    """The coarsest unit that was left as replaced: `characters` is the finest."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a hunk as shown. Captured text."""

    op: Op
    text: str
    omitted_before: int = 0
    """Code points of the same run left out in front of `text`."""
    omitted_after: int = 0
    """Code points of the same run left out behind `text`."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """The short form of a difference: changes with bounded context around them."""

    segments: tuple[Segment, ...]
    equal_chars: int
    deleted_chars: int
    inserted_chars: int
    first_diff_char: int | None
    granularity: Granularity
    truncated: bool
    """True when later changes are not shown at all."""


def text_diff(old: str, new: str, budget: Budget | None = None) -> TextDiff:
    """How `old` became `new`, as fine as the budget allows."""
    work = _Work(Steps((budget or Budget()).steps))
    spans: list[Span] = []
    at_old = at_new = 0
    for i, j, length in [*work.runs(old, new), (len(old), len(new), 0)]:
        if at_old < i:
            spans.append(Span("delete", at_old, i, at_new, at_new))
        if at_new < j:
            spans.append(Span("insert", i, i, at_new, j))
        if length:
            spans.append(Span("equal", i, i + length, j, j + length))
        at_old, at_new = i + length, j + length
    return _measured(tuple(spans), LEVELS[work.coarsest])


def hunk(old: str, new: str, budget: Budget | None = None) -> Hunk:
    """How `old` became `new`, shortened to `budget.max_chars` with context around each change."""
    budget = budget or Budget()
    whole = text_diff(old, new, budget)
    segments: list[Segment] = []
    room = budget.max_chars
    truncated = False
    for number, span in enumerate(whole.spans):
        ends = (number > 0, number + 1 < len(whole.spans))
        for piece in _shown(span, old, new, budget, ends):
            if len(piece.text) > room:
                truncated = True
                break
            segments.append(piece)
            room -= len(piece.text)
        if truncated:
            break
    return Hunk(
        tuple(segments),
        whole.equal_chars,
        whole.deleted_chars,
        whole.inserted_chars,
        whole.first_diff_char,
        whole.granularity,
        truncated,
    )


def common_prefix(old: str, new: str) -> int:
    """Code points that both texts start with, found by halving."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(old: str, new: str, at_most: int) -> int:
    """Code points that both texts end with, up to `at_most`."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class _Work:
    """One difference being worked out: what is left of the budget, and the coarsest result."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.coarsest = 0

    def runs(self, old: str, new: str, level: int = 2, at: tuple[int, int] = (0, 0)) -> _Runs:
        """Equal runs (old offset, new offset, length) in order, adjacent ones merged."""
        head = common_prefix(old, new)
        tail = common_suffix(old, new, min(len(old), len(new)) - head)
        inner = self._between(
            old[head : len(old) - tail],
            new[head : len(new) - tail],
            level,
            (at[0] + head, at[1] + head),
        )
        end = (at[0] + len(old) - tail, at[1] + len(new) - tail, tail)
        return _merged([(*at, head), *inner, end])

    def _between(self, old: str, new: str, level: int, at: tuple[int, int]) -> _Runs:
        if not old or not new:
            return []
        short, long = sorted((old, new), key=len)
        if (found := long.find(short)) >= 0:
            shift = (0, found) if short is old else (found, 0)
            return [(at[0] + shift[0], at[1] + shift[1], len(short))]
        unit = level + 1  # the unit in which the two are known to differ
        for finer in range(level, -1, -1):
            units_old, units_new = _units(old, new, finer)
            if not units_old:
                continue
            matched = equal_runs(units_old, units_new, self.steps)
            if matched is None:
                break
            if finer == 1:
                matched = [run for run in matched if _says_something(units_old, run)]
            if matched:
                return self._refined((old, new), (units_old, units_new), matched, finer, at)
            unit = finer
        self.coarsest = max(self.coarsest, unit)
        return []

    def _refined(
        self,
        texts: tuple[str, str],
        units: tuple[Sequence[str], Sequence[str]],
        matched: list[tuple[int, int, int]],
        level: int,
        at: tuple[int, int],
    ) -> _Runs:
        old, new = texts
        offsets_old, offsets_new = _offsets(units[0]), _offsets(units[1])
        equal = [
            (offsets_old[i], offsets_new[j], offsets_old[i + n] - offsets_old[i])
            for i, j, n in matched
        ]
        # Letters or words that happen to agree are no common text.
        if sum(length for *_, length in equal) < COMMON[level] * max(len(old), len(new)):
            self.coarsest = max(self.coarsest, level + 1)
            return []
        if level == 0:
            return [(at[0] + i, at[1] + j, length) for i, j, length in equal]
        runs: _Runs = []
        last_old = last_new = 0
        for i, j, length in [*equal, (len(old), len(new), 0)]:
            here = (at[0] + last_old, at[1] + last_new)
            gap_old, gap_new = old[last_old:i], new[last_new:j]
            if gap_old and gap_new:
                runs += self.runs(gap_old, gap_new, level - 1, here)
            runs.append((at[0] + i, at[1] + j, length))
            last_old, last_new = i + length, j + length
        return runs


_Runs: TypeAlias = list[tuple[int, int, int]]


def _units(old: str, new: str, level: int) -> tuple[Sequence[str], Sequence[str]]:
    """Both texts cut into the units of a level; nothing when that is not worth it."""
    longest = max(len(old), len(new))
    if level == 0:
        return (old, new) if longest <= CHARACTERS_UP_TO else ("", "")
    if level == 1:
        return (WORD.findall(old), WORD.findall(new)) if longest <= WORDS_UP_TO else ("", "")
    if longest > PIECE * (PIECES_UP_TO + 1):
        return "", ""
    for end in CUTS:
        counts = old.count(end), new.count(end)
        if max(counts) <= PIECES_UP_TO and longest <= PIECE * (min(counts) + 1):
            return _cut(old, end), _cut(new, end)
    return "", ""


def _cut(text: str, end: str) -> list[str]:
    pieces = [piece + end for piece in text.split(end)]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]


def _says_something(units: Sequence[str], run: tuple[int, int, int]) -> bool:
    return any(not unit.isspace() for unit in units[run[0] : run[0] + run[2]])


def _offsets(units: Sequence[str]) -> list[int]:
    offsets = [0]
    for unit in units:
        offsets.append(offsets[-1] + len(unit))
    return offsets


def _merged(runs: _Runs) -> _Runs:
    kept: _Runs = []
    for i, j, length in runs:
        if not length:
            continue
        if kept and kept[-1][0] + kept[-1][2] == i and kept[-1][1] + kept[-1][2] == j:
            kept[-1] = (*kept[-1][:2], kept[-1][2] + length)
        else:
            kept.append((i, j, length))
    return kept


def _measured(spans: tuple[Span, ...], granularity: Granularity) -> TextDiff:
    sizes = {"equal": 0, "delete": 0, "insert": 0}
    first: int | None = None
    for span in spans:
        sizes[span.op] += max(span.old_end - span.old_start, span.new_end - span.new_start)
        if span.op != "equal" and first is None:
            first = span.old_start
    return TextDiff(spans, sizes["equal"], sizes["delete"], sizes["insert"], first, granularity)


def _shown(
    span: Span, old: str, new: str, budget: Budget, ends: tuple[bool, bool]
) -> Iterator[Segment]:
    """What is shown of a span; `ends` says on which sides of it something stands."""
    if span.op != "equal":
        text = old[span.old_start : span.old_end] or new[span.new_start : span.new_end]
        shown = text[: budget.max_chars // 4]
        yield Segment(span.op, shown, omitted_after=len(text) - len(shown))
        return
    text = old[span.old_start : span.old_end]
    context = budget.context_chars
    before, after = ends
    if len(text) <= context * (before + after):
        yield Segment("equal", text)
        return
    left_out = len(text) - context * (before + after)
    if before:
        yield Segment("equal", text[:context], omitted_after=0 if after else left_out)
    if after:
        yield Segment("equal", text[-context:] if context else "", omitted_before=left_out)
    if not (before or after):
        yield Segment("equal", text[:context], omitted_after=len(text) - len(text[:context]))
