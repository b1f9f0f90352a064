"""The providers' cache rules, read from a dated file; nothing that ages stands in code."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ctxdiff_capture.model import CallHead

DATA = Path(__file__).with_name("data") / "providers.json"
Section: TypeAlias = Literal["tools", "system", "messages"]
LIFE_KEYS = ("prompt_cache_retention",)
"""Parameters that state how long an entry lives, where no marker does."""
HIDING_KEYS = frozenset(
    ("previous_response_id", "conversation", "prompt", "cached_content", "container")
)
"""Parameters with which a request refers to context that the provider holds."""
_SURFACES = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "gemini.generate_content": "gemini",
    "bedrock.converse": "bedrock",
    "bedrock.invoke_model": "bedrock",
}
_LABELS = (
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("azure", "openai"),
    ("bedrock", "bedrock"),
    ("gemini", "gemini"),
    ("google", "gemini"),
    ("vertex", "gemini"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Where a rule comes from."""

    source: str
    """An address."""
    read: str
    """When it was read: `2026-10`."""
    confidence: Literal["D", "V", "M", "T"]
    """Vendor's documentation, vendor's repository, measured in a report, third party."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """The shortest prefix that a model family caches, in tokens."""

    tokens: int
    """As the newest source has it."""
    low: int
    """Below this nothing is cached, whichever source is right."""
    high: int
    fact: Fact


@dataclass(frozen=True, slots=True)
class Rules:
    """How one provider caches prompts."""

    name: str
    order: tuple[Section, ...]
    """In which the parts of a request become one prefix."""
    explicit: bool
    """True where only what stands before a marker is cached."""
    markers_max: int | None
    look_back: int | None
    """Blocks that a marker looks back for an earlier entry."""
    lives_s: Mapping[str, int]
    """Life time of an entry in seconds, by the wire's word for it; empty is the default."""
    step: int
    """Cached prefixes end at a multiple of so many tokens."""
    writes_cost: bool
    sure: bool
    """False where the provider promises nothing about a stable prefix."""
    keys: Mapping[str, Section]
    """Parameters whose change loses the cache, and the first section that it loses."""
    facts: Mapping[str, Fact]
    """Where each rule comes from, by field; parameters under their own names."""

    def life_s(self, ttl: str | None) -> int | None:
        """Seconds for which an entry lives after its last use; None where nobody says."""
        return self.lives_s.get(ttl or "", self.lives_s.get(""))


def rules_of(call: CallHead, *, marked: bool = False) -> Rules:
    """The rules that hold for a call.

    Args:
        call: its surface decides, in files of ctxdiff its provider's label.
        marked: True when the request carries markers though its surface knows none: a gateway
            then passes them to a provider that does.
    """
    return _rules_for(call.surface, call.provider, model_of(call), marked)


def cited(fact: Fact) -> str:
    """Where and when a number was read, and how far it can be trusted."""
    kind = _data()["confidence"][fact.confidence]
    return f"{fact.source}, {kind}, read {fact.read}"


def rules_read() -> str:
    """When the facts in the data file were read: `2026-10`."""
    return str(_data()["read"])


def model_of(call: CallHead) -> str:
    """The model that was asked for; empty where the request names none."""
    found = call.params.get("model", call.params.get("modelId"))
    return found if isinstance(found, str) else ""


def load() -> None:
    """Read the file now, so that no question has to."""
    _data()


def is_sure(provider: str) -> bool:
    """False for a provider, by `Rules.name`, that may miss a prefix which stayed as it was."""
    return _rules(provider, None).sure


@cache
def minimum_of(model: str) -> Minimum | None:
    """The smallest prefix that is cached for a model; None where nobody says."""
    for entry in _data()["minimums"]:
        if re.search(entry["models"], model, re.IGNORECASE):
            return Minimum(entry["tokens"], entry["low"], entry["high"], _fact(entry))
    return None


@lru_cache(256)
def _rules_for(surface: str | None, provider: str | None, model: str, marked: bool) -> Rules:
    name = _SURFACES.get(surface or "")
    if name is None:
        label = (provider or "").lower()
        name = next((known for part, known in _LABELS if part in label), "other")
    if name == "openai" and (marked or "claude" in model.lower()):
        name = "anthropic"
    return _rules(name, _life_of_model(model) if name == "openai" else None)


@cache
def _rules(name: str, life_s: int | None) -> Rules:
    told = _data()["providers"][name]
    lives = told["lives_s"]["value"]
    return Rules(
        name=name,
        order=tuple(told["order"]["value"]),
        explicit=told["explicit"]["value"],
        markers_max=told.get("markers_max", {}).get("value"),
        look_back=told.get("look_back_blocks", {}).get("value"),
        lives_s=lives if life_s is None else {**lives, "": life_s},
        step=told["step_tokens"]["value"],
        writes_cost=told["writes_cost"]["value"],
        sure=told["sure"]["value"],
        keys={key: entry["loses"] for key, entry in told["keys"].items()},
        facts={
            key: _fact(entry)
            for key, entry in (*told.items(), *told["keys"].items())
            if isinstance(entry, dict) and "source" in entry
        },
    )


@cache
def _life_of_model(model: str) -> int | None:
    found = (e for e in _data()["longer_lives"] if re.search(e["models"], model, re.IGNORECASE))
    return next((int(entry["life_s"]) for entry in found), None)


def _fact(entry: Mapping[str, Any]) -> Fact:
    return Fact(_data()["sources"][entry["source"]], _data()["read"], entry["confidence"])


@cache
def _data() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))
