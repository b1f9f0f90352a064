"""What a turn costs: room in the window, growth, a lost cache, tools for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ctxdiff_analyzers.counts import EXACT, is_approximate, total_tokens, turn_totals
from ctxdiff_analyzers.detectors.edits import edit
from ctxdiff_analyzers.detectors.scene import PROMPT_ROLES, Scene, excerpt, tokens_of
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall, Severity
from ctxdiff_analyzers.prefix import Break
from ctxdiff_analyzers.schemas import schema_use
from ctxdiff_analyzers.timeline import Turn
from ctxdiff_analyzers.tokens import streamed_without_usage

TOO_LONG = re.compile(
    r"context.{0,10}(length|window|limit)|maximum context|too many (input )?tokens"
    r"|(prompt|input|request).{0,20} too (long|large)|exceeds? .{0,60}tokens?",
    re.IGNORECASE,
)
"""How providers say that a request does not fit, in the words of their error messages."""
FEW_GROWTHS = 3
SPIKE = 5
SPIKE_TOKENS = 500
DEAD_SHARE_PCT = 5.0
ENOUGH_CALLS = 3
LARGE_LOSS = 1_024
"""Tokens from which a lost prefix is worth money: nothing shorter is cached by most providers."""


def window(scene: Scene) -> Iterator[Finding]:
    """The stated window is nearly full, or the provider refused the request as too long."""
    call = scene.turn.call
    said = " ".join(filter(None, (call.error, call.error_message)))
    refused = call.error is not None and TOO_LONG.search(said) is not None
    refused = refused or call.finish_reason == "model_context_window_exceeded"
    fill = scene.window
    if not refused and (fill is None or not fill.alarm):
        return
    billed = scene.turn.usage.prompt_tokens
    tokens = total_tokens(scene.mine, scene.turn) if billed is None else billed
    exact = billed is not None or not is_approximate(scene.mine, scene.turn)
    counts = [("tokens", tokens)]
    if fill is not None:
        counts += [("window", fill.window), ("percent", int(fill.pct))]
    yield scene.finding(
        "window_pressure",
        "high" if refused or (fill is not None and fill.pct >= 100) else "medium",
        cause="context_limit_hit" if refused else None,
        evidence=Evidence(
            counts=tuple(counts), excerpts=(excerpt(said),) if refused and said else ()
        ),
        tokens=tokens,
        tokens_method="exact" if exact else "estimate",
        next=NextCall("ctxdiff_tokens", (("turn", call.seq),)),
    )


def growth(scene: Scene) -> Iterator[Finding]:
    """One turn added far more than the agent's turns usually do."""
    if scene.previous is None:
        return
    totals = scene.mine.remembered("totals", lambda: turn_totals(scene.mine))
    here = next(i for i, turn in enumerate(scene.mine.turns) if turn.seq == scene.turn.seq)
    steps = [new - old for old, new in pairwise(totals)]
    usual = [step for i, step in enumerate(steps) if i != here - 1 and step > 0]
    grown = steps[here - 1]
    if len(usual) < FEW_GROWTHS or grown < max(SPIKE_TOKENS, SPIKE * median(usual)):
        return
    new = [scene.new_block(j) for j in scene.matching.new]
    largest = max(new, key=lambda block: block.token_count, default=None)
    exact = all(block.token_method == EXACT for block in new)
    yield scene.finding(
        "growth_spike",
        "low",
        cause="runaway_growth",
        evidence=Evidence(
            content_hashes=() if largest is None else (largest.content_hash,),
            counts=(("growth", grown), ("usual", int(median(usual)))),
        ),
        tokens=grown,
        tokens_method="exact" if exact else "estimate",
        next=scene.to_diff(),
    )


def cache(scene: Scene) -> Iterator[Finding]:
    """The previous turn is no longer a prefix of this one, by position."""
    found, previous = scene.prefix_break, scene.previous
    if found is None or previous is None or _still_read(previous, scene.turn):
        return
    in_prompt = found.culprit_role in PROMPT_ROLES
    if scene.stands_alone() and not in_prompt:
        return
    # What had been sent before and cannot be read from a cache any more.
    lost = total_tokens(scene.mine, previous) - found.stable_tokens
    gone = scene.turn.usage.cache_read_tokens == 0 and _had_cache(previous)
    exact = all(scene.mine.blocks[block].token_method == EXACT for block in previous.inputs)
    severity: Severity = "medium" if gone or lost >= LARGE_LOSS else "low"
    yield scene.finding(
        "cache_break",
        severity,
        cause=_cause_of_break(scene, found),
        certainty="measured" if gone else "inferred",
        why=None if gone else "caches match exact prefixes, and the blocks differ from here on",
        evidence=Evidence(
            content_hashes=tuple(filter(None, (found.content_hash_before, found.content_hash))),
            positions=(found.divergent_position,),
            first_difference=found.first_diff_char,
            names=(found.culprit_label,),
            counts=(
                ("stable_blocks", found.stable_blocks),
                ("stable_tokens", found.stable_tokens),
                ("rebilled_tokens", found.rebilled_tokens),
            ),
        ),
        tokens=max(0, lost),
        tokens_method="exact" if exact else "estimate",
        next=NextCall("ctxdiff_cache", (("turn", scene.turn.seq),)),
    )


def schemas(scene: Scene) -> Iterator[Finding]:
    """Tools that are sent on every call and never used in the agent's turns."""
    use = schema_use(scene.mine)
    if (
        use.verdict != "some_unused"
        or use.calls_analyzed < ENOUGH_CALLS
        or use.pct_of_avg_context < DEAD_SHARE_PCT
    ):
        return
    here = {scene.mine.blocks[block].content_hash for block in scene.turn.inputs}
    dead = [tool for tool in use.unused if tool.content_hash in here]
    if not dead:
        return
    by_hash = {block.content_hash: block for block in scene.mine.blocks}
    blocks = [by_hash[tool.content_hash] for tool in dead if tool.tokens]
    tokens, method = tokens_of(blocks)
    yield scene.finding(
        "dead_schemas",
        "low",
        cause="dead_tool_schemas",
        since=scene.mine.turns[0].seq if scene.mine.turns[0].seq < scene.turn.seq else None,
        evidence=Evidence(
            content_hashes=tuple(dict.fromkeys(tool.content_hash for tool in dead[:20])),
            names=tuple(tool.name for tool in dead[:20]),
            counts=(
                ("unused", len(use.unused)),
                ("registered", len(use.registered)),
                ("calls", use.calls_analyzed),
            ),
        ),
        tokens=tokens,
        tokens_method=method,
        next=NextCall("ctxdiff_tokens", ()),
    )


def usage(scene: Scene) -> Iterator[Finding]:
    """A stream that could have reported usage and was not asked to."""
    if streamed_without_usage(scene.turn):
        yield scene.finding(
            "usage_missing",
            "low",
            cause="usage_not_requested",
            evidence=Evidence(names=("stream_options.include_usage",)),
            next=NextCall("ctxdiff_tokens", (("turn", scene.turn.seq),)),
        )


def _had_cache(turn: Turn) -> bool:
    return bool((turn.usage.cache_read_tokens or 0) + (turn.usage.cache_write_tokens or 0))


def _still_read(previous: Turn, turn: Turn) -> bool:
    """True when the provider says that what the previous turn had cached was read."""
    had = (previous.usage.cache_read_tokens or 0) + (previous.usage.cache_write_tokens or 0)
    return 0 < had <= (turn.usage.cache_read_tokens or 0)


def _cause_of_break(scene: Scene, found: Break) -> str | None:
    if found.culprit_block_kind == "tool_schema":
        return {
            "reordered": "tool_order_changed",
            "modified": "tool_description_changed",
        }.get(found.culprit_kind, "tool_set_changed")
    if found.culprit_kind == "modified" and found.content_hash_before is not None:
        if found.culprit_block_kind == "image":
            return None
        old = scene.mine.text_of(found.content_hash_before)
        return edit(old, scene.mine.text_of(found.content_hash)).cause
    in_prompt = found.culprit_role in PROMPT_ROLES
    return {
        "added": "system_replaced" if in_prompt else "item_inserted_in_prefix",
        "evicted": "system_prompt_missing" if in_prompt else "evicted_block",
        "reordered": "block_moved",
    }.get(found.culprit_kind)
