"""The values that flow between rooms. Frozen, no I/O.

A person records a *session*; it is a list of *calls* (numbered, they are *turns*); each call has
input and output *blocks*, the smallest things that can be compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ctxdiff_capture.light import light

Json: TypeAlias = Any
"""A value that JSON can spell. Numbers may be NaN or infinite: the format allows them."""

TokenMethod: TypeAlias = Literal["tiktoken", "estimate"]
LabelSource: TypeAlias = Literal["tagged", "heuristic"]

SURFACES = (
    "openai.chat",
    "openai.responses",
    "anthropic.messages",
    "gemini.generate_content",
    "bedrock.converse",
    "bedrock.invoke_model",
)
"""Surfaces with a decoder: what kind of request body a call carries."""


@light(frozen=True, slots=True)
class Block:
    """The smallest thing that can be diffed: a message, a content part, a tool schema, an image."""

    content_hash: str
    """64 lower-case hex digits: `hashing.digest_of(role, kind, text)`; images: of a hash input."""
    role: str
    kind: str
    """`message`, `content_part`, `tool_schema` or `image`; others are kept as they are."""
    text: str
    token_count: int
    """0 or more."""
    token_method: str
    """`tiktoken` is exact, `estimate` is not."""


@light(frozen=True, slots=True)
class BlockHead:
    """A stored block without its text, which is fetched only when it is shown."""

    content_hash: str
    role: str
    kind: str
    token_count: int
    token_method: str
    is_empty: bool
    """True when the text has no characters."""
    opens_json: bool = True
    """False when the text starts with neither `{` nor `[`, so that it can be no part in JSON."""


@light(frozen=True, slots=True)
class Placement:
    """A block at its place in one call; the place is its index in `Call.inputs` or `outputs`."""

    block: Block
    label: str
    label_source: LabelSource = "heuristic"
    path: str = ""
    """JSON pointer into the body: `/messages/3/content/0`; empty when unknown."""
    tool_call_id: str | None = None
    """The id that joins a tool call and its result, on either side."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache breakpoint that the request carries."""

    position: int | None
    """Index of the input block it stands on; None for one at the top of the request."""
    path: str
    ttl: str | None = None
    """As on the wire (`5m`, `1h`); None is the provider's default."""


@dataclass(frozen=True, slots=True)
class CallError:
    """How a call failed."""

    type: str
    """Class name of the SDK's exception (`RateLimitError`), or of the transport's."""
    message: str | None = None
    status: int | None = None
    """HTTP status; None when no response came."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of a request; an invocation that was retried has several."""

    number: int
    """1 for the first sending."""
    started_at: str
    latency_ms: int | None
    status: int | None
    error: CallError | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """A text that the program marked with a label of its own (`rag`, `memory`)."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What a program held at one stage before a call, as it held it; not yet looked into."""

    stage: str
    """The program's word: `pre_optimization`, `post_optimization`, `tool_result`."""
    taken_at: str
    messages: bytes
    """JSON, in the form of the call's own request: a list, or a text."""
    tools: bytes | None = None
    """JSON; None says that they were those of the request. Likewise below."""
    system: bytes | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave, and what of it entered the history; not yet compared."""

    taken_at: str
    raw: bytes
    """JSON; likewise below."""
    entered: bytes
    name: str | None = None
    tool_call_id: str | None = None


Said: TypeAlias = "Draft | ToolResult | Decision"
"""What a program may say about a call before it makes it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a program held at one stage before a call, as blocks."""

    name: str
    taken_at: str
    inputs: tuple[Placement, ...]
    """Made as the call's own inputs are, so that a block which was sent has the same hash."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a context planner did with one candidate for the prompt, in its own words."""

    candidate: str
    """A name or the text itself."""
    disposition: str
    """`included`, `dropped`, `summarized`, ..."""
    reason: str | None = None
    rank: int | None = None
    tokens: int | None = None


@light(frozen=True, slots=True)
class Usage:
    """Token counts as the provider billed them, in one arithmetic for all providers."""

    prompt_tokens: int | None = None
    """The whole prompt, cached parts included."""
    cache_read_tokens: int | None = None
    """Part of the prompt that was read from the cache."""
    cache_write_tokens: int | None = None
    """Part of the prompt that was written to the cache."""
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Part of the output that was reasoning."""
    cache_write_5m_tokens: int | None = None
    """Part of what was written that lives for five minutes; None when the provider does not say."""
    cache_write_1h_tokens: int | None = None
    """Part of what was written that lives for an hour; None when the provider does not say."""
    tool_prompt_tokens: int | None = None
    """Part of the prompt that tools of the provider put in during the call."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back, before anyone has looked inside.

    The wire tap makes it, importers of raw logs make it, decoders read it.
    """

    surface: str
    """One of `SURFACES`."""
    request: bytes
    """The request body as sent, unless `is_altered`."""
    started_at: str
    """ISO 8601 in UTC with microseconds: `2026-11-30T11:39:03.079952+00:00`."""
    response: bytes | None = None
    """The response body, content-encoding undone; None when none came. May be cut off."""
    is_event_stream: bool = False
    """True when `response` is server-sent events."""
    status: int | None = None
    first_byte_ms: int | None = None
    latency_ms: int | None = None
    """From sending to the last byte, whole milliseconds."""
    error: CallError | None = None
    """Set when sending failed, or the answer broke off; an HTTP error is read from `status`."""
    url: str = ""
    """Scheme, host, port and path; never a query, never credentials."""
    provider: str = ""
    """Attribution label: `openai`, `openai-compatible`, `anthropic`, ..."""
    request_id: str | None = None
    """The provider's id of the request, from the response's headers."""
    attempts: tuple[Attempt, ...] = ()
    """Earlier sendings of the same invocation, oldest first."""
    agent: str | None = None
    step: str | None = None
    tags: tuple[Tag, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    is_altered: bool = False
    """True when a credential was taken out of `request`, so that it cannot be sent again."""


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of a model: all that a decoder can tell of an exchange."""

    id: str
    """UUID4 as 32 hex digits."""
    seq: int
    """1, 2, 3, ...: the order in which a session's calls started. What people call a turn."""
    provider: str
    surface: str
    inputs: tuple[Placement, ...]
    """In wire order, tools and system where ctxdiff puts them (see the decoder)."""
    params: Mapping[str, Json] = field(default_factory=dict)
    """The request body without what became blocks."""
    outputs: tuple[Placement, ...] = ()
    """Blocks of the answer, hashed as they will be when they come back as history."""
    markers: tuple[Marker, ...] = ()
    usage: Mapping[str, Json] | None = None
    """The provider's own usage object, whole."""
    finish_reason: str | None = None
    """In the provider's words: `stop`, `length`, `tool_calls`, `end_turn`, `max_tokens`, ..."""
    response_id: str | None = None
    response_model: str | None = None
    request_id: str | None = None
    error: CallError | None = None
    attempts: tuple[Attempt, ...] = ()
    """Every sending, the last one included, oldest first."""
    agent: str | None = None
    step: str | None = None
    tags: tuple[Tag, ...] = ()
    stages: tuple[Stage, ...] = ()
    """What the program held before the call, in the order in which it said so."""
    decisions: tuple[Decision, ...] = ()
    """What its planner decided about the call, likewise."""
    started_at: str = ""
    first_byte_ms: int | None = None
    latency_ms: int | None = None
    endpoint: str = ""
    """Scheme, host, port and path."""
    request_pieces: tuple[bytes, ...] | None = None
    """The request body cut at its messages and tools; joined they are the body. None: not kept."""
    request_digest: str | None = None
    """SHA-256 of the request body, 64 hex digits."""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    """What an imported record said beyond the fields above."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a program, as listed by a store."""

    id: str
    project: str
    started_at: str
    provider: str
    models: tuple[str, ...]
    writer: str
    """Version text of the program that wrote it."""
    schema_version: int
    calls: int = 0
    agents: tuple[str, ...] = ()
    """Named agents in order of first appearance."""


@light(frozen=True, slots=True)
class CallHead:
    """A stored call without its blocks: what a question about many turns needs of each."""

    id: str
    seq: int
    provider: str | None
    agent: str | None
    step: str | None
    params: Mapping[str, Json]
    usage: Mapping[str, Json] | None
    latency_ms: int | None
    error: str | None
    """Class name of the error; None on success."""
    surface: str | None = None
    """This and the fields below are None in files that ctxdiff wrote."""
    started_at: str | None = None
    first_byte_ms: int | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    response_model: str | None = None
    error_message: str | None = None
    error_status: int | None = None
    attempts: int | None = None
    """How often the request was sent."""
    request_digest: str | None = None
    refusal: str | None = None
    """What the model said instead of an answer, where that is no block (OpenAI Chat)."""


@dataclass(frozen=True, slots=True)
class CallDetail:
    """What is stored about one call beyond its head and blocks; empty in ctxdiff's files."""

    endpoint: str | None = None
    request_id: str | None = None
    attempts: tuple[Attempt, ...] = ()
    tags: tuple[Tag, ...] = ()
    markers: tuple[Marker, ...] = ()
    paths: Mapping[int, str] = field(default_factory=dict)
    """Position of an input block to its JSON pointer."""
    tool_call_ids: Mapping[int, str] = field(default_factory=dict)
    """Position of an input block to its tool call id."""
    output_tool_call_ids: Mapping[int, str] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """One stored session without the texts. Membership is arrays of small integers."""

    session: Session
    calls: tuple[CallHead, ...]
    """Ascending `seq`."""
    blocks: tuple[BlockHead, ...]
    """Every distinct block of the session; indices below point into it."""
    inputs: tuple[array[int], ...]
    """Per call: its input blocks in order."""
    labels: tuple[array[int], ...]
    """Per call: for each input block an index into `label_table`."""
    label_table: tuple[tuple[str, str], ...]
    """Distinct (label, label source)."""
    positions: tuple[Sequence[int], ...]
    """Per call: the stored position of each input block; a `range` when they are dense."""
    outputs: tuple[array[int], ...]
    """Per call: its output blocks; empty in files that ctxdiff wrote."""
    has_outputs: bool
    """True when the file can hold answers, so that an empty list means an empty answer."""
    notes: tuple[str, ...] = ()
    """What could not be read and was left out, in fixed words without captured text."""
