"""What a worker is told before its first question, and what must outlive it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ctxdiff_mcp.answers.folder import Identity, TraceFile
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.policy import Policy
from ctxdiff_mcp.worker.frames import Message

if TYPE_CHECKING:  # the analyzers behind it would cost the server's start
    from ctxdiff_mcp.answers.ledger import Prices


@dataclass(frozen=True, slots=True)
class FileId:
    """A file in one state, with what lies beside it: path in hex, numbers of its `Identity`."""

    path: str
    state: tuple[int, ...]

    @classmethod
    def of(cls, file: TraceFile) -> FileId:
        """The file as it was found."""
        return cls(os.fsencode(file.path).hex(), _numbers(file.identity))

    @classmethod
    def told(cls, spelled: Sequence[object]) -> FileId:
        """As `spelled` gave it."""
        path, state = spelled
        assert isinstance(path, str)
        assert isinstance(state, list)
        return cls(path, tuple(state))

    def spelled(self) -> list[object]:
        """As JSON."""
        return [self.path, list(self.state)]


def _numbers(identity: Identity) -> tuple[int, ...]:
    # When it was looked at is no state of it; no device or time is -1.
    states = (identity.file, identity.log, identity.journal)
    return tuple(number for state in states for number in (astuple(state) if state else (-1,)))


@dataclass(slots=True)
class Memory:
    """Numbers that an answer gave and that later answers must keep, whoever makes them."""

    runs: list[tuple[str, str]] = field(default_factory=list)
    """`Source.numbered`."""
    tags: list[tuple[str, bytes, int]] = field(default_factory=list)
    last_tags: dict[str, int] = field(default_factory=dict)
    """Both: `SecretTags.given`."""

    def news(self, source: Source, policy: Policy) -> Message:
        """What came since, as JSON; from now on remembered here too."""
        runs = source.numbered(len(self.runs))
        tags, last = policy.tags.given(len(self.tags))
        self.runs += runs
        self.tags += tags
        return {
            "runs": runs,
            "tags": [(kind, digest.hex(), number) for kind, digest, number in tags],
            "last_tags": last,
        }

    def learn(self, news: Message) -> None:
        """Remember what `news` told elsewhere."""
        self.runs += [(label, session) for label, session in news["runs"]]
        self.tags += [(kind, bytes.fromhex(digest), n) for kind, digest, n in news["tags"]]
        self.last_tags = news["last_tags"]

    def recall(self, source: Source, policy: Policy) -> None:
        """Let a fresh source and a fresh policy go on with these numbers."""
        source.remember(self.runs)
        policy.tags.remember(self.tags, self.last_tags)


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a worker needs to know. Packed by the server alone, so that pickles are safe."""

    root: Path
    policy: Policy
    """Its tags are not packed: `memory` has them."""
    prices: Prices | None = None
    memory: Memory = field(default_factory=Memory)
    refused: dict[FileId, str] = field(default_factory=dict)
    """Files that must not be read, each with the reason in a word."""
    largest: int | None = None
    """Bytes of a file and its log above which it is refused; None is without limit."""

    def packed(self) -> str:
        """As text, for a worker of the same version."""
        rules = {f.name: getattr(self.policy, f.name) for f in fields(Policy) if f.compare}
        rest = self.prices, self.memory, self.refused, self.largest
        # The worker's current folder is another.
        return pickle.dumps((os.fsencode(self.root.absolute()), rules, *rest)).hex()

    @classmethod
    def unpacked(cls, text: str) -> Setup:
        """What `packed` made."""
        root, rules, *rest = pickle.loads(bytes.fromhex(text))  # noqa: S301  the server made it
        return cls(Path(os.fsdecode(root)), Policy(**rules), *rest)
