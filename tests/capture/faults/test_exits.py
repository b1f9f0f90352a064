"""However a program ends, what it asked is in the trace. Each test runs programs of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from ctxdiff_capture import read

pytestmark = pytest.mark.slow

FIFTY = [str(i) for i in range(50)]
HAS_SIGNALS = hasattr(signal, "SIGKILL")
needs_signals = pytest.mark.skipif(not HAS_SIGNALS, reason="the system has no such signals")


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        pytest.param("", 0, marks=pytest.mark.fault("end")),
        pytest.param("raise KeyError('mine')", 1, marks=pytest.mark.fault("exception")),
        pytest.param("sys.exit(3)", 3, marks=pytest.mark.fault("sys.exit")),
        pytest.param("del tracer, client", 0, marks=pytest.mark.fault("end")),
    ],
)
def test_nothing_is_lost_when_the_program_just_ends(
    runner: Any, asked: Any, ending: str, status: int
) -> None:
    ended = runner.run(f"for i in range(50): ask(str(i))\n{ending}", expect=status)

    assert (asked(runner.file), ended.said) == ([FIFTY], ())
    assert [p.name for p in runner.file.parent.iterdir()] == ["t.ctrace"]


@pytest.mark.fault("end")
def test_a_single_call_is_kept_with_exact_counts(runner: Any, asked: Any) -> None:
    ended = runner.run("ask('only')")

    assert (asked(runner.file), ended.said) == ([["only"]], ())
    reader = read(runner.file)
    (block,) = reader.load(reader.sessions()[0].id).blocks[:1]
    reader.close()
    assert (block.token_count, block.token_method) == (1, "tiktoken")


@pytest.mark.fault("end")
def test_calls_of_exit_handlers_are_kept(runner: Any, asked: Any) -> None:
    runner.run("import atexit; atexit.register(ask, 'last'); ask('first')")

    assert asked(runner.file) == [["first", "last"]]


@pytest.mark.fault("end")
def test_a_thread_that_outlives_the_main_one_is_recorded(runner: Any, asked: Any) -> None:
    program = """
        def later():
            threading.main_thread().join()
            ask("late")
        threading.Thread(target=later).start()
    """
    runner.run(program)

    assert asked(runner.file) == [["late"]]


@pytest.mark.fault("end while asking")
def test_a_request_under_way_at_the_end_is_recorded_as_unfinished(runner: Any, calls: Any) -> None:
    program = """
        sent = threading.Event()
        def answer(request):
            sent.set()
            threading.Event().wait()
        threading.Thread(target=ask, args=("never",), daemon=True).start()
        sent.wait()
    """
    runner.run(program)

    assert [call.error for call in calls(runner.file)] == ["Unfinished"]


ENDS = [
    pytest.param("os._exit(7)", None, 7, marks=pytest.mark.fault("os._exit")),
    pytest.param("", "SIGTERM", -15, marks=[pytest.mark.fault("SIGTERM"), needs_signals]),
    pytest.param("", "SIGKILL", -9, marks=[pytest.mark.fault("SIGKILL"), needs_signals]),
]


@pytest.mark.parametrize("count", [1, 50])
@pytest.mark.parametrize(("last_words", "sent", "status"), ENDS)
def test_calls_are_stored_soon_after_they_return_with_no_help_of_the_program(
    runner: Any, asked: Any, stored: Any, last_words: str, sent: str | None, status: int, count: int
) -> None:
    program = f"""
        for i in range({count}): ask(str(i))
        say("asked")
        sys.stdin.readline()
        {last_words}
    """
    running = runner.start(program)
    running.said("asked")
    stored(runner.file, count)
    if sent is None:
        running.tell("go on")
    else:
        os.kill(running.process.pid, getattr(signal, sent))

    ended = running.end()
    assert (ended.status, ended.said) == (status, ())
    assert asked(runner.file) == [FIFTY[:count]]


HANDLERS = {
    "none": ("", "", -15),
    "before us": ("own", "", 5),
    "after us": ("", "own", 5),
    "of asyncio": ("", "loop", 6),
}


@needs_signals
@pytest.mark.fault("SIGTERM")
@pytest.mark.parametrize("case", HANDLERS)
def test_the_programs_own_ways_with_signals_stay_as_they_are(
    runner: Any, asked: Any, case: str
) -> None:
    """Its handlers are what they were, they run, and the status is theirs."""
    before, after, status = HANDLERS[case]
    program = f"""
        names = ("SIGTERM", "SIGINT", "SIGHUP", "SIGCHLD")
        def own(number, frame):
            say("handler", number)
            sys.exit(5)
        def setting():
            return [signal.getsignal(getattr(signal, name)) for name in names]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if {before == "own"}: signal.signal(signal.SIGTERM, own)
        held = setting()
        mine = recorded(plain)
        ask("first", mine)
        say(setting() == held, signal.set_wakeup_fd(-1))
        if {after == "own"}: signal.signal(signal.SIGTERM, own)
        if {after == "loop"}:
            async def serve():
                stopped = asyncio.Event()
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
                os.kill(os.getpid(), signal.SIGTERM)
                await stopped.wait()
                sys.exit(6)
            asyncio.run(serve())
        tracer.flush()
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
    """
    ended = runner.run(program, expect=status)

    assert ended.out.splitlines()[0] == "True -1"
    assert [texts for texts in asked(runner.file) if texts] == [["first"]]


@needs_signals
@pytest.mark.fault("SIGKILL mid-stream")
def test_a_stream_that_a_kill_cuts_leaves_its_request(runner: Any, asked: Any, stored: Any) -> None:
    program = """
        for i in range(3): ask(str(i))
        def within(number):
            if number == 2:
                say("mid-stream")
                threading.Event().wait()
        words_of(ask("long", stream=True))
    """
    running = runner.start(program)
    running.said("mid-stream")
    stored(runner.file, 4)
    running.process.kill()
    running.end()

    assert asked(runner.file) == [["0", "1", "2", "long"]]
    reader = read(runner.file)
    call = reader.load(reader.sessions()[0].id).calls[-1]
    request = reader.request(call.id)
    reader.close()
    assert (call.error, call.latency_ms, b'"long"' in (request or b"")) == (
        "Unfinished",
        None,
        True,
    )


@pytest.mark.fault("long call")
def test_a_call_that_takes_long_is_whole_once_it_has_ended(
    runner: Any, calls: Any, stored: Any
) -> None:
    program = """
        def within(number):
            if number == 2:
                say("mid-stream")
                sys.stdin.readline()
        say(words_of(ask("long", stream=True)))
    """
    running = runner.start(program)
    running.said("mid-stream")
    stored(runner.file, 1)
    running.tell("go on")
    ended = running.end()

    assert ended.out == "['one ', 'two ', 'three']\n"
    (call,) = calls(runner.file)
    assert (call.error, call.finish_reason) == (None, "stop")


@needs_signals
@pytest.mark.fault("SIGINT")
@pytest.mark.parametrize("where", ["mid-call", "mid-stream"])
def test_an_interrupt_ends_the_program_as_ever_and_is_recorded(
    runner: Any, calls: Any, where: str
) -> None:
    program = f"""
        def wait():
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        def within(number):
            if number == 2: wait()
        def slow(request):
            wait()
        ask("before")
        if {where == "mid-call"}:
            answer = slow
            ask("interrupted")
        for chunk in ask("interrupted", stream=True):
            say(chunk.choices[0].delta.content)
    """
    ended = runner.run(program, expect=-signal.SIGINT)

    assert ended.err.splitlines()[-1] == "KeyboardInterrupt"
    assert [call.error for call in calls(runner.file)] == [None, "KeyboardInterrupt"]


def test_importing_the_recorder_loads_neither_sdk_nor_vocabulary(runner: Any) -> None:
    code = (
        "import sys, ctxdiff_capture\n"
        "print([m for m in ('openai', 'anthropic', 'httpx', 'httpx2', 'tiktoken', 'mcp')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=runner.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "[]\n"
