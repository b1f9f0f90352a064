"""Token arithmetic of the providers: what each one's counters include. Nowhere else.

The prompt counter of OpenAI (chat and Responses) and Gemini includes the cached part; that of
Anthropic and Bedrock leaves out what was read from and written to the cache.
Source: the providers' API references, read 2026-08.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxdiff_capture.model import Json, Usage

# First match wins, in this order: some gateways send several spellings, some of them null.
_INCLUSIVE = ("prompt_tokens",)
_EITHER = ("input_tokens",)
_GEMINI = ("prompt_token_count", "promptTokenCount")
_ADDITIVE = ("inputTokens", "inputTokenCount")
_PROMPT = _INCLUSIVE + _EITHER + _GEMINI + _ADDITIVE
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "candidates_token_count",
    "candidatesTokenCount",
    "outputTokens",
    "outputTokenCount",
    "generation_token_count",
)
_READ_BESIDE = (
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cacheReadInputTokenCount",
)
_WRITE_BESIDE = (
    "cache_creation_input_tokens",
    "cacheWriteInputTokens",
    "cacheWriteInputTokenCount",
)
_READ_INSIDE = (
    "prompt_cache_hit_tokens",
    "cached_content_token_count",
    "cachedContentTokenCount",
    "cached_tokens",
)
_THOUGHTS = ("thoughts_token_count", "thoughtsTokenCount")
_TOOL_PROMPT = ("tool_use_prompt_token_count", "toolUsePromptTokenCount")
_DETAILS_IN = ("prompt_tokens_details", "input_tokens_details")
_DETAILS_OUT = ("completion_tokens_details", "output_tokens_details")
_LIFE_TIMES = {
    "cache_write_5m_tokens": ("ephemeral_5m_input_tokens", "5m"),
    "cache_write_1h_tokens": ("ephemeral_1h_input_tokens", "1h"),
}
_LARGEST = 2**53 - 1
_KNOWN = frozenset(
    (
        *_READ_BESIDE,
        *_WRITE_BESIDE,
        *_READ_INSIDE,
        *_THOUGHTS,
        *_TOOL_PROMPT,
        *_DETAILS_IN,
        *_DETAILS_OUT,
        *("reasoning_tokens", "cache_write_tokens", "cache_creation", "cacheDetails"),
    )
)
"""Everything that is looked at beyond the prompt's and the output's counters."""
_LIFE_WORDS = frozenset(word for words in _LIFE_TIMES.values() for word in words)
_COUNTERS = _KNOWN.union(
    *(_PROMPT, _OUTPUT, _LIFE_WORDS),
    *(("cached_tokens", "cache_creation_tokens", "inputTokens", "ttl"),),
)
"""Every key of a usage object, and of the objects in it, whose value is looked at."""


def usage_of(raw: Json, provider: str | None = None, surface: str | None = None) -> Usage:
    """What the provider billed, in one arithmetic.

    Args:
        raw: the usage object as the provider sent it, or as ctxdiff reduced it; anything else,
            and any counter that is not a whole number from 0 up, counts as absent.
        provider: attribution label; decides only where the keys alone do not.
        surface: what kind of request it was; likewise.
    """
    if not isinstance(raw, Mapping):
        return Usage()
    if _KNOWN.isdisjoint(raw):
        # Most objects have a counter for the prompt and one for the output, and nothing else.
        return Usage(_first(raw, _PROMPT), output_tokens=_first(raw, _OUTPUT))
    read, write = _cached(raw)
    return Usage(
        prompt_tokens=_prompt(raw, read, write, _excludes_cache(raw, provider, surface)),
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=_output(raw),
        reasoning_tokens=_first(_details(raw, _DETAILS_OUT), ("reasoning_tokens",))
        or _first(raw, (*_THOUGHTS, "reasoning_tokens")),
        tool_prompt_tokens=_first(raw, _TOOL_PROMPT),
        **_by_life_time(raw, write),
    )


def counters(raw: Mapping[str, Json]) -> dict[str, Json]:
    """What `usage_of` looks at in a usage object, without any word that it does not know.

    That are known counters with whole numbers from 0 up, and the life times `5m` and `1h`.
    """
    kept = {key: _numbers(value) for key, value in raw.items() if key in _COUNTERS}
    return {key: value for key, value in kept.items() if value not in (None, {}, [])}


def _numbers(value: Json) -> Json:
    if isinstance(value, Mapping):
        return counters(value)
    if isinstance(value, list):
        return [row for item in value if isinstance(item, Mapping) and (row := counters(item))]
    if isinstance(value, str):
        return value if value in _LIFE_WORDS else None
    return _count(value)


def _excludes_cache(raw: Mapping[str, Json], provider: str | None, surface: str | None) -> bool:
    """Whether the prompt counter leaves out the cached parts."""
    key = _first_key(raw, _PROMPT)
    if key in _EITHER:
        if any(name in raw for name in _DETAILS_IN):
            return False
        speaks_anthropic = any(name in raw for name in (*_READ_BESIDE, *_WRITE_BESIDE))
        return speaks_anthropic or provider == "anthropic" or surface == "anthropic.messages"
    return key is None or key in _ADDITIVE


def _prompt(
    raw: Mapping[str, Json], read: int | None, write: int | None, excludes_cache: bool
) -> int | None:
    counted = _first(raw, _PROMPT)
    if not excludes_cache:
        # Gemini alone counts what its own tools put in beside the prompt.
        put_in = _first(raw, _TOOL_PROMPT) or 0
        return counted if counted is None else counted + put_in
    parts = [part for part in (counted, read, write) if part is not None]
    return sum(parts) if parts else None


def _cached(raw: Mapping[str, Json]) -> tuple[int | None, int | None]:
    """Tokens read from and written to the cache."""
    details = _details(raw, _DETAILS_IN)
    read = _first(raw, _READ_BESIDE)
    if read is None:
        read = _first(details, ("cached_tokens",))
    if read is None:
        read = _first(raw, _READ_INSIDE)
    write = _first(raw, _WRITE_BESIDE)
    if write is None:
        write = _first(details, ("cache_write_tokens", "cache_creation_tokens"))
    if write is None:
        write = _first(raw, ("cache_write_tokens",))
    if write is None and (written := _life_times(raw)):
        write = sum(written.values())
    return read, write


def _life_times(raw: Mapping[str, Json]) -> dict[str, int]:
    """Tokens written to the cache by how long they live, in the provider's words."""
    found: dict[str, int] = {}
    if isinstance(by_key := raw.get("cache_creation"), Mapping):
        for key, value in by_key.items():
            if (counted := _count(value)) is not None:
                found[key] = counted
    elif isinstance(rows := raw.get("cacheDetails"), list):
        for row in rows:
            if isinstance(row, Mapping) and (counted := _count(row.get("inputTokens"))) is not None:
                ttl = str(row.get("ttl"))
                found[ttl] = found.get(ttl, 0) + counted
    return found


def _by_life_time(raw: Mapping[str, Json], write: int | None) -> dict[str, int]:
    """The parts of what was written, where they are told and make up the whole."""
    written = _life_times(raw)
    if not written or sum(written.values()) != write:
        return {}
    return {
        name: sum(written.get(word, 0) for word in words) for name, words in _LIFE_TIMES.items()
    }


def _output(raw: Mapping[str, Json]) -> int | None:
    key = _first_key(raw, _OUTPUT)
    if key is None:
        return None
    counted = _count(raw[key])
    # Gemini alone counts its thoughts beside the answer and not inside it.
    thoughts = _first(raw, _THOUGHTS) if key.startswith("candidates") else None
    return counted if counted is None or thoughts is None else counted + thoughts


def _details(raw: Mapping[str, Json], names: tuple[str, ...]) -> Mapping[str, Json]:
    for name in names:
        if isinstance(details := raw.get(name), Mapping):
            return details
    return {}


def _first_key(raw: Mapping[str, Json], names: tuple[str, ...]) -> str | None:
    # Plain loops here and below: a run of 5,000 turns asks each of them 50,000 times.
    for name in names:
        if name in raw and _count(raw[name]) is not None:
            return name
    return None


def _first(raw: Mapping[str, Json], names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in raw and (counted := _count(raw[name])) is not None:
            return counted
    return None


def _count(value: Json) -> int | None:
    if type(value) is int:
        return value if 0 <= value <= _LARGEST else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN fails every comparison, so it is absent too.
    return int(value) if 0 <= value <= _LARGEST and value == int(value) else None
