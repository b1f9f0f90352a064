"""A request's own credentials, quoted by answers, errors, prompts and what is said of a call."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import openai
import pytest
from ctxdiff_capture import trace
from ctxdiff_capture.secrets.spelled import without
from ctxdiff_capture.wire.secrets import credentials_of
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.wire.spellings import spellings

KEY = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
Stored = Callable[[Path], bytes]


def spelled_in(stored: bytes) -> list[bytes]:
    return [one for one in spellings(KEY) if one in stored]


def test_a_stream_that_tells_of_its_key_and_a_prompt_that_holds_it_are_stored_without(
    provider: Any, recording: Any, reply: Any, everything_stored: Stored
) -> None:
    event = {"error": {"message": f"quota of {KEY} exceeded", "type": "x", "code": "y"}}
    provider.replies.append(reply(events=(f"data: {json.dumps(event)}\n\n".encode(),)))
    client = openai.OpenAI(api_key=KEY, base_url=f"{provider.url}/v1", max_retries=0)
    prompt = [{"role": "user", "content": f"OPENAI_API_KEY={KEY}"}]

    with client:
        wrapped = recording.tracer.wrap(client)
        recording.tracer.tag("env", prompt[0]["content"])
        recording.tracer.snapshot(prompt)
        recording.tracer.decision(KEY, "dropped", reason=f"holds {KEY}")
        recording.tracer.after_tool(f"key {KEY}", f"cut {KEY}"[:20], name="env")
        with suppress(openai.APIError):
            list(wrapped.chat.completions.create(model="m", messages=prompt, stream=True))
        wrapped.chat.completions.create(model="m", messages=prompt)

    first, second = recording.calls()
    assert spelled_in(everything_stored(recording.path)) == []
    assert [p.block.text for p in first.inputs] == ["OPENAI_API_KEY=[credential]"]
    assert [p.label for p in first.inputs] == ["env"]
    assert [p.block for p in first.inputs] == [p.block for p in second.inputs]
    assert (first.request, second.request) == (None, None)
    assert json.loads(provider.bodies[-1])["messages"] == prompt


def test_a_word_that_a_local_server_takes_for_a_key_stays_a_word(
    provider: Any, recording: Any
) -> None:
    client = openai.OpenAI(api_key="not-needed", base_url=f"{provider.url}/v1")
    prompt = [{"role": "user", "content": "A key is not-needed here."}]

    with client:
        recording.tracer.wrap(client).chat.completions.create(model="m", messages=prompt)

    (call,) = recording.calls()
    assert [p.block.text for p in call.inputs] == ["A key is not-needed here."]
    assert call.request == provider.bodies[-1]


def test_a_callback_sees_the_prompt_as_it_is_sent(
    provider: Any, recording: Any, everything_stored: Stored
) -> None:
    prompt = [{"role": "user", "content": f"my key is {KEY}"}]
    seen: list[Any] = []
    recording.tracer.on_call(seen.append)

    with openai.OpenAI(api_key=KEY, base_url=f"{provider.url}/v1") as client:
        recording.tracer.wrap(client).chat.completions.create(model="m", messages=prompt)
    recording.tracer.flush()

    assert [snapshot.messages for snapshot in seen] == [prompt]
    recording.calls()
    assert spelled_in(everything_stored(recording.path)) == []


def test_a_model_of_langchains_is_recorded_without_its_keys(
    tmp_path: Path, everything_stored: Stored
) -> None:
    chat_models = pytest.importorskip("langchain_core.language_models.fake_chat_models")

    class Model(chat_models.FakeListChatModel):  # type: ignore[misc, name-defined]
        @property
        def _identifying_params(self) -> dict[str, Any]:
            return {"model": "m", "openai_api_key": KEY, "headers": {"X-Auth": KEY}}

    path = tmp_path / "t.ctrace"
    with trace.init("test", path=path) as tracer:
        handler = tracer.langchain_handler()
        config = {"callbacks": [handler], "metadata": {"ls_provider": "openai"}}
        Model(responses=["ok"]).invoke("hi", config=config)

    assert spelled_in(everything_stored(path)) == []
    assert b"hi" in everything_stored(path)


@given(
    st.text(
        alphabet=st.characters(
            codec="latin-1", exclude_categories=("Cc", "Zs"), exclude_characters=";"
        ),
        min_size=8,
    ),
    st.sampled_from(["authorization", "X-Api-Key", "cookie", "X-Amz-Security-Token", "api-key"]),
    st.sampled_from(["{}", "Bearer {}", "Basic {}", "session={}", "a=b; s={}"]),
)
def test_no_spelling_of_a_header_is_left_in_an_error(secret: str, name: str, form: str) -> None:
    found = credentials_of({name: form.format(secret)})
    for one in spellings(secret):
        text = f"<<{one.decode()}>>"
        assert one.decode() not in without(text, found)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=8))
def test_no_spelling_of_an_address_is_left_in_an_error(secret: str) -> None:
    found = credentials_of({}, f"https://u:{quote(secret, safe='')}@h/v1?key={quote_plus(secret)}")
    for one in spellings(secret):
        assert one.decode() not in without(f"<<{one.decode()}>>", found)
