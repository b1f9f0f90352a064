"""What became of the provider's prompt cache at the turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ctxdiff_analyzers.cache.rules import is_sure
from ctxdiff_analyzers.cache.verdict import Verdict, cache_verdict
from ctxdiff_analyzers.detectors.scene import Scene
from ctxdiff_analyzers.findings import Evidence, Finding, NextCall, Severity

LARGE_LOSS = 1_024
"""Tokens from which a lost prefix is worth money: nothing shorter is cached by most providers."""
NEARLY_ALL = 0.75
"""Part of what could be read that a break leaves readable, from which it explains little."""
LASTING = frozenset(("below_min_cacheable", "no_cache_configured"))
"""Causes by which no turn loses what another one had."""
GRAVE = frozenset(("breakpoint_limit_exceeded",))


def cache(scene: Scene) -> Iterator[Finding]:
    """The cache was broken, has expired, or is not used, as `cache.verdict` has it.

    That a provider caches no prompts so short by itself is said once per agent.
    """
    found = cache_verdict(scene.whole, scene.turn)
    if found.code is None or (found.cause == "below_min_cacheable" and found.since is not None):
        return
    method: Literal["exact", "estimate"] = "exact" if found.lost_is_billed else "estimate"
    yield scene.finding(
        found.code,
        _severity(scene, found),
        cause=found.cause,
        certainty=found.certainty,
        since=found.since,
        why=_why(found),
        evidence=Evidence(
            content_hashes=found.content_hashes,
            positions=found.positions,
            first_difference=None if found.place is None else found.place.first_difference,
            names=found.names,
            excerpts=found.excerpts,
            counts=(*found.counts, *_figures(found)),
            path=found.path,
            reusable=found.reusable,
        ),
        tokens=found.lost_tokens,
        tokens_method=None if found.lost_tokens is None else method,
        next=NextCall("ctxdiff_cache", (("turn", scene.turn.seq),)),
    )
    if found.beside is not None:
        yield scene.finding(
            found.beside.code,
            "low",
            cause=found.beside.cause,
            certainty=found.beside.certainty,
            why=f"{found.beside.why} ({found.beside.source})",
            evidence=Evidence(counts=(*found.beside.counts, *_figures(found))),
            tokens=found.predicted,
            tokens_method="estimate",
            next=NextCall("ctxdiff_cache", (("turn", scene.turn.seq),)),
        )


def _why(found: Verdict) -> str | None:
    """The rule; a number that ages is never told without its source and date."""
    if found.source is not None:
        return f"{found.why} ({found.source})"
    return None if found.certainty == "measured" else found.why


def _severity(scene: Scene, found: Verdict) -> Severity:
    if found.cause in GRAVE and scene.turn.call.error is not None:
        return "high"
    if found.cause in LASTING or _explains_little(found):
        return "low"
    large = (found.lost_tokens or 0) >= LARGE_LOSS
    read_nothing = found.certainty == "measured" and found.reported.read == 0
    missed = found.code != "cache_unused" and read_nothing
    return "medium" if missed or large else "low"


def _explains_little(found: Verdict) -> bool:
    """Whether nearly all was left readable, at a provider that may miss it all the same.

    The end of the earlier prompt was sent once, or nothing changed at all.
    """
    could, expected = found.could_be_read, found.predicted
    if is_sure(found.provider) or not could or expected is None:
        return False
    return found.code != "cache_expired" and expected >= NEARLY_ALL * could


def _figures(found: Verdict) -> Iterator[tuple[str, int]]:
    told = found.reported
    if found.predicted is not None:
        yield "predicted_tokens", found.predicted
    if told.read is not None:
        yield "read_tokens", told.read
    if told.written is not None:
        yield "written_tokens", told.written
