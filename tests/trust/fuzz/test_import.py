"""Whatever a log holds: its good lines become calls, its bad ones are named, nothing raises."""

from __future__ import annotations

import codecs
import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from ctxdiff_capture.errors import ImportFailed
from ctxdiff_capture.importers import exchange_log
from ctxdiff_capture.importers.base import ImportReport, import_log
from ctxdiff_capture.importers.values import LineError
from ctxdiff_capture.store.open import open_reader
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.cli.main import main
from tests.trust.fuzz.budget import fuzzed, tally
from tests.trust.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, json_bytes
from tests.trust.fuzz.seeds import SEEDS

LINES = [
    {
        "provider": seed.surface,
        "request": seed.request,
        "response": seed.answer,
        "error": {"type": "E", "message": "slow", "status": 429},
        "started_at": "2026-11-30T10:00:00.000Z",
        "latency_ms": 40,
        "agent": "desk",
        "step": "ask",
        "session": "s1",
        "tags": [{"label": "rag", "text": "ladder"}],
        "attempt": 1,
    }
    for seed in SEEDS
]
GOOD = json.dumps({"provider": "openai.chat", "request": {"messages": [{"content": "Hi"}]}})
MOMENTS = st.from_regex(
    r"\A(\d{1,5}-\d\d?-\d\d?[T ]?\d\d?:?\d\d?(:\d\d?(\.\d{0,12})?)?(Z|[+-]\d\d:?\d\d)?|.{0,30})\Z"
) | st.sampled_from(
    ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-00-00", "\ud800", "١٢"]
)


def imported(folder: Path, data: bytes) -> ImportReport:
    """What an import of these bytes says, the trace having been opened and counted."""
    log, trace = folder / "log.jsonl", folder / "log.ctrace"
    trace.unlink(missing_ok=True)
    log.write_bytes(data)
    report = import_log(log, trace)
    assert trace.exists() is bool(report.calls)
    if report.calls:
        reader = open_reader(trace)
        try:
            sessions = reader.sessions()
            assert (len(sessions), sum(s.calls for s in sessions)) == (
                report.sessions,
                report.calls,
            )
        finally:
            reader.close()
    return report


def test_no_edited_line_costs_its_neighbours_or_leaves_as_an_error(tmp_path: Path) -> None:
    with tally("lines of logs") as tried:

        @fuzzed(25, 1_500)
        @given(
            st.sampled_from(LINES), st.lists(EDITS, min_size=1, max_size=4), st.lists(CUTS), MOMENTS
        )
        def holds(line: dict[str, object], edits: list[Edit], cuts: list[Cut], moment: str) -> None:
            tried.one()
            odd = json_bytes(edited({**line, "started_at": moment}, edits))
            odd = cut(odd, cuts[:2]).replace(b"\n", b" ")
            report = imported(tmp_path, b"\n".join([GOOD.encode(), odd, GOOD.encode()]))
            bad = [error.line for error in report.errors]
            assert bad in ([], [2])
            assert report.calls == 3 - len(bad) - (not odd.strip() and not bad)

        holds()


def test_no_damaged_file_leaves_as_an_error_and_the_command_says_it_in_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = b"\n".join(json.dumps(line).encode() for line in LINES)
    log = tmp_path / "log.jsonl"
    with tally("logs as files") as tried:

        @fuzzed(15, 1_500)
        @given(st.lists(CUTS, max_size=3), st.sampled_from(["", "--json"]), st.binary(max_size=40))
        def holds(cuts: list[Cut], form: str, tail: bytes) -> None:
            tried.one()
            (tmp_path / "log.ctrace").unlink(missing_ok=True)
            log.write_bytes(cut(whole, cuts) + tail)
            status = main(["import", str(log), *filter(None, [form])])
            out, err = capfd.readouterr()
            assert status in (0, 1, 2)
            assert "Traceback" not in out + err
            assert all(len(line) < 500 for line in err.split("\n"))
            assert all(char.isprintable() or char == "\n" for char in out + err)
            if status == 0 and form:
                assert json.loads(out)["errors"] == []

        holds()


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        (gzip.compress(GOOD.encode()), "gunzip"),
        (GOOD.encode("utf-16"), "UTF-8"),
        (codecs.BOM_UTF16_BE + GOOD.encode("utf-16-be"), "UTF-8"),
        (b"PK\x03\x04" + b"x" * 40, "unpack"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 40, "unpack"),
        (b"SQLite format 3\0" + b"x" * 40, "trace"),
    ],
    ids=["gzip", "utf-16", "utf-16-be", "zip", "zstd", "trace"],
)
def test_a_file_of_another_kind_is_refused_with_what_helps(
    tmp_path: Path, data: bytes, remedy: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(data)
    with pytest.raises(ImportFailed, match=remedy):
        import_log(log, tmp_path / "log.ctrace")
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_line_that_is_too_long_is_passed_over_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_log, "LONGEST_LINE", 2**20)
    data = b"\n".join([GOOD.encode(), b"x" * (30 * 2**20), GOOD.encode(), b" " * (2**20 + 1)])
    imported(tmp_path, GOOD.encode())
    seen: list[int] = []
    (tmp_path / "long.jsonl").write_bytes(data)
    tracemalloc.start()
    report = import_log(tmp_path / "long.jsonl", tmp_path / "long.ctrace", progress=seen.append)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    problem = "longer than 1 MB"
    assert report == ImportReport(2, 1, (LineError(2, problem), LineError(4, problem)))
    assert sum(seen) == len(data)
    assert peak < 12 * 2**20


def test_of_very_many_bad_lines_the_first_are_named_and_all_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"x\n" * 5_000 + GOOD.encode())
    assert main(["import", str(log)]) == 1
    out, err = capfd.readouterr()
    assert "1 calls, 1 sessions, 5000 bad lines" in out
    named = [line for line in err.split("\n") if "not a JSON object" in line]
    assert len(named) == 100
    assert "4,900 more bad lines" in err
