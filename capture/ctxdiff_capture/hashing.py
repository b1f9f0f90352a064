"""The one definition of what makes two blocks the same."""

from __future__ import annotations

import json
from hashlib import sha256

from ctxdiff_capture.model import Json


def canonical_json(value: Json) -> str:
    """`value` as JSON text that does not depend on key order.

    Keys sorted by code point at every level, separators `", "` and `": "`, non-ASCII literal,
    floats in their shortest form, `NaN` and `Infinity` spelled so.

    Raises:
        TypeError: `value` holds something JSON cannot spell, or mixes integer and string keys.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def normal_form(value: Json) -> str:
    """The text that is hashed: strings verbatim, any other value as `canonical_json`."""
    return value if isinstance(value, str) else canonical_json(value)


def digest_of(role: str, kind: str, value: Json) -> str:
    """SHA-256 of role, kind and normal form, joined by U+0000, as 64 lower-case hex digits.

    A lone surrogate is hashed as the three bytes that spell it, so that no text is without
    identity. Source: the `.ctrace` format, section 6.
    """
    joined = f"{role}\x00{kind}\x00{normal_form(value)}"
    return sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
