"""Every text comes back exactly: all code points, alone and among others, and pages of texts."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ctxdiff_mcp.gate.clean import INVERSE, clean, restore
from tests.trust.frames import planted, reading
from tests.trust.frames.asking import Here, Judge
from tests.trust.frames.hostile import giant, hostile
from tests.trust.frames.properties import PROPERTIES, Answer
from tests.trust.goals import GOALS, attempts

CONTEXTS = ("{}", "a{}b", "👩{}👧", "می{}خو", "⟦{}⟧", "1{}\u20e3", "<{}|im_start|>", "\n{0}{0}\n")
NONCE = "abcdefgh23"


def test_the_published_inverse_is_the_one_of_the_library() -> None:
    assert INVERSE.pattern == reading.INVERSE.pattern


@pytest.mark.timeout(600)
def test_every_code_point_comes_back_alone_and_in_context() -> None:
    tried = wrong = hidden = 0
    for code in range(0, 0x110000, attempts(997, 1)):
        for context in CONTEXTS[: attempts(8, 2)] if code % 16 else CONTEXTS:
            text = context.format(chr(code))
            shown = clean(text)
            tried += 1
            wrong += restore(shown) != text
            if code % 16 == 0 or len(shown) < 12:
                hidden += bool(faults(shown))
    GOALS.inverse.add(tried, wrong, part="code points in contexts")
    GOALS.raw.add(tried, hidden, part="code points in contexts")
    assert (wrong, hidden) == (0, 0)


def test_all_1114112_code_points_come_back_in_rows() -> None:
    wrong = hidden = 0
    for start in range(0, 0x110000, 0x1000):
        text = " ".join(map(chr, range(start, start + 0x1000)))
        shown = clean(text)
        wrong += restore(shown) != text
        hidden += bool(faults(shown))
    GOALS.inverse.add(0x110000, wrong, part="code points in rows")
    GOALS.raw.add(0x110000, hidden, part="code points in rows")
    assert (wrong, hidden) == (0, 0)


def faults(shown: str) -> list[str]:
    """What hides in a cleaned text."""
    answer = Answer(f"⟦captured {NONCE} 1/1 turn=1⟧\n{shown}\n⟦end {NONCE} 1⟧\n")
    return [why for name in ("NOINVIS", "NOCTRL", "NOSPECIAL") for why in PROPERTIES[name](answer)]


def test_bytes_that_are_not_utf8_are_shown_and_come_back(tmp_path: Path) -> None:
    chance = random.Random("bytes")
    judge = Judge()
    tried = attempts(20, 1_000)
    for number in range(tried):
        held = bytes(chance.choice(b"a \x80\xff\xc3\xed\xa0\xe2\x9f\xa6\x1b") for _ in range(40))
        file = tmp_path / f"{number}.ctrace"
        planted.write(
            file, [{"inputs": (planted.placed("x"),)}], "5e55" + "0" * 28, "shop", "openai"
        )
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE block SET text = CAST(? AS TEXT)", (held,))
        source = held.decode("utf-8", "surrogateescape")
        with Here(file) as tools:
            arguments = {"run": "latest", "turn": 1, "position": 0}
            judge.hear(tools.ask("ctxdiff_block", arguments, source=source), number)
        file.unlink()
    judge.count(tried, "texts of bytes")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pages_of_a_block_tile_the_original_exactly(tmp_path: Path) -> None:
    chance = random.Random("pages")
    judge = Judge()
    tried = attempts(12, 400)
    for number in range(tried):
        text = planted.stored(chance.choice((hostile, giant))(chance))
        file = tmp_path / f"{number}.ctrace"
        calls = [{"inputs": (planted.placed(text),), "params": {}}]
        planted.write(file, calls, "5e55" + "0" * 28, "shop", "openai")
        mark, most = chance.choice(("lines", "none")), chance.choice((1, 7, 400, 4_000, 16_000))
        at, pages = 0, []
        with Here(file) as tools:
            while at < min(len(text), 12 * most):
                arguments = {"run": "latest", "turn": 1, "position": 0, "mark": mark}
                arguments |= {"offset": at, "max_chars": most}
                answer = judge.hear(tools.ask("ctxdiff_block", arguments, source=text), number)
                place = answer.page.place
                if place is None or place[0] != at or place[1] <= at:
                    judge.broken.setdefault("pages", []).append(f"{number}: {place} at {at}")
                    break
                pages.append(answer.page.original)
                at = place[1]
        if "".join(pages) != text[:at]:
            judge.broken.setdefault("pages", []).append(f"{number}: pages do not join")
        file.unlink()
    judge.count(tried, "texts in pages")
