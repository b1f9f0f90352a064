"""An exported snapshot as a dict, JSON or YAML, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from ctxdiff_capture.hooks.context_state import ContextState
from ctxdiff_capture.hooks.export import Message, ModelInvocationContextSnapshot, Part
from ctxdiff_capture.model import Decision, Json

T = TypeVar("T")


def to_dict(snapshot: ModelInvocationContextSnapshot) -> dict[str, Json]:
    """Names in camel case, values of JSON's own types only."""
    state = snapshot.context_state
    return {
        "id": snapshot.id,
        "sessionId": snapshot.session_id,
        "turnId": snapshot.turn_id,
        "invocationId": snapshot.invocation_id,
        "iteration": snapshot.iteration,
        "messages": [
            {
                "role": message.role,
                "parts": [
                    {
                        "kind": part.kind,
                        "text": part.text,
                        "label": part.label,
                        "tokens": part.tokens,
                        "contentHash": part.content_hash,
                    }
                    for part in message.parts
                ],
            }
            for message in snapshot.messages
        ],
        "decisions": [
            {
                "candidate": decision.candidate,
                "disposition": decision.disposition,
                "reason": decision.reason,
                "rank": decision.rank,
                "tokens": decision.tokens,
            }
            for decision in snapshot.decisions
        ],
        "stablePrefixMessages": snapshot.stable_prefix_messages,
        "contextState": {
            "portability": state.portability,
            "delegated": [{"name": name, "value": value} for name, value in state.delegated],
            "sealedParts": state.sealed_parts,
        },
        "metadata": dict(snapshot.metadata),
    }


def from_dict(value: Json) -> ModelInvocationContextSnapshot:
    """The inverse of `to_dict`. Members that it does not write are passed over.

    Raises:
        ValueError: a member is missing or of another type; the message names its place.
    """
    at = _At(value, "")
    state = at.member("contextState")
    return ModelInvocationContextSnapshot(
        id=at.of(str, "id"),
        session_id=at.of(str, "sessionId"),
        turn_id=at.of(str, "turnId"),
        invocation_id=at.of(str, "invocationId"),
        iteration=at.of(int, "iteration"),
        messages=at.each("messages", _message),
        decisions=at.each("decisions", _decision),
        stable_prefix_messages=at.of(int, "stablePrefixMessages"),
        context_state=ContextState(
            "portable" if state.of(str, "portability") == "portable" else "provider_bound",
            state.each("delegated", lambda one: (one.of(str, "name"), one.member("value").value)),
            state.of(int, "sealedParts"),
        ),
        metadata=at.of(dict, "metadata"),
    )


def to_json(snapshot: ModelInvocationContextSnapshot) -> str:
    """JSON text, indented."""
    return json.dumps(to_dict(snapshot), ensure_ascii=False, indent=2)


def from_json(text: str) -> ModelInvocationContextSnapshot:
    """The inverse of `to_json`. Raises ValueError like `from_dict`, and for what is no JSON."""
    return from_dict(json.loads(text))


def to_yaml(snapshot: ModelInvocationContextSnapshot) -> str:
    """YAML text.

    Raises:
        ImportError: PyYAML is not installed.
    """
    text: str = _yaml().safe_dump(to_dict(snapshot), allow_unicode=True, sort_keys=False)
    return text


def from_yaml(text: str) -> ModelInvocationContextSnapshot:
    """The inverse of `to_yaml`; nothing in the text is executed.

    Raises:
        ImportError: PyYAML is not installed.
        ValueError: as for `from_dict`, and for what is no YAML.
    """
    yaml = _yaml()
    try:
        return from_dict(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from None


def _yaml() -> Any:
    try:
        # Optional: few programs need it.
        return import_module("yaml")
    except ImportError:
        raise ImportError("YAML needs PyYAML: pip install pyyaml, or use JSON") from None


class _At:
    """A value at its place, for messages."""

    def __init__(self, value: Json, place: str) -> None:
        self.value = value
        self.place = place

    def member(self, name: str) -> _At:
        if not isinstance(self.value, Mapping) or name not in self.value:
            raise ValueError(f"no member {name!r} at {self.place or '/'}")
        return _At(self.value[name], f"{self.place}/{name}")

    def of(self, kind: type[T], name: str) -> T:
        found = self.member(name)
        if type(found.value) is not kind:
            raise ValueError(
                f"{found.place} is no {kind.__name__} but {type(found.value).__name__}"
            )
        return found.value

    def or_none(self, kind: type[T], name: str) -> T | None:
        return None if self.member(name).value is None else self.of(kind, name)

    def each(self, name: str, read: Callable[[_At], T]) -> tuple[T, ...]:
        place = f"{self.place}/{name}"
        items = self.of(list, name)
        return tuple(read(_At(item, f"{place}/{i}")) for i, item in enumerate(items))


def _message(at: _At) -> Message:
    return Message(at.of(str, "role"), at.each("parts", _part))


def _part(at: _At) -> Part:
    return Part(
        at.of(str, "kind"),
        at.of(str, "text"),
        at.of(str, "label"),
        at.of(int, "tokens"),
        at.of(str, "contentHash"),
    )


def _decision(at: _At) -> Decision:
    return Decision(
        at.of(str, "candidate"),
        at.of(str, "disposition"),
        at.or_none(str, "reason"),
        at.or_none(int, "rank"),
        at.or_none(int, "tokens"),
    )
