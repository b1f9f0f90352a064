"""Where a block stands in its request, as people write it: `messages[3].content[0]`."""

from __future__ import annotations

from ctxdiff_analyzers.timeline import Timeline, Turn


def dotted(pointer: str | None) -> str | None:
    """A JSON pointer in dotted form: `/messages/3/content` is `messages[3].content`.

    None for None and for the empty pointer. A pointer's steps are captured text where a key is
    the program's own.
    """
    if not pointer:
        return None
    path = ""
    for step in pointer.lstrip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        path += f"[{key}]" if key.isascii() and key.isdigit() else f".{key}" if path else key
    return path


def path_of(timeline: Timeline, turn: Turn, index: int) -> str | None:
    """The place of the input at `index`; None where the record does not tell it."""
    return dotted(timeline.detail(turn).paths.get(turn.positions[index]))


def holder_of(timeline: Timeline, turn: Turn, index: int) -> str | None:
    """Like `path_of`, for a message with one content the message itself: `messages[3]`."""
    path = path_of(timeline, turn, index)
    return None if path is None else path.removesuffix(".content")
