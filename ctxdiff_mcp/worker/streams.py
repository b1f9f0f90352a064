"""A process's own stdin and stdout, moved out of the reach of whatever prints."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def taken_streams() -> tuple[BinaryIO, BinaryIO]:
    """What came as the numbers 0 and 1: from now on 0 is empty, and what is printed is stderr's."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")
