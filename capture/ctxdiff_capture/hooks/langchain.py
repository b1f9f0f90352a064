"""LangChain's and LangGraph's callbacks: records models that no tap can see.

Where a tap sees the same call, it is recorded from the wire, under the name given here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic
from uuid import UUID

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.hooks.langchain_messages import answer_body, request_body
from ctxdiff_capture.hooks.plain import json_bytes
from ctxdiff_capture.hooks.runs import AnyRun, RunRecorder, Runs
from ctxdiff_capture.model import CallError, Exchange, Json

MOST_PENDING = 2_048
"""Runs whose end is awaited; the oldest is given up."""

UNFINISHED = ("Unfinished", "recording ended before the answer did")

_SURFACES = {
    "anthropic": "anthropic.messages",
    "google_anthropic_vertex": "anthropic.messages",
    "google_vertexai": "gemini.generate_content",
    "google_genai": "gemini.generate_content",
    "amazon_bedrock": "bedrock.converse",
    "bedrock": "bedrock.converse",
    "bedrock_converse": "bedrock.converse",
}
_SURFACES_BY_CLASS = {
    "ChatAnthropic": "anthropic.messages",
    "AnthropicChat": "anthropic.messages",
    "ChatVertexAI": "gemini.generate_content",
    "ChatGoogleGenerativeAI": "gemini.generate_content",
    "ChatBedrock": "bedrock.converse",
    "ChatBedrockConverse": "bedrock.converse",
    "BedrockChat": "bedrock.converse",
}
_MODEL_KEYS = ("model_id", "modelId", "model", "model_name")
# What LangChain adds to its parameters and never sends.
_NEVER_SENT = frozenset(
    (
        *_MODEL_KEYS,
        "_type",
        "tools",
        "functions",
        "stream",
        "streaming",
        "max_retries",
        "default_request_timeout",
        "model_kwargs",
    )
)
_CHOICE_STANDS_IN_BODY = ("gemini.generate_content", "bedrock.converse")
_ADDRESSES = ("openai_api_base", "base_url", "azure_endpoint", "anthropic_api_url")


@dataclass(frozen=True, slots=True)
class _Begun(Generic[AnyRun]):
    """A run that has begun. What is sent was written down at once: the host may change it."""

    cell: list[AnyRun]
    """Holds the run until a tap takes it."""
    own: list[AnyRun]
    """Holds it once no tap can."""
    surface: str
    provider: str
    url: str
    request: bytes
    started_at: str
    started_ns: int


class Listener(Generic[AnyRun]):
    """Gets LangChain's events. What it needs of a base class is added by `handler`."""

    run_inline = True
    """In the context of the call, so that labels and taps are those of the call."""

    def __init__(
        self,
        recorder: RunRecorder[AnyRun],
        runs: Runs[AnyRun],
        agent: str | None,
        is_named_by_node: bool,
    ) -> None:
        super().__init__()
        self._recorder = recorder
        self._runs = runs
        self._agent = agent
        self._is_named_by_node = is_named_by_node
        self._pending: dict[UUID, _Begun[AnyRun]] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: Sequence[Sequence[Any]], *, run_id: UUID, **more: Any
    ) -> None:
        """A chat model is asked; of several lists the first one belongs to this run."""
        with host_never_sees("note a LangChain call"):
            self._begin(serialized or {}, messages[0], run_id, more)

    def on_llm_start(
        self, serialized: Any, prompts: Sequence[str], *, run_id: UUID, **more: Any
    ) -> None:
        """A model of texts is asked: its prompt is one message of the user."""
        with host_never_sees("note a LangChain call"):
            self._begin(serialized or {}, [_Prompt(prompts[0])], run_id, more)

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **more: Any) -> None:
        """It answers: what is sent from here on is another call, made between two pieces."""
        del token, more
        with host_never_sees("note a LangChain answer"):
            begun = self._pending.get(run_id)
            if begun is not None and begun.cell:
                # One atomic step: another thread may take it at this moment.
                with suppress(IndexError):
                    begun.own.append(begun.cell.pop())

    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        """It answered. An end without a start is no call of ours."""
        del more
        with host_never_sees("record a LangChain call"):
            if begun := self._pending.pop(run_id, None):
                self._end(begun, _answer(begun.surface, response), None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """It failed, or its stream was let go of."""
        del more
        with host_never_sees("record a LangChain call"):
            if begun := self._pending.pop(run_id, None):
                self._end(begun, None, CallError(type(error).__name__, str(error) or None))

    def end_all(self) -> None:
        """Recording ends: what has no answer yet is unfinished."""
        while self._pending:
            _, begun = self._pending.popitem()
            self._end(begun, None, CallError(*UNFINISHED))

    def _begin(
        self,
        serialized: Mapping[str, Any],
        messages: Sequence[Any],
        run_id: UUID,
        more: Mapping[str, Any],
    ) -> None:
        metadata = more.get("metadata") or {}
        node = metadata.get("langgraph_node") if self._is_named_by_node else None
        surface, provider, url = _target(serialized, metadata)
        run = self._recorder.begin_run(provider, str(node) if node else self._agent)
        if run is None:
            return
        monotonic_ns, started_at = self._recorder.time_ns()
        request = _request(surface, messages, more.get("invocation_params") or {}, metadata)
        cell = self._runs.offer(run)
        self._pending[run_id] = _Begun(
            cell, [], surface, provider, url, request, started_at, monotonic_ns
        )
        while len(self._pending) > MOST_PENDING:
            self._pending.pop(next(iter(self._pending)), None)

    def _end(self, begun: _Begun[AnyRun], response: bytes | None, error: CallError | None) -> None:
        try:
            run = (begun.own or begun.cell).pop()
        except IndexError:
            return  # a tap has it, with the bytes as they were
        now_ns, _ = self._recorder.time_ns()
        exchange = Exchange(
            surface=begun.surface,
            request=begun.request,
            started_at=begun.started_at,
            response=response,
            latency_ms=(now_ns - begun.started_ns) // 1_000_000,
            error=error,
            url=begun.url,
            provider=begun.provider,
            agent=run.agent,
            step=run.step,
            tags=run.tags,
            metadata={"request": "rebuilt from LangChain's messages"},
        )
        self._recorder.end_run(run, exchange)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A text as a message."""

    content: str
    type: str = "human"


def handler(
    recorder: RunRecorder[AnyRun], runs: Runs[AnyRun], agent: str | None, is_named_by_node: bool
) -> Any:
    """A `BaseCallbackHandler` for `config={"callbacks": [...]}`.

    Raises:
        ImportError: langchain-core is not installed.
    """
    try:
        base = import_module("langchain_core.callbacks").BaseCallbackHandler
    except ImportError:
        raise ImportError("LangChain's handler needs langchain-core: pip install it") from None
    kind = type("CtxdiffHandler", (Listener, base), {})
    return kind(recorder, runs, agent, is_named_by_node)


def _target(serialized: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, str, str]:
    """Surface, attribution label and address of the model that is asked.

    The label is `openai`, which makes token counts exact, for OpenAI itself alone; the recorder
    corrects it by the address where there is one.
    """
    named = str(metadata.get("ls_provider") or "").lower()
    name = str(serialized.get("name") or (serialized.get("id") or [""])[-1])
    surface = _SURFACES.get(named) or _SURFACES_BY_CLASS.get(name) or "openai.chat"
    known = serialized.get("kwargs") or {}
    url = next((known[key] for key in _ADDRESSES if isinstance(known.get(key), str)), "")
    if surface != "openai.chat":
        return surface, surface.partition(".")[0], url
    return surface, named or name.lower() or "langchain", url


def _request(
    surface: str,
    messages: Sequence[Any],
    params: Mapping[str, Json],
    metadata: Mapping[str, Any],
) -> bytes:
    model = next((params[k] for k in _MODEL_KEYS if params.get(k)), metadata.get("ls_model_name"))
    body = request_body(surface, messages, params.get("tools"), params.get("tool_choice"))
    sent = {
        name: value
        for name, value in params.items()
        if value is not None and name not in _NEVER_SENT and name not in body
    }
    if surface in _CHOICE_STANDS_IN_BODY:
        sent.pop("tool_choice", None)
    if surface == "gemini.generate_content" and "n" in sent:
        sent["candidateCount"] = sent.pop("n")
    if surface == "bedrock.converse":
        # LangChain tells of these beside the parameters.
        told = {"temperature": "ls_temperature", "maxTokens": "ls_max_tokens"}
        known = {name: metadata.get(key) for name, key in told.items()}
        if config := {name: value for name, value in known.items() if value is not None}:
            sent["inferenceConfig"] = config
    if model is not None:
        sent["modelId" if surface == "bedrock.converse" else "model"] = str(model)
    return json_bytes({**sent, **body})


def _answer(surface: str, response: Any) -> bytes | None:
    generations = response.generations[0] if response.generations else ()
    if not generations:
        return None
    first = generations[0]
    message = getattr(first, "message", None)
    told = {
        **(getattr(first, "generation_info", None) or {}),
        **(getattr(message, "response_metadata", None) or {}),
    }
    reasons = ("finish_reason", "stop_reason", "stopReason", "finishReason")
    reason = next((told[name] for name in reasons if told.get(name)), None)
    output = response.llm_output or {}
    usage = getattr(message, "usage_metadata", None) or output.get("token_usage")
    usage = usage or output.get("usage")
    return json_bytes(answer_body(surface, message, first.text, reason, usage))
