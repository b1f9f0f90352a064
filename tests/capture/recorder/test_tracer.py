"""The front: where a trace goes, when it begins and ends."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from ctxdiff_capture import configure, read, trace
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.recorder.tracer import Tracer
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.wire.flight import Clock

MESSAGE = {"role": "assistant", "content": "ok"}
BODY = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
BODY |= {"choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}]}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CTXDIFF_STORE", raising=False)
    yield
    configure(None)


def client() -> openai.OpenAI:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=BODY))
    return openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))


def ask(wrapped: openai.OpenAI, text: str = "hi") -> None:
    wrapped.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])


def sessions(path: Path) -> list[list[int]]:
    reader = read(path)
    found = [[call.seq for call in reader.load(s.id).calls] for s in reader.sessions()]
    reader.close()
    return found


def test_a_target_is_taken_from_the_nearest_place_that_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [trace.init("p").path]
    monkeypatch.setenv("CTXDIFF_STORE", "sqlite://env.ctrace")
    paths.append(trace.init("p").path)
    configure(store=str(tmp_path / "configured.ctrace"))
    paths.append(trace.init("p").path)
    paths.append(trace.init("p", path=tmp_path / "path.ctrace").path)
    paths.append(trace.init("p", path="path.ctrace", store="store.ctrace").path)

    names = ("p", "env", "configured", "path", "store")
    assert paths == [str(tmp_path / f"{name}.ctrace") for name in names]


def test_a_target_of_no_known_form_costs_the_trace_with_one_warning(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with trace.init("p", store="s3://bucket") as tracer, client() as plain:
        ask(tracer.wrap(plain))

    assert tracer.path is None
    assert [record.levelno for record in caplog.records if record.name == "ctxdiff"] == [
        logging.WARNING
    ]
    assert list(tmp_path.iterdir()) == []


def test_init_opens_nothing_and_starts_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()

    trace.init("p").close()

    assert (list(tmp_path.iterdir()), threading.active_count()) == ([], before)


def test_a_session_begins_with_the_first_client(tmp_path: Path) -> None:
    with trace.init("p") as tracer, client() as plain:
        tracer.wrap(plain)
        tracer.wrap(plain, agent="other")

    assert sessions(tmp_path / "p.ctrace") == [[]]


def test_a_call_after_the_end_is_not_recorded_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tracer = trace.init("p")
    with client() as plain:
        wrapped = tracer.wrap(plain)
        ask(wrapped)
        tracer.close()
        tracer.close()
        ask(wrapped)
        ask(wrapped)

    said = [record.getMessage() for record in caplog.records if record.name == "ctxdiff"]
    assert said == ["ctxdiff: the tracer is closed; calls from here on are not recorded"]
    assert sessions(tmp_path / "p.ctrace") == [[1]]


def test_wrapping_after_the_end_begins_a_new_session(tmp_path: Path) -> None:
    tracer = trace.init("p")
    with client() as plain:
        for _ in range(2):
            wrapped = tracer.wrap(plain)
            ask(wrapped)
            ask(wrapped)
            tracer.close()

    assert sessions(tmp_path / "p.ctrace") == [[1, 2], [1, 2]]


def test_calls_of_many_threads_have_numbers_of_their_own(tmp_path: Path) -> None:
    with trace.init("p") as tracer, client() as plain:
        wrapped = tracer.wrap(plain)
        threads = [
            threading.Thread(target=lambda: [ask(wrapped) for _ in range(10)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sessions(tmp_path / "p.ctrace") == [list(range(1, 81))]


def test_labels_of_odd_kinds_are_kept_as_text(tmp_path: Path) -> None:
    odd: Any = 7
    with trace.init(odd) as tracer, client() as plain:
        tracer.tag("rag", None)
        tracer.tag(odd, "hi")
        tracer.mark(odd)
        ask(tracer.wrap(plain, agent=odd))

    reader = read(tmp_path / "7.ctrace")
    (call,) = reader.load(reader.sessions()[0].id).calls
    (placement,) = reader.inputs(call.id)
    reader.close()
    assert (call.agent, call.step, placement.label) == ("7", "7", "7")


def test_times_come_from_one_clock(tmp_path: Path) -> None:
    start = datetime(2026, 11, 30, 10, 0, 0, 123456, tzinfo=timezone.utc)
    ticks = iter(range(0, 10**12, 40_000_000))
    clock = Clock(lambda: int(start.timestamp() * 1e6) * 1000, lambda: next(ticks))
    destination = Destination(path=tmp_path / "p.ctrace")
    with Tracer("p", destination, clock=clock) as tracer, client() as plain:
        ask(tracer.wrap(plain))

    reader = read(tmp_path / "p.ctrace")
    (call,) = reader.load(reader.sessions()[0].id).calls
    reader.close()
    assert (call.started_at, call.latency_ms) == ("2026-11-30T10:00:00.123456+00:00", 40)


def test_an_exchange_that_was_seen_elsewhere_is_recorded_as_it_says(tmp_path: Path) -> None:
    request = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]})
    seen = Exchange(
        surface="openai.chat",
        provider="openai",
        request=request.encode(),
        response=json.dumps(BODY).encode(),
        status=200,
        started_at="2026-11-30T10:00:00.000000+00:00",
        agent="planner",
        step="plan",
    )
    with trace.init("p") as tracer:
        tracer.submit(seen)

    reader = read(tmp_path / "p.ctrace")
    (session,) = reader.sessions()
    (call,) = reader.load(session.id).calls
    reader.close()
    assert (session.provider, call.agent, call.step) == ("openai", "planner", "plan")
    assert (call.started_at, call.finish_reason) == (seen.started_at, "stop")
