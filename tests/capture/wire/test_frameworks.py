"""Frameworks, each as its users call it: every call is recorded once, without a change to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read
from ctxdiff_capture.recorder.startup import FOLDER, environment

pytestmark = pytest.mark.slow

AUTO = """
import os, sys
from ctxdiff_capture import trace
tracer = trace.auto(path=os.environ["TRACE"])
assert not {"httpx", "httpx2", "aiohttp", "openai", "urllib3", "http.client"} & set(sys.modules)
"""
HEAD = """
import asyncio, os
root = os.environ["URL"]
url = root + "/v1"
"""
PROGRAMS = {
    "httpx": """
import httpx
httpx.post(url + "/chat/completions", json={"model": "m", "messages": []})
""",
    "aiohttp": """
import aiohttp
async def ask():
    async with aiohttp.ClientSession() as session:
        ask = {"model": "m", "messages": []}
        async with session.post(url + "/chat/completions", json=ask) as response:
            await response.read()
asyncio.run(ask())
""",
    "requests": """
import requests
requests.post(url + "/chat/completions", json={"model": "m", "messages": []})
""",
    "urllib3": """
import urllib3
urllib3.request("POST", url + "/chat/completions", json={"model": "m", "messages": []})
""",
    "urllib.request": """
import json, urllib.request
body = json.dumps({"model": "m", "messages": []}).encode()
for _ in range(2):
    urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body)).read()
""",
    "litellm": """
import litellm
ask = dict(model="openai/m", messages=[{"role": "user", "content": "x"}], api_base=url, api_key="k")
litellm.completion(**ask)
asyncio.run(litellm.acompletion(**ask))
claude = ask | dict(model="anthropic/claude-m", api_base=root, stream=True)
list(litellm.completion(**claude))
""",
    "langchain_openai": """
from langchain_openai import ChatOpenAI
list(ChatOpenAI(model="m", base_url=url, api_key="k").stream("x"))
""",
    "langchain_google_genai": """
from langchain_google_genai import ChatGoogleGenerativeAI
ChatGoogleGenerativeAI(model="gemini-m", base_url=root, api_key="k").invoke("x")
""",
    "langchain_aws": """
from langchain_aws import ChatBedrockConverse
keys = dict(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
list(ChatBedrockConverse(model="anthropic.claude-m", endpoint_url=root, **keys).stream("x"))
""",
    "langgraph": """
from langchain_anthropic import ChatAnthropic
from langgraph.graph import START, MessagesState, StateGraph
chat = ChatAnthropic(model_name="claude-m", base_url=root, api_key="k")
graph = StateGraph(MessagesState)
graph.add_node("guide", lambda state: {"messages": [chat.invoke(state["messages"])]})
graph.add_edge(START, "guide")
graph.compile().invoke({"messages": [("user", "x")]})
""",
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
for kind in (OpenAIChatModel, OpenAIResponsesModel):
    Agent(kind("m", provider=OpenAIProvider(base_url=url, api_key="k"))).run_sync("x")
""",
    "agents": """
from agents import Agent, AsyncOpenAI, OpenAIResponsesModel, Runner, set_tracing_disabled
set_tracing_disabled(True)
model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=url, api_key="k"))
Runner.run_sync(Agent(name="guide", model=model), "x")
""",
    "dspy": """
import dspy
models = [("openai/m", url), ("anthropic/claude-m", url), ("gemini/gemini-m", root + "/v1beta")]
for name, base in models:
    lm = dspy.LM(name, api_base=base, api_key="k", cache=False)
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        dspy.Predict("question -> answer")(question="x")
        asyncio.run(dspy.Predict("question -> answer").acall(question="x"))
""",
    "llama_index.llms.openai": """
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI
asked = [ChatMessage(role="user", content="x")]
list(OpenAI("gpt-4o", api_base=url, api_key="k").stream_chat(asked))
""",
    "crewai": """
from crewai import LLM, Agent, Crew, Task
llm = LLM(model="openai/gpt-4o", base_url=url, api_key="k")
agent = Agent(role="guide", goal="g", backstory="b", llm=llm)
Crew(agents=[agent], tasks=[Task(description="x", expected_output="y", agent=agent)]).kickoff()
""",
    "instructor": """
import instructor, openai
from pydantic import BaseModel
class City(BaseModel):
    answer: str
client = instructor.from_openai(openai.OpenAI(base_url=url, api_key="k"), mode=instructor.Mode.JSON)
asked = [{"role": "user", "content": "x"}]
client.chat.completions.create(model="m", response_model=City, messages=asked)
""",
    "haystack": """
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
key = Secret.from_token("k")
OpenAIChatGenerator(model="m", api_base_url=url, api_key=key).run([ChatMessage.from_user("x")])
""",
    "smolagents": """
from smolagents import OpenAIServerModel
asked = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
OpenAIServerModel("m", api_base=url, api_key="k").generate(asked)
""",
    "autogen_agentchat": """
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
model = OpenAIChatCompletionClient(model="gpt-4o", base_url=url, api_key="k")
asyncio.run(AssistantAgent("guide", model).run(task="x"))
""",
    "strands": """
from strands import Agent
from strands.models.openai import OpenAIModel
model = OpenAIModel(client_args={"base_url": url, "api_key": "k"}, model_id="m")
Agent(model=model, callback_handler=None)("x")
""",
    "google.adk": """
os.environ |= {"GOOGLE_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": root}
from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
agent = Agent(name="guide", model="gemini-2.5-flash", instruction="x")
asyncio.run(InMemoryRunner(agent, app_name="app").run_debug("x"))
""",
}
SETTINGS = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "OTEL_SDK_DISABLED": "true",
}


def is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ImportError:  # of what stands before the dot
        return False


@pytest.mark.parametrize("way", ["auto", "run"])
@pytest.mark.parametrize("library", PROGRAMS)
def test_every_call_of_a_framework_is_recorded_once(
    provider: Any, tmp_path: Path, library: str, way: str
) -> None:
    if not is_installed(library):
        pytest.skip(f"{library} is not installed; docs/frameworks.md says with what it was tried")
    path = tmp_path / "run.ctrace"
    environ = {
        **SETTINGS,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CTXDIFF_STRICT": "1",
        "HOME": str(tmp_path),  # for the caches of some
        "URL": provider.url,
        "TRACE": str(path),
    }
    if way == "run":
        environ = environment(environ, project="framework", out=str(path), main_pid=None)
    program = (AUTO if way == "auto" else "") + HEAD + PROGRAMS[library]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    reader = read(path)
    (session,) = reader.sessions()
    calls = reader.load(session.id).calls
    recorded = [reader.request(call.id) for call in calls]
    said = [" ".join(place.block.text for place in reader.outputs(call.id)) for call in calls]
    metadata = [reader.detail(call.id).metadata for call in calls]
    reader.close()
    assert recorded == provider.bodies
    assert recorded != []
    told = [(call.error, bool(call.usage), bool(call.finish_reason)) for call in calls]
    assert told == [(None, True, True)] * len(calls)
    assert all("Paris" in words for words in said), json.dumps(said)
    assert metadata == [{}] * len(calls)


@pytest.mark.parametrize("before", ["", "import http.client", "import requests"])
def test_what_is_imported_before_recording_begins_is_recorded_too(
    provider: Any, tmp_path: Path, before: str
) -> None:
    path = tmp_path / "run.ctrace"
    environ = environment({}, project="early", out=str(path), main_pid=None)
    # As a `.pth` file imports it: before Python looks for the module that begins to record.
    begin = f"import runpy; runpy.run_path({str(FOLDER / 'sitecustomize.py')!r})"
    program = f"{before}\n{begin}\n{HEAD}{PROGRAMS['urllib.request']}"
    environ |= {"PYTHONPATH": os.pathsep.join(sys.path), "URL": provider.url}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    reader = read(path)
    (session,) = reader.sessions()
    assert [call.seq for call in reader.load(session.id).calls] == [1, 2]
    reader.close()
