"""Every file that ctxdiff wrote is read with exactly the content its manifest lists."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.model import Recording, Session
from ctxdiff_capture.store.base import TraceReader
from ctxdiff_capture.store.open import open_reader

SAMPLES = Path(__file__).parent / "data" / "ctrace"
MANIFEST: dict[str, Any] = json.loads((SAMPLES / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(params=sorted(MANIFEST))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of one sample, alone in a folder."""
    return Path(shutil.copy(SAMPLES / request.param, tmp_path / request.param))


def as_manifest(session: Session, recording: Recording) -> dict[str, Any]:
    calls = []
    for call, inputs, labels in zip(
        recording.calls, recording.inputs, recording.labels, strict=True
    ):
        blocks = []
        for index, label in zip(inputs, labels, strict=True):
            head, (name, source) = recording.blocks[index], recording.label_table[label]
            blocks.append(
                {
                    "hash": head.content_hash,
                    "role": head.role,
                    "kind": head.kind,
                    "tokens": head.token_count,
                    "method": head.token_method,
                    "label": name,
                    "source": source,
                }
            )
        fields = ("seq", "usage", "error", "params", "agent", "step", "provider")
        calls.append({**{f: getattr(call, f) for f in fields}, "blocks": blocks})
    return {
        "id": session.id,
        "project": session.project,
        "provider": session.provider,
        "models": list(session.models),
        "ctxdiff_version": session.writer,
        "schema_version": session.schema_version,
        "started_at": session.started_at,
        "calls": calls,
    }


def read_whole(reader: TraceReader) -> list[dict[str, Any]]:
    return [as_manifest(s, reader.load(s.id)) for s in reader.sessions()]


def test_a_sample_reads_as_its_manifest_says(sample: Path) -> None:
    reader = open_reader(sample)
    assert read_whole(reader) == MANIFEST[sample.name]["runs"]
    assert [reader.load(s.id).notes for s in reader.sessions()] == [()] * len(reader.sessions())
    reader.close()


def test_a_session_is_listed_with_its_calls_and_agents(sample: Path) -> None:
    reader = open_reader(sample)
    listed = [(s.calls, s.agents) for s in reader.sessions()]
    reader.close()
    expected = []
    for run in MANIFEST[sample.name]["runs"]:
        named = [c["agent"] for c in run["calls"] if c["agent"] is not None]
        expected.append((len(run["calls"]), tuple(dict.fromkeys(named))))
    assert listed == expected


def test_texts_hash_to_what_their_block_is_called(sample: Path) -> None:
    from ctxdiff_capture.hashing import digest_of

    reader = open_reader(sample)
    recording = reader.load(reader.sessions()[-1].id)
    texts = reader.texts(head.content_hash for head in recording.blocks)
    reader.close()
    assert len(texts) == len(recording.blocks)
    for head in recording.blocks:
        if head.kind != "image" and "redacted" not in sample.name:
            assert digest_of(head.role, head.kind, texts[head.content_hash]) == head.content_hash
        assert head.is_empty == (texts[head.content_hash] == "")
        assert head.opens_json == texts[head.content_hash].startswith(("{", "["))


def test_reading_changes_no_byte_and_leaves_no_file(
    sample: Path, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    before = bytes_of(sample.parent)
    reader = open_reader(sample)
    read_whole(reader)
    during = bytes_of(sample.parent)
    reader.close()
    assert before == during == bytes_of(sample.parent)


def test_a_sample_reads_from_a_folder_nobody_may_write_to(sample: Path) -> None:
    sample.chmod(stat.S_IRUSR)
    sample.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    reader = open_reader(sample)
    assert read_whole(reader) == MANIFEST[sample.name]["runs"]
    reader.close()
    sample.parent.chmod(stat.S_IRWXU)


def test_a_sample_whose_content_is_still_in_the_log_reads_the_same(
    sample: Path, tmp_path: Path, bytes_of: Callable[[Path], dict[str, str]]
) -> None:
    left = tmp_path / "left"
    left.mkdir()
    writer = sqlite3.connect(sample)
    writer.execute("pragma journal_mode = wal")
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute("create table ctx_extra (x)")
    writer.execute("update run set project = 'renamed in the log'")
    writer.commit()
    for file in tmp_path.glob(f"{sample.name}*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, left / file.name)
    writer.close()
    before = bytes_of(left)
    assert before.keys() == {sample.name, f"{sample.name}-wal"}

    reader = open_reader(left / sample.name)
    runs = read_whole(reader)
    reader.close()
    expected = [{**run, "project": "renamed in the log"} for run in MANIFEST[sample.name]["runs"]]
    assert runs == expected
    assert bytes_of(left) == before


def test_only_the_asked_calls_are_loaded(sample: Path) -> None:
    reader = open_reader(sample)
    session = reader.sessions()[-1]
    whole = as_manifest(session, reader.load(session.id))["calls"]
    seqs = [call["seq"] for call in whole]
    some = as_manifest(session, reader.load(session.id, [seqs[-1], 10**6]))["calls"]
    reader.close()
    assert some == whole[-1:]


def test_a_call_of_ctxdiff_says_that_answers_and_requests_were_not_kept(sample: Path) -> None:
    reader = open_reader(sample)
    recording = reader.load(reader.sessions()[-1].id)
    call = recording.calls[0]
    assert not recording.has_outputs
    assert (call.surface, call.started_at, call.attempts) == (None, None, None)
    assert reader.outputs(call.id) == ()
    assert reader.request(call.id) is None
    assert reader.detail(call.id).endpoint is None
    assert len(reader.inputs(call.id)) == len(recording.inputs[0])
    reader.close()
