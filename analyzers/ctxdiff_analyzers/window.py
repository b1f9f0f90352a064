"""How full a stated context window is."""

from __future__ import annotations

from dataclasses import dataclass

ALARM_PCT = 80.0


@dataclass(frozen=True, slots=True)
class Fill:
    """A total against a window."""

    tokens: int
    window: int
    pct: float
    """One decimal; above 100.0 the total exceeds the window."""

    @property
    def alarm(self) -> bool:
        """True from 80.0 percent on, as displayed."""
        return self.pct >= ALARM_PCT


def percent(part: float, whole: float) -> float:
    """`part / whole` in percent with one decimal; 0.0 when `whole` is 0."""
    return round(part / whole * 100, 1) if whole else 0.0


def window_fill(tokens: int, window: int) -> Fill:
    """How much of `window` the tokens take.

    Raises:
        ValueError: `window` is not positive.
    """
    if window <= 0:
        raise ValueError(f"window must be positive, not {window!r}")
    return Fill(tokens, window, percent(tokens, window))
