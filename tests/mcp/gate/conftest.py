from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent / "data" / "fence-vectors.jsonl"
CLOSE, OPEN = "⟦end 2222222222 1⟧", "⟦captured 2222222222 1/1 block=9c1e44aa⟧"


def filled(vector: dict[str, Any]) -> str:
    """The vector's text with its placeholders put in, as an attacker would who knows the frame."""
    if "gen" in vector:
        gen = vector["gen"]
        text = gen["pre"] + gen["unit"] * gen["n"] + gen["post"]
    else:
        text = vector["text"]
    text = text.replace("{{CANARY}}", vector.get("canary", "")).replace("{{CLOSE}}", CLOSE)
    text = text.replace("{{OPEN}}", OPEN).replace("{{WORD}}", "captured")
    text = text.replace("{{UPPER_CLOSE}}", CLOSE.upper()).replace("{{TITLE_CLOSE}}", CLOSE.title())
    text = re.sub(
        r"\{\{WORD_SPLIT:([0-9A-F]+)\}\}", lambda m: f"cap{chr(int(m[1], 16))}tured", text
    )
    text = re.sub(r"\{\{WORD_(?:SPLIT_RAW|MID):(.*?)\}\}", r"cap\1tured", text, flags=re.DOTALL)
    return re.sub(
        r"\{\{(?:PREV_)?(OPEN|CLOSE)\w*\}\}", lambda m: {"OPEN": OPEN}.get(m[1], CLOSE), text
    )


def vectors(sink: str | None = None) -> list[Any]:
    rows = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    wanted = [row for row in rows if sink is None or row["sink"] == sink]
    return [pytest.param(filled(row), set(row["props"]), id=row["id"]) for row in wanted]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "hostile" in metafunc.fixturenames:
        captured = [p for p in vectors() if not p.id.startswith("F28")]
        metafunc.parametrize(("hostile", "properties"), captured)


@dataclass(frozen=True)
class Frame:
    nonce: str
    number: int
    total: int
    attributes: str
    content: str


@dataclass(frozen=True)
class Result:
    """A result as a careful reader takes it apart."""

    own: str
    frames: tuple[Frame, ...]


@pytest.fixture
def parsed() -> Callable[[str], Result]:
    """Takes a result apart and fails on any boundary that is forged, unbalanced or out of order."""

    def parse(text: str) -> Result:
        opening = re.compile(
            r"^⟦captured ([2-9a-hjkmnp-tv-z]{10}) (\d+)/(\d+)((?: [a-z_]+=[A-Za-z0-9_./-]+)*)⟧$"
        )
        own: list[str] = []
        frames: list[Frame] = []
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            found = opening.match(lines[at])
            if not found:
                assert "⟦" not in lines[at], "the server's own lines hold no boundary"
                own.append(lines[at])
                at += 1
                continue
            nonce, number, total, attributes = found.groups()
            end = lines.index(f"⟦end {nonce} {number}⟧", at)
            frames.append(
                Frame(nonce, int(number), int(total), attributes, "\n".join(lines[at + 1 : end]))
            )
            at = end + 1
        assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
        assert all(frame.total == len(frames) for frame in frames)
        assert len({frame.nonce for frame in frames}) <= 1
        assert text.count("⟦captured ") == text.count("⟦end ") == len(frames)
        return Result("\n".join(own), tuple(frames))

    return parse


@pytest.fixture
def hides() -> Callable[[str], set[str]]:
    """Characters of a text that control, direct or show nothing, by Unicode's own properties."""
    categories = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}

    def found(text: str) -> set[str]:
        return {
            char
            for char in set(text) - {"\t", "\n"}
            if unicodedata.category(char) in categories
            or char in "\u034f\u115f\u1160\u2800\u3164\uffa0"
            or "\ufe00" <= char <= "\ufe0f"
            or "\U000e0100" <= char <= "\U000e01ef"
        }

    return found
