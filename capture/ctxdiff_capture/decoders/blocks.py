"""From one value of a request or an answer to its block: identity, text, count, label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ctxdiff_capture.decoders.credentials import masked_tool
from ctxdiff_capture.decoders.payloads import without_payloads
from ctxdiff_capture.hashing import canonical_json, digest_of, normal_form
from ctxdiff_capture.model import Block, Json, Placement, Tag
from ctxdiff_capture.tokens.counter import Counter, estimate
from ctxdiff_capture.tokens.images import Formula, image_of

TOOL_OUTPUT = "tool_output"
_LABELS = {"system": "system", "tool": TOOL_OUTPUT, "user": "user", "assistant": "history"}
_WRAPPED_RESULTS = ("function_response", "code_execution_result", "toolResult")
"""Results of Gemini and Bedrock, whose parts have no type."""


class BlockMaker:
    """Makes the blocks of one call.

    Args:
        count: counts the tokens of texts.
        provider: attribution label; decides whether counts are exact.
        formula: how the surface's images are billed.
    """

    def __init__(self, count: Counter, provider: str, formula: Formula) -> None:
        self._count = count
        self._provider = provider
        self._formula = formula

    def message(self, role: str, content: Json, path: str, call_id: str | None = None) -> Placement:
        """A message with one content; None is the empty text."""
        text = "" if content is None else normal_form(content)
        block = self._of_text(role, "message", text)
        return Placement(block, label_of(role), path=path, tool_call_id=call_id)

    def tool_schema(self, tool: Json, path: str) -> Placement:
        """A tool that the model may call; the credentials of a connector are masked."""
        block = self._of_json("system", "tool_schema", masked_tool(tool))
        return Placement(block, "tool_schema", path=path)

    def part(self, role: str, part: Json, path: str, call_id: str | None = None) -> Placement:
        """A part of a message's content: an image, a text, or anything else as its JSON."""
        image = image_of(part, self._formula)
        if image is not None:
            digest = digest_of(role, "image", image.hash_input)
            block = Block(digest, role, "image", image.text, image.token_count, "estimate")
        elif isinstance(part, str):
            block = self._of_text(role, "content_part", part)
        else:
            block = self._of_json(role, "content_part", part)
        label = TOOL_OUTPUT if _is_tool_result(part) else label_of(role)
        return Placement(block, label, path=path, tool_call_id=call_id)

    def _of_text(self, role: str, kind: str, text: str) -> Block:
        digest = digest_of(role, kind, text)
        return Block(digest, role, kind, text, *self._count.count(text, self._provider, digest))

    def _of_json(self, role: str, kind: str, value: Json) -> Block:
        text = canonical_json(value)
        light = without_payloads(value, self._formula)
        if not light.is_changed:
            return self._of_text(role, kind, text)
        shown = canonical_json(light.value)
        tokens = estimate(shown) + light.image_tokens
        return Block(digest_of(role, kind, text), role, kind, shown, tokens, "estimate")


def label_of(role: str) -> str:
    """The label of a block that nobody tagged."""
    return _LABELS.get(role, role)


def role_of(message: Mapping[str, Json], default: str) -> str:
    """A message's role; whatever it is, as text."""
    role = message.get("role")
    return default if role is None else normal_form(role)


def id_of(holder: Json, key: str) -> str | None:
    """The id under `key`, when it is a text."""
    found = holder.get(key) if isinstance(holder, Mapping) else None
    return found if isinstance(found, str) and found else None


def tagged(placements: Sequence[Placement], tags: Sequence[Tag]) -> tuple[Placement, ...]:
    """The placements, those that hold a tag's text under its label; the first tag wins."""
    wanted = [(tag, canonical_json(tag.text)[1:-1]) for tag in tags if tag.text]
    if not wanted:
        return tuple(placements)
    return tuple(_relabelled(placement, wanted) for placement in placements)


def _relabelled(placement: Placement, wanted: Sequence[tuple[Tag, str]]) -> Placement:
    text = placement.block.text
    for tag, spelled in wanted:
        if tag.text in text or (spelled in text and _holds(text, tag.text)):
            return replace(placement, label=tag.label, label_source="tagged")
    return placement


def _holds(text: str, needle: str) -> bool:
    """Whether a string inside the JSON `text` has `needle` in it."""
    try:
        return any(needle in string for string in _strings(json.loads(text)))
    except ValueError:
        return False


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _is_tool_result(part: Json) -> bool:
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type")
    if isinstance(kind, str):
        return kind.endswith("tool_result")
    return any(isinstance(part.get(key), Mapping) for key in _WRAPPED_RESULTS)
