"""One arithmetic for the usage objects of all providers."""

import pytest
from ctxdiff_capture.decoders.usage import usage_of
from ctxdiff_capture.model import Usage
from hypothesis import given
from hypothesis import strategies as st

OPENAI = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 8},
}
RESPONSES = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 8},
}
ANTHROPIC = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 900,
    "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40},
    "output_tokens": 6,
}
GEMINI = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 64,
    "candidatesTokenCount": 4,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 107,
}
BEDROCK = {
    "inputTokens": 14,
    "outputTokens": 5,
    "totalTokens": 29,
    "cacheReadInputTokens": 8,
    "cacheWriteInputTokens": 2,
}


@pytest.mark.parametrize(
    ("raw", "provider", "expected"),
    [
        (OPENAI, "openai", Usage(100, 64, None, 20, 8)),
        (RESPONSES, "openai", Usage(100, 64, 30, 20, 8)),
        (ANTHROPIC, "anthropic", Usage(1012, 900, 100, 6, None, 60, 40)),
        (GEMINI, "gemini", Usage(100, 64, None, 7, 3)),
        (BEDROCK, "bedrock", Usage(24, 8, 2, 5, None)),
        ({"prompt_tokens": 21, "completion_tokens": 5}, "openai", Usage(21, output_tokens=5)),
        ({"input_tokens": 12, "output_tokens": 6}, "anthropic", Usage(12, output_tokens=6)),
        (
            {"prompt_token_count": 9, "candidates_token_count": 4},
            "gemini",
            Usage(9, output_tokens=4),
        ),
        ({"inputTokens": 14, "outputTokens": 5}, "bedrock", Usage(14, output_tokens=5)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, "openai-compatible", Usage(9, 4)),
    ],
)
def test_the_prompt_is_whole_whoever_counted_it(raw, provider, expected):
    assert usage_of(raw, provider) == expected


def test_the_keys_decide_when_nobody_says_which_provider_it_was():
    assert usage_of(ANTHROPIC) == usage_of(ANTHROPIC, "anthropic", "anthropic.messages")
    assert usage_of(RESPONSES).prompt_tokens == 100


def test_a_gateway_that_adds_the_cache_keys_of_another_provider_counts_them_in():
    raw = {"prompt_tokens": 1012, "cache_read_input_tokens": 900, "completion_tokens": 1}
    assert usage_of(raw, "openai-compatible") == Usage(1012, 900, None, 1)


def test_writes_by_life_time_are_summed_when_there_is_no_total():
    raw = {k: v for k, v in ANTHROPIC.items() if k != "cache_creation_input_tokens"}
    assert usage_of(raw, "anthropic") == Usage(1012, 900, 100, 6, None, 60, 40)


@pytest.mark.parametrize(
    ("details", "five", "hour"),
    [
        ([{"ttl": "1h", "inputTokens": 30}, {"ttl": "5m", "inputTokens": 12}], 12, 30),
        ([{"ttl": "5m", "inputTokens": 42}], 42, 0),
        ([{"ttl": "5m", "inputTokens": 12}], None, None),  # does not make up the whole
        ([{"ttl": "5m"}, "x", None], None, None),
        ([], None, None),
        ("5m", None, None),
    ],
)
def test_bedrock_tells_writes_apart_by_life_time(details, five, hour):
    raw = {"inputTokens": 1, "outputTokens": 2, "cacheWriteInputTokens": 42}
    found = usage_of({**raw, "cacheDetails": details}, "bedrock")
    assert (found.cache_write_5m_tokens, found.cache_write_1h_tokens) == (five, hour)


def test_what_tools_of_gemini_put_in_belongs_to_the_prompt():
    raw = {**GEMINI, "toolUsePromptTokenCount": 50, "totalTokenCount": 157}
    found = usage_of(raw, "gemini")
    assert (found.prompt_tokens, found.tool_prompt_tokens) == (150, 50)
    assert (found.prompt_tokens or 0) + (found.output_tokens or 0) == raw["totalTokenCount"]


def test_a_life_time_of_another_name_is_in_the_whole_and_in_neither_part():
    raw = {"input_tokens": 1, "cache_creation": {"ephemeral_1d_input_tokens": 7}}
    found = usage_of({**raw, "output_tokens": 1}, "anthropic")
    assert found == Usage(8, None, 7, 1, None, 0, 0)


@pytest.mark.parametrize(
    "value", ["5", [5], {"n": 5}, -1, True, float("nan"), float("inf"), 1.5, None]
)
def test_a_counter_that_is_no_whole_number_is_absent(value):
    assert usage_of({"prompt_tokens": value, "input_tokens": 11}) == Usage(11)
    assert usage_of({"input_tokens": 3, "cache_read_input_tokens": value}, "anthropic") == Usage(3)


@pytest.mark.parametrize("raw", [None, [], "usage", 7, {}, {"total_tokens": 9}])
def test_what_is_no_usage_gives_no_counts(raw):
    assert usage_of(raw) == Usage()


NAMES = sorted({*OPENAI, *RESPONSES, *ANTHROPIC, *GEMINI, *BEDROCK})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), inner),
    max_leaves=3,
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_no_usage_object_raises_and_no_part_exceeds_what_excludes_it(raw):
    usage = usage_of(raw, "anthropic")
    counts = [getattr(usage, name) for name in Usage.__dataclass_fields__]
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)


@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES), st.sampled_from(["openai", "anthropic", ""])
)
def test_the_short_way_for_plain_objects_gives_what_the_long_one_does(raw, provider):
    # A name that is looked at and says nothing takes the long way.
    assert usage_of(raw, provider) == usage_of({**raw, "cacheDetails": None}, provider)
