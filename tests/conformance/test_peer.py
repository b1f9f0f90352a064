"""ctxdiff 0.5.1 and we read and append to each other's files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, Placement
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.store.open import create_session, open_reader

Peer = Callable[..., str]
PeerRecords = Callable[..., None]


def placed(text: str, role: str) -> Placement:
    block = Block(digest_of(role, "message", text), role, "message", text, 5, "tiktoken")
    return Placement(block, {"assistant": "history"}.get(role, role), path="/messages/0")


def record(path: Path, project: str, *questions: str) -> str:
    """A session of ours: each call sends the questions so far and is answered."""
    writer = create_session(
        Destination(path=path),
        project=project,
        provider="openai",
        started_at="2026-11-30T11:39:03.079952+00:00",
    )
    for seq in range(1, len(questions) + 1):
        history = [placed(question, "user") for question in questions[:seq]]
        call = Call(
            id=f"{seq:016x}{writer.session_id[:16]}",
            seq=seq,
            provider="openai",
            surface="openai.chat",
            inputs=(placed("You are terse.", "system"), *history),
            outputs=(placed("Noted.", "assistant"),),
            params={"model": "gpt-4o"},
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 110,
                "prompt_tokens_details": {"cached_tokens": 64},
            },
            agent="ours",
            latency_ms=12,
            request_pieces=(b"{}",),
        )
        writer.write(call)
    writer.close()
    return writer.session_id


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A file of ours: three calls, of two, three and four blocks of five tokens."""
    record(tmp_path / "ours.ctrace", "demo", "one", "two", "three")
    return tmp_path / "ours.ctrace"


def test_the_peer_lists_our_sessions_and_agents(ours: Path, peer: Peer) -> None:
    listed = peer("sessions", "--project", ours)
    assert "project=demo  provider=openai  turns=3  agents=ours" in listed
    assert peer("agents", "--project", ours) == "ours  sessions=1  calls=3  tokens=330\n"


def test_the_peer_counts_our_tokens(ours: Path, peer: Peer) -> None:
    printed = peer("tokens", "--project", ours)
    assert "in 300 tok · out 30 tok (3/3 calls reported usage)" in printed
    for turn, tokens in ((1, 10), (2, 15), (3, 20)):
        assert f"turn {turn} · {tokens} tokens" in printed


def test_the_peer_analyses_our_cache_and_budget(ours: Path, peer: Peer) -> None:
    stable = "prefix stable across all 2 turn pairs — minimum stable prefix 10 tokens"
    assert stable in peer("cache", "--project", ours)
    checked = peer("check", "--project", ours, "--max-context", "20", "--max-growth", "5")
    assert "peak growth 5 tok" in checked
    assert "check passed · 2 assertions" in checked


def test_the_peer_diffs_our_turns(ours: Path, peer: Peer) -> None:
    printed = peer("diff", "--project", ours, "--turn", "1", "--turn", "3")
    assert "turn 1 → turn 3 · 2 blocks changed · +10 −0 tokens" in printed
    assert "'two'" in printed
    assert "'three'" in printed


def test_the_peer_exports_our_file(ours: Path, peer: Peer, tmp_path: Path) -> None:
    peer("export", "--project", ours, "--out", tmp_path / "page.html")
    assert "You are terse." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_peer_appends_to_our_file_and_both_read_it(
    ours: Path, peer: Peer, peer_records: PeerRecords
) -> None:
    peer_records(ours, "theirs", "one", "four")
    reader = open_reader(ours)
    mine, theirs = reader.sessions()
    assert (mine.calls, theirs.calls) == (3, 2)
    assert (theirs.project, theirs.agents, theirs.writer) == ("theirs", ("peer",), "0.5.1")
    recording = reader.load(theirs.id)
    texts = [[p.block.text for p in reader.inputs(call.id)] for call in recording.calls]
    assert texts == [["one"], ["one", "Noted.", "four"]]
    assert [reader.load(s.id).has_outputs for s in (mine, theirs)] == [True, False]
    assert reader.outputs(reader.load(mine.id).calls[2].id)[0].block.text == "Noted."
    reader.close()
    assert "project=theirs  provider=openai  turns=2" in peer("sessions", "--project", ours)
    connection = sqlite3.connect(ours)
    same = connection.execute("select count(*) from block where text = 'Noted.'").fetchone()
    connection.close()
    assert same == (1,)


def test_we_append_to_the_peers_file_and_both_read_it(
    tmp_path: Path, peer: Peer, peer_records: PeerRecords
) -> None:
    path = tmp_path / "theirs.ctrace"
    peer_records(path, "theirs", "one", "two")
    session = record(path, "mine", "one", "two", "three")
    peer_records(path, "theirs again", "five")
    listed = peer("sessions", "--project", path)
    assert [line.split("turns=")[1].split()[0] for line in listed.splitlines()] == ["2", "3", "1"]
    printed = peer("tokens", "--project", path, "--session", session)
    assert "in 300 tok · out 30 tok (3/3 calls reported usage)" in printed
    reader = open_reader(path)
    assert [s.calls for s in reader.sessions()] == [2, 3, 1]
    reader.close()


def test_the_peer_appends_while_our_writer_is_open(
    ours: Path, peer_records: PeerRecords, tmp_path: Path
) -> None:
    writer = create_session(
        Destination(path=ours), project="open", provider="openai", started_at="2026-11-30"
    )
    peer_records(ours, "theirs", "one")
    writer.note_loss("the queue was full")
    writer.close()
    reader = open_reader(ours)
    assert [(s.project, s.calls) for s in reader.sessions()] == [
        ("demo", 3),
        ("open", 0),
        ("theirs", 1),
    ]
    reader.close()
    assert [file.name for file in tmp_path.iterdir()] == ["ours.ctrace"]
