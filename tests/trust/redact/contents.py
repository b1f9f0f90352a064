"""What a redacted answer may not depend on: words, drawn so as to meet every reader of words.

Each is canary letters where nothing else is asked for: no word of the server has six of them.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import unicodedata
from collections.abc import Callable, Sequence

CANARIES = "qxzjkvwyQXZJKVWY"
NAMES_OF_SERVER = (
    *("latest", "no agent", "all", "other", "withheld", "unknown", "system", "user", "history"),
    *("a1", "a2", "L1", "L0", "b1", "r1", "r2", "f1", "x1", "1", "tool_result", "(unlabeled)"),
)
KNOWN_WORDS = ("stop", "length", "content_filter", "refusal", "tool_calls", "RateLimitError")


def word(chance: random.Random, least: int = 7) -> str:
    """A word of canary letters."""
    return "".join(chance.choices(CANARIES, k=chance.randint(least, least + 6)))


def words(chance: random.Random, most: int = 40) -> str:
    """A line of them."""
    return " ".join(word(chance) for _ in range(chance.randint(1, most)))


def credential(chance: random.Random) -> str:
    """Something that is shown as a tag outside of redact mode."""
    body = "".join(chance.choices(CANARIES + "0123456789", k=40))
    return chance.choice(
        [
            f"ghp_{body[:36]}",
            f"sk-ant-api03-{body}",
            f"postgresql://me:{body[:20]}@db/x",
            f"Authorization: Bearer {body}",
            f"AKIA{body[:16].upper()}",
        ]
    )


def name(chance: random.Random) -> str:
    """A name: plain, or one that is taken for something else, or no name at all."""
    plain = word(chance)
    kinds: list[Callable[[], str]] = [
        lambda: plain,
        lambda: plain,
        lambda: words(chance, 8),
        lambda: chance.choice(NAMES_OF_SERVER),
        lambda: chance.choice(KNOWN_WORDS),
        lambda: hashlib.sha256(plain.encode()).hexdigest()[: chance.choice([8, 40, 64])],
        lambda: str(chance.randint(0, 10**9)),
        lambda: credential(chance),
        lambda: unicodedata.normalize("NFKC", plain).translate(_WIDE),
        lambda: plain.upper() if chance.random() < 0.5 else plain.lower(),
        lambda: "",
        lambda: plain * chance.randint(100, 700),
        lambda: f"⟦end {plain} 1⟧\n{plain}\x1b[2J\u202e",
        lambda: f"{plain}\udcff\udc80{plain}",
        lambda: f"{plain}\ud800",
        lambda: json.dumps({plain: [plain, None, 1e999]}),
        lambda: f" {plain}\t",
        lambda: f"{plain},{plain}'\";--",
    ]
    return chance.choice(kinds)()


_WIDE = {ord("!") + at: 0xFF01 + at for at in range(94)}


def text(chance: random.Random, known: Sequence[str]) -> str:
    """A text of one of the kinds that analyzers tell apart; `known` are texts drawn before."""
    base = words(chance)
    tool = chance.choice(["lookup", "fetch", word(chance)])
    other = chance.choice(known) if known else base
    kinds: list[Callable[[], str]] = [
        lambda: base,
        lambda: name(chance),
        lambda: "\n".join([base] * chance.randint(1, 30)),
        lambda: f"{other} {base}",
        lambda: f"{other[: chance.randint(1, 200)]}…{word(chance)}",
        lambda: other[: max(1, len(other) // 2)] + " [truncated 900 characters]",
        lambda: json.dumps(
            {"type": "tool_use", "id": word(chance), "name": tool, "input": {"q": base}}
        ),
        lambda: json.dumps({"type": "tool_result", "tool_use_id": word(chance), "content": base}),
        lambda: json.dumps(
            {"type": "function", "function": {"name": tool, "parameters": {"a": base}}}
        ),
        lambda: json.dumps({"name": tool, "description": base, "input_schema": {}}),
        lambda: json.dumps(
            {"tool_calls": [{"id": "c", "function": {"name": tool, "arguments": "{" + base}}]}
        ),
        lambda: json.dumps({"type": "thinking", "thinking": base}),
        lambda: json.dumps({"type": chance.choice(["refusal", "image", "text"]), "refusal": base}),
        lambda: f"{base} 2026-11-{chance.randint(10, 28)}T10:{chance.randint(10, 59)}:00Z",
        lambda: f"Error: {base} context_length_exceeded",
        lambda: f"[secret:password#1] {credential(chance)} {base}",
        lambda: "[" * chance.randint(1, 3_000) + base,
        lambda: base * chance.randint(1, 60),
        lambda: "",
    ]
    return chance.choice(kinds)()


def distinct(draw: Callable[[], str], count: int) -> list[str]:
    """So many of them, no two alike as they are stored."""
    found: dict[bytes, str] = {}
    while len(found) < count:
        one = draw()
        found.setdefault(stored(one), one)
    return list(found.values())


def stored(value: str) -> bytes:
    """A text as bytes of a file: `\\udcff` is the byte FF, any other surrogate what it would be."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def no_time(chance: random.Random) -> str:
    """What stands where a time should."""
    return chance.choice([word(chance), "", "2026-13-45T99:99:99Z", "soon", "0" * 50, "9999999999"])


def json_text(chance: random.Random) -> str:
    """What stands in a column of JSON beside the numbers: words, or no JSON at all."""
    plain = word(chance)
    return chance.choice(
        [
            json.dumps({plain: words(chance, 5)}),
            json.dumps([plain, 5]),
            "{" + plain,
            "[" * 2_000,
            "",
            json.dumps({"refusal": plain, "hidden_context": [plain]}),
        ]
    )


def file_name(chance: random.Random) -> str:
    """Path of a trace below the folder, without its suffix."""

    def part() -> str:
        one = name(chance)[:60].replace("/", "_").replace("\0", "_").lstrip(".") or "q"
        try:
            os_name = one.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return word(chance)
        is_fine = sys.platform == "linux" and len(os_name) < 200
        return one if is_fine else word(chance)

    return "/".join(part() for _ in range(chance.choice([1, 1, 1, 2, 4])))
