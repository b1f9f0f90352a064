"""`tracer.on_call`: a program is told what is about to be sent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from ctxdiff_capture import Tracer, read
from ctxdiff_capture.hooks import observers
from ctxdiff_capture.hooks.observers import MOST_WAITING, Observers
from ctxdiff_capture.hooks.snapshots import Budget, ContextSnapshot, verify_payload
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import TokenCounter

MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is Oslo?"},
]
TOOLS: list[Any] = [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]

Make = Callable[..., openai.OpenAI]


def ask(client: openai.OpenAI, messages: list[Any] = MESSAGES, **more: Any) -> Any:
    return client.chat.completions.create(model="gpt-4o", messages=messages, **more)


def test_a_snapshot_tells_what_is_sent(tracer: Tracer, client_of: Make) -> None:
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append, window=100)
    tracer.tag("rag", "Oslo")
    ask(client_of(tracer, agent="guide"), tools=TOOLS)
    tracer.flush()

    (snapshot,) = seen
    assert (snapshot.messages, snapshot.tools, snapshot.system) == (MESSAGES, TOOLS, None)
    assert (snapshot.seq, snapshot.surface, snapshot.provider) == (1, "openai.chat", "openai")
    assert (snapshot.model, snapshot.agent, snapshot.step) == ("gpt-4o", "guide", None)
    assert list(snapshot.tokens_by_label) == ["tool_schema", "system", "rag"]
    assert snapshot.budget == Budget(100, snapshot.total_tokens)
    assert snapshot.budget.remaining == 100 - sum(snapshot.tokens_by_label.values())


def test_the_ledger_is_that_of_the_call_which_is_stored(tracer: Tracer, client_of: Make) -> None:
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append)
    ask(client_of(tracer), tools=TOOLS)
    tracer.close()

    assert tracer.path
    reader = read(tracer.path)
    stored = reader.inputs(seen[0].call_id)
    reader.close()
    assert seen[0].tokens == tuple((p.label, p.block.token_count) for p in stored)
    assert not seen[0].is_estimate


def test_a_snapshot_cannot_be_changed_through_what_it_hands_out(
    tracer: Tracer, client_of: Make
) -> None:
    seen: list[ContextSnapshot] = []
    tracer.on_call(seen.append)
    messages = [dict(message) for message in MESSAGES]
    ask(client_of(tracer), messages)
    messages[0]["content"] = "changed later"
    tracer.flush()
    seen[0].messages.clear()
    seen[0].messages[0]["content"] = "changed in a copy"

    assert seen[0].messages == MESSAGES
    assert verify_payload(seen[0].messages, seen[0].message_digest)


def test_a_callback_in_line_has_run_before_the_request_leaves(tracer: Tracer) -> None:
    order: list[object] = []

    def answer(_: httpx2.Request) -> httpx2.Response:
        order.append("sent")
        return httpx2.Response(400, json={"error": {"message": "no"}})

    tracer.on_call(lambda _: order.append(threading.current_thread()), in_line=True)
    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        client = tracer.wrap(openai.OpenAI(api_key="k", http_client=http))
        with pytest.raises(openai.BadRequestError):
            ask(client)

    assert order == [threading.current_thread(), "sent"]


def test_a_callback_runs_elsewhere_and_holds_up_neither_call_nor_recording(
    tracer: Tracer, client_of: Make
) -> None:
    release = threading.Event()
    threads: list[str] = []

    def slow(snapshot: ContextSnapshot) -> None:
        assert release.wait(10)
        threads.append(f"{snapshot.seq} {threading.current_thread().name}")

    tracer.on_call(slow)
    client = client_of(tracer)
    ask(client)
    ask(client)
    assert threads == []
    release.set()
    tracer.flush()

    assert threads == ["1 ctxdiff-hooks", "2 ctxdiff-hooks"]


@pytest.mark.parametrize(
    ("in_line", "error"), [(False, LookupError), (True, LookupError), (False, SystemExit)]
)
def test_what_a_callback_raises_is_logged_and_goes_no_further(
    tracer: Tracer,
    client_of: Make,
    caplog: pytest.LogCaptureFixture,
    in_line: bool,
    error: type[BaseException],
) -> None:
    seen: list[int] = []

    def bad(_: ContextSnapshot) -> None:
        raise error("mine")

    tracer.on_call(bad, in_line=in_line)
    tracer.on_call(lambda snapshot: seen.append(snapshot.seq), in_line=in_line)
    assert ask(client_of(tracer)).choices[0].message.content == "ok"
    tracer.flush()

    assert seen == [1]
    assert [r.getMessage() for r in caplog.records if r.name == "ctxdiff"] == [
        "ctxdiff: an on_call callback failed; the call is unaffected"
    ]


def test_a_callback_is_not_told_any_more_once_it_is_unsubscribed(
    tracer: Tracer, client_of: Make
) -> None:
    seen: list[int] = []
    stop = tracer.on_call(lambda snapshot: seen.append(snapshot.seq), in_line=True)
    client = client_of(tracer)
    ask(client)
    stop()
    stop()
    ask(client)

    assert seen == [1]


def test_retries_of_a_request_share_one_snapshot(tracer: Tracer, client_of: Make) -> None:
    seen: list[int] = []
    tracer.on_call(lambda snapshot: seen.append(snapshot.seq), in_line=True)
    client = client_of(tracer, fails=2)
    client.with_options(max_retries=2).chat.completions.create(model="gpt-4o", messages=MESSAGES)

    assert (seen, tracer.count) == ([1], 1)


def test_a_call_made_by_a_callback_is_recorded_and_not_told(
    tracer: Tracer, client_of: Make
) -> None:
    client = client_of(tracer)
    seen: list[int] = []

    def asks_again(snapshot: ContextSnapshot) -> None:
        seen.append(snapshot.seq)
        ask(client)

    tracer.on_call(asks_again)
    ask(client)
    tracer.flush()

    assert (seen, tracer.count) == ([1], 2)


def test_an_asynchronous_call_is_told_too(tracer: Tracer) -> None:
    seen: list[Any] = []

    async def run() -> None:
        transport = httpx2.MockTransport(lambda _: httpx2.Response(400, json={}))
        async with httpx2.AsyncClient(transport=transport) as http:
            client = tracer.wrap(openai.AsyncOpenAI(api_key="k", http_client=http))
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="gpt-4o", messages=MESSAGES)

    tracer.on_call(lambda snapshot: seen.append(snapshot.messages))
    asyncio.run(run())
    tracer.flush()

    assert seen == [MESSAGES]


def test_what_is_no_window_or_no_callback_is_refused(tracer: Tracer) -> None:
    nothing: Any = "print"
    with pytest.raises(ValueError, match="not 0"):
        tracer.on_call(print, window=0)
    with pytest.raises(TypeError, match="'print' cannot be called"):
        tracer.on_call(nothing)


def test_what_comes_too_fast_for_callbacks_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    count, begun, release = TokenCounter(), threading.Event(), threading.Event()
    seen: list[int] = []

    def slow(snapshot: ContextSnapshot) -> None:
        begun.set()
        assert release.wait(10)
        seen.append(snapshot.seq)

    observers = Observers(lambda: count)
    observers.add(slow, in_line=False, window=None)
    sent = Exchange("openai.chat", b"{}", "2026-11-30T12:00:00.000000+00:00")
    observers.tell(sent, seq=0, call_id="c")
    assert begun.wait(10)
    for seq in range(1, MOST_WAITING + 4):
        observers.tell(sent, seq=seq, call_id="c")
    release.set()
    observers.stop()

    assert seen == list(range(MOST_WAITING + 1))
    assert [r.getMessage() for r in caplog.records] == ["ctxdiff: on_call was not told of 3 calls"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_callbacks_are_told_anew_in_a_child_process(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(FORKS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert sorted(done.stdout.split("\n")) == ["", "child [1, 1]", "parent [1, 2]"]


FORKS = """
import os
from ctxdiff_capture import trace
import httpx2, openai

def answer(request):
    return httpx2.Response(400, json={})

def ask():
    try:
        client.chat.completions.create(model="m", messages=[])
    except openai.BadRequestError:
        pass

seen = []
tracer = trace.init("forks")
tracer.on_call(lambda snapshot: seen.append(snapshot.seq))
http = httpx2.Client(transport=httpx2.MockTransport(answer))
client = tracer.wrap(openai.OpenAI(api_key="k", http_client=http))
ask()
tracer.flush()
child = os.fork()
ask()
tracer.flush()
print("parent" if child else "child", seen, flush=True)
if child:
    os.waitpid(child, 0)
    tracer.close()
else:
    os._exit(0)
"""


def test_a_fork_that_gives_up_waiting_leaves_the_callbacks_of_another_fork_working(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observers, "PATIENCE_S", 0.01)
    told = Observers(TokenCounter)
    told.pause()
    impatient = threading.Thread(target=lambda: (told.pause(), told.resume()))
    impatient.start()
    impatient.join(20)
    told.resume()

    seen: list[ContextSnapshot] = []
    told.add(seen.append, in_line=True, window=None)
    sent = Exchange("openai.chat", b'{"model": "m", "messages": []}', "2026-01-01T00:00:00+00:00")
    waiting = threading.Thread(target=lambda: told.tell(sent, seq=1, call_id="c"), daemon=True)
    waiting.start()
    waiting.join(20)
    assert [snapshot.seq for snapshot in seen] == [1]
