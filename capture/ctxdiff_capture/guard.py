"""The one door through which our own faults may leave without reaching the host."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager

log = logging.getLogger("ctxdiff")

strict = os.environ.get("CTXDIFF_STRICT") == "1"
"""True in our own tests: faults are raised there, so that they are seen."""


@contextmanager
def host_never_sees(step: str) -> Generator[None, None, None]:
    """Run our own code so that its errors are logged and never raised.

    Only our code stands inside, never the host's call. `BaseException` passes: a cancelled task
    must stay cancelled.

    Args:
        step: completes the sentence "ctxdiff could not ...".
    """
    try:
        yield
    except Exception:
        if strict:
            raise
        log.exception(
            "ctxdiff could not %s; your call is unaffected, the trace is incomplete", step
        )
