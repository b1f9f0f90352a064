"""200 streams at once in one event loop: how late it runs, unrecorded, recorded, beside the peer.

    python tests/benchmarks/streams.py [--streams 200] [--seconds 10] [--rounds 3]

A server in a process of its own sends each stream a chunk every 800 ms, stamped with the time; a
stream that ends is followed by the next. In the client's loop a probe asks to be woken every
millisecond and notes how late it was. Chunks tell how long they were under way. Each environment is
compared with its own unrecorded loop; the sides run in turn, `rounds` times, and medians count. A
machine that is busy otherwise shows itself in the unrecorded figures: then none of them count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from growing import recorder, stored_calls
from peer import peer_environment, peer_python

CHUNKS = 15
EVERY_S = 0.8
TICK_S = 0.001
WARM_UP_S = CHUNKS * EVERY_S


def chunk(content: str, finish: str | None = None) -> bytes:
    """One event of the stream, in a chunk of the transfer."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    data = b"data: " + json.dumps({**event, "model": "gpt-4o", "choices": [choice]}).encode()
    return b"%x\r\n%b\n\n\r\n" % (len(data) + 2, data)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection, each with a slow stream."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            await reader.readexactly(int(lines[b"content-length"]))
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                b"transfer-encoding: chunked\r\n\r\n"
            )
            for _ in range(CHUNKS):
                writer.write(chunk(f"{time.monotonic():.6f} "))
                await asyncio.sleep(EVERY_S)
            writer.write(chunk("", "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve() -> None:
    """Print the port, then answer until killed."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def probe(late: list[float]) -> None:
    """Note by how many milliseconds the loop wakes late."""
    while True:
        due = time.monotonic() + TICK_S
        await asyncio.sleep(TICK_S)
        late.append((time.monotonic() - due) * 1000)


async def stream_on(client: Any, number: int, ended: asyncio.Event, under_way: list[float]) -> None:
    """One conversation: stream after stream, each with what was said before."""
    text = f"{number:04} " + "word " * 79
    history = [{"role": ("user", "assistant")[i % 2], "content": f"{i} {text}"} for i in range(4)]
    while not ended.is_set():
        said = []
        stream = await client.chat.completions.create(model="gpt-4o", messages=history, stream=True)
        async for part in stream:
            content = part.choices[0].delta.content
            if content:
                under_way.append((time.monotonic() - float(content)) * 1000)
                said.append(content)
        history.append({"role": "assistant", "content": "".join(said)})
        history.append({"role": "user", "content": f"go on, {len(history)}"})


async def measure(client: Any, streams: int, seconds: float) -> dict[str, list[float]]:
    """Lateness of the loop and age of the chunks, in milliseconds, once all streams run."""
    late: list[float] = []
    under_way: list[float] = []
    ended = asyncio.Event()
    ticking = asyncio.create_task(probe(late))
    tasks = []
    for number in range(streams):  # spread, so that streams begin and end evenly
        tasks.append(asyncio.create_task(stream_on(client, number, ended, under_way)))
        await asyncio.sleep(WARM_UP_S / streams)
    await asyncio.sleep(WARM_UP_S)
    late.clear()
    under_way.clear()
    await asyncio.sleep(seconds)
    figures = {"late": list(late), "under way": list(under_way)}
    ended.set()
    await asyncio.gather(*tasks)
    ticking.cancel()
    return figures


def run(side: str, port: int, streams: int, seconds: float, path: Path) -> dict[str, float]:
    """One side in this process."""
    import openai

    client: Any = openai.AsyncOpenAI(
        api_key="none", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0, timeout=60
    )
    tracer = recorder(side, path)
    if tracer is not None:
        client = tracer.wrap(client)
    found = asyncio.run(measure(client, streams, seconds))
    if tracer is not None:
        tracer.close()
        if not stored_calls(path):
            raise RuntimeError(f"{side} stored nothing")
    figures = {
        f"{name} p{share}": percentile(values, share)
        for name, values in found.items()
        for share in (50, 99)
    }
    return figures | {"chunks": len(found["under way"]), "cpu s": time.process_time()}


def percentile(values: Sequence[float], share: int) -> float:
    """The value that `share` percent stay under."""
    return sorted(values)[len(values) * share // 100]


def in_own_process(
    python: Path, side: str, port: int, options: argparse.Namespace
) -> dict[str, float]:
    """One side, run by this file in that interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, __file__, "--side", side, "--port", port, "--streams", options.streams]
        command += ["--seconds", options.seconds, "--path", Path(folder) / "streams.ctrace"]
        done = subprocess.run(
            [str(part) for part in command],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=peer_environment(),
        )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(port: int, options: argparse.Namespace) -> None:
    """Print one line per side."""
    ours, theirs = Path(sys.executable), peer_python()
    sides = {"plain": ours, "ours": ours, "plain there": theirs, "peer": theirs}
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, python in sides.items():
            figures[name].append(in_own_process(python, name.split()[0], port, options))
    middle = {
        name: {key: statistics.median(f[key] for f in found) for key in found[0]}
        for name, found in figures.items()
    }
    keys = list(middle["plain"])
    print(f"{'ms':12} " + " ".join(f"{key:>13}" for key in keys))
    for name, found in middle.items():
        print(f"{name:12} " + " ".join(f"{found[key]:>13.3f}" for key in keys))
    for name, base in (("ours", "plain"), ("peer", "plain there")):
        added = (middle[name][key] - middle[base][key] for key in keys)
        print(f"{name + ' adds':12} " + " ".join(f"{value:>13.3f}" for value in added))


def main() -> None:
    """Start the server, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--side", choices=("plain", "ours", "peer", "serve"), help=argparse.SUPPRESS
    )
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side == "serve":
        asyncio.run(serve())
    elif options.side:
        side, port = options.side, options.port
        print(json.dumps(run(side, port, options.streams, options.seconds, options.path)))
    else:
        command = [sys.executable, __file__, "--side", "serve"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            try:
                compare(int(server.stdout.readline()), options)
            finally:
                server.kill()


if __name__ == "__main__":
    main()
