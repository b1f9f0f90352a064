"""Public collections of attacks, fetched where a registry answers, through the tools as texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxdiff_mcp.gate.policy import Policy
from tests.trust.frames import planted
from tests.trust.frames.asking import Here, Judge
from tests.trust.frames.corpora import PACKAGES, fetched, texts
from tests.trust.frames.properties import CANARY

PER_RUN = 80
PACK_CHARS = 8_000
SESSION = "5e55" + "0" * 28


@pytest.mark.slow
@pytest.mark.stress
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(not os.environ.get("CTXDIFF_STRESS"), reason="CTXDIFF_STRESS is not set")
@pytest.mark.parametrize("package", PACKAGES)
def test_every_string_of_a_public_collection_stays_in_its_frames(
    tmp_path: Path, package: str
) -> None:
    wheel = fetched(package, tmp_path)
    if wheel is None:
        pytest.skip(f"no registry gives {package}")
    found = [planted.stored(text) for text in texts(wheel)]
    assert len(found) > 500
    judge = Judge()
    for first in range(0, len(found), PER_RUN):
        ask_about(tmp_path / "run.ctrace", found[first : first + PER_RUN], judge, first)
    judge.count(len(found), f"strings of {package}")


def ask_about(file: Path, strings: Sequence[str], judge: Judge, number: int) -> None:
    """Each string as a block of its own through search, explain and diff, and read whole."""
    alone = [planted.placed(f"{CANARY} {text}") for text in strings]
    packs = list(packed(strings))
    calls: list[dict[str, Any]] = [
        {"inputs": tuple(map(planted.placed, packs)), "agent": strings[0]},
        {"inputs": tuple(alone), "agent": strings[0]},
    ]
    planted.write(file, calls, SESSION, strings[-1], "openai")
    pair = {"run": "latest", "turn_a": 1, "turn_b": 2, "limit": 100}
    with Here(file) as tools:
        paged(tools, judge, number, "ctxdiff_diff", pair)
        paged(
            tools, judge, number, "ctxdiff_search", {"run": "latest", "query": CANARY, "limit": 50}
        )
        for turn in (1, 2):
            detailed = {"run": "latest", "turn": turn, "response_format": "detailed"}
            judge.hear(tools.ask("ctxdiff_explain", detailed), number)
    with Here(file, Policy(mask_secrets=False)) as tools:
        for position, pack in enumerate(packs):
            at = 0
            while at < len(pack):
                where = {"run": "latest", "turn": 1, "position": position, "offset": at}
                answer = tools.ask("ctxdiff_block", {**where, "max_chars": 16_000}, source=pack)
                judge.hear(answer, number)
                place = answer.page.place
                assert place is not None
                assert place[1] > at
                at = place[1]
    file.unlink()


def packed(strings: Sequence[str]) -> Iterator[str]:
    """The strings one after another, in texts of about `PACK_CHARS`."""
    pack: list[str] = [CANARY]
    for text in strings:
        pack.append(text)
        if sum(map(len, pack)) > PACK_CHARS:
            yield "\n\n".join(pack)
            pack = [CANARY]
    yield "\n\n".join(pack)


def paged(tools: Here, judge: Judge, number: int, tool: str, arguments: dict[str, Any]) -> None:
    """The answer and all that follow it, by the cursors that they print."""
    cursor: int | None = 0
    while cursor is not None:
        answer = judge.hear(
            tools.ask(tool, {**arguments, "cursor": cursor}), (number, tool, cursor)
        )
        printed = re.search(r"cursor=([0-9]+)", answer.text.partition("⟦")[0])
        cursor = int(printed[1]) if printed and int(printed[1]) > cursor else None
