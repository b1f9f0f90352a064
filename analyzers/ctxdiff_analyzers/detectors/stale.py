"""Tool results that a later result of the same call supersedes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxdiff_analyzers.detectors.duplicates import result_print
from ctxdiff_analyzers.detectors.scene import LISTED, Scene, excerpt, tokens_of
from ctxdiff_analyzers.detectors.truncation import content_text
from ctxdiff_analyzers.exchanges import result_at
from ctxdiff_analyzers.failures.failure import failure
from ctxdiff_analyzers.findings import Evidence, Finding
from ctxdiff_analyzers.pairing import Result, pairs
from ctxdiff_analyzers.paths import path_of
from ctxdiff_analyzers.similar import WORD

TOLD = 5
READ = 4_000
EVENTS = re.compile(
    r"(?:^|[_\W]|(?<=[a-z])(?=[A-Z]))(?:run|exec(?:ute)?|test|build|lint|compile|deploy|bash|shell"
    r"|command|terminal|script|eval|python|query_?next|next|roll|dice|random|shuffle|draw|now|clock)"
    r"(?:s|$|[_\W]|(?=[A-Z]))",
    re.IGNORECASE,
)
"""Names of tools that do something each time, or draw by lot: what they gave before is history and
not stale."""
ALIKE = 0.4
"""Words that two answers to a question without arguments must share: else it asks for the next
thing, and not for the same one again."""


def superseded(scene: Scene) -> Iterator[Finding]:
    """Results that this turn's new results of the same calls make out of date."""
    new = set(scene.matching.new)
    found = pairs(scene.mine, scene.turn).results
    latest = {
        one.call.key: one
        for one in found
        if one.call is not None and one.index in new and not EVENTS.search(one.call.name)
    }
    for key, last in list(latest.items())[:TOLD]:
        stale = [
            one
            for one in found
            if one.call is not None
            and one.call.key == key
            and one.index < last.index
            and _is_stale(scene, one, last)
        ]
        if stale:
            yield _finding(scene, stale, last)


def _is_stale(scene: Scene, old: Result, last: Result) -> bool:
    if result_print(scene, old.index) == result_print(scene, last.index):
        return False
    assert last.call is not None
    if any(_failed(scene, one) for one in (old, last)):
        return False
    return not last.call.key.endswith(" {}") or _are_alike(scene, old, last)


def _failed(scene: Scene, one: Result) -> bool:
    """True for a failure: another try does not make it out of date, nor does it replace any."""
    result = result_at(scene.mine, scene.turn.inputs[one.index])
    return result is None or result.flag is not None or failure(result.content) is not None


def _are_alike(scene: Scene, old: Result, last: Result) -> bool:
    one, two = (
        set(WORD.findall(content_text(scene, scene.turn.inputs[result.index])[:READ]))
        for result in (old, last)
    )
    return len(one & two) >= ALIKE * max(1, min(len(one), len(two)))


def _finding(scene: Scene, stale: list[Result], last: Result) -> Finding:
    blocks = [scene.new_block(one.index) for one in stale]
    tokens, method = tokens_of(blocks)
    assert last.call is not None
    newest = scene.new_block(last.index)
    return scene.finding(
        "stale_context",
        "low",
        cause="stale_tool_result",
        evidence=Evidence(
            content_hashes=tuple(b.content_hash for b in (*blocks, newest))[:LISTED],
            positions=tuple(scene.turn.positions[one.index] for one in (*stale, last))[:LISTED],
            names=(last.call.name,),
            excerpts=(
                excerpt(content_text(scene, scene.turn.inputs[stale[-1].index])),
                excerpt(content_text(scene, scene.turn.inputs[last.index])),
            ),
            counts=(("stale", len(stale)), ("stale_tokens", tokens)),
            path=path_of(scene.mine, scene.turn, stale[-1].index),
        ),
        tokens=tokens,
        tokens_method=method,
        next=scene.to_diff(),
    )
