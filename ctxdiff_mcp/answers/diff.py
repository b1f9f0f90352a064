"""The answer to "what changed between two turns?"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ctxdiff_analyzers.diff import Counts, Entry, EntryKind, TurnDiff, turn_diff
from ctxdiff_analyzers.hunks import (
    Budget,
    Granularity,
    Hunk,
    Op,
    common_prefix,
    common_suffix,
    hunk,
)

from ctxdiff_mcp.answers.asking import OPEN, Ask, Unanswerable
from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import BlockRef, RunRef
from ctxdiff_mcp.answers.select import find_run, find_scope, find_turn
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.captured import Captured, Name
from ctxdiff_mcp.gate.secrets import OVERLAP, tags_as_characters

LARGE = 20_000
"""Code points of two texts from which their difference is remembered."""

LOOKED_AT = 1_000_000
"""Code points of two texts from which only the part in which they differ is looked at."""


@dataclass(frozen=True, slots=True)
class Change:
    """One block of either turn, or one of each."""

    kind: EntryKind
    position_old: int | None
    position_new: int | None
    block: BlockRef
    """The old turn's block for `evicted`, otherwise the new turn's."""
    before: BlockRef | None
    """The old turn's block, where the two differ."""
    label: Name

    @property
    def is_moved(self) -> bool:
        """Unchanged, in another place."""
        return self.kind == "unchanged" and self.position_old != self.position_new


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an edited text."""

    op: Op
    text: Captured
    omitted_before: int
    """Code points of the same run left out in front of `text`."""
    omitted_after: int
    """Code points of the same run left out behind `text`."""


@dataclass(frozen=True, slots=True)
class Edit:
    """How one block's text became another's, shortened."""

    pieces: tuple[Piece, ...]
    equal_chars: int
    deleted_chars: int
    inserted_chars: int
    first_diff_char: int | None
    granularity: Granularity
    truncated: bool
    """True when later changes are not shown."""


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference of two turns."""

    run_a: RunRef
    run_b: RunRef
    turn_a: int
    turn_b: int
    agent_a: Name | None
    agent_b: Name | None
    crosses_agents: bool
    """True when the turns belong to different agents of one run."""
    same_agent_before: int | None
    """When it crosses agents: the turn before `turn_b` of the same agent."""
    counts: Counts
    tokens_added: int
    tokens_evicted: int
    unchanged_tokens: int
    exact: bool
    changes: tuple[Change, ...]
    """Every block of either turn, in the order of the new one."""
    _old: OpenRun = field(repr=False, compare=False)
    _new: OpenRun = field(repr=False, compare=False)

    @property
    def net_tokens(self) -> int:
        """Total of `turn_b` minus total of `turn_a`."""
        return self.tokens_added - self.tokens_evicted

    def by_identity(self) -> Diff:
        """The same difference without pairing edited blocks, which would tell of their texts.

        A modified block is an evicted and an added one; evicted blocks come first.
        """
        gone, there = [], []
        for one in self.changes:
            if one.kind == "evicted":
                gone.append(one)
            elif one.kind == "modified" and one.before is not None:
                gone.append(
                    replace(one, kind="evicted", position_new=None, block=one.before, before=None)
                )
                there.append(replace(one, kind="added", position_old=None, before=None))
            else:
                there.append(one)
        gone.sort(key=lambda one: one.position_old or 0)
        there.sort(key=lambda one: one.position_new or 0)
        edited = self.counts.modified
        counts = replace(
            self.counts,
            added=self.counts.added + edited,
            evicted=self.counts.evicted + edited,
            modified=0,
        )
        return replace(self, counts=counts, changes=(*gone, *there))

    def text(self, change: Change) -> Captured:
        """The text of the change's block."""
        run = self._old if change.kind == "evicted" else self._new
        return run.text_of(change.block)

    def edit(
        self, change: Change, max_chars: int | None = None, mask: Callable[[str], str] = str
    ) -> Edit:
        """What was edited inside a modified block, in at most `max_chars` code points.

        `mask` sees both texts whole, and of long ones what differs with a wide margin; the
        numbers are those of the unmasked texts.

        Raises:
            ValueError: the change has no block before it.
        """
        if change.before is None:
            raise ValueError(f"a change of kind {change.kind!r} has no earlier text")
        old = self._old.text(self._old.stored_hash(change.before))
        new = self._new.text(self._new.stored_hash(change.block))
        budget = None if max_chars is None else Budget(max_chars=max_chars)
        found = whole = self._hunk(change, old, new, budget)
        near = _Near.of(old, new)
        (short_old, short_new), tags = tags_as_characters(mask(near.old), mask(near.new))
        if (short_old, short_new) != (old, new):
            found = near.whole(hunk(short_old, short_new, budget))
        return Edit(
            pieces=tuple(
                Piece(s.op, Captured(s.text.translate(tags)), s.omitted_before, s.omitted_after)
                for s in found.segments
            ),
            equal_chars=whole.equal_chars,
            deleted_chars=whole.deleted_chars,
            inserted_chars=whole.inserted_chars,
            first_diff_char=whole.first_diff_char,
            granularity=found.granularity,
            truncated=found.truncated,
        )

    def _hunk(self, change: Change, old: str, new: str, budget: Budget | None) -> Hunk:
        """The edit, worked out once for a run's two blocks: a megabyte is asked for again."""
        assert change.before is not None
        if self._old is not self._new or len(old) + len(new) < LARGE:
            return hunk(old, new, budget)
        key = f"hunk {change.before.ordinal} {change.block.ordinal} {budget and budget.max_chars}"
        with self._new.lock:
            return self._new.timeline.known(key, lambda: hunk(old, new, budget))


@dataclass(frozen=True, slots=True)
class _Near:
    """What is looked at for the edit of two texts: all of it, or of long ones where they differ."""

    old: str
    new: str
    before: int = 0
    """Code points in front of it, which both have."""
    behind: int = 0
    """Code points that both have behind it."""
    is_cut: bool = False
    """True when they differ at such length that only the first of it is looked at."""

    @classmethod
    def of(cls, old: str, new: str) -> _Near:
        """The part of both texts that shows their edit."""
        if len(old) + len(new) <= LOOKED_AT:
            return cls(old, new)
        head = common_prefix(old, new)
        tail = common_suffix(old, new, min(len(old), len(new)) - head)
        before, behind = max(0, head - OVERLAP), max(0, tail - OVERLAP)
        old, new = old[before : len(old) - behind], new[before : len(new) - behind]
        if len(old) + len(new) <= LOOKED_AT:
            return cls(old, new, before, behind)
        return cls(old[: LOOKED_AT // 2], new[: LOOKED_AT // 2], before, is_cut=True)

    def whole(self, found: Hunk) -> Hunk:
        """The edit of this part as one of the whole texts, as far as it is shown."""
        shown = list(found.segments)
        if not shown:
            return found
        if self.is_cut:
            # Where the texts were cut off, something seems to be gone or new that is neither.
            equal = [at for at, one in enumerate(shown) if one.op == "equal" and at]
            shown = shown[: equal[-1] + 1] if equal else shown
        elif self.behind and not found.truncated and shown[-1].op == "equal":
            rest = shown[-1].omitted_after + self.behind
            shown[-1] = replace(shown[-1], omitted_after=rest)
        if self.before and shown[0].op == "equal":
            shown[0] = replace(shown[0], omitted_before=shown[0].omitted_before + self.before)
        return replace(found, segments=tuple(shown), truncated=found.truncated or self.is_cut)


def diff(
    source: Source,
    run: str,
    turn_a: int,
    turn_b: int,
    *,
    agent: str | None = None,
    run_b: str | None = None,
    ask: Ask = OPEN,
) -> Diff:
    """What changed from `turn_a` of `run` to `turn_b` of `run_b`, or of `run` without it.

    With `agent`, both turns must be that agent's.

    Raises:
        Unanswerable: a selector fits nothing or several things, or two runs in redact mode.
        StoreError: a file went away or cannot be read.
    """
    if agent is None and run_b is None and ask.by_text:
        small = _of_one_agent(find_run(source, run, ask, (turn_a, turn_b)), turn_a, turn_b)
        if small is not None:
            return small
    old_run = find_run(source, run, ask)
    new_run = old_run if run_b is None else find_run(source, run_b, ask)
    if new_run is not old_run and not ask.by_text:
        # Stand-ins are numbered run by run: between two runs they say nothing.
        raise Unanswerable("not_in_redact_mode")
    old = find_turn(old_run, turn_a, find_scope(old_run, agent, ask))
    new = find_turn(new_run, turn_b, find_scope(new_run, agent, ask))
    with old_run.lock, new_run.lock:
        other = None if new_run is old_run else new_run.timeline
        found = turn_diff(old, new, old_run.timeline, other)
        before = new_run.timeline.previous(new.seq)
    crosses = found.crosses_agents and old_run is new_run
    return diff_answer(
        found, old_run, new_run, crosses, before.seq if crosses and before is not None else None
    )


def _of_one_agent(run: OpenRun, turn_a: int, turn_b: int) -> Diff | None:
    """The difference, when that takes no more than the two turns: most questions are such.

    None where the rest of the run has a say: a turn is missing, the turns are two agents', or a
    block has no hash to be known by and needs its number.
    """
    old, new = run.timeline.turn(turn_a), run.timeline.turn(turn_b)
    if old is None or new is None or old.agent != new.agent:
        return None
    with run.lock:
        found = diff_answer(turn_diff(old, new, run.timeline), run, run)
    return found if all(one.block.content_hash for one in found.changes) else None


def diff_answer(
    found: TurnDiff,
    old_run: OpenRun,
    new_run: OpenRun,
    crosses_agents: bool = False,
    same_agent_before: int | None = None,
) -> Diff:
    """An analyzer's result as an answer."""
    return Diff(
        run_a=old_run.ref,
        run_b=new_run.ref,
        turn_a=found.seq_old,
        turn_b=found.seq_new,
        agent_a=old_run.agent(found.agent_old),
        agent_b=new_run.agent(found.agent_new),
        crosses_agents=crosses_agents,
        same_agent_before=same_agent_before,
        counts=found.counts,
        tokens_added=found.tokens_added,
        tokens_evicted=found.tokens_evicted,
        unchanged_tokens=found.unchanged_tokens,
        exact=not found.approximate,
        changes=tuple(_change(entry, old_run, new_run) for entry in found.entries),
        _old=old_run,
        _new=new_run,
    )


def _change(entry: Entry, old_run: OpenRun, new_run: OpenRun) -> Change:
    run = old_run if entry.kind == "evicted" else new_run
    before = entry.content_hash_before
    return Change(
        kind=entry.kind,
        position_old=entry.position_old,
        position_new=entry.position_new,
        block=run.block(entry.content_hash),
        before=None if before is None else old_run.block(before),
        label=run.label(entry.label),
    )
