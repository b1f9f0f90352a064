"""What a stream sends in pieces: gathered as it comes, put together once at the end.

Adding each piece to the text before it would copy that text each time.
"""

from __future__ import annotations

from ctxdiff_capture.model import Json


class Growing(list[str]):
    """A text that may still grow, in the pieces in which it came."""

    def text(self) -> str:
        """The pieces as one."""
        return "".join(self)


def lengthen(holder: dict[str, Json], member: str, more: Json) -> None:
    """Add to the text under `member`. What stands there and is no text gives way.

    Args:
        holder: becomes JSON again by `settled`.
        member: what grows.
        more: the next piece; what is no text adds nothing.
    """
    known = holder.get(member)
    if not isinstance(known, Growing):
        known = holder[member] = Growing([known] if isinstance(known, str) else ())
    if isinstance(more, str):
        known.append(more)


def settled(holder: dict[str, Json]) -> dict[str, Json]:
    """`holder` itself, its own members that grew being texts now."""
    for member, value in holder.items():
        if isinstance(value, Growing):
            holder[member] = value.text()
    return holder


def held(holder: dict[str, Json], member: str) -> dict[str, Json]:
    """The object under `member`, there from now on. What is no object gives way."""
    known = holder.get(member)
    if not isinstance(known, dict):
        known = holder[member] = {}
    return known


def listed(holder: dict[str, Json], member: str) -> list[Json]:
    """The list under `member`, there from now on. What is no list gives way."""
    known = holder.get(member)
    if not isinstance(known, list) or isinstance(known, Growing):
        known = holder[member] = []
    return known
