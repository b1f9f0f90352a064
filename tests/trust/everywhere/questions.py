"""Every question that the tools can be asked, derived from what they declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from ctxdiff_mcp.tools.arguments import Argument, Integer
from ctxdiff_mcp.tools.registry import TOOLS

Question = tuple[str, dict[str, Any]]

RUNS = ("r1", "r2", "r3", "r4", "r5")
TURNS = (1, 2, 4, 5, 6, 99)
VALUES: Mapping[str, Sequence[Any]] = {
    "run": ("latest", *RUNS, "nobody at all"),
    "run_b": ("r2", "r1", "nobody at all"),
    "turn": TURNS,
    "turn_a": TURNS,
    "turn_b": TURNS,
    "agent": ("a1", "a2", "nobody at all"),
    "agent_b": ("a2", "a1"),
    "context_window": (50, 999_999_999),
    "stage": ("all", "1", "99", "no such stage"),
    "content_hash": ("b1", "b2", "b9", "abcdef0", "x"),
    "position": (0, 1, 4, 99),
    "query": ("CNRY", "a", "no such text"),
    "limit": (1, 20),
    "cursor": (0, 1, 999_999),
    "offset": (0, 3, 999_999),
    "max_chars": (1, 16_000),
}
"""What is tried of each argument that is no choice of words. A new argument must be added."""


def values_of(argument: Argument) -> Sequence[Any]:
    """All words of a choice; else what the table says."""
    if not isinstance(argument, Integer) and argument.choices:
        return argument.choices
    return VALUES[argument.name]


def questions(run: str = "latest", thin: int = 1) -> Iterator[Question]:
    """Each tool with each value of each argument, and with each pair of values of two arguments,
    with the three that stages need together, and `FEW`.

    Args:
        run: the run that most of them ask about.
        thin: of the pairs only each `thin`-th, and all of two turns.
    """
    for tool in TOOLS:
        free = [one for one in tool.arguments if one.name != "run"]
        base: dict[str, Any] = {"run": run} if len(free) < len(tool.arguments) else {}
        yield tool.name, dict(base)
        for argument in tool.arguments:
            for value in values_of(argument):
                yield tool.name, {**base, argument.name: value}
        pairs = [
            {one.name: first, other.name: second}
            for one, other in combinations(free, 2)
            for first, second in product(values_of(one), values_of(other))
        ]
        for number, pair in enumerate(pairs):
            if number % thin == 0 or pair.keys() == {"turn_a", "turn_b"}:
                yield tool.name, {**base, **pair}
        if "stage" in (one.name for one in free):
            for turn, stage in product(TURNS, VALUES["stage"]):
                yield tool.name, {**base, "turn_a": turn, "turn_b": turn, "stage": stage}
    for name, arguments in FEW:
        yield name, {**arguments, "run": run} if "run" in arguments else arguments


FEW: Sequence[Question] = (
    ("ctxdiff_runs", {}),
    ("ctxdiff_explain", {"run": "latest", "turn": 4, "response_format": "detailed"}),
    ("ctxdiff_explain", {"run": "latest", "turn": 2}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 1, "turn_b": 4, "response_format": "detailed"}),
    ("ctxdiff_diff", {"run": "latest", "turn_a": 4, "turn_b": 4, "stage": "all"}),
    ("ctxdiff_diff", {"run": "latest", "run_b": "r2"}),
    ("ctxdiff_tokens", {"run": "latest"}),
    ("ctxdiff_tokens", {"run": "latest", "by": "step"}),
    ("ctxdiff_tokens", {"run": "latest", "by": "model"}),
    ("ctxdiff_cache", {"run": "latest"}),
    ("ctxdiff_cache", {"run": "latest", "turn": 4}),
    ("ctxdiff_block", {"run": "latest", "turn": 4}),
    ("ctxdiff_block", {"run": "latest", "turn": 1, "position": 0}),
    ("ctxdiff_block", {"run": "latest", "turn": 4, "position": 4}),
    ("ctxdiff_search", {"run": "latest", "query": "CNRY"}),
    ("ctxdiff_search", {"run": "latest", "turn": 4}),
)
"""One of each kind, for where there are many traces to ask."""
