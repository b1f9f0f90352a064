"""Messages as a program holds them, as the JSON that an SDK would send."""

from __future__ import annotations

import dataclasses
import json
from base64 import b64encode
from datetime import date, time
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from uuid import UUID

from ctxdiff_capture.hashing import canonical_json
from ctxdiff_capture.hooks.langchain_messages import langchain_dict
from ctxdiff_capture.model import Json

SHORT = 16
"""Hex digits of a digest's short form."""


def json_bytes(value: Json) -> bytes:
    """`value` as JSON now, so that later changes to it do not matter.

    Typed objects of an SDK are taken as that SDK sends them: without what was never set. Secrets of
    pydantic's are their stars; dates, ids and decimals their texts.

    Raises:
        TypeError: it holds something that JSON cannot spell.
        ValueError: it holds itself.
    """
    return json.dumps(value, default=_spelled).encode()


def digest_of_json(value: Json) -> str:
    """SHA-256 of `value` as canonical JSON, 64 hex digits; equal for equal JSON values.

    Typed objects count as what `json_bytes` makes of them.
    """
    return digest_of_text(canonical_json(json.loads(json_bytes(value))))


def digest_of_text(text: str) -> str:
    """SHA-256 of a text, 64 hex digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _spelled(value: Any) -> Json:
    if type(value).__module__.startswith("langchain_core.messages"):
        return langchain_dict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    # A secret of pydantic's shows itself as stars, and is asked for nothing more.
    if isinstance(value, UUID | Decimal | PurePath) or hasattr(value, "get_secret_value"):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return {key: value[key] for key in value.keys()}  # noqa: SIM118 - all that it must have
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON can spell")
