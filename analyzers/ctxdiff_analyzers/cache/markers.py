"""Where a request asks the provider to keep its prefix."""

from __future__ import annotations

from ctxdiff_capture.light import light

from ctxdiff_analyzers.cache.order import Rendered
from ctxdiff_analyzers.paths import dotted
from ctxdiff_analyzers.timeline import Timeline

AUTOMATIC = "/cache_control"
"""The pointer of a marker at the top of a request: the provider places it by itself."""


@light(frozen=True, slots=True)
class Breakpoint:
    """One marker. The block it stands on is the last one of a cacheable prefix."""

    index: int
    """Place of that block in the provider's order; -1 when nothing stands before it."""
    path: str | None
    """Place of the marked block, or of Bedrock's own marker: `messages[2].content[0]`."""
    ttl: str | None
    """In the wire's words; None is the default."""


@light(frozen=True, slots=True)
class Marks:
    """All markers of a request."""

    points: tuple[Breakpoint, ...]
    """Ascending by place."""
    automatic: bool
    """One of them was placed by the provider, on the last block."""

    @property
    def last(self) -> Breakpoint | None:
        """The one that reaches furthest."""
        return self.points[-1] if self.points else None

    def before(self, index: int) -> Breakpoint | None:
        """The furthest one that stands before the block at `index`."""
        return next((one for one in reversed(self.points) if one.index < index), None)


def marks_of(timeline: Timeline, view: Rendered) -> Marks | None:
    """The markers of a turn; None where the record does not hold them (files of ctxdiff)."""
    if view.turn.call.surface is None:
        return None
    points: list[Breakpoint] = []
    automatic = False
    for marker in timeline.detail(view.turn).markers:
        if marker.path == AUTOMATIC:
            automatic = True
            points.append(Breakpoint(len(view.blocks) - 1, None, marker.ttl))
            continue
        index = -1 if marker.position is None else view.placed(marker.position)
        holder = marker.path.removesuffix("/cache_control").removesuffix("/cachePoint")
        if index is not None:
            points.append(Breakpoint(index, dotted(holder), marker.ttl))
    return Marks(tuple(sorted(points, key=lambda one: one.index)), automatic)
