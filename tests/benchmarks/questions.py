"""How long a question takes over MCP: ours cold and warm, beside the peer, on the same files.

    python tests/benchmarks/questions.py [--turns 12 200 5000] [--without-peer]
    python tests/benchmarks/questions.py --scale [window growing clock rewritten] [--without-peer]
                                         [--peer-limit-s 120]

Cold is the first question of a fresh server, warm the median of five repetitions. `--scale` asks
every tool about large traces; the peer is asked what it can answer, and stopped at a limit: its
ratios are then what they are at least.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import traces
from peer import peer_python
from rpc import Server

TOOLS = ("explain", "diff", "tokens")
SCALE_TOOLS = ("explain", "diff", "tokens", "cache", "search")
PEER_LACKS = frozenset(("search",))
SCALE: dict[str, tuple[int, Callable[[int], Iterable[list[traces.Row]]]]] = {
    "window": (5_000, traces.windowed),
    "growing": (1_000, lambda turns: traces.growing(turns, per_turn=1)),
    "clock": (200, traces.clocked),
    "rewritten": (20, traces.rewritten),
}
"""Large traces: 5,000 turns of 50 blocks, 1,000 turns growing to 1,000 blocks, a clock in a system
prompt of 40,000 characters, a block of 1 MB that is written anew."""


def ours(folder: Path) -> list[str | Path]:
    """The command that starts our server on a folder."""
    return [sys.executable, "-I", "-m", "ctxdiff_mcp", "serve", "--runs-dir", folder]


def theirs(folder: Path) -> list[str | Path]:
    """The command that starts the peer's server on a folder."""
    return [peer_python(), "-m", "ctxdiff", "mcp", "--runs-dir", folder]


def arguments(tool: str, trace: Path, turns: int) -> dict[str, str | int]:
    """A question about the trace's last turn."""
    if tool == "diff":
        return {"run": trace.name, "turn_a": turns - 1, "turn_b": turns}
    if tool == "search":
        return {"run": trace.name, "query": "depot rain morning depot"}
    return {"run": trace.name, "turn": turns} if tool == "explain" else {"run": trace.name}


def listed(command: Sequence[str | Path]) -> Server:
    """A server whose tools were listed, as every client does, and that has come to rest.

    In life a person's first question comes later still.
    """
    server = Server(command)
    server.ask("tools/list", {})
    time.sleep(1.5)
    return server


def cold(command: Sequence[str | Path], tool: str, asked: dict[str, str | int]) -> float:
    """Seconds of the first question to a fresh server."""
    server = listed(command)
    try:
        return server.timed_call(f"ctxdiff_{tool}", asked)[0]
    finally:
        server.close()


def bounded(
    command: Sequence[str | Path], tool: str, asked: dict[str, str | int], limit_s: float
) -> float | None:
    """Seconds of the first question to a fresh server; None when it took longer than the limit."""
    server = listed(command)
    try:
        return server.timed_call(f"ctxdiff_{tool}", asked, limit_s)[0]
    except TimeoutError:
        return None
    finally:
        server.close()


def warm(command: Sequence[str | Path], tool: str, asked: dict[str, str | int]) -> float:
    """Median seconds of a repeated question."""
    server = listed(command)
    try:
        server.timed_call(f"ctxdiff_{tool}", asked)
        return statistics.median(server.timed_call(f"ctxdiff_{tool}", asked)[0] for _ in range(5))
    finally:
        server.close()


def beside(peer: float | None, limit_s: float, first: float, again: float) -> str:
    """The peer's columns; where it was stopped, its time and the ratios are lower bounds."""
    sign, seconds = (">", limit_s) if peer is None else ("", peer)
    shown = (f"{seconds:.4g}", f"{seconds / first:.1f}x", f"{seconds / again:.1f}x")
    return " ".join(["", *(f"{sign + ' ' * bool(sign) + one:>10}" for one in shown)])


def measure(
    name: str,
    turns: int,
    rows: Iterable[list[traces.Row]],
    tools: Sequence[str],
    *,
    peer_limit_s: float | None,
) -> None:
    """Print one line per tool about a trace of those turns; a limit of None asks no peer."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        trace = traces.write(folder / f"bench{name}.ctrace", rows)
        for tool in tools:
            asked = arguments(tool, trace, turns)
            first = statistics.median(cold(ours(folder), tool, asked) for _ in range(3))
            again = warm(ours(folder), tool, asked)
            line = f"{name:>10} {tool:8} {first:>9.4f} {again:>9.4f}"
            if peer_limit_s is not None and tool not in PEER_LACKS:
                line += beside(
                    bounded(theirs(folder), tool, asked, peer_limit_s), peer_limit_s, first, again
                )
            print(line, flush=True)


def main() -> None:
    """Print one line per trace and tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, nargs="+", default=[12, 200, 5000])
    parser.add_argument("--without-peer", action="store_true", help="measure only ours")
    parser.add_argument(
        "--scale", nargs="*", choices=SCALE, help="large traces, all of them by default"
    )
    parser.add_argument("--peer-limit-s", type=float, default=120, help="seconds per question")
    options = parser.parse_args()
    limit = None if options.without_peer else options.peer_limit_s
    print(
        f"{'trace':>10} {'tool':8} {'cold s':>9} {'warm s':>9} {'peer s':>10} {'peer/cold':>10} {'peer/warm':>10}"
    )
    if options.scale is None:
        for turns in options.turns:
            rows = traces.windowed(turns) if turns > 1000 else traces.growing(turns)
            measure(str(turns), turns, rows, TOOLS, peer_limit_s=limit)
    for name in (options.scale or SCALE) if options.scale is not None else ():
        turns, make = SCALE[name]
        measure(name, turns, make(turns), SCALE_TOOLS, peer_limit_s=limit)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"largest peak memory of any server in this run: {peak / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
