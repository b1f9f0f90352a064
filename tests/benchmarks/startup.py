"""From start to tools/list: our server beside a bare server of the same SDK.

    python tests/benchmarks/startup.py [--rounds 15]

The two are started in turn, so that a slower moment of the machine meets both.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rpc import Server

BARE = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

async def tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="nothing", input_schema={"type": "object"})])

async def main():
    server = Server("bare", on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


def seconds_to_tools(command: Sequence[str | Path]) -> float:
    """Seconds from starting the process to the answer of tools/list."""
    begin = time.perf_counter()
    server = Server(command)
    server.ask("tools/list", {})
    elapsed = time.perf_counter() - begin
    server.close()
    return elapsed


def main() -> None:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        bare = Path(name) / "bare_server.py"
        bare.write_text(BARE)
        ours = [sys.executable, "-I", "-m", "ctxdiff_mcp", "serve", "--runs-dir", name]
        times: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(rounds):
            times["bare"].append(seconds_to_tools([sys.executable, "-I", bare]))
            times["ours"].append(seconds_to_tools(ours))
    bare_s, ours_s = (statistics.median(times[side]) for side in ("bare", "ours"))
    print(f"start to tools/list, median of {rounds}: bare SDK {bare_s:.3f} s, ours {ours_s:.3f} s")
    print(f"ratio {ours_s / bare_s:.2f}")


if __name__ == "__main__":
    main()
