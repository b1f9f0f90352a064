"""The vectors of hostile texts, with their placeholders filled in as an attacker would."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FILES = (
    ROOT / "tests/mcp/gate/data/fence-vectors.jsonl",
    *sorted((ROOT.parent / "shared/security").glob("fence-vectors*.jsonl")),
)
"""The second where the shared folder lies beside the checkout."""


@dataclass(frozen=True)
class Vector:
    """A hostile text, the place that it was made for, and what must hold."""

    id: str
    sink: str
    """`block.text`, `call.agent`, `arg.run`, ..."""
    properties: frozenset[str]
    text: str


def vectors(earlier: str) -> Sequence[Vector]:
    """All of them; `earlier` is the word of the frames of an earlier answer."""
    lines = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines()]
    rows = {row["id"]: row for row in map(json.loads, lines)}
    return [
        Vector(row["id"], row["sink"], frozenset(row["props"]), _filled(row, earlier))
        for row in rows.values()
    ]


def _filled(row: Mapping[str, Any], earlier: str) -> str:
    if "gen" in row:
        gen = row["gen"]
        text = str(gen["pre"] + gen["unit"] * gen["n"] + gen["post"])
    else:
        text = str(row["text"])

    def value(found: re.Match[str]) -> str:
        name, _, inside = found[1].partition(":")
        close = f"⟦end {earlier} 1⟧"
        known = {
            "CANARY": str(row.get("canary", "")),
            "WORD": "captured",
            "UPPER_CLOSE": close.upper(),
            "TITLE_CLOSE": close.title(),
            "OPEN_HEAD": "⟦captured ",
            "CLOSE_EMPTY_NONCE": "⟦end  1⟧",
            "CLOSE_ZERO_NONCE": f"⟦end {'0' * 10} 1⟧",
            "CLOSE_NONCE_PREFIX": f"⟦end {earlier[:4]}222222 1⟧",
        }
        if name == "WORD_SPLIT":
            return f"cap{chr(int(inside, 16))}tured"
        if name.startswith("WORD_"):
            return f"cap{inside}tured"
        opened = f"⟦captured {earlier} 1/1 block=9c1e44aa⟧"
        return known.get(name, opened if "OPEN" in name else close)

    return re.sub(r"\{\{([A-Z_]+(?::.*?)?)\}\}", value, text, flags=re.DOTALL)
