"""A finding as one short line with its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.refs import RunRef
from ctxdiff_mcp.gate.captured import Captured
from ctxdiff_mcp.gate.envelope import Envelope, Piece
from ctxdiff_mcp.tools.lines import call, handle, number, ranges

if TYPE_CHECKING:
    from ctxdiff_mcp.answers.findings import FindingRow

TOKEN_COUNTS = frozenset(
    (
        *("growth", "usual", "tokens", "stable_tokens", "rebilled_tokens", "output_tokens"),
        *("predicted_tokens", "read_tokens", "written_tokens", "resent_tokens", "shared_tokens"),
        *("prefix_tokens", "could_have_been_read"),
    )
)
"""Counts of a finding's evidence that are tokens."""
TEXT_SIZES = frozenset(("chars_kept", "chars_cut"))
"""Counts of a finding's evidence that measure a text."""
NAMED_BY_TEXT = frozenset(("tool_arguments_invalid", "context_edited", "context_hidden"))
"""Findings whose evidence names keys and places of texts too, and not tools or labels alone."""
MOST_BLOCKS = {False: 3, True: 10}
MOST_NAMES = {False: 5, True: 20}
MOST_EXCERPTS = {False: 2, True: 6}
QUOTED = 3
"""Findings of a concise answer that are quoted at all."""


def offer_finding(
    env: Envelope, run: RunRef, row: FindingRow, rank: int, *, detailed: bool
) -> bool:
    """Add one finding; False when there is no room."""
    origins = () if env.policy.hides_text else row.origins()
    # A cause is read from the texts that redact mode must not depend on.
    cause = f" ({row.cause})" if row.cause and not env.policy.hides_names else ""
    parts = [f"{rank}. {row.code}{cause}: turn {row.turn}"]
    if row.since is not None:
        parts.append(f"since turn {row.since}")
    if row.agent is not None:
        parts.append(f"agent {env.name(row.agent)}")
    parts += [f"severity {row.severity}", row.certainty]
    if row.tokens is not None:
        method = None if env.policy.hides_names or env.policy.rounds_counts else row.tokens_method
        parts.append(f"{number(env, row.tokens)} tokens ({method or 'estimate'})")
    parts += _evidence(env, row, origins, detailed=detailed)
    line = ", ".join(parts)
    if row.why and not env.policy.hides_names:
        line += f"; {row.why}"
    if row.next is not None:
        line += f"; next: {_next_call(env, run, row)}"
    words: list[tuple[str, int | str]] = [("finding", rank)]
    if row.blocks:
        words.append(("block", handle(env, row.blocks[0])))
    excerpts = [
        Piece(text, tuple(words), origins=origins)
        for text in row.excerpts[: _most_excerpts(rank, detailed=detailed)]
    ]
    return env.offer(line, *excerpts)


def _most_excerpts(rank: int, *, detailed: bool) -> int:
    """The likeliest cause is quoted in full, what stands further down with a word or not at all."""
    if detailed or rank == 1:
        return MOST_EXCERPTS[detailed]
    return 1 if rank <= QUOTED else 0


def _evidence(
    env: Envelope, row: FindingRow, origins: Sequence[Captured], *, detailed: bool
) -> list[str]:
    parts = []
    if row.blocks:
        shown = [handle(env, block) for block in row.blocks[: MOST_BLOCKS[detailed]]]
        rest = f" +{len(row.blocks) - len(shown)}" if len(row.blocks) > len(shown) else ""
        parts.append(f"block{'s' if len(row.blocks) > 1 else ''} {' '.join(shown)}{rest}")
    if row.positions:
        word = "positions" if len(row.positions) > 1 else "position"
        parts.append(f"{word} {ranges(sorted(set(row.positions)), 6)}")
    if row.path is not None and not env.policy.hides_text:
        parts.append(f"at {row.path}")
    if row.first_difference is not None and not env.policy.hides_text:
        parts.append(f"first difference at character {row.first_difference:,}")
    hides_all = env.policy.hides_names or (env.policy.hides_text and row.code in NAMED_BY_TEXT)
    if row.names and not hides_all:
        shown = [env.word(name, origins=origins) for name in row.names[: MOST_NAMES[detailed]]]
        rest = f" +{len(row.names) - len(shown)}" if len(row.names) > len(shown) else ""
        parts.append(f"about {' '.join(shown)}{rest}")
    if row.reusable and not env.policy.hides_names:
        parts.append(f"still reusable {' '.join(row.reusable)}")
    for name, count in row.counts:
        if env.policy.hides_text and name in TEXT_SIZES:
            continue
        spelled = number(env, count) if name in TOKEN_COUNTS else f"{count:,}"
        parts.append(f"{name} {spelled}")
    return parts


def _next_call(env: Envelope, run: RunRef, row: FindingRow) -> str:
    """The finding's next call; a block is called as this server calls it."""
    if row.next is None:
        raise ValueError("the finding names no next call")
    known = {block.content_hash: handle(env, block) for block in row.blocks}
    arguments: dict[str, int | str | None] = {}
    for key, value in row.next.arguments:
        if isinstance(value, int):
            arguments[key] = value
        elif value in known:
            arguments[key] = known[value]
    return call(row.next.tool, env, run, **arguments)
