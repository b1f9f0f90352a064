"""Records what a program sends to a language model, and reads it back.

from ctxdiff_capture import trace

with trace.init("my-agent") as tracer:
    client = tracer.wrap(OpenAI())
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxdiff_capture.recorder import trace
    from ctxdiff_capture.recorder.trace import configure
    from ctxdiff_capture.recorder.tracer import Tracer
    from ctxdiff_capture.store.base import TraceReader

__all__ = ["Tracer", "configure", "read", "trace"]


def read(path: str | os.PathLike[str]) -> TraceReader:
    """Open a trace for reading; nothing on disk changes.

    Raises:
        StoreError: it is missing, something else, or damaged.
    """
    # SQLite is loaded by whoever reads: every import of this package passes here.
    from ctxdiff_capture.store.open import open_reader  # noqa: PLC0415

    return open_reader(path, follow_links=True)


def __getattr__(name: str) -> Any:
    # The recorder is fetched by whoever records: a server that only reads starts without it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    front = import_module("ctxdiff_capture.recorder.trace")
    return front if name == "trace" else getattr(front, name)
