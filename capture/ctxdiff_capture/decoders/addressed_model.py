"""The model that a request names in its address and not in its body."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote

from ctxdiff_capture.decoders.body import Body

_BEDROCK = re.compile(
    r"/model/(.+)/(?:converse|converse-stream|invoke|invoke-with-response-stream)$"
)
_PUBLISHED = re.compile(r"/models/([^:]+):\w+$")
_ADDRESSED = re.compile(r"(?:/v\d\w*)?/([^:]+):\w+$")


def addressed_model(url: str) -> str | None:
    """The model in the address of a Bedrock, Gemini or Vertex call; None where there is none.

    `gemini-2.5-flash`, `anthropic.claude-3-5-sonnet-20241022-v2:0`, an ARN, `tunedModels/mine`,
    `projects/p/locations/l/endpoints/7`.
    """
    _, _, path = url.partition("://")
    path = "/" + unquote(path.partition("/")[2])
    found = _BEDROCK.search(path) or _PUBLISHED.search(path) or _ADDRESSED.match(path)
    return found[1] if found else None


def with_model(body: Body, url: str, key: str) -> Body:
    """`body` with the model of the address under `key`, where it names none itself."""
    model = None if body.problem or body.fields.get(key) is not None else addressed_model(url)
    return body if model is None else replace(body, fields={key: model, **body.fields})
