"""Records what a program sends to a language model, and reads it back.

from ctxdiff_capture import trace

with trace.init("my-agent") as tracer:
    client = tracer.wrap(OpenAI())
"""

from __future__ import annotations

import os

from ctxdiff_capture.recorder import trace
from ctxdiff_capture.recorder.trace import configure
from ctxdiff_capture.recorder.tracer import Tracer
from ctxdiff_capture.store.base import TraceReader
from ctxdiff_capture.store.open import open_reader

__all__ = ["Tracer", "configure", "read", "trace"]


def read(path: str | os.PathLike[str]) -> TraceReader:
    """Open a trace for reading; nothing on disk changes.

    Raises:
        StoreError: it is missing, something else, or damaged.
    """
    return open_reader(path)
