"""Cases from real reports, asked through the store: import a log, then explain.

The cases are no part of this repository. `CTXDIFF_SHARED` names the folder that holds
`cases/cases-dev.jsonl` and `cases/expand.py`; tests skip where it is absent.
"""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.answers.explain import Explanation, explain
from ctxdiff_mcp.answers.findings import FindingRow
from ctxdiff_mcp.answers.select import find_run
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.gate.raw import raw

SHARED = Path(os.environ.get("CTXDIFF_SHARED", "/work/shared"))
DEV = SHARED / "cases" / "cases-dev.jsonl"
ABSENT = f"the cases are not at {DEV} (set CTXDIFF_SHARED)"

SURFACES = {
    "openai-chat": "openai.chat",
    "openai-responses": "openai.responses",
    "anthropic": "anthropic.messages",
    "gemini": "gemini.generate_content",
    "bedrock": "bedrock.converse",
}
OURS = {"orphan_tool_use": "orphan_tool_call"}
"""What the cases call otherwise than we do."""
NOT_CONTENT = frozenset(
    (
        *("model_changed", "tool_choice_changed", "thinking_config_changed"),
        *("reasoning_effort_changed", "output_schema_changed", "cache_key_changed"),
        *("sampling_changed", "limits_changed", "ttl_changed", "ttl_expired"),
        *("parallel_cold_start", "provider_side_miss", "below_min_cacheable"),
    )
)
"""Causes of a break that do not blame the text of the prompt."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A finding with its captured words readable, as a test compares it."""

    row: FindingRow
    names: tuple[str, ...]
    excerpts: tuple[str, ...]
    texts: tuple[str, ...]
    """Of the evidence's blocks, whole."""

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.row.counts)

    @property
    def path(self) -> str | None:
        return getattr(self.row, "path", None)

    def is_a(self, code: str) -> bool:
        return OURS.get(code, code) in (self.row.code, self.row.cause)

    def says(self, text: str) -> bool:
        return any(text in said for said in (*self.names, *self.excerpts, *self.texts))

    def __repr__(self) -> str:
        return (
            f"{self.row.code}/{self.row.cause}@{self.row.turn} path={self.path}"
            f" names={self.names} counts={self.counts}"
        )


@dataclass(frozen=True)
class Asked:
    """A case as a trace on disk, ready to be explained turn by turn."""

    case: Json
    trace: Path

    @property
    def source(self) -> Source:
        return _source(self.trace)

    def run_of(self, session: str | None) -> str:
        """The run that holds a session of the case: sessions are listed in order of appearance."""
        order = list(dict.fromkeys(call.get("session") for call in self.case["calls"]))
        runs = sorted(self.source.listing().runs, key=lambda one: one.session.started_at)
        return runs[order.index(session)].handle

    def explain(self, turn: int, session: str | None = None) -> Explanation:
        """Our answer about a turn, as any surface gets it."""
        return explain(self.source, self.run_of(session or self._session(turn)), turn)

    def findings(self, turn: int, session: str | None = None) -> tuple[Found, ...]:
        """Best first."""
        answer = self.explain(turn, session)
        run = find_run(self.source, answer.run.name.handle)
        return tuple(
            Found(
                row,
                tuple(map(raw, row.names)),
                tuple(map(raw, row.excerpts)),
                tuple(run.text(run.stored_hash(block)) for block in row.blocks),
            )
            for row in answer.findings
        )

    def _session(self, turn: int) -> str | None:
        return next(c.get("session") for c in self.case["calls"] if c["turn"] == turn)


def cases(area: str) -> list[Json]:
    """The cases of an area (`A`, `B`, ...) with their texts expanded; none where absent."""
    return [case for case in _all() if case["id"].startswith(area)]


def ask(case: Json, folder: Path) -> Asked:
    """Write the case as an exchange log, import it, and have the trace asked."""
    log, trace = folder / "case.jsonl", folder / "case.ctrace"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(case)), encoding="utf-8")
    report = import_log(log, trace)
    assert report.errors == ()
    assert report.calls == len(case["calls"])
    return Asked(case, trace)


def problems(asked: Asked) -> list[str]:
    """What the case expects and our answers do not hold, one line each."""
    return [
        f"{expected}: {problem}"
        for expected in asked.case["expect"]
        for kind, check in CHECKS.items()
        if kind in expected and (problem := check(asked, expected)) is not None
    ]


def must_flag(asked: Asked, expected: Mapping[str, Any]) -> str | None:
    found = asked.findings(expected["at_turn"])
    mine = [
        one
        for one in found
        if one.is_a(expected["must_flag"]) and one.row.turn == expected["at_turn"]
    ]
    if not mine:
        return f"not among {list(found)}"
    missing = [_missing(one, expected) for one in mine]
    return None if not all(missing) else f"{mine} lacks {min(missing, key=len)}"


def must_not_flag(asked: Asked, expected: Mapping[str, Any]) -> str | None:
    code = expected["must_not_flag"]
    found = asked.findings(expected["at_turn"])
    if code == "content_break":
        bad = [
            one
            for one in found
            if one.row.code == "cache_break" and one.row.cause not in NOT_CONTENT
        ]
    else:
        bad = [one for one in found if one.is_a(code)]
    return f"found {bad}" if bad else None


def metric(asked: Asked, expected: Mapping[str, Any]) -> str | None:
    name, turn = expected["metric"], expected["at_turn"]
    value = MEASURES[name](asked, turn) if name in MEASURES else _counted(asked, turn, name)
    if value is None:
        return "not measured"
    holds = (
        value == expected.get("equals", value)
        and value >= expected.get("min", value)
        and value <= expected.get("max", value)
    )
    return None if holds else f"is {value}"


CHECKS: dict[str, Callable[[Asked, Mapping[str, Any]], str | None]] = {
    "must_flag": must_flag,
    "must_not_flag": must_not_flag,
    "metric": metric,
}
"""By the key that tells an expectation's kind. Kinds without an entry are not looked at here."""


def _tool_share(asked: Asked, turn: int) -> float | None:
    row = asked.explain(turn).tokens
    return sum(part.pct for part in row.labels if raw(part.label.text) == "tool_schema")


MEASURES: dict[str, Callable[[Asked, int], float | None]] = {"tool_share_percent": _tool_share}
"""Figures that are not a finding's count."""


def _counted(asked: Asked, turn: int, name: str) -> int | None:
    found = [one.counts[name] for one in asked.findings(turn) if name in one.counts]
    return max(found, default=None)


def _missing(found: Found, expected: Mapping[str, Any]) -> list[str]:
    """Details of an expectation that the finding does not show."""
    return [
        key
        for key, value in expected.items()
        if key not in ("must_flag", "at_turn", "why") and not _shows(found, key, value)
    ]


def _shows(found: Found, key: str, value: Any) -> bool:
    if key in ("path", "to_path"):
        return found.path == value
    if isinstance(value, list):
        return all(_shows(found, key, one) for one in value)
    if isinstance(value, int):
        return found.counts.get(key) == value
    return bool(found.says(value) or found.path == value)


@cache
def _all() -> tuple[Json, ...]:
    if not DEV.is_file():
        return ()
    expand = runpy.run_path(str(DEV.with_name("expand.py")))
    return tuple(expand["load"](DEV))


@cache
def _source(trace: Path) -> Source:
    return Source(trace)


def _lines(case: Json) -> Iterator[Json]:
    start = datetime(2026, 11, 30, 10, tzinfo=timezone.utc)
    for call in case["calls"]:
        line = {
            "provider": SURFACES[case["format"]],
            "request": call["request"],
            "response": _response(case["format"], call),
            "started_at": (start + timedelta(seconds=call["t"])).isoformat(timespec="milliseconds"),
        }
        if "latency_s" in call:
            line["latency_ms"] = round(call["latency_s"] * 1000)
        if "tags" in call:
            line["tags"] = [{"label": label, "text": text} for label, text in call["tags"]]
        yield line | {key: call[key] for key in ("agent", "session", "error") if key in call}


def _response(form: str, call: Json) -> Json | None:
    """The answer with its usage; of most calls the cases tell only the usage."""
    if "usage" not in call:
        return call.get("response")
    key = "usageMetadata" if form == "gemini" else "usage"
    return {**(call.get("response") or {}), key: call["usage"]}
