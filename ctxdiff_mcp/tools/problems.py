"""The closed catalogue of what can go wrong, in fixed words, with what would have fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar, get_args

from ctxdiff_capture.errors import (
    EmptyTrace,
    NotATrace,
    StoreBusy,
    StoreError,
    TooLarge,
    TraceNotFound,
    UnfinishedChange,
    UnsafeTrace,
    UnsupportedVersion,
)

from ctxdiff_mcp.answers.asking import Problem, Unanswerable
from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.lines import handle, ranges

Choice = TypeVar("Choice")

MOST_CHOICES = 12
RUNS_CALL = "ctxdiff_runs()"

_NEXT: dict[Problem, str] = {
    "no_runs": RUNS_CALL,
    "unknown_run": RUNS_CALL,
    "ambiguous_run": RUNS_CALL,
    "still_reading": "the same call again",
    "empty_run": RUNS_CALL,
    "unknown_turn": 'ctxdiff_tokens(run="...") lists the turns',
    "turn_of_another_agent": "the same call without `agent`",
    "unknown_agent": "the same call with one of these, or without `agent`",
    "ambiguous_agent": "the same call with one of these",
    "unknown_block": 'ctxdiff_block(run="...", turn=1) lists a turn\'s blocks',
    "ambiguous_block": "the same call with one of these",
    "hash_too_short": 'ctxdiff_block(run="...", turn=1) lists a turn\'s blocks',
    "unknown_position": "the same call with one of these positions",
    "unknown_stage": "the same call with one of these",
    "stages_of_two_turns": "the same call with `turn_a` as `turn_b` is",
    "nothing_to_compare": "the same call with two turns, with `run_b`, or with `agent_b`",
    "not_in_redact_mode": 'ctxdiff_explain(run="latest")',
}
_STORE: tuple[tuple[type[StoreError], str, str], ...] = (
    (UnsupportedVersion, "newer_version", "the file was written by a newer program; upgrade"),
    (
        UnfinishedChange,
        "unfinished_change",
        "a journal lies beside the file; let its writer end, or open it once with its writer",
    ),
    (StoreBusy, "busy", "another program is changing the file; ask again in a moment"),
    (EmptyTrace, "no_session", "the file holds no session; use another run"),
    (TraceNotFound, "gone", "the file or its session is no longer there; list the runs again"),
    (TooLarge, "too_large", "the file, or a part of it, is larger than is read; use another run"),
    (
        UnsafeTrace,
        "unsafe_schema",
        "the file has what no trace has, such as views; use another run",
    ),
    (NotATrace, "not_a_trace", "the file is damaged or no trace; use another run"),
    (StoreError, "unreadable", "the file cannot be read; use another run"),
)
ReadingProblem: TypeAlias = Literal["too_slow", "reader_stopped", "needs_too_much"]
_READING: dict[ReadingProblem, str] = {
    "too_slow": "the question was stopped at its time limit; ask about fewer turns, or again when "
    "the machine is less busy",
    "reader_stopped": "the reader of the file was stopped, twice; ask again, or use another run",
    "needs_too_much": "the answer needs more memory than there is for one; ask about another run",
}

BAD_ARGUMENTS, INTERNAL, TOO_LARGE = "bad_arguments", "internal error", "too_large"
CODES: frozenset[str] = frozenset(
    (
        *(BAD_ARGUMENTS, INTERNAL, TOO_LARGE),
        *get_args(Problem),
        *(code for _, code, _ in _STORE),
        *get_args(ReadingProblem),
    )
)
"""All that an answer can begin with after `error `. Nothing else in the package says it."""


def explained(problem: Unanswerable, policy: Policy) -> str:
    """A question that does not fit the record."""
    env = Envelope(policy)
    env.say(f"error {problem.code}: {problem.problem}; {problem.remedy}")
    choices = problem.choices
    if choices.names:
        _list(env, choices.names, env.name)
    if choices.blocks:
        if policy.hides_text:
            _list(env, choices.blocks, lambda block: handle(env, block))
        else:
            _list(env, choices.blocks, lambda block: block.content_hash[:20])
    if choices.numbers:
        env.say(f"valid: {ranges(choices.numbers)}")
    env.close(f"next: {_NEXT[problem.code]}")
    return env.finish()


def store_problem(problem: StoreError) -> str:
    """A file that cannot be read."""
    code, words = next((code, words) for kind, code, words in _STORE if isinstance(problem, kind))
    return f"error {code}: {words}\nnext: {RUNS_CALL}\n"


def bad_arguments(lines: Sequence[str], tool: str, policy: Policy) -> str:
    """Arguments that do not fit the tool."""
    env = Envelope(policy)
    for line in (f"error {BAD_ARGUMENTS}: {tool}", *lines):
        env.close(line)
    return env.finish()


def internal(short_id: str) -> str:
    """Something unforeseen; details went to the log, if anywhere."""
    return (
        f"error {INTERNAL} {short_id}: this answer could not be made; the server goes on\n"
        f"next: {RUNS_CALL}\n"
    )


def too_large() -> str:
    """An answer above the promised size, which no tool should make; nothing of it is sent."""
    return (
        f"error {TOO_LARGE}: the answer came out larger than promised and is withheld; "
        f"ask for less, with `limit`\nnext: {RUNS_CALL}\n"
    )


def reading_problem(code: ReadingProblem) -> str:
    """A question that its worker could not answer within its limits."""
    return f"error {code}: {_READING[code]}\nnext: {RUNS_CALL}\n"


def _list(env: Envelope, choices: Sequence[Choice], spell: Callable[[Choice], str]) -> None:
    """The first of the choices, as many as there is room for."""
    line, most = "", env.line_room - len(f" and {len(choices):,} more")
    for at, choice in enumerate(choices[:MOST_CHOICES]):
        longer = f"{line}, {spell(choice)}" if line else f"valid: {spell(choice)}"
        if len(longer) > most:
            break
        line, shown = longer, at + 1
    if line:
        env.say(line + (f" and {len(choices) - shown:,} more" if len(choices) > shown else ""))
