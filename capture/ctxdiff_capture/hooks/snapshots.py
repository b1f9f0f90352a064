"""What is about to be sent, before it is: the snapshot, and comparisons of two."""

from __future__ import annotations

import json
from collections import Counter as Sums
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.hashing import canonical_json
from ctxdiff_capture.hooks.plain import SHORT, digest_of_json, digest_of_text
from ctxdiff_capture.hooks.shapes import shape_of
from ctxdiff_capture.model import Block, Exchange, Json, TokenMethod
from ctxdiff_capture.tokens.counter import Counter

_FULL = 64


@dataclass(frozen=True, slots=True)
class Budget:
    """How a prompt stands to the window that the program stated."""

    window: int
    """Tokens, positive."""
    used: int
    """Tokens of the prompt by our count, tools included."""

    @property
    def remaining(self) -> int:
        """Tokens that are left; negative when the prompt is too long."""
        return self.window - self.used

    @property
    def share(self) -> float:
        """Part of the window that is used: 1.0 is full, more is too long."""
        return self.used / self.window


@dataclass(frozen=True, slots=True)
class ContextSnapshot:
    """A request as it leaves. Deeply immutable: what is handed out are copies.

    Retries of a request are the same call and make no new snapshot.
    """

    call_id: str
    """Id under which the call will be stored."""
    seq: int
    """The call's number in its session."""
    taken_at: str
    """ISO 8601 in UTC: when the request left."""
    surface: str
    provider: str
    model: str | None
    agent: str | None
    step: str | None
    messages_json: str
    """The conversation as canonical JSON: `null` when the request was streamed."""
    tools_json: str
    """`null` when there are none."""
    system_json: str
    """What the request has outside of its messages: Anthropic's `system`, `instructions`."""
    message_digest: str
    """SHA-256 of `messages_json`, 64 hex digits."""
    tools_digest: str
    """SHA-256 of `tools_json`, 64 hex digits."""
    tokens: tuple[tuple[str, int], ...]
    """(label, tokens), in the order in which the labels first stand in the prompt."""
    is_estimate: bool
    """True when not every count in `tokens` is exact."""
    budget: Budget | None = None
    """None when no window was stated."""

    @property
    def message_hash(self) -> str:
        """The first 16 hex digits of `message_digest`."""
        return self.message_digest[:SHORT]

    @property
    def tools_hash(self) -> str:
        """The first 16 hex digits of `tools_digest`."""
        return self.tools_digest[:SHORT]

    @property
    def messages(self) -> Json:
        """The conversation, a fresh copy each time it is asked for."""
        return json.loads(self.messages_json)

    @property
    def tools(self) -> Json:
        """The tools, likewise."""
        return json.loads(self.tools_json)

    @property
    def system(self) -> Json:
        """What stands outside of the conversation, likewise."""
        return json.loads(self.system_json)

    @property
    def tokens_by_label(self) -> dict[str, int]:
        """`tokens` as a dict."""
        return dict(self.tokens)

    @property
    def total_tokens(self) -> int:
        """Tokens of the whole prompt by our count."""
        return sum(count for _, count in self.tokens)


@dataclass(frozen=True, slots=True)
class Drift:
    """What differs between two snapshots. Indices count from 0."""

    added: tuple[int, ...]
    """Messages of the later snapshot that the earlier one does not have, by index in the later."""
    removed: tuple[int, ...]
    """Messages of the earlier snapshot that are gone, by index in the earlier."""
    changed: tuple[tuple[int, int], ...]
    """Messages that were replaced where they stood: index in the earlier, index in the later."""
    tools_added: tuple[str, ...]
    """Names, in the order of the later snapshot."""
    tools_removed: tuple[str, ...]
    """Names, in the order of the earlier snapshot."""
    tools_changed: tuple[str, ...]
    """Names of tools whose definition differs."""
    tools_reordered: bool
    """True when the tools of both stand in another order, which breaks a provider's cache."""
    system_changed: bool

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any(
            (
                self.added,
                self.removed,
                self.changed,
                self.tools_added,
                self.tools_removed,
                self.tools_changed,
                self.tools_reordered,
                self.system_changed,
            )
        )


def snapshot_of(
    sent: Exchange, *, seq: int, call_id: str, count: Counter, window: int | None = None
) -> ContextSnapshot:
    """The snapshot of a request.

    Args:
        sent: the request; no answer is needed.
        seq: as for `decode`, like the two that follow.
        call_id: id of the call.
        count: counts tokens.
        window: size of the model's window in tokens, when the program states it.
    """
    call = decode(sent, seq=seq, call_id=call_id, count=count)
    body, shape = request_of(sent.request), shape_of(sent.surface)
    messages = canonical_json(shape.messages_of(body))
    tools = canonical_json(shape.tools_of(body))
    sums: Sums[str] = Sums()
    for placement in call.inputs:
        sums[placement.label] += placement.block.token_count
    model = call.params.get("model", call.params.get("modelId"))
    return ContextSnapshot(
        call_id=call_id,
        seq=seq,
        taken_at=sent.started_at,
        surface=sent.surface,
        provider=call.provider,
        model=model if isinstance(model, str) else None,
        agent=sent.agent,
        step=sent.step,
        messages_json=messages,
        tools_json=tools,
        system_json=canonical_json(shape.system_of(body)),
        message_digest=digest_of_text(messages),
        tools_digest=digest_of_text(tools),
        tokens=tuple(sums.items()),
        is_estimate=not all(_is_exact(p.block) for p in call.inputs),
        budget=None if window is None else Budget(window, sums.total()),
    )


def request_of(body: bytes) -> Mapping[str, Json]:
    """The members of a request body; none when it is no JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def verify_payload(messages: Json, expected: str) -> bool:
    """Whether `messages` are those of a snapshot.

    Args:
        messages: the conversation, as sent or as the SDK's own objects.
        expected: `message_hash` or `message_digest`; `tools_hash` for tools.

    Raises:
        ValueError: `expected` is neither 16 nor 64 hex digits.
        TypeError: `messages` hold something that JSON cannot spell.
    """
    if len(expected) not in (SHORT, _FULL) or set(expected.lower()) - set("0123456789abcdef"):
        raise ValueError(f"a hash has {SHORT} or {_FULL} hex digits, not {expected!r}")
    return digest_of_json(messages)[: len(expected)] == expected.lower()


def drift(earlier: ContextSnapshot, later: ContextSnapshot) -> Drift:
    """What differs from `earlier` to `later`."""
    old, new = _each(earlier.messages), _each(later.messages)
    added: list[int] = []
    removed: list[int] = []
    changed: list[tuple[int, int]] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        both = min(i_end - i, j_end - j)
        changed += [(i + k, j + k) for k in range(both)]
        removed += range(i + both, i_end)
        added += range(j + both, j_end)
    was, now = _by_name(earlier.tools), _by_name(later.tools)
    kept = [name for name in was if name in now]
    return Drift(
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        tools_added=tuple(name for name in now if name not in was),
        tools_removed=tuple(name for name in was if name not in now),
        tools_changed=tuple(name for name in kept if was[name] != now[name]),
        tools_reordered=kept != [name for name in now if name in was],
        system_changed=earlier.system_json != later.system_json,
    )


def _is_exact(block: Block) -> bool:
    exact: TokenMethod = "tiktoken"
    return block.token_method == exact


def _each(messages: Json) -> list[str]:
    """Each message as text; a prompt that is one text is one message."""
    listed = messages if isinstance(messages, list) else [] if messages is None else [messages]
    return [canonical_json(message) for message in listed]


def _by_name(tools: Json) -> dict[str, str]:
    """Definitions by name, in order; one without a name, or a second of it, is known by index."""
    found: dict[str, str] = {}
    for index, tool in enumerate(_flat(tools)):
        name = _name_of(tool)
        known_as = name if name and name not in found else f"{name or 'tool'}#{index}"
        found[known_as] = canonical_json(tool)
    return found


def _flat(tools: Json) -> Sequence[Json]:
    """Tools one by one; Gemini groups them."""
    flat: list[Json] = []
    for tool in tools if isinstance(tools, list) else ():
        group = None
        if isinstance(tool, Mapping):
            group = tool.get("functionDeclarations", tool.get("function_declarations"))
        flat += group if isinstance(group, list) else [tool]
    return flat


def _name_of(tool: Json) -> str | None:
    if not isinstance(tool, Mapping):
        return None
    holders = (tool, tool.get("function"), tool.get("toolSpec"), tool.get("custom"))
    names = [holder.get("name") for holder in holders if isinstance(holder, Mapping)]
    return next((name for name in (*names, tool.get("type")) if isinstance(name, str)), None)
