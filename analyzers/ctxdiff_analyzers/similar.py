"""Which of the blocks that are left over are edited forms of each other.

Bounded: a text is read up to `READ`, known by at most `FEATURES` numbers, and weighed against at
most `CANDIDATES` others.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from zlib import crc32

from ctxdiff_analyzers.hunks import common_prefix, common_suffix

FLOOR = 0.4
"""Below this two texts are not forms of one another: one is gone, the other is new."""
SETTLED = 0.8
"""Common ends from which two texts are forms of one another without counting words."""
READ = 4_000
"""Code points read at each end of a text."""
FEATURES = 128
CANDIDATES = 8
ALL_PAIRS_UP_TO = 256
"""Pairs that are weighed without choosing candidates first."""
MOST_BLOCKS = 128
"""Blocks on each side that are paired at all."""
WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|\w{1,32}|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may be a form of another."""

    text: str
    id: str | None
    """Of a tool call or result its id, of a schema its tool. Texts with different ids are never
    forms of one another, however alike they look."""
    words: Callable[[], frozenset[int]]
    """`sketch(text)`, asked for only where the ends of the texts do not settle it."""


def sketch(text: str) -> frozenset[int]:
    """The smallest hashes of the text's words and of neighbouring words, at most `FEATURES`."""
    read = text if len(text) <= 2 * READ else text[:READ] + text[-READ:]
    words = [crc32(word.encode("utf-8", "surrogatepass")) for word in WORD.findall(read)]
    pairs = {(a * 31 + b * 17) & 0xFFFFFFFF for a, b in pairwise(words)}
    seen = pairs.union(words)
    return frozenset(seen if len(seen) <= FEATURES else nsmallest(FEATURES, seen))


def similarity(old: Candidate, new: Candidate) -> float:
    """0.0 to 1.0: the share that is common, by ends or by words, whichever is more."""
    if old.id != new.id:
        return 0.0
    longer = max(len(old.text), len(new.text))
    if not longer:
        return 1.0
    shorter = min(len(old.text), len(new.text))
    head = common_prefix(old.text, new.text)
    ends = head + common_suffix(old.text, new.text, shorter - head)
    # A text that was cut off, or went on, is a form of the other however much is gone.
    cut = ends / shorter if ends >= max(SETTLED * shorter, 200) else 0.0
    best = max(ends / longer, cut)
    return best if best >= SETTLED else max(best, _common_words(old.words(), new.words()))


def may_be_form(old: Candidate, new: Candidate) -> bool:
    """True for texts of which half of the shorter one is common at the ends.

    That is enough where nothing else stands in their place on either side.
    """
    shorter = min(len(old.text), len(new.text))
    if old.id != new.id or not shorter:
        return False
    head = common_prefix(old.text, new.text)
    return 2 * (head + common_suffix(old.text, new.text, shorter - head)) >= shorter


def pairs(old: Sequence[Candidate], new: Sequence[Candidate]) -> list[tuple[int, int]]:
    """The most similar pairs (old index, new index) at or above `FLOOR`, each index once.

    Among equally similar ones those nearest to each other's place win.
    """
    weighed = [
        (-round(score, 6), abs(i - j), j, i)
        for i, j in _candidates(old, new)
        if (score := similarity(old[i], new[j])) >= FLOOR
    ]
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    chosen = []
    for _, _, j, i in sorted(weighed):
        if i not in taken_old and j not in taken_new:
            taken_old.add(i)
            taken_new.add(j)
            chosen.append((i, j))
    return chosen


def _common_words(old: frozenset[int], new: frozenset[int]) -> float:
    if len(old) < FEATURES and len(new) < FEATURES:
        return 2 * len(old & new) / (len(old) + len(new)) if old or new else 0.0
    # Of the smallest hashes of both together, the share that both have estimates the overlap.
    smallest = nsmallest(FEATURES, old | new)
    jaccard = sum(f in old and f in new for f in smallest) / len(smallest)
    return 2 * jaccard / (1 + jaccard)


def _candidates(old: Sequence[Candidate], new: Sequence[Candidate]) -> Iterator[tuple[int, int]]:
    if len(old) * len(new) <= ALL_PAIRS_UP_TO:
        yield from ((i, j) for i in range(len(old)) for j in range(len(new)))
        return
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for i, one in enumerate(old):
        for feature in nsmallest(FEATURES // 4, one.words()):
            holders[feature].append(i)
    for j, one in enumerate(new):
        votes: Counter[int] = Counter()
        for feature in nsmallest(FEATURES // 4, one.words()):
            # A feature that many have says little and costs much.
            if len(holders.get(feature, ())) <= 4 * CANDIDATES:
                votes.update(holders.get(feature, ()))
        likely = {i for i, _ in votes.most_common(CANDIDATES)}
        if j < len(old):
            likely.add(j)
        yield from ((i, j) for i in sorted(likely))
