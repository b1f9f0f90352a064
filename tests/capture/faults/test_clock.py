"""The clock of the machine is set while calls are under way."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import httpx2
import pytest
from ctxdiff_capture import read
from ctxdiff_capture.recorder.tracer import Tracer
from ctxdiff_capture.store.config import Destination
from ctxdiff_capture.wire.flight import Clock

HOUR_NS = 3600 * 10**9
START = datetime(2026, 11, 30, 10, tzinfo=timezone.utc)


class Machine:
    """A clock that can be set, and one that cannot."""

    def __init__(self) -> None:
        self.wall_ns = int(START.timestamp()) * 10**9
        self.monotonic_ns = 0

    def pass_ms(self, milliseconds: int) -> None:
        self.wall_ns += milliseconds * 10**6
        self.monotonic_ns += milliseconds * 10**6

    def clock(self) -> Clock:
        return Clock(lambda: self.wall_ns, lambda: self.monotonic_ns)


@pytest.mark.fault("clock set")
@pytest.mark.parametrize("hours", [-2, 2], ids=["back", "forward"])
def test_durations_are_true_and_dates_are_those_of_the_clock(tmp_path: Path, hours: int) -> None:
    machine = Machine()

    def answer(request: httpx2.Request) -> httpx2.Response:
        machine.pass_ms(100)
        machine.wall_ns += hours * HOUR_NS
        machine.pass_ms(150)
        return httpx2.Response(200, json=json.loads(ANSWER))

    path = tmp_path / "t.ctrace"
    with Tracer("clock", Destination(path=path), clock=machine.clock()) as tracer:
        tracer.record_process()
        with httpx2.Client(transport=httpx2.MockTransport(answer)) as client:
            for text in ("first", "second"):
                body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
                client.post("https://api.openai.com/v1/chat/completions", json=body)

    reader = read(path)
    calls = reader.load(reader.sessions()[0].id).calls
    reader.close()
    set_to = f"2026-11-30T{10 + hours:02}:00:00.250000+00:00"
    assert [(call.seq, call.started_at, call.latency_ms) for call in calls] == [
        (1, "2026-11-30T10:00:00.000000+00:00", 250),
        (2, set_to, 250),
    ]


ANSWER = """{"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices":
[{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}]}"""
