"""Two turns beside each other at the place where their prefixes part."""

from __future__ import annotations

from ctxdiff_capture.light import light
from ctxdiff_capture.model import BlockHead

from ctxdiff_analyzers.cache.lazy import lazy
from ctxdiff_analyzers.cache.order import Rendered
from ctxdiff_analyzers.cache.places import block_value, leaf_of
from ctxdiff_analyzers.cache.rules import Section
from ctxdiff_analyzers.edits import edit_cause
from ctxdiff_analyzers.matching import Matching, is_marker, matching
from ctxdiff_analyzers.schemas import names_in
from ctxdiff_analyzers.timeline import Timeline


@light(frozen=True, slots=True)
class Difference:
    """Where a prefix ends, and what is at fault."""

    at: int
    """Place in the older turn's provider order."""
    at_new: int
    """Place in the newer turn's."""
    section: Section
    cause: str | None
    old_block: int | None
    """The block that is gone or was another, as an index into the older turn's inputs."""
    new_block: int | None
    """The block that is new, or has become another, as an index into the newer turn's inputs."""
    is_edit: bool = False
    """Both are one block in two forms, so that a character is the place."""
    goes_on: bool = True
    """False where nothing that was said is said again behind this place: another question, not
    the same conversation."""
    counts: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()
    """Tools concerned. Captured text."""


@light(frozen=True, slots=False)
class Pair:
    """An older and a newer turn that part at `i` and `j`, places in the provider's order."""

    timeline: Timeline
    old: Rendered
    new: Rendered
    i: int
    j: int

    @lazy
    def found(self) -> Matching:
        """How their blocks correspond, by index into the turns' inputs."""
        return matching(self.old.turn, self.new.turn, self.timeline)

    @property
    def inputs(self) -> tuple[int, int]:
        """`i` and `j` as indices into the turns' inputs."""
        return self.old.input_at(self.i), self.new.input_at(self.j)

    def told(
        self,
        section: Section,
        cause: str | None,
        old_block: int | None,
        new_block: int | None,
        *,
        is_edit: bool = False,
        goes_on: bool = True,
        counts: tuple[tuple[str, int], ...] = (),
        names: tuple[str, ...] = (),
    ) -> Difference:
        """The difference at this place."""
        return Difference(
            self.i, self.j, section, cause, old_block, new_block, is_edit, goes_on, counts, names
        )

    def head(self, view: Rendered, at: int) -> BlockHead:
        """The block at an index of a side's inputs."""
        return self.timeline.blocks[view.turn.inputs[at]]

    def text(self, view: Rendered, at: int) -> str:
        """Its text. Captured text."""
        return self.timeline.text_of(self.head(view, at).content_hash)

    def indices(self, view: Rendered, section: Section) -> list[int]:
        """The inputs of a section in front of the conversation, markers apart."""
        return [
            at
            for index, at in enumerate(view.head)
            if view.section(index) == section and not is_marker(self.timeline, view.turn.inputs[at])
        ]

    def names(self, view: Rendered, at: int) -> tuple[str, ...]:
        """The tools that a schema declares; a nameless one goes by its hash."""
        block = view.turn.inputs[at]
        return names_in(self.timeline, block) or (self.timeline.blocks[block].content_hash[:12],)

    def edit_cause(self, i: int, j: int) -> str | None:
        """What kind of edit made one block the other, where their texts tell it."""
        old, new = self.old.turn.inputs[i], self.new.turn.inputs[j]
        leaf = leaf_of(block_value(self.timeline, old), block_value(self.timeline, new))
        return edit_cause(leaf.old, leaf.new) if leaf.is_text else None
