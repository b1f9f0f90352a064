"""Chunks of a Gemini stream, folded into the answer that one request would have got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import JSONDecoder

from ctxdiff_capture.decoders.answer import error_message
from ctxdiff_capture.decoders.gemini_spelling import member
from ctxdiff_capture.decoders.growing import Growing, lengthen, settled
from ctxdiff_capture.decoders.sse import json_events
from ctxdiff_capture.model import CallError, Json

STARTS = (b"data:", b"event:", b"[")
"""Server-sent events with `alt=sse`, else one JSON list."""
_scan = JSONDecoder(strict=False).raw_decode


def chunks(stream: bytes) -> Iterator[dict[str, Json]]:
    """The chunks of a stream in either form, in order; a torn last one is left out."""
    if stream.lstrip()[:1] != b"[":
        yield from json_events(stream)
        return
    text = stream.decode("utf-8", "replace")
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _scan(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
        at = text.find("{", end)


def folded(events: list[dict[str, Json]]) -> tuple[dict[str, Json], CallError | None]:
    """The answer, and the error that a chunk told. Without any chunk the answer is empty.

    Texts that follow each other are one part. (The SDK's `chats` sends them back one by one.)
    """
    answer: dict[str, Json] = {}
    candidates: dict[int, dict[str, Json]] = {}
    error: CallError | None = None
    for event in events:
        if event.get("error"):
            error = CallError(_kind_of(event["error"]), error_message(event))
            continue
        answer |= {k: v for k, v in event.items() if k != "candidates" and v is not None}
        listed = event.get("candidates")
        for place, chunk in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(chunk, Mapping):
                index = chunk.get("index")
                index = index if isinstance(index, int) else place
                _add(candidates.setdefault(index, {}), chunk)
    for candidate in candidates.values():
        for part in candidate["content"]["parts"] if "content" in candidate else ():
            if isinstance(part, dict):
                settled(part)
    if candidates:
        answer["candidates"] = [candidates[index] for index in sorted(candidates)]
    return answer, error


def _add(candidate: dict[str, Json], chunk: Mapping[str, Json]) -> None:
    content = chunk.get("content")
    candidate |= {k: v for k, v in chunk.items() if k != "content" and v is not None}
    if not isinstance(content, Mapping):
        return
    known = candidate.setdefault("content", {"role": "model", "parts": []})
    known |= {k: v for k, v in content.items() if k != "parts" and v is not None}
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, Mapping) or not _joined(known["parts"], part):
            known["parts"].append(dict(part) if isinstance(part, Mapping) else part)


def _joined(parts: list[Json], part: Mapping[str, Json]) -> bool:
    """Whether `part` was a text that goes on where the last part ended, and was added to it."""
    last = parts[-1] if parts else None
    text = part.get("text")
    if not isinstance(last, dict) or not isinstance(text, str):
        return False
    is_same_kind = bool(last.get("thought")) == bool(part.get("thought"))
    if not isinstance(last.get("text"), str | Growing) or not is_same_kind:
        return False
    if member(last, "thoughtSignature") is not None:  # a signature closes what it signs
        return False
    lengthen(last, "text", text)
    last |= {key: value for key, value in part.items() if key != "text"}
    return True


def _kind_of(error: Json) -> str:
    code = error.get("code") if isinstance(error, Mapping) else None
    if not isinstance(code, int):
        return "APIError"
    return "ServerError" if code >= 500 else "ClientError"
