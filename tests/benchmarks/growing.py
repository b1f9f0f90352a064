"""A conversation that grows to 1,000 blocks over 300 turns: what recording costs, beside the peer.

    python tests/benchmarks/growing.py [--sdk openai anthropic] [--turns 300] [--rounds 3]

The real SDK is answered in memory after 20 ms, which any model takes. Recorded by us and by the peer,
each in a process of its own and from compiled modules, every turn is asked twice, by the client
itself and by the recorded one, in turn the first: `cpu` is what the second takes more on its thread,
and all that other threads take until every call is in the file. `memory` is the peak of the resident
set beyond that of the loop without a recorder, `later` what is beyond it at the end. Medians of the
rounds count. Then what recording adds on the call path at some turns, as `call_path.py` measures it,
with the same rest before each call.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import call_path
from peer import peer_environment, peer_python

MODEL_S = 0.02
REST_S = 0.1
WORDS = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor "


def text(number: int, what: str) -> str:
    """About 400 characters that no other number and kind gives."""
    return f"{what} {number:05}: " + (WORDS * 5)[number % 80 :][:380]


def openai_turn(turn: int) -> list[dict[str, Any]]:
    """What enters before a call: three blocks, in every third turn four."""
    call = {"name": "look_up", "arguments": json.dumps({"query": text(turn, "query")})}
    closing_words = {"role": "assistant", "content": text(turn, "answer")}
    return [
        {"role": "user", "content": text(turn, "question")},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"call_{turn}", "content": text(turn, "result")},
        *([closing_words] if turn % 3 == 0 else []),
    ]


def anthropic_turn(turn: int) -> list[dict[str, Any]]:
    """The same in Anthropic's form."""
    use = {"type": "tool_use", "id": f"toolu_{turn}", "name": "look_up"}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}"}
    return [
        {"role": "user", "content": text(turn, "question")},
        {"role": "assistant", "content": [{**use, "input": {"query": text(turn, "query")}}]},
        {"role": "user", "content": [{**result, "content": text(turn, "result")}]},
        *([{"role": "assistant", "content": text(turn, "answer")}] if turn % 3 == 0 else []),
    ]


ANTHROPIC_ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 21, "output_tokens": 5},
}


def openai_client() -> Any:
    """The SDK's client, answered in memory."""
    import httpx2
    import openai

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=call_path.ANSWER))
    return openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport))


def anthropic_client() -> Any:
    """The SDK's client, answered in memory."""
    import anthropic
    import httpx2

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=ANTHROPIC_ANSWER))
    return anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))


def ask_openai(client: Any, history: list[dict[str, Any]]) -> None:
    """One call."""
    client.chat.completions.create(model="gpt-4o", messages=history)


def ask_anthropic(client: Any, history: list[dict[str, Any]]) -> None:
    """One call."""
    client.messages.create(model="claude-sonnet-5", max_tokens=100, messages=history)


SDKS: dict[str, tuple[Callable[[], Any], Callable[[int], list[dict[str, Any]]], Any]] = {
    "openai": (openai_client, openai_turn, ask_openai),
    "anthropic": (anthropic_client, anthropic_turn, ask_anthropic),
}


def recorder(side: str, path: Path) -> Any:
    """Our tracer or the peer's; None for the unrecorded loop."""
    if side == "ours":
        from ctxdiff_capture import trace
    elif side == "peer":
        from ctxdiff import trace
    else:
        return None
    return trace.init("growing", path=str(path))


def stored_calls(path: Path) -> int:
    """Calls in the file by now."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("select count(*) from call").fetchone()[0])


def run(side: str, sdk: str, turns: int, path: Path) -> dict[str, float]:
    """One loop in this process: CPU seconds, wall seconds, megabytes.

    Raises:
        RuntimeError: calls are missing from the file.
    """
    make, turn_of, ask = SDKS[sdk]
    client = make()
    ask(client, turn_of(0))  # what the SDK loads on its first call is none of the recorder's
    begin, own, process = time.perf_counter(), time.thread_time(), time.process_time()
    tracer = recorder(side, path)
    asked = client if tracer is None else tracer.wrap(client)
    added = time.thread_time() - own
    history: list[dict[str, Any]] = []
    for turn in range(1, turns + 1):
        history += turn_of(turn)
        took = {}
        for way in (client, asked) if turn % 2 else (asked, client):
            start = time.thread_time()
            ask(way, history)
            took[id(way)] = time.thread_time() - start
            time.sleep(MODEL_S)
        added += took[id(asked)] - took[id(client)]
    if tracer is not None:
        # The peer's `close` gives up after 30 s; its queue is given all the time that it needs.
        while side == "peer" and stored_calls(path) < turns and time.perf_counter() - begin < 600:
            time.sleep(1)
        start = time.thread_time()
        tracer.close()
        added += time.thread_time() - start
        if (stored := stored_calls(path)) != turns:
            raise RuntimeError(f"{side} stored {stored} of {turns} calls")
    others = time.process_time() - process - (time.thread_time() - own)
    return {
        "cpu": added + others,
        "own": added,
        "loop": time.perf_counter() - begin,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "later": resident_mb(),
    }


def resident_mb() -> float:
    """The resident set now, in megabytes; 0 where the system does not tell."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0.0
    return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20


def in_own_process(python: Path, side: str, sdk: str, turns: int) -> dict[str, float]:
    """One loop, run by this file in that interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--side", side, "--sdk", sdk, "--turns", turns]
        command += ["--path", Path(folder) / "growing.ctrace"]
        done = subprocess.run(
            [str(part) for part in command],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=peer_environment(),
        )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(sdk: str, turns: int, rounds: int) -> None:
    """Print what recording takes, ours and the peer's."""
    ours, theirs = Path(sys.executable), peer_python()
    sides = {"plain": ours, "ours": ours, "plain there": theirs, "peer": theirs}
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for name in ("ours", "peer"):  # compiles what is not compiled yet
        in_own_process(sides[name], name, sdk, 1)
    for _ in range(rounds):
        for name, python in sides.items():
            figures[name].append(in_own_process(python, name.split()[0], sdk, turns))

    def median(name: str, what: str) -> float:
        return statistics.median(figure[what] for figure in figures[name])

    for name, base in (("ours", "plain"), ("peer", "plain there")):
        memory = [median(name, what) - median(base, what) for what in ("peak", "later")]
        cpu = [median(name, what) for what in ("cpu", "own")]
        columns = " ".join(f"{value:>10.2f}" for value in (*cpu, *memory, median(name, "loop")))
        print(f"{sdk:9} {name:5} {columns}", flush=True)
    ratio = median("peer", "cpu") / median("ours", "cpu")
    print(f"{sdk:9} cpu of recording, peer / ours: {ratio:.1f}x", flush=True)


def compare_path(turns: int, rounds: int) -> None:
    """Print what recording adds on the call path at four turns."""
    print(f"\n{'turn':>5} {'blocks':>6} {'ours us':>9} {'peer us':>10}   on the call path")
    for turn in (1, turns // 3, 2 * turns // 3, turns):
        blocks = sum(len(openai_turn(n)) for n in range(1, turn + 1))
        ours = call_path.in_own_process(Path(sys.executable), "ours", blocks, rounds, REST_S)
        peer = call_path.in_own_process(peer_python(), "peer", blocks, rounds, REST_S)
        print(f"{turn:>5} {blocks:>6} {ours:>9.1f} {peer:>10.1f}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sdk", nargs="+", choices=SDKS, default=list(SDKS))
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=("plain", "ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(run(options.side, options.sdk[0], options.turns, options.path)))
        return
    columns = ("cpu s", "of it own", "memory MB", "later MB", "loop s")
    print(f"{'':15} " + " ".join(f"{column:>10}" for column in columns))
    for sdk in options.sdk:
        compare(sdk, options.turns, options.rounds)
    compare_path(options.turns, 40)


if __name__ == "__main__":
    main()
