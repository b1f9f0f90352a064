"""Timelines by hand, and a reader for the golden traces."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ctxdiff_analyzers.timeline import Timeline, Turn
from ctxdiff_capture.decoders.usage import usage_of
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import BlockHead, CallDetail, CallHead, Stage, Usage

LABELS = {"assistant": "history", "tool": "tool_output"}


@dataclass(frozen=True)
class Spec:
    role: str
    text: str
    kind: str = "message"
    tag: str | None = None
    label: str | None = None
    tokens: int | None = None
    method: str = "tiktoken"
    hash: str | None = None

    @property
    def content_hash(self) -> str:
        return self.hash or digest_of(self.role, self.kind, self.text)

    @property
    def labelled(self) -> tuple[str, str]:
        if self.tag:
            return self.tag, "tagged"
        own = "tool_schema" if self.kind == "tool_schema" else LABELS.get(self.role, self.role)
        return self.label or own, "heuristic"


@dataclass
class Builder:
    """Collects blocks and turns; tokens of a block are its words unless given.

    A call may bring `detail=CallDetail(...)`, `stages=(Stage(...),)` and `body=`: bytes, or what
    JSON can spell.
    """

    has_outputs: bool = False
    turns: list[Turn] = field(default_factory=list)
    blocks: dict[str, int] = field(default_factory=dict)
    heads: list[BlockHead] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    labels: list[tuple[str, str]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    details: dict[str, CallDetail] = field(default_factory=dict)
    requests: dict[str, bytes] = field(default_factory=dict)
    held: dict[str, tuple[Stage, ...]] = field(default_factory=dict)

    def add(self, *inputs: Spec, outputs: Any = (), usage: Any = None, **call: Any) -> Turn:
        seq = call.pop("seq", len(self.turns) + 1)
        head = dict.fromkeys(("provider", "agent", "step", "latency_ms", "error"), None) | {
            "id": f"{seq:032x}",
            "seq": seq,
            "params": {"model": "m"},
            "usage": usage,
        }
        positions = call.pop("positions", range(len(inputs)))
        self.details[head["id"]] = call.pop("detail", CallDetail())
        self.held[head["id"]] = call.pop("stages", ())
        if (body := call.pop("body", None)) is not None:
            self.requests[head["id"]] = (
                body if isinstance(body, bytes) else json.dumps(body).encode()
            )
        self.turns.append(
            Turn(
                CallHead(**(head | call)),
                [self._block(spec) for spec in inputs],
                [self._label(spec) for spec in inputs],
                positions,
                [self._block(spec) for spec in outputs],
                usage_of(usage, call.get("provider")) if usage else Usage(),
            )
        )
        return self.turns[-1]

    def done(self) -> Timeline:
        def text_of(content_hash: str) -> str:
            self.fetched.append(content_hash)
            return self.texts[content_hash]

        return Timeline(tuple(self.turns), self.heads, self.labels, text_of, self.has_outputs, self)

    def detail(self, call_id: str) -> CallDetail:
        return self.details[call_id]

    def request(self, call_id: str) -> bytes | None:
        return self.requests.get(call_id)

    def stages(self, call_id: str) -> tuple[Stage, ...]:
        return self.held.get(call_id, ())

    def _block(self, spec: Spec) -> int:
        digest = spec.content_hash
        if digest not in self.blocks:
            self.blocks[digest] = len(self.heads)
            self.texts[digest] = spec.text
            tokens = len(spec.text.split()) if spec.tokens is None else spec.tokens
            self.heads.append(
                BlockHead(
                    digest,
                    spec.role,
                    spec.kind,
                    tokens,
                    spec.method,
                    not spec.text,
                    spec.text.startswith(("{", "[")),
                )
            )
        return self.blocks[digest]

    def _label(self, spec: Spec) -> int:
        if spec.labelled not in self.labels:
            self.labels.append(spec.labelled)
        return self.labels.index(spec.labelled)


@pytest.fixture
def make() -> SimpleNamespace:
    """`make.run()` is an empty builder; `make.user("text")` and its likes are blocks."""

    def json_part(role: str, kind: str) -> Any:
        return lambda value, **more: Spec(role, json.dumps(value, sort_keys=True), kind, **more)

    return SimpleNamespace(
        run=Builder,
        block=Spec,
        system=lambda text, **more: Spec("system", text, **more),
        user=lambda text, **more: Spec("user", text, **more),
        assistant=lambda text, **more: Spec("assistant", text, **more),
        tool=lambda text, **more: Spec("tool", text, **more),
        call=json_part("assistant", "content_part"),
        part=json_part("user", "content_part"),
        schema=json_part("system", "tool_schema"),
    )


def golden_sessions(path: Path) -> Iterator[tuple[str, Timeline]]:
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        for (run,) in db.execute("select id from run order by rowid").fetchall():
            yield run, _golden(db, run)
    finally:
        db.close()


def _golden(db: sqlite3.Connection, run: str) -> Timeline:
    builder = Builder()
    calls = db.execute(
        "select id, seq, provider, agent, step, params, usage, error from call"
        " where run_id = ? order by seq",
        (run,),
    ).fetchall()
    for call_id, seq, provider, agent, step, params, usage, error in calls:
        rows = db.execute(
            "select position, label, label_source, role, kind, text, token_count, token_method,"
            " content_hash from call_block join block on block_id = content_hash"
            " where call_id = ? order by position",
            (call_id,),
        ).fetchall()
        specs = [
            Spec(
                role,
                text,
                kind,
                label if source == "tagged" else None,
                label,
                tokens,
                method,
                digest,
            )
            for _, label, source, role, kind, text, tokens, method, digest in rows
        ]
        builder.add(
            *specs,
            seq=seq,
            provider=provider,
            agent=agent,
            step=step,
            params=json.loads(params),
            usage=usage and json.loads(usage),
            error=error,
            positions=[row[0] for row in rows],
        )
    return builder.done()


@pytest.fixture
def golden() -> Any:
    """Session id and timeline of each session in a golden file."""
    return golden_sessions
