"""What a tool is, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.asking import Ask
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.envelope import Envelope
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools.arguments import Argument, Text, Values

if TYPE_CHECKING:
    from ctxdiff_analyzers.prices import PriceList

CONCISE, DETAILED = "concise", "detailed"
FORMAT = Text(
    "response_format",
    "`concise` (default) or `detailed`: more texts and rows, about three times the size.",
    choices=(CONCISE, DETAILED),
    default=CONCISE,
)


class Cancelled(Exception):  # an event, not a fault
    """The caller no longer wants the answer."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a tool works with."""

    source: Source
    policy: Policy
    is_cancelled: Callable[[], bool] = bool
    prices: PriceList | None = None
    """The user's own, when the server was started with them."""

    @property
    def ask(self) -> Ask:
        """How selectors are read under the policy."""
        policy = self.policy
        return Ask(not policy.hides_names, not policy.hides_text, policy.shows_name)

    def envelope(self, *, detailed: bool = False) -> Envelope:
        """An empty result. Only a detailed one may pass the default cap."""
        return Envelope(self.policy, self.policy.hard_cap if detailed else None)

    def check(self) -> None:
        """Stop when the caller has left.

        Raises:
            Cancelled: it has.
        """
        if self.is_cancelled():
            raise Cancelled


@dataclass(frozen=True, slots=True)
class Tool:
    """One question that a model can ask."""

    name: str
    title: str
    description: str
    """First sentence: what it gives and when to ask. Less than 2 kB."""
    arguments: Sequence[Argument]
    answer: Callable[[Context, Values], str]
    """The answer as short lines.

    Raises `Unanswerable` and `StoreError` for what the problems catalogue explains.
    """
