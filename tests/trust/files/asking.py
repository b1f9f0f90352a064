"""A program: asks tools about every trace of a folder and prints what it measured as JSON.

Run in a process of its own, so that a crash is seen: `python asking.py FOLDER SECRET`.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.registry import BY_NAME, run_tool
from ctxdiff_mcp.tools.tool import Context

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("ctxdiff_explain", {}),
    ("ctxdiff_diff", {"turn_a": 1, "turn_b": 2}),
    ("ctxdiff_diff", {"turn_a": 2, "run_b": "good"}),
    ("ctxdiff_tokens", {}),
    ("ctxdiff_cache", {}),
    ("ctxdiff_block", {"turn": 2}),
    ("ctxdiff_block", {"turn": 2, "position": 1}),
    ("ctxdiff_search", {"query": "hello"}),
    ("ctxdiff_search", {"turn": 2}),
]


def peak_megabytes() -> float:
    """What this program held at most."""
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` would begin with what the program held that started this one.
        lines = status.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    folder, secret = Path(sys.argv[1]), sys.argv[2]
    source = Source(folder)
    context = Context(source, Policy())
    slowest, unforeseen, leaks = 0.0, [], []

    def ask(tool: str, arguments: dict[str, Any]) -> str:
        nonlocal slowest
        begun = time.process_time()
        try:
            text, _ = run_tool(BY_NAME[tool], context, arguments)
        except Exception:  # noqa: BLE001  # the server tells of these as internal errors
            text = ""
            unforeseen.append(f"{tool} {arguments}\n{traceback.format_exc(limit=-6)}")
        slowest = max(slowest, time.process_time() - begun)
        return text

    ask("ctxdiff_runs", {"limit": 100})
    handles = [listed.handle for listed in source.listing().runs]
    for handle in handles:
        # One each: many files are asked about.
        for tool, arguments in random.Random(handle + secret).sample(QUESTIONS, 1):
            text = ask(tool, {"run": handle, **arguments})
            if handle != "good" and "run_b" not in arguments and secret in text:
                leaks.append(f"{tool} {handle}")
    print(
        json.dumps(
            {
                "slowest": slowest,
                "peak_mb": peak_megabytes(),
                "read": len(handles),
                "good": "good" in handles
                and secret in ask("ctxdiff_block", {"run": "good", "turn": 2, "position": 3}),
                "unforeseen": unforeseen,
                "leaks": leaks,
            }
        )
    )


main()
