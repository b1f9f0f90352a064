"""The one place where captured text is read as plain text."""

from __future__ import annotations

from ctxdiff_mcp.gate.captured import Captured


def raw(text: Captured) -> str:
    """The text itself. Whoever calls this cleans, frames or withholds it."""
    return text._text  # noqa: SLF001  # the gate is the type's only reader
