"""However a program ends, what it asked is in the trace. Each test is a program of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from ctxdiff_capture import read

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import os, sys, threading
import httpx2, openai
from ctxdiff_capture import trace

BODY = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": "ok"}}]}

def answer(request):
    return httpx2.Response(200, json=BODY)

tracer = trace.init("exits", path=sys.argv[1])
http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
client = tracer.wrap(openai.OpenAI(api_key="k", http_client=http_client))

def ask(text):
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
"""


def run(path: Path, program: str, expect: int | None = 0) -> str:
    code = textwrap.dedent(PROGRAM) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "capture")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert expect is None or done.returncode == expect, done.stderr
    return done.stderr


def asked(path: Path) -> list[list[str]]:
    """Per session the texts that were asked, in order."""
    reader = read(path)
    try:
        return [
            [reader.inputs(c.id)[0].block.text for c in reader.load(s.id).calls]
            for s in reader.sessions()
        ]
    finally:
        reader.close()


FIFTY = [str(i) for i in range(50)]


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("raise KeyError('mine')", 1), ("sys.exit(3)", 3), ("del tracer, client", 0)],
)
def test_nothing_is_lost_when_the_program_just_ends(
    tmp_path: Path, ending: str, status: int
) -> None:
    run(tmp_path / "t.ctrace", f"for i in range(50): ask(str(i))\n{ending}", expect=status)

    assert asked(tmp_path / "t.ctrace") == [FIFTY]
    assert [p.name for p in tmp_path.iterdir()] == ["t.ctrace"]


def test_a_single_call_is_kept_with_exact_counts(tmp_path: Path) -> None:
    said = run(tmp_path / "t.ctrace", "ask('only')")

    assert (asked(tmp_path / "t.ctrace"), said) == ([["only"]], "")
    reader = read(tmp_path / "t.ctrace")
    (block,) = reader.load(reader.sessions()[0].id).blocks[:1]
    reader.close()
    assert (block.token_count, block.token_method) == (1, "tiktoken")


def test_calls_of_exit_handlers_are_kept(tmp_path: Path) -> None:
    run(tmp_path / "t.ctrace", "import atexit; atexit.register(ask, 'last'); ask('first')")

    assert asked(tmp_path / "t.ctrace") == [["first", "last"]]


def test_a_thread_that_outlives_the_main_one_is_recorded(tmp_path: Path) -> None:
    program = """
        def later():
            threading.main_thread().join()
            ask("late")
        threading.Thread(target=later).start()
    """
    run(tmp_path / "t.ctrace", program)

    assert asked(tmp_path / "t.ctrace") == [["late"]]


def test_a_request_under_way_at_the_end_is_recorded_as_unfinished(tmp_path: Path) -> None:
    program = """
        sent = threading.Event()
        def answer_never(request):
            sent.set()
            threading.Event().wait()
        client._client._transport.handler = answer_never
        threading.Thread(target=ask, args=("never",), daemon=True).start()
        sent.wait()
    """
    run(tmp_path / "t.ctrace", program)

    reader = read(tmp_path / "t.ctrace")
    (call,) = reader.load(reader.sessions()[0].id).calls
    reader.close()
    assert call.error == "Unfinished"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_killed_program_loses_at_most_what_was_not_stored_yet(tmp_path: Path) -> None:
    program = """
        for i in range(50): ask(str(i))
        tracer.flush()
        os.kill(os.getpid(), 9)
    """
    run(tmp_path / "t.ctrace", program, expect=-9)

    assert asked(tmp_path / "t.ctrace") == [FIFTY]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_records_into_a_session_of_its_own(tmp_path: Path) -> None:
    program = """
        ask("before")
        child = os.fork()
        ask("child" if child == 0 else "parent")
        if child:
            _, status = os.waitpid(child, 0)
            assert status == 0
    """
    run(tmp_path / "t.ctrace", program)

    assert sorted(asked(tmp_path / "t.ctrace")) == [["before", "parent"], ["child"]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_are_recorded(tmp_path: Path, method: str) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"the system cannot {method}")
    script = tmp_path / "program.py"
    body = f"""
        if __name__ == "__main__":
            import multiprocessing
            ask("parent")
            process = multiprocessing.get_context({method!r}).Process(target=ask, args=("child",))
            process.start()
            process.join()
            assert process.exitcode == 0
    """
    script.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(body))
    subprocess.run(
        [sys.executable, script, tmp_path / "t.ctrace"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "capture")},
        check=True,
        timeout=120,
    )

    assert sorted(asked(tmp_path / "t.ctrace")) == [["child"], ["parent"]]


@pytest.mark.parametrize("where", ["missing/dir/t.ctrace", "garbage.ctrace"])
def test_a_store_that_cannot_be_opened_costs_the_trace_and_one_warning(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "garbage.ctrace").write_bytes(b"this is no database" * 100)

    said = run(tmp_path / where, "for i in range(5): ask(str(i))")

    assert said.count("ctxdiff records nothing in") == 1
    assert "Traceback" not in said


def test_importing_the_recorder_loads_neither_sdk_nor_vocabulary() -> None:
    code = (
        "import sys, ctxdiff_capture\n"
        "print([m for m in ('openai', 'anthropic', 'httpx', 'httpx2', 'tiktoken', 'mcp')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "capture")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "[]\n"
