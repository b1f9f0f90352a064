"""The loops that the SDKs of the other surfaces document, over their real clients.

google-genai and boto3 are not needed for development; where they are missing, their tests skip.
"""

import json

import httpx2
import openai
import pytest
from ctxdiff_capture.decoders.dispatch import decode
from ctxdiff_capture.model import Exchange
from pydantic import BaseModel

STARTED = "2026-11-30T11:39:03.079952+00:00"
THOUGHT = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": "g",
    "status": None,
}
CALLED = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "arguments": '{"city":"Oslo"}',
    "call_id": "call_1",
    "name": "weather",
}
SEARCHED = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "x", "sources": None},
}
TEXT = {"type": "output_text", "annotations": [], "logprobs": [], "text": '{"celsius": 4}'}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [TEXT],
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-4o",
    "output": [THOUGHT, SEARCHED, CALLED, SAID],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
ADDED = [
    {"type": f"response.output_item.{kind}", "output_index": index, "item": item}
    for index, item in enumerate(RESPONSE["output"])
    for kind in ("added", "done")
]
EVENTS = [
    {"type": "response.created", "response": {**RESPONSE, "output": [], "status": "in_progress"}},
    *ADDED,
    {"type": "response.completed", "response": RESPONSE},
]


class Weather(BaseModel):
    celsius: int


def exchange_of(surface, url, request, response, is_stream=False):
    return Exchange(
        surface,
        request,
        STARTED,
        response=response,
        is_event_stream=is_stream,
        status=200,
        url=url,
        provider=surface.partition(".")[0],
    )


@pytest.fixture
def recorded(counter):
    """Calls decoded so far, and the function that adds one."""
    calls = []

    def add(*parts):
        exchange = exchange_of(*parts)
        calls.append(decode(exchange, seq=len(calls) + 1, call_id="c" * 32, count=counter))

    return calls, add


def hashes(placements):
    return [p.block.content_hash for p in placements]


@pytest.fixture
def openai_client(recorded):
    def answered(request):
        is_stream = json.loads(request.content).get("stream") is True
        body = json.dumps(RESPONSE).encode()
        if is_stream:
            numbered = ({**event, "sequence_number": n} for n, event in enumerate(EVENTS))
            body = b"".join(
                b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode())
                for e in numbered
            )
        recorded[1]("openai.responses", str(request.url), request.content, body, is_stream)
        kind = "text/event-stream" if is_stream else "application/json"
        return httpx2.Response(200, content=body, headers={"content-type": kind})

    http = httpx2.Client(transport=httpx2.MockTransport(answered))
    return openai.OpenAI(api_key="k", http_client=http, max_retries=0)


def streamed(client, **asked):
    with client.responses.stream(**asked) as stream:
        return stream.get_final_response()


@pytest.mark.parametrize(
    "ask",
    [
        lambda client, **asked: client.responses.create(**asked),
        lambda client, **asked: client.responses.parse(text_format=Weather, **asked),
        streamed,
        lambda client, **asked: streamed(client, text_format=Weather, **asked),
    ],
    ids=["create", "parse", "stream", "stream and parse"],
)
def test_a_response_that_is_sent_back_is_the_same_blocks(openai_client, recorded, ask):
    items = [{"role": "user", "content": "Weather in Oslo?"}]
    items += ask(openai_client, model="gpt-4o", input=items).output
    items.append({"type": "function_call_output", "call_id": "call_1", "output": "4 C"})
    openai_client.responses.create(model="gpt-4o", input=items)
    first, second = recorded[0]
    assert hashes(second.inputs)[1:-1] == hashes(first.outputs)
    assert [p.label for p in second.inputs] == ["user", *["history"] * 4, "tool_output"]
    assert second.inputs[3].tool_call_id == second.inputs[5].tool_call_id == "call_1"


PARTS = [
    {"text": "Hm", "thought": True},
    {"text": "It is 4 C.", "thoughtSignature": "AbC+/w=="},
    {"functionCall": {"name": "f", "args": {"cityName": "Oslo"}}},
]


@pytest.fixture
def gemini_client(recorded):
    genai = pytest.importorskip("google.genai")

    def answered(request):
        content = {"role": "model", "parts": PARTS}
        body = json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()
        recorded[1]("gemini.generate_content", str(request.url), request.content, body)
        return httpx2.Response(200, content=body, headers={"content-type": "application/json"})

    http = httpx2.Client(transport=httpx2.MockTransport(answered))
    options = genai.types.HttpOptions(httpx_client=http)
    return genai.Client(api_key="k", http_options=options)


@pytest.mark.filterwarnings("default")
def test_what_a_gemini_chat_said_is_the_same_blocks_in_its_history(gemini_client, recorded):
    chat = gemini_client.chats.create(model="gemini-2.5-flash", config={"temperature": 0.5})
    chat.send_message("one")
    chat.send_message("two")
    first, second = recorded[0]
    assert hashes(second.inputs)[:-1] == [*hashes(first.inputs), *hashes(first.outputs)]
    assert second.params == {"model": "gemini-2.5-flash", "temperature": 0.5}


@pytest.fixture
def bedrock_client(recorded):
    boto3 = pytest.importorskip("boto3")
    awsrequest = pytest.importorskip("botocore.awsrequest")
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    content = [{"text": "Hm"}, {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"a": 1}}}]
    message = {"role": "assistant", "content": content}
    body = json.dumps({"output": {"message": message}, "stopReason": "tool_use"}).encode()

    class Raw:
        def stream(self, **_):
            yield body

    def answered(request, **_):
        url = request.url.partition("?")[0]
        recorded[1]("bedrock.converse", url, request.body, body)
        headers = {"content-type": "application/json"}
        return awsrequest.AWSResponse(request.url, 200, headers, Raw())

    client.meta.events.register("before-send.bedrock-runtime", answered)
    return client


def test_a_bedrock_answer_that_is_sent_back_is_the_same_blocks(bedrock_client, recorded):
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    model = "anthropic.claude-v2:0"
    answer = bedrock_client.converse(modelId=model, messages=messages)
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "4 C"}]}}
    messages += [answer["output"]["message"], {"role": "user", "content": [result]}]
    bedrock_client.converse(modelId=model, messages=messages)
    first, second = recorded[0]
    assert hashes(second.inputs)[1:-1] == hashes(first.outputs)
    assert second.params == {"modelId": model}
