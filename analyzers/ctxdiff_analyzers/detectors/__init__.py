"""Detectors: each looks at one turn and tells what it found.

Adding one is writing a function and naming it in the list.
"""

from __future__ import annotations

from ctxdiff_analyzers.detectors import (
    answers,
    arguments,
    cache,
    calls,
    compaction,
    context,
    copies,
    cost,
    duplicates,
    handoff,
    hidden,
    loops,
    pairs,
    prompt,
    replay,
    sent_back,
    stale,
    tool_errors,
    tools,
    truncation,
)
from ctxdiff_analyzers.detectors.scene import Detector

DETECTORS: tuple[Detector, ...] = (
    calls.failed,
    calls.retried,
    calls.other_model,
    calls.other_params,
    answers.truncated,
    answers.refused,
    answers.empty,
    compaction.compacted,
    context.tagged_losses,
    context.losses,
    context.edits,
    context.moves,
    replay.replayed,
    replay.merged,
    sent_back.dropped,
    handoff.dropped,
    context.insertions,
    pairs.orphans,
    truncation.past,
    truncation.fresh,
    copies.history,
    duplicates.prompt,
    duplicates.results,
    duplicates.within,
    stale.superseded,
    prompt.system,
    prompt.tool_set,
    prompt.tool_order,
    tools.missing,
    tools.unknown,
    arguments.invalid,
    tool_errors.error,
    loops.loop,
    hidden.hidden,
    cost.window,
    cost.growth,
    cache.cache,
    cost.schemas,
    cost.usage,
)
"""Every family of findings. The order says nothing: findings are ranked afterwards."""
