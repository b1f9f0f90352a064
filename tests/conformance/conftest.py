"""The real ctxdiff, installed from PyPI into an environment of its own, once per machine."""

from __future__ import annotations

import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest
from ctxdiff_capture.tokens.vocabulary import ranks

PEER = "0.5.1"
# tiktoken looks for a file named by the SHA-1 of this address before it asks the network.
VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
PACKAGES = (f"ctxdiff=={PEER}", "openai>=3.57")


def finished(
    command: list[str], *, timeout: float = 120, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "TZ": "UTC", **variables}
    for name in ("CTXDIFF_STORE", "PYTHONPATH"):
        environment.pop(name, None)
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env=environment
    )


@pytest.fixture(scope="session")
def peer_folder(request: pytest.FixtureRequest) -> Path:
    """The `bin` of an environment with ctxdiff and openai; kept in pytest's cache."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = request.config.cache.mkdir(f"ctxdiff-{PEER}-py{version}")
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    ready = home / "ready"
    if not ready.exists():
        made = finished([sys.executable, "-m", "venv", "--clear", str(home)])
        if made.returncode == 0:
            pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
            made = finished([*pip, *PACKAGES], timeout=280)
        if made.returncode != 0:
            reason = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            pytest.skip(f"ctxdiff {PEER} cannot be installed here: {reason}")
        name = sha1(VOCABULARY.encode(), usedforsecurity=False).hexdigest()
        lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks().items())
        (home / name).write_bytes(b"".join(lines))
        ready.touch()
    return programs


@pytest.fixture
def peer(peer_folder: Path) -> Callable[..., str]:
    """`peer("tokens", "--project", path)`: what ctxdiff prints; it must succeed."""

    def run(*arguments: str | Path) -> str:
        done = finished([str(peer_folder / "ctxdiff"), *map(str, arguments)])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


RECORDING = """
import sys
import httpx2
import openai
from ctxdiff import trace

path, project, questions = sys.argv[1], sys.argv[2], sys.argv[3:]

def answer(request):
    message = {"role": "assistant", "content": "Noted."}
    return httpx2.Response(200, json={
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26},
    })

http = httpx2.Client(transport=httpx2.MockTransport(answer))
tracer = trace.init(project, path=path)
client = tracer.wrap(openai.OpenAI(api_key="none", http_client=http), agent="peer")
history = []
for question in questions:
    history.append({"role": "user", "content": question})
    client.chat.completions.create(model="gpt-4o", messages=list(history))
    history.append({"role": "assistant", "content": "Noted."})
tracer.close()
"""


@pytest.fixture
def peer_records(peer_folder: Path) -> Callable[..., None]:
    """`peer_records(path, project, *questions)`: ctxdiff appends a session of that many calls."""

    def record(path: Path, project: str, *questions: str) -> None:
        python = str(peer_folder / "python")
        command = [python, "-c", RECORDING, str(path), project, *questions]
        done = finished(command, TIKTOKEN_CACHE_DIR=str(peer_folder.parent))
        assert (done.returncode, done.stderr) == (0, "")

    return record
