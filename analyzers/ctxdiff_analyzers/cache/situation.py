"""All that is known of one turn before its cache is judged; each fact is worked out when asked."""

from __future__ import annotations

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.ancestors import Ancestor, ancestor, relatives
from ctxdiff_analyzers.cache.lazy import lazy
from ctxdiff_analyzers.cache.ledger import Reported, cacheable, gap_s, reported
from ctxdiff_analyzers.cache.markers import Marks, marks_of
from ctxdiff_analyzers.cache.order import Rendered, rendered
from ctxdiff_analyzers.cache.rules import (
    HIDING_KEYS,
    Minimum,
    Rules,
    minimum_of,
    model_of,
    rules_of,
)
from ctxdiff_analyzers.counts import token_counts
from ctxdiff_analyzers.timeline import Timeline, Turn

BEHIND = 0.6
"""Part of what stands behind the last marker that a provider reports as uncached, at least, when
it honours the marker. Counts of blocks are estimates."""
KEPT = 0.98
"""Part of a cached prefix that is read when all of it was."""
HALF = 0.5
REWRITTEN, REWRITTEN_SHARE = 1_024, 0.1
"""What a turn may write for new content beside a prefix that was read whole: tokens, and part
of the prompt. More is a prefix written again."""
SLACK = 256
"""Tokens by which providers that cache in steps may read less than was sent."""
NEAR = 0.15
"""Part by which what was read may differ from a prediction that rests on estimates."""
FAR_OFF = 3.0
"""Factor between billed and counted tokens from which they do not speak of the same prompt."""


@light(frozen=True, slots=False)
class Situation:
    """A turn, the one it goes on from, and what both sides say of the cache."""

    whole: Timeline
    turn: Turn
    closely: bool
    """Read markers and requests even where usage gives no reason to."""

    @lazy
    def rules(self) -> Rules:
        """Of the provider that was called."""
        call = self.turn.call
        plain = rules_of(call)
        if plain.name in ("openai", "other") and self.closely and call.surface is not None:
            marked = bool(self.whole.detail(self.turn).markers)
            return rules_of(call, marked=marked)
        return plain

    @lazy
    def minimum(self) -> Minimum | None:
        """The shortest prefix that the model's provider caches."""
        return minimum_of(model_of(self.turn.call) or (self.turn.call.response_model or ""))

    @lazy
    def view(self) -> Rendered:
        """The turn in the provider's order."""
        return rendered(self.whole, self.turn, self.rules)

    @lazy
    def before(self) -> Ancestor | None:
        """The turn that this one goes on from."""
        return ancestor(self.whole, self.turn, self.rules)

    @lazy
    def relatives(self) -> list[Ancestor]:
        """Recent calls of any agent with the same tools and system text."""
        return relatives(self.whole, self.turn, self.rules)

    @lazy
    def told(self) -> Reported:
        """What the provider reports of this turn."""
        return reported(self.turn, self.rules)

    @lazy
    def could(self) -> int | None:
        """Tokens that the earlier turn left in the cache; None where usage does not tell."""
        if self.before is None:
            return None
        return cacheable(self.before.turn, self.rules, self.minimum)

    @lazy
    def gap_s(self) -> float | None:
        """Seconds since the earlier turn started."""
        return None if self.before is None else gap_s(self.before.turn, self.turn)

    @lazy
    def marks(self) -> Marks | None:
        """Markers of the turn; None where the record does not hold them."""
        return marks_of(self.whole, self.view)

    @lazy
    def marks_before(self) -> Marks | None:
        """The earlier turn's markers, likewise."""
        return None if self.before is None else marks_of(self.whole, self.before.view)

    @lazy
    def hides(self) -> bool:
        """True when the provider holds part of either context, so that no prefix is known."""
        if _hides(self.turn):
            return True
        return self.before is not None and _hides(self.before.turn)

    @lazy
    def horizon(self) -> int:
        """Blocks of the earlier turn that were cached at most: up to its last marker."""
        assert self.before is not None
        blocks = len(self.before.view.blocks)
        marks = self.marks_before if self.rules.explicit else None
        if marks is None:
            return blocks
        told = reported(self.before.turn, self.rules)
        last = -1 if marks.last is None else marks.last.index
        if last < 0:
            return blocks if told.cached else 0
        behind = self.tokens(self.before.view, last + 1, blocks)
        # The provider cached further than the markers of the record reach.
        if told.cached and told.uncached is not None and told.uncached < BEHIND * behind - 8:
            return blocks
        return last + 1

    @property
    def is_intact(self) -> bool:
        """True when all that may have been cached is still the start of this turn."""
        assert self.before is not None
        return self.before.is_whole or self.before.at[0] >= self.horizon

    @property
    def all_was_read(self) -> bool:
        """True when the provider says that nothing of the earlier turn's prefix was lost."""
        read, could = self.told.read, self.could
        if read is None or could is None or read == 0 or read < KEPT * could:
            return False
        most = max(REWRITTEN, REWRITTEN_SHARE * (self.told.prompt or 0))
        assert self.before is not None
        return self.before.is_whole or (self.told.written or 0) <= most

    @property
    def reads_less(self) -> bool:
        """True unless the provider says that about all of an intact prefix was read."""
        read, could = self.told.read, self.could
        if read is None or could is None:
            return True
        slack = SLACK if not self.rules.explicit else 0
        return read + slack < KEPT * could

    @property
    def read_little(self) -> bool:
        """True unless the provider says that most of an intact prefix was read."""
        read, could = self.told.read, self.could
        return read is None or could is None or read < HALF * could

    def tokens(self, view: Rendered, start: int, end: int) -> int:
        """Counted tokens of the blocks from `start` to `end`, as the record holds them."""
        counts = token_counts(self.whole)
        return sum(map(counts.__getitem__, view.blocks[start:end]))

    def billed(self, view: Rendered, end: int) -> int:
        """Tokens of the first `end` blocks, in the provider's count as far as usage tells it."""
        total = self.tokens(view, 0, len(view.blocks))
        counted = total if end >= len(view.blocks) else self.tokens(view, 0, end)
        prompt = view.turn.usage.prompt_tokens
        if not prompt or not total or not 1 / FAR_OFF < prompt / total < FAR_OFF:
            return counted
        return round(counted * prompt / total)


def _hides(turn: Turn) -> bool:
    params = turn.call.params
    return not HIDING_KEYS.isdisjoint(params) and any(params.get(key) for key in HIDING_KEYS)
