"""Files at which workers ended, so that they hide no others."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from ctxdiff_mcp.worker.setup import FileId

MOST_FILES = 1_000
ENOUGH = 2
"""Points at which a file is not read any more until it changes."""


@dataclass(slots=True)
class Quarantine:
    """Points of files in one state each, and why they were given."""

    _points: OrderedDict[FileId, tuple[float, str]] = field(default_factory=OrderedDict)

    def blame(self, file: FileId, reason: str, points: float) -> bool:
        """Add points to a file, and tell whether it is refused from now on.

        `reason` is the word under which it will be listed.
        """
        before, _ = self._points.pop(file, (0, ""))
        self._points[file] = before + points, reason
        if len(self._points) > MOST_FILES:
            self._points.popitem(last=False)
        return before + points >= ENOUGH

    def refused(self) -> dict[FileId, str]:
        """The files that must not be read, each with its reason."""
        return {file: why for file, (points, why) in self._points.items() if points >= ENOUGH}
