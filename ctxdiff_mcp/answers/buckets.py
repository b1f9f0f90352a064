"""Token counts to two significant digits, from the moment a run is opened.

Whatever is added up, compared or ordered afterwards follows from the rounded counts, so that no
answer can tell two runs apart that differ in the digits behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from weakref import WeakSet

from ctxdiff_capture.model import Json, Recording

from ctxdiff_mcp.answers.open_run import OpenRun
from ctxdiff_mcp.answers.refs import two_digits
from ctxdiff_mcp.answers.source import Listed, Source


def bucketed(recording: Recording) -> Recording:
    """The recording with the counts of its blocks, and what was billed, to two digits."""
    return replace(
        recording,
        blocks=tuple(
            replace(block, token_count=two_digits(block.token_count)) for block in recording.blocks
        ),
        calls=tuple(
            replace(call, usage=None if call.usage is None else _usage(call.usage))
            for call in recording.calls
        ),
    )


class BucketedSource(Source):
    """The runs of a source, with rounded token counts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._rounded: WeakSet[OpenRun] = WeakSet()

    def open(self, run: Listed, only: Sequence[int] | None = None) -> OpenRun:
        """The run ready to be asked.

        Raises:
            StoreError: the file went away or cannot be read.
        """
        with self._lock:  # nobody may ask a kept run before it is rounded
            opened = super().open(run, only)
            if opened not in self._rounded:
                opened.recording = bucketed(opened.recording)
                self._rounded.add(opened)
            return opened


def _usage(usage: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _rounded(value) for key, value in usage.items()}


def _rounded(value: Json) -> Json:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return two_digits(value)
    if isinstance(value, float) and value.is_integer():
        return two_digits(int(value))
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return _usage(value) if isinstance(value, Mapping) else value
