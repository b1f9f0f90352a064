"""Scripts without an HTTP library: `urllib.request`, `http.client`, and urllib3 above it."""

from __future__ import annotations

import gc
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from ctxdiff_capture import guard
from ctxdiff_capture.wire.encoding import joined_pieces
from hypothesis import given
from hypothesis import strategies as st

urllib3 = pytest.importorskip("urllib3", minversion="2")

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Capital of France?"}]}
STREAM = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
PATH = "/v1/chat/completions"
TEXT = '{"answer": "Paris"}'


def post(url: str, body: Any = STREAM, **headers: str) -> Any:
    request = urllib.request.Request(url + PATH, json.dumps(body).encode(), headers)
    return urllib.request.urlopen(request)


def read_into(response: Any) -> bytes:
    whole, buffer = b"", bytearray(70)
    while count := response.readinto(buffer):
        whole += buffer[:count]
    return whole


def read_one(response: Any) -> bytes:
    whole = b""
    while chunk := response.read1(33):
        whole += chunk
    return whole


def peek_and_read(response: Any) -> bytes:
    whole = b""
    while response.peek(1):
        whole += response.read1()
    return whole


READINGS: dict[str, Callable[[Any], bytes]] = {
    "read": lambda response: response.read(),
    "read(n)": lambda response: b"".join(iter(lambda: response.read(17), b"")),
    "read1": read_one,
    "readinto": read_into,
    "readline": lambda response: b"".join(iter(response.readline, b"")),
    "iteration": b"".join,
    "peek": peek_and_read,
}


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("reading", READINGS)
def test_an_answer_read_in_any_way_is_recorded_whole(
    provider: Any, recording: Any, reading: str, body: Any
) -> None:
    with post(provider.url, body) as untapped:
        expected = READINGS[reading](untapped)
    recording.tracer.record_process()
    with post(provider.url, body) as response:
        found = READINGS[reading](response)

    (call,) = recording.calls()
    assert found == expected
    assert (call.head.finish_reason, call.head.error, call.detail.metadata) == ("stop", None, {})
    assert [place.block.text for place in call.outputs] == [TEXT]
    assert call.request == provider.bodies[1]


def test_a_piece_reaches_the_host_before_the_next_one_is_there(
    provider: Any, recording: Any, reply: Any
) -> None:
    gate = threading.Event()
    events = provider.reply_to(PATH, b'{"stream": true}').events
    provider.replies.append(reply(events=events, gate=gate))
    recording.tracer.record_process()
    with post(provider.url) as response:
        first = response.readline()
        gate.set()
        rest = response.read()

    assert first + rest == b"".join(events)
    assert len(recording.calls()) == 1


def test_a_connection_that_is_kept_alive_is_recorded_call_by_call(
    provider: Any, recording: Any
) -> None:
    recording.tracer.record_process()
    connection = http.client.HTTPConnection(provider.url.removeprefix("http://"))
    for number in range(2):
        connection.request(method="POST", url=PATH, body=json.dumps({**CHAT, "n": number}))
        connection.getresponse().read()
    connection.close()

    assert [call.head.params["n"] for call in recording.calls()] == [0, 1]


def test_retries_of_urllib3_are_attempts_of_one_call(
    provider: Any, recording: Any, fail: Any
) -> None:
    provider.replies.append(fail(503))
    retries = urllib3.Retry(1, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
    recording.tracer.record_process()
    with urllib3.PoolManager(retries=retries) as pool:
        for _ in range(2):
            pool.request("POST", provider.url + PATH, json=CHAT)

    calls = recording.calls()
    assert [[a.status for a in call.detail.attempts] or [200] for call in calls] == [
        [503, 200],
        [200],
    ]


def test_an_error_reaches_the_host_and_bears_its_own_name(recording: Any) -> None:
    recording.tracer.record_process()
    with pytest.raises(urllib.error.URLError, match="refused"):
        post("http://127.0.0.1:1")

    (call,) = recording.calls()
    assert call.head.error == "ConnectionRefusedError"


@pytest.mark.parametrize("is_read", [True, False])
def test_a_refusal_is_recorded_with_its_status(
    provider: Any, recording: Any, fail: Any, is_read: bool
) -> None:
    provider.replies.append(fail(429))
    recording.tracer.record_process()
    with pytest.raises(urllib.error.HTTPError) as raised:
        post(provider.url)
    with raised.value as refusal:
        if is_read:
            refusal.read()

    (call,) = recording.calls()
    assert (call.head.error_status, call.detail.metadata) == (429, {})
    assert call.head.error_message == ("try later" if is_read else None)


def test_a_stream_that_breaks_keeps_what_came(provider: Any, recording: Any, reply: Any) -> None:
    events = provider.reply_to(PATH, b'{"stream": true}').events
    provider.replies.append(reply(events=events[:2], cut=True))
    recording.tracer.record_process()
    with post(provider.url) as response, pytest.raises(http.client.IncompleteRead):
        response.read()

    (call,) = recording.calls()
    assert call.head.error == "IncompleteRead"
    assert [place.block.text for place in call.outputs] == ['{"answer"']


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("leave", ["close", "drop"])
def test_a_stream_that_is_left_is_recorded_as_abandoned(
    provider: Any, recording: Any, leave: str
) -> None:
    recording.tracer.record_process()
    response = post(provider.url)
    response.readline()
    if leave == "close":
        response.close()
    del response
    gc.collect()

    (call,) = recording.calls()
    assert (call.head.error, call.detail.metadata) == (None, {"stream": "abandoned"})


def test_a_call_by_a_proxy_is_recorded_under_the_address_it_is_meant_for(
    provider: Any, recording: Any
) -> None:
    recording.tracer.record_process()
    proxy = urllib.request.ProxyHandler({"http": provider.url})
    opener = urllib.request.build_opener(proxy)
    target = f"http://api.example.test{PATH}"
    with opener.open(urllib.request.Request(target, json.dumps(CHAT).encode())) as response:
        response.read()

    (call,) = recording.calls()
    assert call.detail.endpoint == target


def test_a_credential_of_a_header_is_not_in_the_file(provider: Any, recording: Any) -> None:
    recording.tracer.record_process()
    with post(provider.url, CHAT, Authorization="Bearer never-to-be-stored") as response:
        response.read()

    assert len(recording.calls()) == 1
    assert b"never-to-be-stored" not in recording.path.read_bytes()


def test_a_client_of_aws_which_sends_by_urllib3_is_recorded_once(
    provider: Any, recording: Any
) -> None:
    boto3 = pytest.importorskip("boto3")
    recording.tracer.record_process()
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=provider.url,
        aws_access_key_id="AKIAX",
        aws_secret_access_key="secret",
    )
    ask = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    client.converse(**ask)
    assert len(list(client.converse_stream(**ask)["stream"])) == 6

    assert [call.head.surface for call in recording.calls()] == ["bedrock.converse"] * 2


@pytest.mark.parametrize("fault", ["started", "ended"])
def test_a_faulty_recorder_leaves_the_answer_alone(
    provider: Any, recording: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(guard, "strict", False)
    recording.tracer.record_process()
    monkeypatch.setattr(type(recording.tracer), fault, fail)
    with post(provider.url, CHAT) as response:
        assert json.load(response)["id"] == "chatcmpl-1"


@given(st.lists(st.binary(min_size=1), max_size=5), st.data())
def test_pieces_are_joined_as_far_as_they_came(pieces: list[bytes], data: st.DataObject) -> None:
    framed = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    raw = framed + b"0\r\nTrailer: x\r\n\r\n"
    cut = data.draw(st.integers(0, len(raw)))

    assert joined_pieces(raw) == b"".join(pieces)
    assert b"".join(pieces).startswith(joined_pieces(raw[:cut]))
