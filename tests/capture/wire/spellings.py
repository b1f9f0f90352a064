"""The forms in which a credential may stand in a file."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus


def spellings(value: str) -> set[bytes]:
    data = value.encode()
    spelled = {
        value,
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        quote_plus(value),
        b64encode(data).decode().rstrip("="),
        urlsafe_b64encode(data).decode().rstrip("="),
        data.hex(),
    }
    return {one.encode() for one in spelled}
