"""A folder of very many traces is listed at once, and what did not change is not opened again."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call, Placement
from ctxdiff_capture.store import open as store
from ctxdiff_capture.store.config import Destination

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context
from tests.trust.goals import GOALS

FILES = 1_500
COLD_SECONDS = 15.0
"""Processor time of the first list, with a wide margin: it is some 2 s."""


def one_trace(path: Path, session_id: str) -> bytes:
    """A small trace of one turn, as the store writes it."""
    block = Block(digest_of("user", "message", "hello"), "user", "message", "hello", 1, "tiktoken")
    session = store.create_session(
        Destination(path=path),
        project="shop",
        provider="openai",
        started_at="2026-11-30T10:00:00.000000+00:00",
        session_id=session_id,
    )
    inputs = (Placement(block, "user", "heuristic"),)
    session.write(Call("ca11" * 8, 1, "openai", "openai.chat", inputs))
    session.close()
    with sqlite3.connect(path) as db:
        db.execute("pragma page_size = 512")
        db.execute("vacuum")
    db.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copies of one trace, each with a session of its own id."""
    place = tmp_path_factory.mktemp("many")
    own_id = "5e55" * 8
    raw = one_trace(place / "model.ctrace", own_id)
    (place / "model.ctrace").unlink()
    runs = place / "runs"
    runs.mkdir()
    for number in range(FILES):
        copy = raw.replace(own_id.encode(), f"{number:032x}".encode())
        (runs / f"trace-{number}.ctrace").write_bytes(copy)
    yield runs
    for file in runs.iterdir():
        file.unlink()


def seconds_of(work: Callable[[], object]) -> float:
    """Processor time that this thread spent."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def test_a_folder_of_1500_traces_is_listed_within_a_second_once_it_was_read(folder: Path) -> None:
    source = Source(folder)
    context = Context(source, Policy())
    answers: list[str] = []

    def listed() -> None:
        answers.append(run_tool(BY_NAME["ctxdiff_runs"], context, {})[0])

    cold = seconds_of(listed)
    warm = min(seconds_of(listed) for _ in range(3))
    found = source.listing()
    source.close()
    print(f"\nlisting {FILES:,} files: cold {cold:.2f} s, warm {warm:.3f} s of processor time")
    GOALS.listing.add(FILES, warm)
    assert f"{FILES:,} runs" in answers[-1] or f"{FILES} runs" in answers[-1]
    assert (len(found.runs), found.unreadable, found.complete) == (FILES, (), True)
    assert len({run.session.id for run in found.runs}) == FILES
    assert warm <= GOALS.listing.most
    assert cold <= COLD_SECONDS


def test_only_a_file_that_changed_is_opened_for_another_list(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(folder)
    source.listing()
    opened: list[Path] = []
    plain = store.open_reader

    def noting(path: Path, **options: object) -> object:
        opened.append(path)
        return plain(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "open_reader", noting)
    changed = folder / "trace-7.ctrace"
    os.utime(changed, ns=(1, 1))
    assert len(source.listing().runs) == FILES
    source.listing()
    source.close()
    assert opened == [changed]
