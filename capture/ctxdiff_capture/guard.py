"""The one door through which our own faults may leave without reaching the host."""

from __future__ import annotations

import logging
import os
from types import TracebackType

log = logging.getLogger("ctxdiff")

strict = os.environ.get("CTXDIFF_STRICT") == "1"
"""True in our own tests: faults are raised there, so that they are seen."""


class host_never_sees:  # noqa: N801 - it is read as the words of a `with` statement
    """Run our own code so that its errors are logged and never raised.

    Only our code stands inside, never the host's call. `BaseException` passes: a cancelled task
    must stay cancelled. One object serves any number of `with` statements, also at once.

    Args:
        step: completes the sentence "ctxdiff could not ...".
    """

    # A class, because the generator form costs three times as much on the host's path.
    __slots__ = ("_step",)

    def __init__(self, step: str) -> None:
        self._step = step

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Log an error and swallow it, unless our own tests run."""
        if error is None:
            return False
        if strict or not isinstance(error, Exception):
            return False
        log.error(
            "ctxdiff could not %s; your call is unaffected, the trace is incomplete",
            self._step,
            exc_info=error,
        )
        return True
