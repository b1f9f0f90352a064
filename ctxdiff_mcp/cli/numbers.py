"""How a whole number is written on the command line."""

from __future__ import annotations

import argparse
import re

WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


def whole_number(text: str) -> int:
    """An integer in ASCII digits; for argparse."""
    if not WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}")
    return int(text)
