"""ctxdiff 0.5.1 reads what we redacted, and appends to it in clear."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read, trace
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Exchange

KEY = "AKIAIOSFODNN7EXAMPLE"
Peer = Callable[..., str]
PeerRecords = Callable[..., None]


def hide(block: Block) -> Block:
    return replace(block, text=block.text.replace("Ada", "<person>"))


def record(path: Path, redact: Any, *turns: tuple[str, ...]) -> None:
    with trace.init("ours", path=path, redact=redact) as tracer:
        for texts in turns:
            messages = [{"role": "user", "content": text} for text in texts]
            request = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
            started_at = "2026-11-30T10:00:00.000000+00:00"
            tracer.submit(Exchange("openai.chat", request, started_at, provider="openai"))


@pytest.mark.parametrize(
    ("redact", "shown"),
    [("secrets", "[secret:aws-key#1]"), (hide, "person")],
    ids=["secrets", "hook"],
)
def test_the_peer_diffs_what_was_redacted(
    tmp_path: Path, peer: Peer, redact: Any, shown: str
) -> None:
    path = tmp_path / "ours.ctrace"
    said = f"Ada uses {KEY}"
    record(path, redact, (said,), (said, "and now?"))

    printed = peer("diff", "--project", path, "--turn", "1", "--turn", "2")
    assert "turn 1 → turn 2 · 1 blocks changed" in printed
    assert "'and now?'" in printed
    peer("export", "--project", path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert shown in page
    assert said not in page


@pytest.mark.parametrize("redact", ["secrets", hide], ids=["secrets", "hook"])
@pytest.mark.parametrize("peer_first", [True, False])
def test_what_the_peer_stored_in_clear_is_not_what_we_redacted(
    tmp_path: Path, peer_records: PeerRecords, redact: Any, peer_first: bool
) -> None:
    path = tmp_path / "both.ctrace"
    said = f"Ada uses {KEY}"
    if peer_first:
        peer_records(path, "theirs", said)
    record(path, redact, (said,))
    if not peer_first:
        peer_records(path, "theirs", said)

    reader = read(path)
    blocks = {
        session.project: reader.inputs(reader.load(session.id).calls[0].id)[0].block
        for session in reader.sessions()
    }
    reader.close()
    clear, hidden = blocks["theirs"], blocks["ours"]
    assert (clear.text, clear.content_hash) == (said, digest_of("user", "message", said))
    assert hidden.text in ("Ada uses [secret:aws-key#1]", f"<person> uses {KEY}")
    assert hidden.content_hash != clear.content_hash
