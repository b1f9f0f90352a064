"""Base64 inside parts that are no images: kept out of the text, never counted as prose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from ctxdiff_capture.model import Json
from ctxdiff_capture.tokens.images import Formula, data_uri_bytes, image_of, lenient_base64

SHORTEST = 64
"""Characters of base64 from which a payload is replaced."""
_BASE64_KEYS = frozenset(("data", "file_data", "bytes", "b64_json"))
_SEALED_KEYS = frozenset(
    (
        *("encrypted_content", "encrypted_index", "encrypted_stdout"),
        *("thought_signature", "redactedContent", "bytes"),
    )
)
"""Keys whose text is a payload when it is nothing but base64."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


@dataclass(frozen=True, slots=True)
class Lightened:
    """A part without its payloads."""

    value: Json
    image_tokens: int
    """Estimated cost of the pictures that were inside."""
    is_changed: bool


def without_payloads(part: Json, formula: Formula) -> Lightened:
    """`part` with each base64 payload described and not spelled.

    A payload is the content of a `data:` URI, a string under one of the keys by which providers
    carry bytes (`data`, `file_data`, `bytes`) beside `"type": "base64"` or a format, the picture
    that a tool drew, or sealed thoughts and their signatures.
    """
    if isinstance(part, Mapping):
        return _mapping_without(part, formula)
    if isinstance(part, list):
        inner = [without_payloads(item, formula) for item in part]
        return Lightened(
            [item.value for item in inner],
            sum(item.image_tokens for item in inner),
            any(item.is_changed for item in inner),
        )
    if isinstance(part, str) and len(part) >= SHORTEST and part.startswith("data:"):
        data = data_uri_bytes(part)
        if data:
            return Lightened(f"{part.partition(',')[0]},{described(data)}", 0, is_changed=True)
    return Lightened(part, 0, is_changed=False)


def described(data: bytes) -> str:
    """`[base64 73 bytes sha256:b4467f0dd939]`."""
    return f"[base64 {len(data)} bytes sha256:{sha256(data).hexdigest()[:12]}]"


def _mapping_without(part: Mapping[str, Json], formula: Formula) -> Lightened:
    kept: dict[str, Json] = {}
    tokens, is_changed = 0, False
    for key, value in part.items():
        if _is_payload(part, key, value):
            kept[key], is_changed = described(lenient_base64(value)), True
            continue
        inner = without_payloads(value, formula)
        kept[key] = inner.value
        tokens += inner.image_tokens
        is_changed = is_changed or inner.is_changed
    image = image_of(_as_image(part), formula) if is_changed else None
    return Lightened(kept, tokens + (image.token_count if image else 0), is_changed)


def _is_payload(holder: Mapping[str, Json], key: str, value: Json) -> bool:
    if not isinstance(value, str) or len(value) < SHORTEST or value.startswith("data:"):
        return False
    if key in _SEALED_KEYS and _BASE64.fullmatch(value):
        return True
    kind = holder.get("type")
    if key == "result":
        return bool(kind == "image_generation_call")
    if key == "signature":  # of a thought, Anthropic's or Bedrock's
        is_thought = kind == "thinking" or set(holder) == {"signature", "text"}
        return is_thought and _BASE64.fullmatch(value) is not None
    if key not in _BASE64_KEYS:
        return False
    says_so = kind in ("base64", "redacted_thinking") or "format" in holder or "file_data" in holder
    return says_so or "mime_type" in holder


def _as_image(part: Mapping[str, Json]) -> Mapping[str, Json]:
    """A picture that a tool of OpenAI's made, in the form of one that a user sent."""
    kind = part.get("type")
    if kind == "computer_screenshot":
        return {**part, "type": "input_image"}
    if kind == "image_generation_call":
        uri = f"data:image/png;base64,{part.get('result')}"
        return {"type": "input_image", "image_url": uri}
    return part
