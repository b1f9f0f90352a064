from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.store import open as opening_store
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.answers.folder import MAX_DEPTH, trace_files
from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.answers.source import SESSION_CHARS, Source, _telling_starts
from ctxdiff_mcp.answers.where import runs_folder
from ctxdiff_mcp.gate.raw import raw


def handles(source: Source) -> list[str]:
    return [listed.handle for listed in source.listing().runs]


def reasons(source: Source) -> dict[str, str]:
    return {raw(one.name.text): one.reason for one in source.listing().unreadable}


def test_runs_are_listed_newest_first_whatever_their_names(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> None:
    for name, hour in (("a", "09"), ("b", "11"), ("sub/c", "10")):
        new_trace(turn([block("x")]), name=name, started_at=f"2026-11-30T{hour}:00:00+00:00")
    assert handles(Source(tmp_path / "runs")) == ["b", "sub/c", "a"]


def test_bad_files_are_named_with_a_reason_and_hide_nothing(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> None:
    good = new_trace(turn([block("x")]))
    folder = good.parent
    (folder / "empty.ctrace").write_bytes(b"")
    (folder / "noise.ctrace").write_bytes(b"\x00" * 5_000)
    (folder / "cut.ctrace").write_bytes(good.read_bytes()[:3_000])
    (folder / "link.ctrace").symlink_to(good)
    (folder / "dir.ctrace").mkdir()
    os.mkfifo(folder / "pipe.ctrace")
    source = Source(folder)
    assert handles(source) == ["demo"]
    assert set(reasons(source)) == {"empty", "noise", "cut", "link", "dir", "pipe"}
    assert reasons(source)["link"] == "link"
    assert reasons(source)["pipe"] == "not_a_regular_file"
    assert reasons(source)["noise"] == "not_a_trace"


def test_an_unforeseen_fault_of_one_file_hides_no_other(
    new_trace: Callable[..., Path],
    block: Any,
    turn: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_trace(turn([block("x")]), name="good")
    new_trace(turn([block("x")]), name="cursed")
    real = opening_store.open_reader

    def opening(path: Path) -> Any:
        if path.stem == "cursed":
            raise RecursionError
        return real(path)

    monkeypatch.setattr(opening_store, "open_reader", opening)
    source = Source(tmp_path / "runs")
    assert (handles(source), reasons(source)) == (["good"], {"cursed": "unreadable"})


def test_a_file_that_could_not_be_read_for_a_reason_outside_of_it_is_tried_again(
    new_trace: Callable[..., Path],
    block: Any,
    turn: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_trace(turn([block("x")]), name="good")
    (tmp_path / "runs" / "noise.ctrace").write_bytes(b"x" * 5_000)
    opened: list[str] = []
    real = opening_store.open_reader
    is_full = True

    def opening(path: Path) -> Any:
        opened.append(path.stem)
        if is_full:
            raise StoreError("cannot be copied", remedy="make room")
        return real(path)

    monkeypatch.setattr(opening_store, "open_reader", opening)
    source = Source(tmp_path / "runs")
    assert reasons(source) == {"good": "unreadable", "noise": "unreadable"}
    is_full = False
    assert reasons(source) == {"good": "unreadable", "noise": "unreadable"}
    monkeypatch.setattr("time.monotonic", lambda: time.perf_counter() + 1e6)
    for _ in range(2):
        assert (handles(source), reasons(source)) == (["good"], {"noise": "not_a_trace"})
    assert sorted(opened) == ["good", "good", "noise", "noise"]


def test_links_and_hidden_folders_are_not_entered_and_depth_is_bounded(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefgh")
    deep.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    for folder in (deep, tmp_path / ".git", deep.parents[1], tmp_path):
        (folder / "t.ctrace").write_bytes(b"x")
    found = trace_files(tmp_path)
    assert [file.label for file in found.files] == ["t", "a/b/c/d/e/f/t"]
    assert len(Path(found.files[1].label).parts) - 1 == MAX_DEPTH


def test_a_single_file_is_a_source_of_its_own(
    new_trace: Callable[..., Path], block: Any, turn: Any
) -> None:
    path = new_trace(turn([block("x")]), name="one")
    new_trace(turn([block("x")]), name="two")
    assert handles(Source(path)) == ["one"]


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(
    new_trace: Callable[..., Path],
    block: Any,
    turn: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = new_trace(turn([block("x")]))
    source = Source(tmp_path / "runs")
    first = find_run(source, "latest")
    source.listing()
    opened: list[Path] = []
    real = opening_store.open_reader
    monkeypatch.setattr(opening_store, "open_reader", lambda p: (opened.append(p), real(p))[1])
    assert find_run(source, "latest") is first
    assert opened == []
    path.unlink()
    new_trace(turn([block("x")]), turn([block("y")]))
    again = find_run(source, "latest")
    assert len(again.timeline.turns) == 2
    assert opened
    source.close()


def test_a_file_that_vanished_is_not_listed_any_more(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> None:
    new_trace(turn([block("x")]))
    source = Source(tmp_path / "runs")
    assert handles(source) == ["demo"]
    shutil.rmtree(tmp_path / "runs")
    assert handles(source) == []


def test_several_threads_ask_at_once_and_get_the_same(
    new_trace: Callable[..., Path], block: Any, turn: Any, tmp_path: Path
) -> None:
    new_trace(*(turn([block(f"text {n}")]) for n in range(50)))
    source = Source(tmp_path / "runs")
    found: list[list[str]] = []

    def work() -> None:
        run = find_run(source, "latest")
        blocks = [run.block_at(at) for at in range(50)]
        found.append([raw(run.text_of(one)) for one in blocks])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    source.close()
    assert found == [[f"text {n}" for n in range(50)]] * 8


def test_the_folder_is_the_one_asked_for_then_the_store_then_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, store, project = (tmp_path / name for name in ("asked", "store", "project"))
    store.mkdir()
    project.mkdir()
    environ = {"CTXDIFF_STORE": str(store), "CLAUDE_PROJECT_DIR": str(project)}
    monkeypatch.chdir(tmp_path)
    assert runs_folder(asked, environ) == asked
    assert runs_folder(None, environ) == store
    assert (
        runs_folder(None, {**environ, "CTXDIFF_STORE": f"{store}/x.ctrace"}) == store / "x.ctrace"
    )
    assert runs_folder(None, {"CLAUDE_PROJECT_DIR": str(project)}) == project
    assert runs_folder(None, {}) == tmp_path


@given(st.sets(st.text("ab", max_size=SESSION_CHARS + 4), max_size=12))
def test_the_start_of_an_id_fits_no_other_id_and_is_the_shortest_that_does(ids: set[str]) -> None:
    def fits_alone(own: str, length: int) -> bool:
        return [other for other in ids if other.startswith(own[:length])] == [own]

    assert _telling_starts(list(ids)) == {
        own: next((own[:n] for n in range(SESSION_CHARS, len(own)) if fits_alone(own, n)), own)
        for own in ids
    }
