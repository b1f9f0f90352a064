"""What a turn costs: room in the window, growth, tools for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ctxdiff_analyzers.counts import EXACT, is_approximate, total_tokens, turn_totals
from ctxdiff_analyzers.detectors.scene import Scene, excerpt, tokens_of
from ctxdiff_analyzers.exchanges import given_at, schemas_met
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.ranking import TRANSIENT
from ctxdiff_analyzers.schemas import schema_use
from ctxdiff_analyzers.tokens import streamed_without_usage

TOO_LONG = re.compile(
    r"context.{0,10}(length|window|limit|size)|maximum context|too many (input )?tokens"
    r"|\b(prompt|input|request)s?\b.{0,20} too (long|large)|exceeds? .{0,60}tokens?"
    r"|(`inputs`|prompt)[^.]{0,60} must (be|have) (<=|at most|less than)"
    r"|(reduce|shorten) .{0,20}(length|size) of .{0,12}(messages|prompt|input|request|conversation)"
    r"|prompt .{0,40}(longer|larger|greater) than .{0,12}max(imum)? .{0,12}length",
    re.IGNORECASE,
)
"""How providers say that a request does not fit, in the words of their error messages."""
PER_TIME = re.compile(r"per[ _-](second|min|minute|hour|day)|rate.?limit|\b[TR]PM\b", re.IGNORECASE)
SCHEMA = "tool_schema"
FEW_GROWTHS = 3
SPIKE = 5
SPIKE_TOKENS = 500
FEWEST_GROWTHS, LONE_SPIKE, LONE_SPIKE_TOKENS = 2, 20, 4_000
"""The same where a conversation has but few turns, which tell little of what is usual."""
ENOUGH_CALLS = 2
DEAD_TOOL_PCT = 15.0
"""Share of the agent's average turn from which one unused tool is worth telling."""
DEAD_TOOL_TOKENS = 1_000
"""The same in tokens, for turns of any size."""
DEAD_ALL_PCT, DEAD_ALL_TOKENS = 25.0, 2_000
"""From where many small ones are: both must be reached."""


def window(scene: Scene) -> Iterator[Finding]:
    """The stated window is nearly full, or the provider refused the request as too long."""
    call = scene.turn.call
    said = " ".join(filter(None, (call.error, call.error_message)))
    refused = call.error is not None and _is_too_long(call.error_status, said)
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
    if not _is_spike(grown, usual, totals[here - 1]):
        return
    new = [scene.new_block(j) for j in scene.matching.new]
    largest = max(scene.matching.new, key=lambda j: scene.new_block(j).token_count, default=None)
    exact = all(block.token_method == EXACT for block in new)
    yield scene.finding(
        "growth_spike",
        "low",
        cause="runaway_growth",
        evidence=_grown_by(scene, largest, (("growth", grown), ("usual", int(median(usual))))),
        tokens=grown,
        tokens_method="exact" if exact else "estimate",
        next=scene.to_diff(),
    )


def _is_spike(grown: int, usual: list[int], before: int) -> bool:
    """Whether one growth is far above the other ones; where these are few, above all there was."""
    if len(usual) >= FEW_GROWTHS:
        return grown >= max(SPIKE_TOKENS, SPIKE * median(usual))
    if len(usual) < FEWEST_GROWTHS:
        return False
    return grown >= max(LONE_SPIKE_TOKENS, LONE_SPIKE * max(usual), SPIKE * before)


def schemas(scene: Scene) -> Iterator[Finding]:
    """Tools that are sent on every call and never used in the agent's turns."""
    use = schema_use(scene.mine)
    if use.verdict != "some_unused" or use.calls_analyzed < ENOUGH_CALLS:
        return
    by_hash = scene.mine.known(
        "schemas by hash",
        lambda: {b.content_hash: i for i, b in enumerate(scene.mine.blocks) if b.kind == SCHEMA},
    )
    met, here = schemas_met(scene.mine), set(scene.turn.inputs)
    # What came a turn ago may yet be used.
    late = scene.mine.turns[-ENOUGH_CALLS].seq
    offered = [tool for tool in use.unused if by_hash[tool.content_hash] in here]
    dead = [tool for tool in offered if met[by_hash[tool.content_hash]] <= late]
    dead.sort(key=lambda tool: -tool.tokens)
    tokens = sum(tool.tokens for tool in dead)
    if not dead or not _is_dear(dead[0].tokens, tokens, scene):
        return
    since = min(met[by_hash[tool.content_hash]] for tool in dead)
    blocks = [scene.mine.blocks[by_hash[tool.content_hash]] for tool in dead]
    yield scene.finding(
        "dead_schemas",
        "low",
        cause="dead_tool_schemas",
        since=since if since < scene.turn.seq else None,
        evidence=Evidence(
            content_hashes=tuple(dict.fromkeys(tool.content_hash for tool in dead[:20])),
            names=tuple(tool.name for tool in dead[:20]),
            counts=(
                ("unused", len(dead)),
                ("registered", len(use.registered)),
                ("calls", use.calls_analyzed),
            ),
        ),
        tokens=tokens,
        tokens_method=tokens_of(blocks)[1],
        next=NextCall("ctxdiff_tokens", ()),
    )


def _is_too_long(status: int | None, said: str) -> bool:
    """Whether an error refuses the request's size, and not how much was sent in a minute."""
    if status is not None and (status in TRANSIENT or status >= 500):
        return False
    return TOO_LONG.search(said) is not None and PER_TIME.search(said) is None


def _is_dear(largest: int, together: int, scene: Scene) -> bool:
    """Whether tools for nothing cost enough to be told: every program has some small ones."""
    totals = scene.mine.remembered("totals", lambda: turn_totals(scene.mine))
    average = sum(totals) / len(totals)
    if largest >= DEAD_TOOL_TOKENS or 100 * largest >= DEAD_TOOL_PCT * average:
        return True
    return together >= DEAD_ALL_TOKENS and 100 * together >= DEAD_ALL_PCT * average


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


def _grown_by(scene: Scene, largest: int | None, counts: tuple[tuple[str, int], ...]) -> Evidence:
    """The largest new block of a turn: where it stands, how it begins, which tool brought it."""
    if largest is None:
        return Evidence(counts=counts)
    block = scene.new_block(largest)
    given = None
    if block.kind != "image":
        given = given_at(scene.mine, scene.turn, largest)
    return Evidence(
        content_hashes=(block.content_hash,),
        positions=(scene.turn.positions[largest],),
        names=() if given is None or given.name is None else (excerpt(given.name),),
        excerpts=(excerpt(scene.text(block)),),
        counts=counts,
        path=path_of(scene.mine, scene.turn, largest),
    )
