"""The writer: batches, bounds, and stores that fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ctxdiff_capture import guard
from ctxdiff_capture.errors import NotATrace, StoreBusy, StoreError, StoreFull
from ctxdiff_capture.model import Call
from ctxdiff_capture.recorder.inbox import JOB_BYTES
from ctxdiff_capture.recorder.writer import GIVING_UP_S, Writer
from ctxdiff_capture.wire.flight import Invocation


@dataclass(eq=False)
class Sent:
    call: Call
    invocation: Invocation
    size_bytes: int = 1


def sent(number: int, **more: Any) -> Sent:
    call = Call(str(number), number, "openai", "openai.chat", (), **more)
    return Sent(call, Invocation(number, call_id=call.id))


BROKEN = StoreError("it cannot be written", remedy="check the file")


@dataclass
class Store:
    """A session in memory. Calls whose id is in `refused` cannot be written."""

    refused: set[str] = field(default_factory=set)
    error: StoreError = BROKEN
    gate: threading.Event = field(default_factory=threading.Event)
    calls: dict[str, Call] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    losses: dict[str, int] = field(default_factory=dict)
    settled: threading.Event = field(default_factory=threading.Event)
    closed: int = 0
    released: int = 0
    session_id: str = "s"

    def write(self, call: Call) -> None:
        self.write_many([call])

    def write_many(self, calls: Sequence[Call]) -> None:
        assert self.gate.wait(20)
        if self.refused & {call.id for call in calls}:
            raise self.error
        self.batches.append(len(calls))
        self.calls.update({call.id: call for call in calls})

    def amend(self, call: Call) -> None:
        assert call.id in self.calls
        self.calls[call.id] = call

    def note_loss(self, reason: str, count: int = 1) -> None:
        self.losses[reason] = self.losses.get(reason, 0) + count

    def release(self) -> None:
        self.released += 1

    def settle(self) -> None:
        self.settled.set()

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


def test_what_comes_faster_than_it_is_stored_is_dropped_and_counted() -> None:
    store = Store()
    writer = started(store, max_bytes=5 * JOB_BYTES)
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


def test_what_closing_gives_up_is_counted_in_the_file(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    writer = started(store, patience_s=0.0)
    wait = threading.Thread.join

    def wait_for_a_store_that_works_again(thread: threading.Thread, seconds: float) -> None:
        if seconds == GIVING_UP_S:
            store.gate.set()
            seconds = 20
        wait(thread, seconds)

    monkeypatch.setattr(threading.Thread, "join", wait_for_a_store_that_works_again)
    for number in range(300):
        writer.put(sent(number))
    writer.close()

    kept = len(store.calls)
    assert 0 < kept < 300
    assert store.losses == {"closing took too long": 300 - kept}
    assert store.closed == 1
    said = [record.getMessage() for record in caplog.records]
    assert said[-1] == f"ctxdiff: {300 - kept} calls are not in t.ctrace"


def test_a_call_that_cannot_be_decoded_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    store = Store()
    store.gate.set()
    writer = Writer(lambda: store, lambda job: job.call.no_such_field, "t.ctrace")
    writer.start()
    writer.put(sent(1))
    writer.close()

    assert store.losses == {"its bytes could not be decoded": 1}


def test_a_store_that_cannot_be_opened_is_said_once_and_what_it_cost_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse() -> Any:
        raise NotATrace("it is a picture", remedy="record into another file")

    writer = Writer(refuse, lambda job: job.call, "t.ctrace")
    writer.start()
    for number in range(3):
        writer.put(sent(number))
    assert writer.flush()
    writer.close()

    assert [record.getMessage() for record in caplog.records] == [
        "ctxdiff records nothing in t.ctrace: it is a picture: record into another file",
        "ctxdiff: 3 calls are not in t.ctrace",
    ]


class Tried(threading.Event):
    """Set when a store was tried in vain; the trouble ends when `passed` is set."""

    def __init__(self, trouble: StoreError) -> None:
        super().__init__()
        self.trouble = trouble
        self.passed = threading.Event()

    def meet(self) -> None:
        if not self.passed.is_set():
            self.set()
            raise self.trouble


TROUBLES = [
    StoreBusy("it is locked", remedy="close the other program"),
    StoreFull("the disk is full", remedy="make room"),
]


@pytest.mark.parametrize("where", ["open", "write"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=["locked", "full"])
def test_calls_wait_for_a_trouble_that_passes(
    trouble: StoreError, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    tried = Tried(trouble)
    store = Store()
    store.gate.set()

    def opened() -> Any:
        if where == "open":
            tried.meet()
        return store

    def decoded(job: Any) -> Call:
        if where == "write":
            # One after the other is stored, so that the first alone meets the trouble.
            with suppress(StoreError):
                tried.meet()
            store.refused = set() if tried.passed.is_set() else {job.call.id}
            store.error = trouble
        return job.call

    writer = Writer(opened, decoded, "t.ctrace")
    writer.start()
    for number in range(3):
        writer.put(sent(number))
    assert tried.wait(20)
    tried.passed.set()
    store.refused = set()
    assert writer.flush()
    writer.close()

    assert sorted(store.calls) == ["0", "1", "2"]
    assert store.losses == {}
    assert "gave up" not in caplog.text
    assert "are not in" not in caplog.text


@pytest.mark.parametrize("trouble", TROUBLES, ids=["locked", "full"])
def test_closing_does_not_wait_for_ever_for_a_trouble_to_pass(
    trouble: StoreError, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(refused={"0", "1"}, error=trouble)
    store.gate.set()
    writer = started(store, stalled_s=0.2)
    writer.put(sent(0))
    writer.put(sent(1))
    writer.close()

    assert [r.levelno for r in caplog.records if "cannot write t.ctrace now" in r.message] == [
        logging.WARNING
    ]
    assert "2 calls are not in" in caplog.text
    store.refused.clear()


def test_a_call_that_takes_long_is_stored_before_it_ends() -> None:
    store = Store()
    store.gate.set()
    early = sent(1, finish_reason=None)
    stored = threading.Event()
    given = [early]

    def under_way() -> Any:
        if not given:
            stored.set()
        return ([given.pop()] if given else []), 0.01

    writer = Writer(lambda: store, lambda job: job.call, "t.ctrace", under_way=under_way)
    writer.start()
    writer.expect()
    assert stored.wait(20)
    before = dict(store.calls)
    writer.put(Sent(replace(early.call, finish_reason="stop"), early.invocation))
    writer.close()

    assert before == {"1": early.call}
    assert [call.finish_reason for call in store.calls.values()] == ["stop"]


def test_an_idle_writer_settles_what_it_has_stored() -> None:
    store = Store()
    store.gate.set()
    writer = started(store)
    writer.put(sent(1))
    assert store.settled.wait(20)
    writer.close()

    assert list(store.calls) == ["1"]


def test_a_fork_waits_for_no_lock_of_another_program() -> None:
    tried = Tried(TROUBLES[0])

    def locked() -> Any:
        tried.meet()

    writer = Writer(locked, lambda job: job.call, "t.ctrace", stalled_s=0.05)
    writer.start()
    writer.put(sent(1))
    assert tried.wait(20)
    writer.pause()
    # Nothing is tried while the fork lasts.
    tried.clear()
    assert not tried.wait(0.2)
    writer.resume()
    assert tried.wait(20)
    writer.close()


def test_threads_that_fork_at_once_leave_the_writer_working() -> None:
    store = Store()
    store.gate.set()
    writer = started(store)

    def fork() -> None:
        for _ in range(50):
            writer.pause()
            writer.resume()

    threads = [threading.Thread(target=fork) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        writer.put(sent(number))
    for thread in threads:
        thread.join(20)
    writer.close()

    assert len(store.calls) == 20
