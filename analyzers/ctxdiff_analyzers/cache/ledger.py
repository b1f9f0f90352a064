"""What a provider reports of its cache at a turn, and how long ago things were."""

from __future__ import annotations

from datetime import datetime

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.rules import Minimum, Rules
from ctxdiff_analyzers.timeline import Turn

AT_ONCE_MS = 500


@light(frozen=True, slots=True)
class Reported:
    """A turn's usage, as far as it speaks of the cache."""

    prompt: int | None
    read: int | None
    """None where the provider reports no cache counters at all."""
    written: int | None

    @property
    def cached(self) -> int | None:
        """Tokens that stood in the cache when the call ended."""
        if self.read is None and self.written is None:
            return None
        return (self.read or 0) + (self.written or 0)

    @property
    def uncached(self) -> int | None:
        """Prompt tokens that were neither read nor written."""
        return None if self.prompt is None else max(0, self.prompt - (self.cached or 0))


def reported(turn: Turn, rules: Rules) -> Reported:
    """The turn's cache counters; absent ones of a provider that omits zeros are 0."""
    usage = turn.usage
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    # Gemini leaves the counter out when nothing was read.
    if read is None and rules.name == "gemini" and usage.prompt_tokens is not None:
        read = 0
    if read is None and written is not None:
        read = 0
    return Reported(usage.prompt_tokens, read, written)


def cacheable(turn: Turn, rules: Rules, minimum: Minimum | None) -> int | None:
    """Tokens of a turn that a later one could read; None where usage does not tell.

    With markers it is what was read and written; otherwise the whole prompt, in the provider's
    steps, once it is long enough.
    """
    told = reported(turn, rules)
    if rules.explicit:
        return told.cached
    if told.prompt is None:
        return None
    if minimum is not None and told.prompt < minimum.low:
        return 0
    if told.read is None:
        return None
    # The last step of a prompt holds what the provider adds behind it.
    return told.prompt // rules.step * rules.step


def started(turn: Turn) -> datetime | None:
    """When the call started; None where the record does not say."""
    try:
        return datetime.fromisoformat((turn.call.started_at or "").replace("Z", "+00:00"))
    except ValueError:
        return None


def gap_s(earlier: Turn, later: Turn) -> float | None:
    """Seconds from the start of one call to that of another: lives are counted from there."""
    one, other = started(earlier), started(later)
    if one is None or other is None or (one.tzinfo is None) != (other.tzinfo is None):
        return None
    return (other - one).total_seconds()


def overlaps(earlier: Turn, later: Turn) -> bool:
    """True when `later` started before anything of the answer to `earlier` had come."""
    gap = gap_s(earlier, later)
    call = earlier.call
    ready_ms = call.first_byte_ms if call.first_byte_ms is not None else call.latency_ms
    # Hardly an answer begins sooner; a record without times of answers still tells of starts.
    return gap is not None and 0 <= gap * 1000 < (AT_ONCE_MS if ready_ms is None else ready_ms)
