"""Image parts of requests: what identifies one, what it is shown as, what it costs.

Source of all rules: the `.ctrace` format, section 8.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

from ctxdiff_capture.hashing import canonical_json
from ctxdiff_capture.model import Json
from ctxdiff_capture.tokens.image_size import Size, is_picture, size_of

Formula: TypeAlias = Literal["openai", "anthropic", "gemini"]
"""Whose arithmetic an image is billed by; Bedrock's is `anthropic`."""

_CONSUMED = frozenset(
    (
        *("type", "detail", "url", "data", "bytes", "file_id", "file_uri", "fileUri"),
        *("media_type", "mime_type", "mimeType", "format", "s3Location"),
    )
)
_CARRIERS = frozenset(
    ("image_url", "source", "inline_data", "inlineData", "file_data", "fileData", "image")
)
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_NOT_BASE64 = bytes(set(range(256)) - _BASE64)


@dataclass(frozen=True, slots=True)
class Image:
    """An image part of a request."""

    hash_input: str
    """What is hashed in place of a text."""
    text: str
    """`[image 640x480 · ~425 tok]`, with a multiplication sign."""
    token_count: int
    """Estimated; 0 when the size is unknown."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Where an image's content is: `data` if it came along, else a URL or reference."""

    data: bytes | None = None
    url: str | None = None
    ref: str | None = None
    detail: str | None = None


def image_of(part: Json, formula: Formula) -> Image | None:
    """The image that `part` is; None when it is anything else."""
    if not isinstance(part, Mapping):
        return None
    found = _found(part)
    if found is None:
        return None
    size = size_of(found.data) if found.data else None
    cost = _cost(size, found.detail, formula)
    return Image(_hash_input(found, part), descriptor(size, cost), cost)


def descriptor(size: Size | None, tokens: int) -> str:
    """How an image is shown; what is unknown is left out."""
    sides = f" {size.width}\u00d7{size.height}" if size else ""
    return f"[image{sides} \u00b7 ~{short_count(tokens)} tok]" if tokens else f"[image{sides}]"


def short_count(tokens: int) -> str:
    """`999`, `1k`, `1.1k`: exact below 1,000, then thousands to one decimal, half up."""
    if tokens < 1000:
        return str(tokens)
    tenths = (tokens + 50) // 100
    return f"{tenths // 10}k" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}k"


def lenient_base64(text: str) -> bytes:
    """The bytes that `text` spells, both alphabets, anything else ignored; may be empty."""
    kept = text.encode("ascii", "ignore").translate(bytes.maketrans(b"-_", b"+/"), _SKIPPED)
    if len(kept) % 4 == 1:
        kept = kept[:-1]
    return b64decode(kept + b"=" * (-len(kept) % 4))


_SKIPPED = bytes(set(_NOT_BASE64) - set(b"-_"))


def data_uri_bytes(uri: str) -> bytes | None:
    """The content of a base64 `data:` URI; None for any other URL or when there is none."""
    head, comma, payload = uri.partition(",")
    if not comma or not head.startswith("data:") or "base64" not in head.split(";")[1:]:
        return None
    return lenient_base64(payload) or None


def _found(part: Mapping[str, Json]) -> _Found | None:
    kind = part.get("type")
    if kind == "image_url" or (kind is None and "type" not in part and "image_url" in part):
        return _chat_image(part)
    if kind == "input_image":
        return _responses_image(part)
    if kind == "image" and isinstance(part.get("source"), Mapping):
        return _sourced_image(part["source"])
    for key in ("inline_data", "inlineData"):
        if isinstance(part.get(key), Mapping):
            return _inline_image(part[key])
    for key in ("file_data", "fileData"):
        if isinstance(part.get(key), Mapping):
            return _file_image(part[key])
    if isinstance(part.get("image"), Mapping):
        return _bedrock_image(part["image"])
    return None


def _chat_image(part: Mapping[str, Json]) -> _Found | None:
    value = part.get("image_url")
    inner = value if isinstance(value, Mapping) else {}
    url = _text(value) or _text(inner.get("url"))
    detail = _text(inner.get("detail")) or _text(part.get("detail"))
    return _by_url(url, detail) or _by_ref(_text(inner.get("file_id")), detail)


def _responses_image(part: Mapping[str, Json]) -> _Found | None:
    value = part.get("image_url")
    url = _text(value) or (_text(value.get("url")) if isinstance(value, Mapping) else None)
    detail = _text(part.get("detail"))
    return _by_url(url, detail) or _by_ref(_text(part.get("file_id")), detail)


def _sourced_image(source: Mapping[str, Json]) -> _Found | None:
    data = _bytes(source.get("data"))
    if data:
        return _Found(data=data)
    return _by_url(_text(source.get("url")), None) or _by_ref(_text(source.get("file_id")), None)


def _inline_image(inline: Mapping[str, Json]) -> _Found | None:
    data = _bytes(inline.get("data"))
    if not data:
        return None
    media = _media_type(inline)
    wanted = media.startswith("image/") if media else is_picture(data)
    return _Found(data=data) if wanted else None


def _file_image(file: Mapping[str, Json]) -> _Found | None:
    if not (_media_type(file) or "").startswith("image/"):
        return None
    return _by_ref(_text(file.get("file_uri")) or _text(file.get("fileUri")), None)


def _bedrock_image(image: Mapping[str, Json]) -> _Found | None:
    source = image.get("source")
    if not isinstance(source, Mapping):
        return None
    data = _bytes(source.get("bytes"))
    if data:
        return _Found(data=data)
    location = source.get("s3Location")
    return _by_ref(_text(location.get("uri")) if isinstance(location, Mapping) else None, None)


def _by_url(url: str | None, detail: str | None) -> _Found | None:
    if url is None:
        return None
    data = data_uri_bytes(url)
    return _Found(data=data, detail=detail) if data else _Found(url=url, detail=detail)


def _by_ref(ref: str | None, detail: str | None) -> _Found | None:
    return _Found(ref=ref, detail=detail) if ref else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _bytes(value: Json) -> bytes | None:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return lenient_base64(value) if isinstance(value, str) else None


def _media_type(holder: Mapping[str, Json]) -> str | None:
    found = (_text(holder.get(key)) for key in ("mime_type", "mimeType", "media_type"))
    return next((media for media in found if media), None)


def _hash_input(found: _Found, part: Mapping[str, Json]) -> str:
    if found.data:
        payload = f"image:sha256:{sha256(found.data).hexdigest()}"
    elif found.url:
        payload = f"image:url:{found.url}"
    else:
        payload = f"image:ref:{found.ref}" if found.ref else "image:unknown"
    detail = f";detail={found.detail}" if found.detail else ""
    leftovers = _leftovers(part)
    rest = f";part={canonical_json(leftovers)}" if leftovers else ""
    return payload + detail + rest


def _leftovers(part: Mapping[str, Json]) -> dict[str, Json]:
    """What a part says beside its image, such as `cache_control`."""
    kept: dict[str, Json] = {}
    for key, value in part.items():
        if key in _CONSUMED:
            continue
        if key in _CARRIERS:
            inner = _leftovers(value) if isinstance(value, Mapping) else None
            if inner:
                kept[key] = inner
        elif _is_json(value):
            kept[key] = value
    return kept


def _is_json(value: Json) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int | float)


def _cost(size: Size | None, detail: str | None, formula: Formula) -> int:
    if formula == "openai" and detail == "low":
        return 85
    if size is None:
        return 0
    return {"openai": _openai_cost, "anthropic": _anthropic_cost, "gemini": _gemini_cost}[formula](
        size.width, size.height
    )


def _openai_cost(width: int, height: int) -> int:
    width, height = _scaled(width, height, max(width, height), 2048)
    width, height = _scaled(width, height, min(width, height), 768)
    return 85 + 170 * -(-width // 512) * -(-height // 512)


def _anthropic_cost(width: int, height: int) -> int:
    width, height = _scaled(width, height, max(width, height), 1568)
    return max(1, -(-width * height // 750))


def _gemini_cost(width: int, height: int) -> int:
    if max(width, height) <= 384:
        return 258
    tile = min(max(2 * min(width, height) // 3, 256), 768)
    return 258 * -(-width // tile) * -(-height // tile)


def _scaled(width: int, height: int, side: int, limit: int) -> tuple[int, int]:
    """Both sides shrunk so that `side` becomes `limit`; unchanged when it is not longer."""
    if side <= limit:
        return width, height
    return max(1, width * limit // side), max(1, height * limit // side)
