"""An exchange log becomes a trace, line by line."""

import json
from contextlib import ExitStack

import pytest
from ctxdiff_capture.decoders.dispatch import DECODERS
from ctxdiff_capture.errors import ImportFailed
from ctxdiff_capture.importers.base import ImportReport, LineError, import_log
from ctxdiff_capture.importers.exchange_log import read_exchange_log
from ctxdiff_capture.importers.values import ImportedCall
from ctxdiff_capture.model import CallError, Exchange, Tag
from ctxdiff_capture.store.open import open_reader

REQUEST = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Say hello"}]}
RESPONSE = {
    "id": "c1",
    "model": "gpt-4o-2024",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}


def line(**changes):
    known = {
        "provider": "openai.chat",
        "request": REQUEST,
        "response": RESPONSE,
        "started_at": "2026-11-30T11:39:03.079Z",
        "latency_ms": 40,
    }
    return known | changes


@pytest.fixture
def log(tmp_path):
    def write(*lines):
        path = tmp_path / "run.jsonl"
        texts = [
            entry if isinstance(entry, bytes) else json.dumps(entry).encode() for entry in lines
        ]
        path.write_bytes(b"\n".join(texts) + b"\n")
        return path

    return write


@pytest.fixture
def imported(log, tmp_path):
    with ExitStack() as at_end:

        def run(*lines):
            target = tmp_path / "run.ctrace"
            report = import_log(log(*lines), target)
            reader = open_reader(target)
            at_end.callback(reader.close)
            return report, reader

        yield run


def test_a_line_is_read_whole(log):
    path = log(
        line(
            agent="desk",
            step="answer",
            session="s1",
            tags=[{"label": "rag", "text": "hello"}],
            cost=0.2,
        )
    )
    assert list(read_exchange_log(path)) == [
        ImportedCall(
            1,
            Exchange(
                "openai.chat",
                json.dumps(REQUEST).encode(),
                "2026-11-30T11:39:03.079000+00:00",
                response=json.dumps(RESPONSE).encode(),
                latency_ms=40,
                provider="openai",
                agent="desk",
                step="answer",
                tags=(Tag("rag", "hello"),),
                metadata={"cost": 0.2},
            ),
            session="s1",
        )
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-30T11:39:03Z", "2026-11-30T11:39:03.000000+00:00"),
        ("2026-11-30T11:39:03.5z", "2026-11-30T11:39:03.500000+00:00"),
        (" 2026-11-30 11:39:03.123456789Z", "2026-11-30T11:39:03.123456+00:00"),
        ("2026-11-30T13:39:03.079+02:00", "2026-11-30T11:39:03.079000+00:00"),
        ("2026-11-30T11:39:03.079", "2026-11-30T11:39:03.079000+00:00"),
        (None, ""),
    ],
)
def test_a_start_is_read_in_utc_with_microseconds(log, written, read):
    (call,) = read_exchange_log(log(line(started_at=written)))
    assert call.exchange.started_at == read


def test_the_request_keeps_its_spelling(imported):
    spelled = b'{"model":  "gpt-4o","messages":[ {"content":"\\u00e9", "role":"user"} ] }'
    whole = (
        b'{"provider": "openai.chat", "started_at": "2026-11-30T11:39:03Z", "request": '
        + spelled
        + b"}"
    )
    _, reader = imported(whole)
    (session,) = reader.sessions()
    assert reader.request(reader.load(session.id).calls[0].id) == spelled


def test_bad_lines_are_reported_and_the_others_imported(imported):
    report, reader = imported(
        line(),
        b"{not json",
        b"",
        line(provider="acme.chat"),
        b'"\xff"',
        line(request=None),
        b"[]",
        line(),
    )
    known = f"known: {', '.join(DECODERS)}"
    assert report == ImportReport(
        calls=2,
        sessions=1,
        errors=(
            LineError(2, "not a JSON object"),
            LineError(4, f"unknown provider 'acme.chat'; {known}"),
            LineError(5, "not UTF-8"),
            LineError(6, "no request object"),
            LineError(7, "not a JSON object"),
        ),
    )
    assert [session.calls for session in reader.sessions()] == [2]


def test_a_retry_is_an_attempt_of_the_call_before(imported):
    failed = {"type": "RateLimitError", "message": "slow down", "status": 429}
    report, reader = imported(
        line(response=None, error=failed, attempt=1),
        line(started_at="2026-11-30T11:39:04.079Z", attempt=2),
        line(),
    )
    assert report == ImportReport(calls=2, sessions=1)
    first, second = reader.load(reader.sessions()[0].id).calls
    assert (first.seq, first.error, first.latency_ms, first.attempts) == (1, None, 1040, 2)
    assert (second.seq, second.attempts) == (2, 1)
    assert [(a.number, a.status, a.error) for a in reader.detail(first.id).attempts] == [
        (1, 429, CallError("RateLimitError", "slow down", 429)),
        (2, None, None),
    ]


def test_a_retry_without_its_call_is_a_call(imported):
    report, _ = imported(line(attempt=3), line(attempt=2, agent="other"))
    assert report == ImportReport(calls=2, sessions=1)


def test_each_session_of_the_log_is_one_of_the_trace(imported):
    report, reader = imported(*(line(session=f"s{n % 3}") for n in range(200)), line())
    assert report == ImportReport(calls=201, sessions=4)
    assert [(s.project, s.calls) for s in reader.sessions()] == [
        ("s0", 67),
        ("s1", 67),
        ("s2", 66),
        ("run", 1),
    ]


def test_a_log_of_more_sessions_than_may_be_open_is_imported_whole(imported, monkeypatch):
    monkeypatch.setattr("ctxdiff_capture.importers.base._OPEN", 2)
    numbers = [*range(7), *range(7)]
    report, reader = imported(
        *(line(session=f"s{n}", agent=f"a{n}") for n in numbers),
        line(session="s6", agent="a6", attempt=2),
        b"bad",
        line(session="s6"),
    )
    assert report == ImportReport(15, 7, (LineError(16, "not a JSON object"),))
    sessions = reader.sessions()
    assert [(s.project, s.calls) for s in sessions] == [
        *((f"s{n}", 2) for n in range(6)),
        ("s6", 3),
    ]
    assert [c.attempts for c in reader.load(sessions[-1].id).calls] == [1, 2, 1]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_moment_that_has_no_name_in_utc_is_kept_beside_the_call(log, moment):
    (call,) = read_exchange_log(log(line(started_at=moment)))
    assert (call.exchange.started_at, call.exchange.metadata) == ("", {"started_at": moment})


@pytest.mark.parametrize("status", [2**70, -1, "429", True, 1.5])
def test_a_status_that_is_none_is_kept_beside_the_call(imported, status):
    error = {"type": "E", "message": "m", "status": status}
    _, reader = imported(line(error=error))
    (call,) = reader.load(reader.sessions()[0].id).calls
    assert (call.error, call.error_status) == ("E", None)
    assert reader.detail(call.id).metadata == {"error": error}


def test_a_field_of_a_wrong_type_is_kept_beside_the_call(log):
    path = log(line(latency_ms="fast", agent=7, started_at="soon", tags="rag", error="boom"))
    (call,) = read_exchange_log(path)
    assert call.exchange.metadata == {
        "latency_ms": "fast",
        "agent": 7,
        "started_at": "soon",
        "tags": "rag",
        "error": "boom",
    }
    assert call.exchange.error == CallError("Error", "boom")


def test_a_trace_that_exists_is_not_touched(log, tmp_path):
    target = tmp_path / "old.ctrace"
    target.write_text("precious")
    with pytest.raises(ImportFailed, match="exists"):
        import_log(log(line()), target)
    assert target.read_text() == "precious"


def test_a_log_without_a_good_line_leaves_no_file(log, tmp_path):
    assert import_log(log(b"nope"), tmp_path / "x.ctrace").calls == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_missing_log_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(ImportFailed, match="cannot be read"):
        import_log(tmp_path / "none.jsonl", tmp_path / "x.ctrace")
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_every_byte(log, tmp_path):
    path, seen = log(line(), b"bad", line()), []
    import_log(path, tmp_path / "x.ctrace", progress=seen.append)
    assert sum(seen) == path.stat().st_size
