"""Event loops and generators that end early."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.fault("loop ended")
def test_a_stream_that_is_open_when_its_loop_ends_is_recorded_as_left(
    runner: Any, calls: Any
) -> None:
    program = """
        async def main():
            stream = await ask("left", asynchronous(), stream=True)
            async for chunk in stream:
                say(chunk.choices[0].delta.content)
                break
        asyncio.run(main())
        say("after")
    """
    ended = runner.run(program)

    assert (ended.out, ended.said) == ("one \nafter\n", ())
    (call,) = calls(runner.file)
    assert (call.error, call.finish_reason) == (None, None)


@pytest.mark.fault("loop ended")
def test_a_call_under_way_when_its_loop_is_stopped_is_recorded_as_cancelled(
    runner: Any, calls: Any
) -> None:
    program = """
        async def main():
            sent = asyncio.Event()
            async def answer(request):
                sent.set()
                await asyncio.Event().wait()
            globals()["answer_async"] = answer
            task = asyncio.create_task(ask("never", asynchronous()))
            await sent.wait()
            return task
        task = asyncio.run(main())
        say(task.cancelled())
    """
    ended = runner.run(program)

    assert (ended.out, ended.said) == ("True\n", ())
    assert [call.error for call in calls(runner.file)] == ["CancelledError"]


@pytest.mark.fault("loop closed under a call")
def test_a_call_whose_loop_was_closed_under_it_is_recorded_as_unfinished(
    runner: Any, calls: Any
) -> None:
    program = """
        loop = asyncio.new_event_loop()
        async def answer_async(request):
            loop.stop()
            await asyncio.Event().wait()
        task = loop.create_task(ask("never", asynchronous()))
        loop.run_forever()
        loop.close()
        task._log_destroy_pending = False
        say("closed")
        if IS_RECORDED: tracer.close()
        os._exit(0)  # what the loop left behind is the program's own affair
    """
    ended = runner.run(program)

    assert (ended.out, ended.said) == ("closed\n", ())
    assert [call.error for call in calls(runner.file)] == ["Unfinished"]


@pytest.mark.parametrize(
    ("give_up", "error"),
    [
        pytest.param("task.cancel()", "CancelledError", marks=pytest.mark.fault("task.cancel")),
        pytest.param("", "CancelledError", marks=pytest.mark.fault("asyncio.wait_for")),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True], ids=["call", "stream"])
def test_a_call_that_is_cancelled_is_recorded_as_far_as_it_came(
    runner: Any, calls: Any, give_up: str, error: str, is_stream: bool
) -> None:
    program = f"""
        async def main():
            reached = asyncio.Event()
            async def wait(*_):
                reached.set()
                await asyncio.Event().wait()
            async def wait_within(number):
                if number == 2: await wait()
            globals()["within_async"] = wait_within
            if not {is_stream}: globals()["answer_async"] = wait
            heard = []
            async def work():
                answer = await ask("cancelled", mine, stream={is_stream})
                async for chunk in answer:
                    heard.append(chunk.choices[0].delta.content)
            mine = asynchronous()
            task = asyncio.create_task(work())
            await reached.wait()
            try:
                if {bool(give_up)}:
                    {give_up or "pass"}
                    await task
                else:
                    await asyncio.wait_for(task, 0.01)
            except BaseException as error:
                say(type(error).__name__, heard)
        asyncio.run(main())
    """
    ended = runner.run(program)

    kind = "CancelledError" if give_up else "TimeoutError"
    assert ended.out == f"{kind} {['one ', 'two '] if is_stream else []}\n"
    assert ended.said == ()
    assert [call.error for call in calls(runner.file)] == [error]


@pytest.mark.fault("generator left")
@pytest.mark.parametrize("how", ["break", "del", "close", "exception"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_stream_that_is_left_is_recorded_as_far_as_it_came(
    runner: Any, calls: Any, kind: str, how: str
) -> None:
    leave = {
        "break": "break",
        "del": "break",
        "close": "{close}; break",
        "exception": "raise LookupError('mine')",
    }[how]
    synchronous = f"""
        def left():
            stream = ask("left", stream=True)
            for chunk in stream:
                yield chunk.choices[0].delta.content
                {leave.format(close="stream.close()")}
            if {how == "del"}: del stream
        try:
            for word in left(): say(word)
        except LookupError as error: say(repr(error))
        # The SDK's stream refers to itself, so it goes when Python next looks for such objects.
        import gc; gc.collect()
    """
    asynchronous = f"""
        async def left():
            stream = await ask("left", asynchronous(), stream=True)
            async for chunk in stream:
                yield chunk.choices[0].delta.content
                {leave.format(close="await stream.close()")}
            if {how == "del"}: del stream
        async def main():
            try:
                async for word in left(): say(word)
            except LookupError as error: say(repr(error))
        asyncio.run(main())
    """
    ended = runner.run(synchronous if kind == "sync" else asynchronous)

    words = ["one ", "LookupError('mine')"] if how == "exception" else ["one "]
    assert (ended.out.splitlines(), ended.said) == (words, ())
    (call,) = calls(runner.file)
    assert (call.error, call.finish_reason) == (None, None)


@pytest.mark.fault("order of chunks")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_each_chunk_reaches_the_program_before_the_next_one_is_made(runner: Any, kind: str) -> None:
    program = f"""
        def within(number): say("made", number)
        async def within_async(number): say("made", number)
        def sync():
            for chunk in ask("order", stream=True):
                say("got", chunk.choices[0].delta.content)
        async def asynchronously():
            async for chunk in await ask("order", asynchronous(), stream=True):
                say("got", chunk.choices[0].delta.content)
        if {kind == "sync"}: sync()
        else: asyncio.run(asynchronously())
    """
    ended = runner.run(program)

    assert ended.out.splitlines()[:6] == [
        "made 0",
        "got one ",
        "made 1",
        "got two ",
        "made 2",
        "got three",
    ]
