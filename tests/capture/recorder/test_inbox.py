"""How jobs wait for the writer's thread, and when they are handed to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from ctxdiff_capture.recorder import inbox as module
from ctxdiff_capture.recorder.inbox import BATCH_JOBS, Inbox


@dataclass(eq=False)
class Work:
    """A job of no call."""

    size_bytes: int = 1
    invocation: None = None


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens while the thread waits for more, one for each time it does."""
    happens: list[Callable[[], object]] = []
    monkeypatch.setattr(module, "sleep", lambda _: happens.pop(0)())
    return happens


def test_a_lone_call_is_handed_out_at_once(meanwhile: list[Callable[[], object]]) -> None:
    inbox, work = Inbox(), Work()
    inbox.put(work)
    assert inbox.take(None).jobs == [work]
    assert not meanwhile


def test_of_call_upon_call_those_that_come_meanwhile_are_handed_out_together(
    meanwhile: list[Callable[[], object]],
) -> None:
    inbox, works = Inbox(), [Work() for _ in range(3)]
    inbox.put(works[0])
    assert inbox.take(None).jobs == works[:1]
    inbox.put(works[1])
    meanwhile.append(lambda: inbox.put(works[2]))
    assert inbox.take(None).jobs == works[1:]
    assert not meanwhile


def test_a_full_batch_waits_for_nothing_more(meanwhile: list[Callable[[], object]]) -> None:
    inbox, works = Inbox(), [Work() for _ in range(BATCH_JOBS + 2)]
    inbox.put(works[0])
    inbox.take(None)
    for work in works[1:]:
        inbox.put(work)
    assert inbox.take(None).jobs == works[1:-1]
    assert not meanwhile


def test_who_waits_for_the_end_is_kept_waiting_by_no_gathering(
    meanwhile: list[Callable[[], object]],
) -> None:
    inbox, done = Inbox(), threading.Event()
    inbox.put(Work())
    inbox.take(None)
    inbox.when_done(done)
    assert inbox.take(None).waiting == [done]
    inbox.end()
    assert inbox.take(None).is_last
    assert not meanwhile
