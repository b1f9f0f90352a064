"""What recording adds to a call on the caller's own path, beside the peer, in the same run.

    python tests/benchmarks/call_path.py [--blocks 10 100 1000] [--rounds 40]

Both sides wrap a client whose request costs nothing, so that only the recorder is measured: for us
the SDK's HTTP client with a `send` that answers at once, for the peer a method that does. Recorded
and unrecorded calls alternate; between two calls the recorder's thread is left to finish. An
unrecorded call that is not timed goes before each timed one, as the SDK's own work does in life, so
that both kinds meet a processor that is awake. A second measurement makes the calls back to back:
there the code is in the processor's caches, which after a rest it is not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from peer import peer_environment, peer_python

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    ],
    "usage": {"prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26},
}


def conversation(blocks: int, turn: int) -> dict[str, Any]:
    """A request of that many 400-character messages; the last one differs from turn to turn."""
    texts = [f"{i:04} " + "word " * 79 for i in range(blocks - 1)] + [f"{turn:04} " + "last " * 79]
    roles = ("user", "assistant")
    return {
        "model": "gpt-4o",
        "messages": [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)],
    }


def medians(
    plain: Callable[[int], object], recorded: Callable[[int], object], rounds: int, rest: float
) -> float:
    """Median microseconds that `recorded` takes beyond `plain`."""
    times: dict[str, list[float]] = {"plain": [], "recorded": []}
    for turn in range(-3, rounds):
        for name, call in (("plain", plain), ("recorded", recorded)):
            plain(turn + 3)
            begin = time.perf_counter()
            call(turn + 3)
            if turn >= 0:
                times[name].append(time.perf_counter() - begin)
            time.sleep(rest)
    return (statistics.median(times["recorded"]) - statistics.median(times["plain"])) * 1e6


def measure_ours(blocks: int, rounds: int, rest: float, folder: Path) -> float:
    """Microseconds that our tap adds to `send`."""
    import httpx2
    import openai
    from ctxdiff_capture import trace

    class Instant(httpx2.Client):
        def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
            return answer

    answer = httpx2.Response(200, json=ANSWER)

    def request(turn: int) -> httpx2.Request:
        body = json.dumps(conversation(blocks, turn)).encode()
        return httpx2.Request("POST", "http://api.openai.com/v1/chat/completions", content=body)

    requests = [request(turn) for turn in range(rounds + 3)]
    client = openai.OpenAI(api_key="none", http_client=Instant())
    with trace.init("bench", path=folder / "ours.ctrace") as tracer:
        tapped = tracer.wrap(client)
        send, tapped_send = client._client.send, tapped._client.send
        return medians(
            lambda turn: send(requests[turn]),
            lambda turn: tapped_send(requests[turn]),
            rounds,
            rest,
        )


def measure_peer(blocks: int, rounds: int, rest: float, folder: Path) -> float:
    """Microseconds that the peer's proxy adds to `create`."""
    from ctxdiff import trace

    answer = SimpleNamespace(usage=SimpleNamespace(**ANSWER["usage"]))
    completions = type("Completions", (), {"create": lambda self, **_: answer})()
    client_class = type(
        "OpenAI", (), {"__module__": "openai", "base_url": "https://api.openai.com/v1"}
    )
    client = client_class()
    client.chat = SimpleNamespace(completions=completions)
    asked = [conversation(blocks, turn) for turn in range(rounds + 3)]
    tracer = trace.init("bench", path=str(folder / "peer.ctrace"))
    recorded = tracer.wrap(client)
    result = medians(
        lambda turn: client.chat.completions.create(**asked[turn]),
        lambda turn: recorded.chat.completions.create(**asked[turn]),
        rounds,
        rest,
    )
    tracer.close()
    return result


def in_own_process(python: Path, side: str, blocks: int, rounds: int, rest: float) -> float:
    """One side's figure, measured by this file in that interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--side", side, "--blocks", blocks, "--rounds", rounds]
        command += ["--rest", rest, "--folder", folder]
        done = subprocess.run(
            [str(part) for part in command],
            check=True,
            capture_output=True,
            text=True,
            env=peer_environment(),
        )
    return float(done.stdout.split()[-1])


def main() -> None:
    """Print one line per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--side", choices=("ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--rest", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure = {"ours": measure_ours, "peer": measure_peer}[options.side]
        print(measure(options.blocks[0], options.rounds, options.rest, options.folder))
        return
    print(f"{'blocks':>6} {'calls':13} {'ours us':>9} {'peer us':>10} {'peer/ours':>10}")
    for blocks in options.blocks:
        for calls, rest in (("after a rest", blocks / 8000), ("back to back", 0.0)):
            ours = in_own_process(Path(sys.executable), "ours", blocks, options.rounds, rest)
            peer = in_own_process(peer_python(), "peer", blocks, options.rounds, rest)
            print(
                f"{blocks:>6} {calls:13} {ours:>9.1f} {peer:>10.1f} {peer / ours:>9.0f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
