"""From a flight that has ended to an exchange. Runs on the recorder's thread."""

from __future__ import annotations

import ssl
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote, urlsplit

from ctxdiff_capture.model import CallError, Decision, Exchange, Json, Said, Tag, ToolResult
from ctxdiff_capture.secrets.spelled import bytes_without, without
from ctxdiff_capture.wire.encoding import decoded_body, joined_pieces
from ctxdiff_capture.wire.endpoints import Family, provider_of
from ctxdiff_capture.wire.flight import MOST_ANSWER_BYTES, Flight
from ctxdiff_capture.wire.secrets import BodySearch, credentials_of, text_of, unmistakable

_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")
# What a finished event stream ends with, by surface; the SDKs stop reading there.
_LAST_EVENTS = {
    "openai.chat": (b"[DONE]",),
    "anthropic.messages": (b"message_stop", b"event: message_delta"),  # LiteLLM needs no more
}
_TAIL_BYTES = 256
_SEARCH = BodySearch()
_EVENT_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream")


def exchange_of(flight: Flight, *, is_for_disk: bool = True) -> Exchange:
    """What `flight` sent and got. Credentials of its headers and address are in no field.

    Args:
        flight: a request that has left.
        is_for_disk: take them out of the request's body too; unmistakable ones only.
    """
    address = str(flight.url)
    secrets = credentials_of(flight.headers, address)
    invocation = flight.invocation
    assert invocation is not None
    body, undecoded = _body_of(flight)
    content_type = _header(flight, "content-type")
    metadata: dict[str, Json] = {}
    if flight.request is None:
        metadata["request"] = "streamed, not kept"
    if undecoded:
        metadata["content_encoding"] = undecoded
    is_cut = flight.is_cut
    if body is not None and len(body) > MOST_ANSWER_BYTES:
        body, is_cut = body[:MOST_ANSWER_BYTES], True
    if is_cut:
        metadata["answer"] = f"only its first {MOST_ANSWER_BYTES // 2**20} MB were kept"
    elif _is_abandoned(flight, body):
        metadata["stream"] = "abandoned"
    # A failing answer may quote any of them; elsewhere a short one may be a word of the text.
    sure = unmistakable(secrets)
    if body is not None:
        has_failed = flight.status is not None and flight.status >= 400
        body = bytes_without(body, secrets if has_failed else sure)
    sent = flight.request or b""
    request = _SEARCH.without(sent, sure) if is_for_disk else sent
    return Exchange(
        surface=flight.surface,
        request=request,
        started_at=iso_of(flight.started_wall_ns),
        response=body,
        is_event_stream=any(kind in content_type for kind in _EVENT_STREAMS),
        status=flight.status,
        first_byte_ms=_milliseconds(flight, flight.first_byte_ns),
        latency_ms=_milliseconds(flight, flight.last_byte_ns),
        error=_error_of(flight, secrets),
        url=address_of(address),
        provider=provider_of(flight.surface, urlsplit(address).hostname or ""),
        request_id=_request_id_of(flight, secrets),
        attempts=invocation.attempts,
        agent=invocation.agent,
        step=invocation.step,
        tags=tuple(Tag(tag.label, without(tag.text, sure)) for tag in invocation.tags),
        metadata=metadata,
        is_altered=request is not sent,
    )


def said_of(flight: Flight) -> tuple[Said, ...]:
    """What the program said before the call, without the credentials that the request carries."""
    invocation = flight.invocation
    if invocation is None or not invocation.said:
        return ()
    sure = unmistakable(credentials_of(flight.headers, str(flight.url)))
    return tuple(_said_without(item, sure) for item in invocation.said)


def iso_of(wall_ns: int) -> str:
    """Nanoseconds since 1970 as ISO 8601 in UTC with microseconds and offset."""
    seconds, rest = divmod(wall_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest // 1000)
    return moment.isoformat(timespec="microseconds")


def address_of(url: Any) -> str:
    """Scheme, host, port and path of an address: no user, no password, no query.

    Empty for what is no address: it might be anything.
    """
    parts = urlsplit(str(url))
    if not parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}"


def _body_of(flight: Flight) -> tuple[bytes | None, str | None]:
    """The body, and the name of its content-encoding where that could not be undone."""
    if flight.status is None:
        return None, None
    raw = b"".join(tuple(flight.chunks))
    if flight.is_chunked:
        raw = joined_pieces(raw)
    return (
        (raw, None) if flight.is_decoded else decoded_body(raw, _header(flight, "content-encoding"))
    )


def _said_without(item: Said, sure: tuple[str, ...]) -> Said:
    if isinstance(item, Decision):
        reason = None if item.reason is None else without(item.reason, sure)
        return replace(item, candidate=without(item.candidate, sure), reason=reason)
    if isinstance(item, ToolResult):
        raw, entered = bytes_without(item.raw, sure), bytes_without(item.entered, sure)
        return replace(item, raw=raw, entered=entered)
    return replace(
        item,
        messages=bytes_without(item.messages, sure),
        tools=None if item.tools is None else bytes_without(item.tools, sure),
        system=None if item.system is None else bytes_without(item.system, sure),
    )


def _request_id_of(flight: Flight, secrets: tuple[str, ...]) -> str | None:
    found = next((h for n in _REQUEST_ID_HEADERS if (h := _header(flight, n))), None)
    return None if found is None else without(found, secrets)


def _header(flight: Flight, name: str) -> str:
    return "" if flight.response_headers is None else flight.response_headers.get(name, "")


def _family_of(flight: Flight) -> Family:
    """Whose SDK sent it; of a client that we do not know, its user agent tells."""
    if flight.family:
        return flight.family
    agents = [text_of(v) for n, v in flight.headers.items() if text_of(n).lower() == "user-agent"]
    agent = " ".join(agents).lower()
    if "anthropic/python" in agent:
        return "anthropic"
    return "openai" if "openai/python" in agent else ""


def _is_abandoned(flight: Flight, body: bytes | None) -> bool:
    """Whether the host let go of an answer that was still coming."""
    if flight.ending != "closed" or flight.status is None or flight.status >= 400:
        return False
    tail = (body or b"")[-_TAIL_BYTES:]
    return not any(last in tail for last in _LAST_EVENTS.get(flight.surface, ()))


def _milliseconds(flight: Flight, moment_ns: int | None) -> int | None:
    return None if moment_ns is None else (moment_ns - flight.started_ns) // 1_000_000


def _error_of(flight: Flight, secrets: tuple[str, ...]) -> CallError | None:
    if flight.ending == "exit":
        return CallError("Unfinished", "recording ended before the answer did", flight.status)
    error = flight.error
    if error is None:
        return None
    text = without(str(error), secrets)
    kind = type(error).__name__
    seen = _kind_that_the_host_sees(error, _family_of(flight))
    message = text if seen == kind else f"{kind}: {text}" if text else kind
    return CallError(seen, message or None, flight.status)


def _kind_that_the_host_sees(error: BaseException, family: Family) -> str:
    """Class name of what the SDK raises for `error`. Source: openai 3.57, anthropic 2.14."""
    if family not in ("openai", "anthropic"):
        return type(error).__name__
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__}
    names = {name for module, name in kinds if module in ("httpx", "httpx2", "anyio")}
    if "TimeoutException" in names:
        return "APITimeoutError"
    if names & {"RequestError", "EndOfStream"} or isinstance(error, ssl.SSLError):
        return "APIConnectionError"
    is_of_sdk = any(module == "anthropic" for module, _ in kinds)
    if family == "anthropic" and isinstance(error, Exception) and not is_of_sdk:
        return "APIConnectionError"
    return type(error).__name__
