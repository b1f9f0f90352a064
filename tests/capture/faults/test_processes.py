"""Programs of several processes, and several recorders on one file."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from typing import Any

import pytest

pytestmark = pytest.mark.slow

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


@needs_fork
@pytest.mark.fault("os.fork")
@pytest.mark.parametrize("way_out", ["pass", "sys.exit(4)", "tracer.flush(); os._exit(4)"])
def test_a_forked_child_records_into_a_session_of_its_own(
    runner: Any, asked: Any, way_out: str
) -> None:
    program = f"""
        ask("before")
        child = os.fork()
        ask("child" if child == 0 else "parent")
        if child == 0:
            {way_out}
        else:
            _, status = os.waitpid(child, 0)
            say(os.waitstatus_to_exitcode(status))
    """
    ended = runner.run(program)

    assert ended.out == ("0\n" if way_out == "pass" else "4\n")
    assert sorted(asked(runner.file)) == [["before", "parent"], ["child"]]


@needs_fork
@pytest.mark.fault("os.fork")
def test_a_fork_in_the_midst_of_calls_leaves_each_to_its_process(runner: Any, asked: Any) -> None:
    """Threads ask while the process forks; what was under way belongs to the parent."""
    program = """
        def many(name):
            for number in range(20): ask(f"{name} {number}")
        # The SDK makes what it needs with its first call, under locks that a fork would copy.
        ask("warm")
        threads = [threading.Thread(target=many, args=(f"thread {n}",)) for n in range(3)]
        for thread in threads: thread.start()
        children = []
        for number in range(4):
            child = os.fork()
            if child == 0:
                ask(f"child {number}")
                sys.exit(0)
            children.append(child)
        for thread in threads: thread.join()
        say([os.waitpid(child, 0)[1] for child in children])
    """
    ended = runner.run(program)

    sessions = [texts for texts in asked(runner.file) if texts]
    everything = [text for texts in sessions for text in texts]
    assert (ended.out, len(everything), len(set(everything))) == ("[0, 0, 0, 0]\n", 65, 65)
    assert sorted(map(len, sessions)) == [1, 1, 1, 1, 61]


@needs_fork
@pytest.mark.fault("os.fork")
def test_a_child_that_outlives_the_recording_of_its_parent_loses_nothing(
    runner: Any, asked: Any
) -> None:
    """Whoever closes the file last moves the log: a child must count as one who has it open."""
    program = """
        ask("parent")
        tracer.flush()
        (stored, tell_stored), (closed, tell_closed) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            ask("child 1")
            tracer.flush()
            os.write(tell_stored, b".")
            os.read(closed, 1)
            ask("child 2")
            tracer.flush()
            os._exit(0)
        os.read(stored, 1)
        tracer.close()
        os.write(tell_closed, b".")
        say(os.waitpid(child, 0)[1])
    """
    ended = runner.run(program)

    assert (ended.out, sorted(asked(runner.file))) == ("0\n", [["child 1", "child 2"], ["parent"]])


@needs_fork
@pytest.mark.fault("os.fork")
def test_a_stream_that_parent_and_child_hold_is_recorded_by_the_parent(
    runner: Any, asked: Any, calls: Any
) -> None:
    program = """
        stream = iter(ask("shared", stream=True))
        first = next(stream).choices[0].delta.content
        child = os.fork()
        if child == 0:
            ask("child")
            sys.exit(0)
        os.waitpid(child, 0)
        say([first, *words_of(stream)])
    """
    runner.run(program)

    assert sorted(asked(runner.file)) == [["child"], ["shared"]]
    assert {call.finish_reason for call in calls(runner.file)} == {"stop"}


METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("fork", marks=pytest.mark.fault("multiprocessing fork")),
        pytest.param("spawn", marks=pytest.mark.fault("multiprocessing spawn")),
        pytest.param("forkserver", marks=pytest.mark.fault("multiprocessing forkserver")),
    ],
)
def test_children_of_multiprocessing_are_recorded(runner: Any, asked: Any, method: str) -> None:
    if method not in METHODS:
        pytest.skip(f"the system cannot {method}")
    program = f"""
        def work(text):
            ask(text)
            return os.getpid()
        if __name__ == "__main__":
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor
            context = multiprocessing.get_context({method!r})
            ask("parent")
            process = context.Process(target=ask, args=("child",))
            process.start()
            process.join()
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                pids = set(pool.map(work, ["pool 0", "pool 1", "pool 2"]))
            say(process.exitcode, os.getpid() in pids)
    """
    ended = runner.run(program, is_script=True)

    assert ended.out == "0 False\n"
    everything = sorted(text for texts in asked(runner.file) for text in texts)
    assert everything == ["child", "parent", "pool 0", "pool 1", "pool 2"]


@needs_fork
@pytest.mark.fault("multiprocessing.Pool")
def test_calls_of_a_pool_whose_workers_are_terminated_are_there(
    runner: Any, stored: Any, asked: Any
) -> None:
    """Leaving the `with` of a pool ends its workers by SIGTERM."""
    program = """
        import multiprocessing
        def work(text):
            ask(text)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(work, [str(i) for i in range(6)])
            say("mapped")
            sys.stdin.readline()
        say("left")
    """
    running = runner.start(program)
    running.said("mapped")
    stored(runner.file, 6)
    running.tell("go on")
    ended = running.end()

    assert (ended.status, ended.out, ended.said) == (0, "left\n", ())
    assert sorted(text for texts in asked(runner.file) for text in texts) == list("012345")


@needs_fork
@pytest.mark.fault("pre-fork")
@pytest.mark.parametrize("how", ["wrap", "auto"])
def test_workers_that_a_master_forks_record_all_their_calls(
    runner: Any, asked: Any, how: str
) -> None:
    """As gunicorn does: workers leave by `sys.exit` in a handler, through the master's frames."""
    program = f"""
        if {how == "auto"}:
            if IS_RECORDED: tracer.record_process()
            mine = plain
        else:
            mine = client
        ask("master", mine)

        def serve(number, asking, stopping):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            for call in range(20): ask(f"worker {{number}} call {{call}}", mine)
            os.write(stopping, b".")
            threading.Event().wait()

        workers = []
        served, serving = os.pipe()
        for number in range(3):
            worker = os.fork()
            if worker == 0:
                try:
                    serve(number, served, serving)
                    sys.exit(0)
                except SystemExit:
                    raise
                finally:
                    say("worker leaves")
            workers.append(worker)
        for _ in workers: os.read(served, 1)
        ask("master again", mine)
        for worker in workers: os.kill(worker, signal.SIGTERM)
        say([os.waitpid(worker, 0)[1] for worker in workers])
    """
    ended = runner.run(program)

    sessions = [texts for texts in asked(runner.file) if texts]
    assert ended.out == "worker leaves\n" * 3 + "[0, 0, 0]\n"
    assert sorted(sessions) == [
        ["master", "master again"],
        *([f"worker {n} call {c}" for c in range(20)] for n in range(3)),
    ]


@pytest.mark.fault("two programs")
def test_two_programs_record_into_one_file(runner: Any, asked: Any) -> None:
    program = """
        say("ready")
        sys.stdin.readline()
        for number in range(30): ask(f"{sys.stdin.readline().strip()} {number}")
    """
    both = [runner.start(program) for _ in range(2)]
    for running in both:
        running.said("ready")
    for name, running in zip("ab", both, strict=True):
        running.tell("\n".join(["go", *[name] * 30]))

    ends = [running.end() for running in both]
    assert [(ended.status, ended.said) for ended in ends] == [(0, ())] * 2
    assert sorted(asked(runner.file)) == [[f"{name} {i}" for i in range(30)] for name in "ab"]


@pytest.mark.fault("two tracers")
def test_two_tracers_in_one_program_record_each_its_own(
    runner: Any, asked: Any, calls: Any
) -> None:
    program = """
        other = trace.init("other", path=PATH)
        clients = {"one": client, "two": other.wrap(plain) if IS_RECORDED else plain}
        def many(name, thread):
            for number in range(10): ask(f"{name} {thread} {number}", clients[name])
        threads = [threading.Thread(target=many, args=(name, thread))
                   for name in clients for thread in range(5)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    runner.run(program)

    sessions = asked(runner.file)
    assert [Counter(text.split()[0] for text in texts) for texts in sorted(sessions)] == [
        {"one": 50},
        {"two": 50},
    ]
    assert sorted(call.seq for call in calls(runner.file)) == sorted([*range(1, 51)] * 2)
