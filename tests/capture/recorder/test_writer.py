"""The writer: batches, bounds, and stores that fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ctxdiff_capture import guard
from ctxdiff_capture.errors import StoreBusy
from ctxdiff_capture.model import Call
from ctxdiff_capture.recorder.writer import Writer
from ctxdiff_capture.wire.flight import Invocation


@dataclass(eq=False)
class Sent:
    call: Call
    invocation: Invocation
    size_bytes: int = 1


def sent(number: int, **more: Any) -> Sent:
    call = Call(str(number), number, "openai", "openai.chat", (), **more)
    return Sent(call, Invocation(number, call_id=call.id))


@dataclass
class Store:
    """A session in memory. Calls whose id is in `refused` cannot be written."""

    refused: set[str] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    calls: dict[str, Call] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    losses: dict[str, int] = field(default_factory=dict)
    closed: int = 0
    session_id: str = "s"

    def write(self, call: Call) -> None:
        self.write_many([call])

    def write_many(self, calls: Sequence[Call]) -> None:
        assert self.gate.wait(20)
        if self.refused & {call.id for call in calls}:
            raise StoreBusy("locked", remedy="wait")
        self.batches.append(len(calls))
        self.calls.update({call.id: call for call in calls})

    def amend(self, call: Call) -> None:
        assert call.id in self.calls
        self.calls[call.id] = call

    def note_loss(self, reason: str, count: int = 1) -> None:
        self.losses[reason] = self.losses.get(reason, 0) + count

    def close(self) -> None:
        self.closed += 1


def started(store: Store, **bounds: Any) -> Writer:
    writer = Writer(lambda: store, lambda job: job.call, "t.ctrace", **bounds)
    writer.start()
    return writer


def test_calls_that_wait_are_stored_in_few_transactions() -> None:
    store = Store()
    writer = started(store)
    for number in range(100):
        writer.put(sent(number))
    store.gate.set()
    writer.close()
    writer.close()

    assert list(store.calls) == [str(n) for n in range(100)]
    assert (len(store.batches) <= 4, store.closed, store.losses) == (True, 1, {})


@pytest.mark.parametrize("wait", [False, True], ids=["one batch", "two batches"])
def test_a_retry_amends_the_call_that_its_first_attempt_made(wait: bool) -> None:
    store = Store()
    store.gate.set()
    writer = started(store)
    first = sent(1)
    writer.put(first)
    if wait:
        writer.flush()
    writer.put(Sent(replace(first.call, finish_reason="stop"), first.invocation))
    writer.close()

    assert [call.finish_reason for call in store.calls.values()] == ["stop"]


def test_a_call_that_cannot_be_stored_costs_none_of_its_neighbours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store(refused={"3"})
    store.gate.set()
    writer = started(store)
    for number in range(6):
        writer.put(sent(number))
    writer.close()

    assert sorted(store.calls) == ["0", "1", "2", "4", "5"]
    assert store.losses == {"the trace could not be written": 1}
    assert [r.levelno for r in caplog.records if "could not record" in r.message] == [
        logging.WARNING
    ]


@pytest.mark.parametrize("bounds", [{"max_jobs": 5}, {"max_bytes": 5}], ids=["jobs", "bytes"])
def test_what_comes_faster_than_it_is_stored_is_dropped_and_counted(bounds: Any) -> None:
    store = Store()
    writer = started(store, **bounds)
    for number in range(300):
        writer.put(sent(number))
    store.gate.set()
    writer.close()

    (lost,) = store.losses.values()
    assert len(store.calls) + lost == 300
    assert lost >= 200


def test_closing_gives_up_on_a_store_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    writer = started(store, stalled_s=0.05)
    writer.put(sent(1))
    writer.close()

    assert "gave up waiting for t.ctrace" in caplog.text
    store.gate.set()


def test_a_call_that_cannot_be_decoded_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    store = Store()
    store.gate.set()
    writer = Writer(lambda: store, lambda job: job.call.no_such_field, "t.ctrace")
    writer.start()
    writer.put(sent(1))
    writer.close()

    assert store.losses == {"its bytes could not be decoded": 1}


def test_a_store_that_cannot_be_opened_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> Any:
        raise StoreBusy("it is locked", remedy="close the other program")

    writer = Writer(refuse, lambda job: job.call, "t.ctrace")
    writer.start()
    for number in range(3):
        writer.put(sent(number))
    assert writer.flush()
    writer.close()

    assert [record.getMessage() for record in caplog.records] == [
        "ctxdiff records nothing in t.ctrace: it is locked: close the other program"
    ]
