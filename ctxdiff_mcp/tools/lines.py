"""Small parts of lines that several tools print: numbers, blocks, turns, calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxdiff_capture.model import Usage

from ctxdiff_mcp.answers.refs import BlockRef, RunRef, two_digits
from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.envelope import Envelope, Piece

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.turns import Outcome

HASH_CHARS = 8
NO_AGENT = "no agent"


def handle(env: Envelope, block: BlockRef) -> str:
    """How a block is called: the start of its hash, or its ordinal where hashes are not shown."""
    if env.policy.hides_text or not block.content_hash:
        return f"b{block.ordinal}"
    return block.content_hash[:HASH_CHARS]


def tokens(env: Envelope, count: int, exact: bool) -> str:
    """`1,234 tokens`, or `~1,234 tokens` for an estimate.

    Whether a count is exact follows from the provider, whose name redact mode withholds.
    """
    exact = exact and not env.policy.hides_names and not env.policy.rounds_counts
    return f"{'' if exact else '~'}{number(env, count)} token{'' if count == 1 else 's'}"


def number(env: Envelope, count: int, sign: str = "") -> str:
    """A token count as it may be shown: `1,234`; with `sign` "+", `+1,234`."""
    shown = two_digits(count) if env.policy.rounds_counts else count
    return f"{shown:{sign},}"


def plural(count: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def agent(env: Envelope, name: Name | None) -> str:
    """An agent's name, or that there is none."""
    return NO_AGENT if name is None else env.name(name)


def call(tool: str, env: Envelope, run: RunRef | None, **arguments: int | str | None) -> str:
    """A call ready to send: `ctxdiff_diff(run="demo", turn_a=7, turn_b=8)`.

    Texts among `arguments` must have passed the gate.
    """
    given: dict[str, int | str | None] = {} if run is None else {"run": env.name(run.name)}
    given |= arguments
    return f"{tool}({', '.join(_argument(k, v) for k, v in given.items() if v is not None)})"


def block_piece(
    env: Envelope, block: BlockRef, text: Captured, turn: int | None = None, max_chars: int = 240
) -> Piece:
    """The start of a block's text, named in its frame."""
    words: list[tuple[str, int | str]] = [("block", handle(env, block)), ("role", block.role)]
    if turn is not None:
        words.append(("turn", turn))
    return Piece(text, tuple(words), max_chars=max_chars)


def ranges(numbers: Sequence[int], most: int = 12) -> str:
    """`1-4, 7, 9-12` of ascending numbers; says how many runs are left out."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    spelled = [f"{first}-{last}" if last > first else f"{first}" for first, last in runs]
    if len(spelled) <= most:
        return ", ".join(spelled)
    kept = [*spelled[: most - 1], f"... {len(spelled) - most} more ...", spelled[-1]]
    return ", ".join(kept)


def outcome_lines(env: Envelope, outcome: Outcome) -> list[str]:
    """How a call went, as one or two lines."""
    facts = [f"model {env.word(outcome.model)}", f"provider {env.word(outcome.provider)}"]
    if outcome.finish_reason is not None:
        facts.append(f"finish reason {env.word(outcome.finish_reason)}")
    if outcome.latency_ms is not None:
        facts.append(f"{outcome.latency_ms:,} ms")
    if outcome.attempts is not None and outcome.attempts > 1:
        facts.append(f"{outcome.attempts} attempts")
    lines = [", ".join(facts)]
    if outcome.error is not None:
        status = "" if outcome.error_status is None else f", status {outcome.error_status}"
        lines.append(f"failed: {env.word(outcome.error)}{status}")
    billed = usage(env, outcome.usage)
    if billed:
        lines.append(f"billed: {billed}")
    return lines


def usage(env: Envelope, billed: Usage) -> str:
    """The provider's own numbers; empty when it reported none."""
    parts = [
        (billed.prompt_tokens, "prompt"),
        (billed.cache_read_tokens, "read from cache"),
        (billed.cache_write_tokens, "written to cache"),
        (billed.output_tokens, "output"),
        (billed.reasoning_tokens, "reasoning"),
    ]
    return ", ".join(f"{number(env, count)} {word}" for count, word in parts if count is not None)


def _argument(key: str, value: int | str) -> str:
    return f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
