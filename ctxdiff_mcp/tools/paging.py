"""A list in pages: what fits is shown, the rest is counted and the call for it is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ctxdiff_mcp.gate.envelope import Envelope

Row = TypeVar("Row")


def list_rows(
    env: Envelope,
    rows: Sequence[Row],
    *,
    cursor: int,
    limit: int,
    noun: str,
    show: Callable[[Row, int], bool],
    more: Callable[[int], str],
) -> int:
    """Show rows from `cursor` on, as many as `limit` and the room allow; gives how many.

    `noun` is what a row is, in the plural. `show` adds one row, given its number from 1, and says
    whether it fitted. `more` spells the call for the rows from a cursor on.
    """
    stop = min(cursor + limit, len(rows))
    at = cursor
    while at < stop and show(rows[at], at + 1):
        at += 1
    shown = max(at - cursor, 0)
    if cursor >= len(rows) > 0:
        env.close(f"no {noun} from cursor {cursor} on: there are {len(rows):,}")
    elif shown == 0 and rows:
        # A single row that is larger than the room must not end the paging.
        env.close(
            f"row {cursor + 1} of {len(rows):,} {noun} is too large; next: {more(cursor + 1)}"
        )
    elif shown < len(rows):
        rest = f"; next: {more(at)}" if at < len(rows) else ""
        env.close(f"showing {cursor + 1}-{at} of {len(rows):,} {noun}{rest}")
    return shown
