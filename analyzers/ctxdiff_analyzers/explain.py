"""What the model saw at one turn, what had changed, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctxdiff_analyzers.counts import total_tokens
from ctxdiff_analyzers.detectors import DETECTORS
from ctxdiff_analyzers.detectors.scene import Detector, Scene
from ctxdiff_analyzers.diff import TurnDiff, turn_diff
from ctxdiff_analyzers.findings import Code, Finding
from ctxdiff_analyzers.hiding import GOES_ON, HOLDS_HISTORY, hidden_names
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.matching import Matching, matching
from ctxdiff_analyzers.ranking import ranked
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_analyzers.tokens import TurnTokens, turn_tokens
from ctxdiff_analyzers.window import Fill, window_fill

REPEATABLE: frozenset[Code] = frozenset(
    ("system_changed", "tools_changed", "tools_reordered", "cache_break", "cache_unused")
)
"""Findings that a program brings about at every turn, and that are then told since the first."""
REPEATS_LOOKED_AT = 24
"""Earlier turns that are looked at for the same finding; where all have it, it may be older yet."""
NOT_IN_RECORD: frozenset[Code] = frozenset(
    (
        *("context_evicted", "context_compacted", "context_edited", "system_changed"),
        *("tools_changed", "tools_reordered", "tool_missing", "tool_unknown", "cache_break"),
        *("orphan_tool_result", "orphan_tool_call"),
    )
)
"""What cannot be told of a turn that goes on from what the provider holds."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One turn explained."""

    seq: int
    agent: str | None
    tokens: TurnTokens
    previous: int | None
    """The same agent's turn that this one goes on from; None for its first."""
    diff: TurnDiff | None
    """From `previous` to this turn; None for the agent's first."""
    window: Fill | None
    """Of the billed prompt, or of the blocks where none was billed; None without a window."""
    findings: tuple[Finding, ...]
    """Most telling first; empty for a healthy turn."""


def explain(
    timeline: Timeline, seq: int, agent: str | None = None, window: int | None = None
) -> Explanation:
    """Explain turn `seq`.

    Args:
        timeline: the whole session, all agents.
        seq: the turn's number.
        agent: when given, the turn must be this agent's.
        window: size of the model's context window in tokens, as the user states it.

    Raises:
        ValueError: there is no such turn, it is another agent's, or `window` is not positive.
    """
    turn = timeline.turn(seq)
    if turn is None:
        raise ValueError(f"no turn {seq!r}")
    if agent is not None and turn.agent != agent:
        raise ValueError(f"turn {seq!r} is not of agent {agent!r}")
    mine = timeline.of_agent(turn.agent)
    tokens = turn_tokens(mine, turn)
    previous = predecessor(mine, turn)
    billed = tokens.usage.prompt_tokens
    used = tokens.total_tokens if billed is None else billed
    fill = None if window is None else window_fill(used, window)
    return Explanation(
        seq,
        turn.agent,
        tokens,
        None if previous is None else previous.seq,
        None if previous is None else turn_diff(previous, turn, mine),
        fill,
        findings_at(timeline, turn, window),
    )


def findings_at(timeline: Timeline, turn: Turn, window: int | None = None) -> tuple[Finding, ...]:
    """What is wrong at one turn of the session, most telling first. See `explain`."""
    return timeline.remembered(
        f"findings {turn.seq} {window}", lambda: _findings_at(timeline, turn, window)
    )


def _findings_at(timeline: Timeline, turn: Turn, window: int | None) -> tuple[Finding, ...]:
    scene = _scene(timeline, turn, window)
    found = [
        _with_start(timeline, scene, detector, finding, window)
        for detector in DETECTORS
        for finding in detector(scene)
    ]
    if _goes_on_elsewhere(scene):
        found = [finding for finding in found if finding.code not in NOT_IN_RECORD]
    return ranked(found, turn.seq)


def _scene(timeline: Timeline, turn: Turn, window: int | None) -> Scene:
    # A turn is looked at again when the next ones ask since when something is so.
    return timeline.remembered(
        f"scene {turn.seq} {window}", lambda: _new_scene(timeline, turn, window)
    )


def _new_scene(timeline: Timeline, turn: Turn, window: int | None) -> Scene:
    mine = timeline.of_agent(turn.agent)
    previous = predecessor(mine, turn)
    billed = turn.usage.prompt_tokens
    used = total_tokens(mine, turn) if billed is None else billed
    return Scene(
        timeline,
        mine,
        turn,
        previous,
        _since(mine, previous, turn),
        None if window is None else window_fill(used, window),
    )


def _with_start(
    timeline: Timeline, scene: Scene, detector: Detector, finding: Finding, window: int | None
) -> Finding:
    """The finding, with the first of the turns right before at which it was true likewise."""
    if (
        finding.code not in REPEATABLE
        or finding.since is not None
        or finding.turn != scene.turn.seq
    ):
        return finding
    since, earlier = None, scene.previous
    for _ in range(REPEATS_LOOKED_AT):
        if earlier is None:
            break
        there = _scene(timeline, earlier, window)
        if not any((f.code, f.cause) == (finding.code, finding.cause) for f in detector(there)):
            break
        since, earlier = earlier.seq, there.previous
    return finding if since is None else replace(finding, since=since)


def _goes_on_elsewhere(scene: Scene) -> bool:
    """True when the turn's history is, in whole or in part, the provider's."""
    names = set(hidden_names(scene.mine, scene.turn))
    if names & GOES_ON:
        return True
    before = set[str]() if scene.previous is None else {*hidden_names(scene.mine, scene.previous)}
    # A stored prompt or cached content that stays is the same beginning for both turns.
    return bool(names & HOLDS_HISTORY) and scene.previous is not None and names != before


def _since(mine: Timeline, previous: Turn | None, turn: Turn) -> Matching:
    if previous is None:
        return Matching((), (), (), tuple(range(len(turn.inputs))))
    return matching(previous, turn, mine)
