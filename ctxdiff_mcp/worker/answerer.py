"""Who answers a question: here, or in a process of its own."""

from __future__ import annotations

import gc
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ctxdiff_capture.errors import NoMemory

from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.tools import registry
from ctxdiff_mcp.tools.problems import internal, reading_problem
from ctxdiff_mcp.tools.tool import Cancelled, Context

if TYPE_CHECKING:  # the analyzers behind it would cost the server's start
    from ctxdiff_mcp.answers.ledger import Prices

log = logging.getLogger("ctxdiff")


class Answer(NamedTuple):
    """What a client is told."""

    text: str
    is_error: bool


NOBODY_WAITS = Answer("", is_error=True)


class Answerer(Protocol):
    """Answers the questions of a server. Any thread may ask."""

    def start(self) -> None:
        """Prepare for the first question, in the background."""

    def answer(
        self, tool: str, arguments: Mapping[str, Any], is_cancelled: Callable[[], bool]
    ) -> Answer:
        """What a tool of the registry answers, whatever happens.

        Args:
            tool: its name.
            arguments: as the client sent them.
            is_cancelled: whether nobody waits any more.
        """

    def close(self) -> None:
        """Give up whatever is being done, and release everything."""


class InProcess:
    """Answers in the calling thread."""

    def __init__(self, source: Source, policy: Policy, prices: Prices | None = None) -> None:
        self.source = source_under(source, policy)
        self.policy = policy
        self._prices = prices

    def start(self) -> None:
        """There is nothing to prepare."""

    def answer(
        self, tool: str, arguments: Mapping[str, Any], is_cancelled: Callable[[], bool] = bool
    ) -> Answer:
        """See `Answerer`."""
        context = Context(self.source, self.policy, is_cancelled, self._prices)
        try:
            return self._with_room(tool, context, arguments)
        except Cancelled:
            return NOBODY_WAITS
        except Exception:  # the server must not die, and the text of the error is a stranger's
            short_id = secrets.token_hex(3)
            if self.policy.hides_text:
                # A traceback may quote captured text, and its id must not tell two answers apart.
                short_id = "000000"
            else:
                log.exception("internal error %s in %s", short_id, tool)
            return Answer(internal(short_id), is_error=True)

    def close(self) -> None:
        """Release every file."""
        self.source.close()

    def _with_room(self, tool: str, context: Context, arguments: Mapping[str, Any]) -> Answer:
        """The answer; where memory runs out, once more without the runs that others asked about."""
        for _ in range(2):
            try:
                return Answer(*registry.run_tool(registry.BY_NAME[tool], context, arguments))
            except (MemoryError, NoMemory):
                self.source.close()
            gc.collect()
        return Answer(reading_problem("needs_too_much"), is_error=True)


def source_under(source: Source, policy: Policy) -> Source:
    """The source as the policy lets it be seen, under the same watch."""
    if policy.hides_names:
        from ctxdiff_mcp.answers.redacted import RedactedSource  # noqa: PLC0415  a server may not

        seen: Source = RedactedSource(source.root, rounds_counts=policy.rounds_counts)
    elif policy.rounds_counts:
        from ctxdiff_mcp.answers.buckets import BucketedSource  # noqa: PLC0415  need them

        seen = BucketedSource(source.root)
    else:
        return source
    seen.watch = source.watch
    return seen
