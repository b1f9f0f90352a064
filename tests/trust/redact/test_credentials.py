"""No answer shows six characters of a credential, whatever it is and wherever it stands."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, CallError, Decision, Placement, Stage, Tag
from ctxdiff_capture.secrets.detect import secret_spans
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session

from ctxdiff_mcp.__main__ import main
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import HARD_CAP, Policy
from ctxdiff_mcp.gate.secrets import SecretTags
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.goals import GOALS, IS_FULL
from tests.trust.redact.credentials import DRAWERS, SPELLINGS, Credential

PIECE = 6
SEEDS = 3 if IS_FULL else 1
SOME = tuple(DRAWERS) if IS_FULL else random.Random("some").sample(list(DRAWERS), 10)
RUNS = ("r1", "r2")
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_runs", {}),
    ("ctxdiff_explain", {"run": "no such run"}),
    ("ctxdiff_explain", {"run": "r1", "agent": "no such agent"}),
    ("ctxdiff_diff", {"run": "r1", "run_b": "r2", "response_format": "detailed"}),
    ("ctxdiff_diff", {"run": "r1", "turn_a": 1, "turn_b": 2}),
    ("ctxdiff_diff", {"run": "r1", "turn_a": 1, "turn_b": 3, "response_format": "detailed"}),
    ("ctxdiff_diff", {"run": "r1", "turn_a": 2, "turn_b": 2, "stage": "all"}),
    ("ctxdiff_search", {"run": "r1", "query": "tail"}),
    ("ctxdiff_search", {"run": "r1", "query": "filler", "turn": 3}),
    ("ctxdiff_search", {"run": "r1", "turn": 1}),
    ("ctxdiff_explain", {"run": "r1", "turn": 2, "run_b": "r2"}),
    *[
        ("ctxdiff_explain", {"run": "r1", "turn": at, "response_format": how, "limit": 100})
        for at in (1, 2, 3)
        for how in ("concise", "detailed")
    ],
    *[("ctxdiff_tokens", {"run": "r1", "by": by}) for by in ("turn", "agent", "step", "model")],
    *[("ctxdiff_cache", {"run": "r1", "turn": at}) for at in (None, 2)],
    *[("ctxdiff_block", {"run": "r1", "turn": at}) for at in (1, 2, 3)],
    *[
        (
            "ctxdiff_block",
            {"run": "r1", "turn": at, "position": place, "offset": 70 * page, "max_chars": 70},
        )
        for at in (1, 2)
        for place in (1, 2)
        for page in range(8)
    ],
]
COMMANDS = [
    ["runs"],
    ["explain", "--turn", "2"],
    ["diff", "--turn", "1", "--turn", "2"],
    ["tokens", "--by", "step"],
    ["cache"],
    ["block", "--turn", "1", "--position", "1"],
    ["search", "tail"],
    ["search", "--turn", "1"],
    ["stages", "--turn", "2"],
]


def record(path: Path, chance: random.Random, one: Credential, other: Credential) -> None:
    """A session of three turns that has the credentials in every place, in every spelling."""

    def spelled(credential: Credential) -> str:
        filler = "filler " * chance.choice([0, 0, 5, 9, 10, 21, 22, 33, 43])
        whole = SPELLINGS[chance.choice(list(SPELLINGS))](credential.text)
        return f"{filler[chance.randint(0, 6) :]}{whole} tail" + " tail" * chance.randint(0, 40)

    def placed(text: str, role: str = "user", label: str = "", kind: str = "message") -> Placement:
        block = Block(digest_of(role, kind, text), role, kind, text, 9, "tiktoken")
        return Placement(block, label or role)

    part = {
        "type": "tool_use",
        "id": "t1",
        "name": one.text,
        "input": {"a": spelled(one), "b": [one.text], other.text: "x"},
    }
    system = placed("You help.", "system")
    both = [placed(spelled(one)), placed(spelled(other), "user", one.text)]
    common: dict[str, Any] = {
        "agent": one.text,
        "step": spelled(other),
        "response_model": one.text,
        "tags": (Tag(other.text, one.text),),
    }
    changed = placed(both[0].block.text.replace(one.text, other.text) + "!")
    call = placed(json.dumps(part), "assistant", kind="content_part")
    session = create_session(
        Destination(path=path),
        project=one.text,
        provider=other.text,
        started_at="2026-11-30T10:00:00Z",
        session_id=f"{chance.getrandbits(128):032x}",
    )
    session.write(
        Call(
            f"{chance.getrandbits(128):032x}",
            1,
            "openai",
            "openai.chat",
            (system, *both),
            {"model": one.text, "stop": [one.text]},
            (call, placed(spelled(one), "assistant")),
            finish_reason="length",
            **common,
        )
    )
    session.write(
        Call(
            f"{chance.getrandbits(128):032x}",
            2,
            "openai",
            "openai.chat",
            (system, changed, both[1]),
            {"model": other.text, "stop": [other.text], "user": {one.text: spelled(one)}},
            stages=(
                Stage(one.text, "", (system, *both, placed(spelled(other), "tool"))),
                Stage("tool_result", "", (placed(spelled(one), "tool"),)),
            ),
            decisions=(Decision(one.text, "dropped", spelled(other)),),
            finish_reason=one.text,
            **common,
        )
    )
    session.write(
        Call(
            f"{chance.getrandbits(128):032x}",
            3,
            "openai",
            "openai.chat",
            (placed(spelled(other), "system"), placed(spelled(one), "tool")),
            error=CallError(one.text, spelled(other), 429),
            **{**common, "agent": other.text},
        )
    )
    session.close()


def pieces_shown(said: str, credentials: tuple[Credential, ...]) -> list[str]:
    """Six characters and more of what is secret, that a text shows."""
    plain = re.sub(r"\s", "", said)
    found = []
    for one in credentials:
        secret = re.sub(r"\s", "", one.secret)
        pieces = (secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1))
        found += [piece for piece in pieces if piece in said or piece in plain]
    return found


def _hashes(folder: Path) -> list[str]:
    found = []
    for path in folder.glob("*.ctrace"):
        database = sqlite3.connect(path)
        found += [one for (one,) in database.execute("select content_hash from block")]
        database.close()
    return found


@pytest.mark.parametrize("shape", SOME)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_answer_shows_a_piece_of_a_credential(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str, seed: int
) -> None:
    chance = random.Random(f"{shape} {seed}")
    drawn = DRAWERS[shape](chance), DRAWERS[shape](chance)
    name = re.sub(r"[/\0\n]", "_", drawn[0].text)[:80]
    safe = name if secret_spans(name) else "demo"
    record(tmp_path / f"{safe}.ctrace", chance, *drawn)
    record(tmp_path / "other.ctrace", chance, drawn[1], drawn[0])
    said = {}
    for redact in ("off", "text"):
        source = Source(tmp_path)
        policy = Policy(redact, hard_cap=HARD_CAP)  # type: ignore[arg-type]
        context = Context(source, policy)
        for asked in ASKED:
            said[f"{redact} {asked}"] = run_tool(BY_NAME[asked[0]], context, asked[1])[0]
        source.close()
    for command in COMMANDS:
        for form in ([], ["--json"]):
            main([*command, *form, "--project", str(tmp_path / "other.ctrace")])
            said[f"{command} {form}"] = "".join(capsys.readouterr())
    # A block's hash may have six of the same hexadecimal digits by chance.
    hashes = [one[:size] for size in (64, 20, 8) for one in _hashes(tmp_path)]
    known = re.compile("|".join(hashes))
    shutil.rmtree(tmp_path)
    leaks = {
        asked: found
        for asked, text in said.items()
        if (found := pieces_shown(known.sub("", text), drawn))
    }
    GOALS.secrets.add(len(said), len(leaks))
    assert leaks == {}
    assert "[secret:" in "".join(said.values())


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("shape", DRAWERS)
def test_every_credential_is_a_tag_however_a_text_spells_it(shape: str, spelling: str) -> None:
    chance = random.Random(f"{shape} {spelling}")
    one, other = DRAWERS[shape](chance), DRAWERS[shape](chance)
    spell: Callable[[str], str] = SPELLINGS[spelling]
    tags = SecretTags()
    shown = tags.masked(spell(one.text))
    GOALS.secrets.add(1, len(pieces_shown(shown, (one,))))
    assert pieces_shown(shown, (one,)) == []
    assert tags.masked(spell(one.text)) == shown
    assert tags.masked(spell(other.text)) != shown


def answers(folder: Path, policy: Policy, *asked: tuple[str, dict[str, Any]]) -> list[str]:
    source = Source(folder)
    context = Context(source, policy)
    try:
        return [run_tool(BY_NAME[tool], context, given)[0] for tool, given in asked]
    finally:
        source.close()


def test_a_credential_has_one_tag_in_all_answers_so_that_a_diff_shows_a_change(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    chance = random.Random("tags")
    old, new = (DRAWERS["prefix ghp_"](chance).text for _ in range(2))
    folder = new_trace(
        turn([block(f"use {old} for the shop", "system"), block(f"and {new}")]),
        turn([block(f"use {new} for the shop", "system"), block(f"and {new}")]),
    ).parent
    read, diff, again = answers(
        folder,
        Policy(),
        ("ctxdiff_block", {"run": "demo", "turn": 1, "position": 0}),
        ("ctxdiff_diff", {"run": "demo", "turn_a": 1, "turn_b": 2}),
        ("ctxdiff_block", {"run": "demo", "turn": 2, "position": 1}),
    )
    assert "use [secret:github-token#1] for the shop" in read
    assert pieces_shown(diff, (Credential("", old), Credential("", new))) == []
    assert ("github-token#1]" in diff, "github-token#2]" in diff) == (True, True)
    assert "and [secret:github-token#2]" in again


def test_credentials_are_shown_as_recorded_when_the_user_wants_it(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    key = DRAWERS["prefix ghp_"](random.Random(1)).text
    folder = new_trace(turn([block(f"use {key}")], agent=key)).parent
    asked = ("ctxdiff_block", {"run": "demo", "turn": 1, "position": 0})
    (masked,) = answers(folder, Policy(), asked)
    (shown,) = answers(folder, Policy(mask_secrets=False), asked)
    assert "\nuse [secret:github-token#1]\n" in masked
    assert f"\nuse {key}\n" in shown
