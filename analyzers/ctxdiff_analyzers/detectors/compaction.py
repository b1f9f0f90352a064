"""Histories that were compacted: by the program, by the provider, and again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ctxdiff_analyzers.compaction import (
    Compaction,
    compaction,
    is_provider_summary,
    is_rewritten_summary,
)
from ctxdiff_analyzers.counts import total_tokens
from ctxdiff_analyzers.detectors.replay import merged_messages
from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, tokens_of
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall, Severity
from ctxdiff_analyzers.lineage import predecessor
from ctxdiff_analyzers.paths import path_of

LOOP_TURNS = 4
"""Turns before this one among which another compaction makes a loop."""
LOOP_ROUNDS = 3
"""Summaries rewritten in a row that are a loop."""
BACK = 0.8
"""Of the size before the last compaction from which the context is back at it."""
FIXED_SHARE = 0.5
LARGE_SHARE = 0.25
"""Part of the previous turn that makes what no summary carries a grave loss."""
WHY_NAMED = "older messages are gone, and a text that calls itself a summary stands in their place"
WHY_SHARED = "older messages are gone, and what stands in their place has words of theirs"
WHY_SHORT = "older messages are gone, and a new message amid the history stands in their place"
WHY_LOOP = "the conversation starts with another summary on each of the last turns"


def compacted(scene: Scene) -> Iterator[Finding]:
    """Older messages that were replaced by few new ones, by whomever."""
    by_provider = list(_by_provider(scene))
    if by_provider:
        yield from by_provider
        return
    found = compaction_of(scene)
    if found is not None:
        yield _finding(scene, found)
    elif _is_rewriting(scene):
        yield _rewriting(scene)


def compaction_of(scene: Scene) -> Compaction | None:
    """What was compacted since the previous turn, unless most of it comes back."""
    if scene.previous is None:
        return None
    found = compaction(scene.mine, scene.previous, scene.turn)
    if found is None or 2 * len(_came_back(scene, found)) >= len(found.replaced):
        return None
    # Messages made one are there still, in their own words.
    return None if merged_messages(scene).keys() >= {*found.standing_in} else found


def _finding(scene: Scene, found: Compaction) -> Finding:
    assert scene.previous is not None
    replaced = [scene.old_block(i) for i in found.replaced]
    standing = [scene.new_block(j) for j in found.standing_in]
    lost = sorted((scene.old_block(i) for i in found.lost), key=lambda one: -one.token_count)
    tokens, method = tokens_of(replaced)
    before = total_tokens(scene.mine, scene.previous)
    is_loop = _is_loop(scene, before)
    severity: Severity = "medium"
    if is_loop or tokens_of(lost)[0] >= LARGE_SHARE * before:
        severity = "high"
    return scene.finding(
        "context_compacted",
        severity,
        cause="compaction_loop" if is_loop else "history_compacted",
        certainty="inferred",
        why=WHY_NAMED
        if found.is_named
        else WHY_SHARED
        if found.lost != found.replaced
        else WHY_SHORT,
        evidence=Evidence(
            content_hashes=tuple(b.content_hash for b in (*standing, *lost, *replaced))[:LISTED],
            positions=tuple(scene.turn.positions[j] for j in found.standing_in),
            excerpts=tuple(excerpt(scene.text(block)) for block in (*standing[:2], *lost[:2])),
            counts=(
                ("replaced", len(found.replaced)),
                ("kept_verbatim", found.kept),
                ("summarised", len(found.replaced) - len(found.lost)),
                ("lost", len(found.lost)),
                ("came_back", len(_came_back(scene, found))),
                ("tokens_before", before),
                ("tokens_after", total_tokens(scene.mine, scene.turn)),
            ),
            path=path_of(scene.mine, scene.turn, found.standing_in[0]),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )


def _came_back(scene: Scene, found: Compaction) -> list[int]:
    """Of what was replaced the blocks that a later turn of the agent has again."""
    assert scene.previous is not None
    inputs = scene.previous.inputs
    blocks = {inputs[i] for i in found.replaced}
    last = scene.mine.last_seen(blocks)
    return [i for i in found.replaced if last.get(inputs[i], 0) > scene.turn.seq]


def _is_loop(scene: Scene, before: int) -> bool:
    """True when the context was compacted a few turns ago and is back at that size."""
    assert scene.previous is not None
    turn = scene.previous
    for _ in range(LOOP_TURNS):
        earlier = predecessor(scene.mine, turn)
        if earlier is None:
            return False
        if compaction(scene.mine, earlier, turn) is not None:
            return before >= BACK * total_tokens(scene.mine, earlier)
        turn = earlier
    return False


def _is_rewriting(scene: Scene) -> bool:
    """True when turn after turn nothing but another summary is left, and little else fits."""
    turn = scene.turn
    sizes = [total_tokens(scene.mine, turn)]
    for _ in range(LOOP_ROUNDS):
        earlier = predecessor(scene.mine, turn)
        if earlier is None or not is_rewritten_summary(scene.mine, earlier, turn):
            return False
        turn = earlier
        sizes.append(total_tokens(scene.mine, turn))
    fixed = sum(
        scene.mine.blocks[block].token_count
        for block in scene.turn.inputs
        if scene.mine.blocks[block].kind == "tool_schema"
        or scene.mine.blocks[block].role in ("system", "developer")
    )
    return fixed >= FIXED_SHARE * sizes[0] and min(sizes) >= BACK * max(sizes)


def _rewriting(scene: Scene) -> Finding:
    first = min((*scene.matching.new, *(j for _, j in scene.matching.edited)))
    block = scene.new_block(first)
    return scene.finding(
        "context_compacted",
        "medium",
        cause="compaction_loop",
        certainty="inferred",
        why=WHY_LOOP,
        evidence=Evidence(
            content_hashes=(block.content_hash,),
            positions=(scene.turn.positions[first],),
            excerpts=(excerpt(scene.text(block)),),
            counts=(
                ("compactions", LOOP_ROUNDS),
                ("tokens_after", total_tokens(scene.mine, scene.turn)),
            ),
            path=path_of(scene.mine, scene.turn, first),
        ),
        tokens=block.token_count,
        tokens_method=tokens_of([block])[1],
        next=scene.to_diff(),
    )


def _by_provider(scene: Scene) -> Iterator[Finding]:
    """Edits of the context that the provider says it made, or whose result it sent back."""
    told = scene.mine.detail(scene.turn).metadata.get("context_management")
    edits = told.get("applied_edits") if isinstance(told, Mapping) else None
    applied = (
        [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else []
    )
    summaries = [block for block in scene.turn.outputs if is_provider_summary(scene.mine, block)]
    if not applied and not summaries:
        return
    counts: dict[str, int] = {"edits": len(applied) + len(summaries)}
    for edit in applied:
        for key, value in edit.items():
            if isinstance(value, int) and not isinstance(value, bool) and key in _COUNTED:
                counts[key] = counts.get(key, 0) + value
    names = [str(edit["type"]) for edit in applied if isinstance(edit.get("type"), str)]
    blocks = [scene.mine.blocks[block] for block in summaries]
    cleared = counts.get("cleared_input_tokens")
    yield scene.finding(
        "context_compacted",
        "medium",
        cause="provider_context_edit",
        evidence=Evidence(
            content_hashes=tuple(block.content_hash for block in blocks[:LISTED]),
            names=tuple(dict.fromkeys(names)) or ("compaction",),
            excerpts=tuple(excerpt(scene.text(block)) for block in blocks[:1]),
            counts=tuple(counts.items()),
        ),
        tokens=cleared,
        tokens_method=None if cleared is None else "exact",
        next=NextCall("ctxdiff_block", (("turn", scene.turn.seq),)),
    )


_COUNTED = frozenset(
    ("cleared_tool_uses", "cleared_thinking_turns", "cleared_input_tokens", "original_input_tokens")
)
"""Figures of an applied edit. Source: Anthropic's context editing guide, read 2026-11."""
