"""`ctxdiff-mcp run`: a program is recorded as it is, and behaves as it does without us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ctxdiff_capture import read
from ctxdiff_capture.recorder.startup import FOLDER, environment

pytestmark = pytest.mark.slow
SOURCES = os.pathsep.join(path for path in sys.path if path)
AGENT = """
import os, sys, httpx
messages = [{"role": "user", "content": "hi"}]
url = os.environ["MODEL_URL"] + "/v1/chat/completions"
httpx.post(url, json={"model": "m", "messages": messages})
print("done", sys.argv[1:], os.environ.get("THEIRS"), flush=True)
"""


class Model:
    """Answers every request with an empty completion; keeps the bodies."""

    def __init__(self) -> None:
        bodies: list[bytes] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"id": "c", "choices": []}).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.bodies = bodies
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,)).start()


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.server.shutdown()
    model.server.server_close()


@pytest.fixture
def start(model: Model, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts `ctxdiff-mcp run` in an empty folder that holds `agent.py`."""

    def start(
        *arguments: str, agent: str = AGENT, path: str = SOURCES, **more: str
    ) -> subprocess.Popen[str]:
        (tmp_path / "agent.py").write_text(agent)
        front = f"import sys; sys.path[:0] = {sys.path!r}\nfrom ctxdiff_mcp.cli.main import main\n"
        return subprocess.Popen(
            [sys.executable, "-c", f"{front}sys.exit(main(sys.argv[1:]))", "run", *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "MODEL_URL": model.url, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def requests_in(path: Path) -> list[tuple[str, bytes | None]]:
    reader = read(path)
    try:
        return [
            (session.project, reader.request(call.id))
            for session in reader.sessions()
            for call in reader.load(session.id).calls
        ]
    finally:
        reader.close()


def test_a_program_is_recorded_and_keeps_its_arguments_and_status(
    start: Any, model: Model, tmp_path: Path
) -> None:
    program = start("--", sys.executable, "agent.py", "--flag", agent=AGENT + "sys.exit(7)")
    out, err = program.communicate(timeout=60)

    assert (program.returncode, out) == (7, "done ['--flag'] None\n")
    assert err == f"ctxdiff: 1 model call recorded in {tmp_path / 'agent.ctrace'}\n"
    assert requests_in(tmp_path / "agent.ctrace") == [("agent", model.bodies[0])]


def test_the_name_and_the_place_may_be_chosen(start: Any, model: Model, tmp_path: Path) -> None:
    program = start("--project", "night run", "--out", "t.ctrace", "--", sys.executable, "agent.py")
    program.communicate(timeout=60)

    assert program.returncode == 0
    assert requests_in(tmp_path / "t.ctrace") == [("night run", model.bodies[0])]


def test_programs_that_it_starts_are_recorded_too(start: Any, model: Model, tmp_path: Path) -> None:
    ask = "subprocess.run([sys.executable, '../child.py'], cwd='sub', check=True)"
    parent = f"import subprocess, sys\n{ask}\n"
    (tmp_path / "sub").mkdir()
    (tmp_path / "child.py").write_text(AGENT)
    program = start("--", sys.executable, "agent.py", agent=parent)
    program.communicate(timeout=60)

    assert requests_in(tmp_path / "agent.ctrace") == [("agent", model.bodies[0])]


def test_a_program_without_calls_is_told_so_and_leaves_no_file(start: Any, tmp_path: Path) -> None:
    program = start("--", sys.executable, "agent.py", agent="pass")
    _, err = program.communicate(timeout=60)

    assert "no model call was seen" in err
    assert not (tmp_path / "agent.ctrace").exists()


def test_a_sitecustomize_of_the_project_still_runs(start: Any, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import os; os.environ['THEIRS'] = 'ran'")
    program = start("--", sys.executable, "agent.py", path=os.pathsep.join((str(theirs), SOURCES)))

    assert program.communicate(timeout=60)[0] == "done [] ran\n"


def test_signals_reach_the_program_and_what_was_asked_is_kept(
    start: Any, model: Model, tmp_path: Path
) -> None:
    waits = f"{AGENT}import time, signal\nsignal.signal(15, lambda *_: sys.exit(3))\n"
    program = start(
        "--", sys.executable, "agent.py", agent=waits + "print('up', flush=True)\ntime.sleep(60)"
    )
    assert program.stdout.readline().startswith("done")
    assert program.stdout.readline() == "up\n"
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=60)

    assert program.returncode == 3
    assert requests_in(tmp_path / "agent.ctrace") == [("agent", model.bodies[0])]


def test_a_python_without_our_package_uses_the_one_of_run(start: Any, tmp_path: Path) -> None:
    folders = [p for p in sys.path if p and not (Path(p) / "ctxdiff_capture").is_dir()]
    program = start("--", sys.executable, "agent.py", path=os.pathsep.join(folders))
    _, err = program.communicate(timeout=60)

    assert "1 model call recorded" in err


def test_a_python_that_cannot_load_it_runs_unrecorded(tmp_path: Path) -> None:
    variables = environment({}, project="p", out=None, main_pid=None)
    variables["CTXDIFF_RUN_PACKAGE"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import httpx; print(6 * 7)"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "ctxdiff" not in done.stderr:
        pytest.skip("ctxdiff-capture is installed in this Python")
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert done.stderr.startswith("ctxdiff: this program runs unrecorded (")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--", "no-such-program"], ["--"], []])
def test_what_cannot_be_run_is_said(start: Any, arguments: list[str]) -> None:
    program = start(*arguments)
    out, err = program.communicate(timeout=60)

    assert (program.returncode, out) == (2, "")
    assert err.startswith("ctxdiff-mcp: ")
    assert "ctxdiff-mcp run -- python agent.py" in err


def test_the_folder_for_the_path_holds_nothing_that_a_program_could_import_by_mistake() -> None:
    names = {p.stem for p in FOLDER.iterdir() if p.suffix == ".py"}
    assert names == {"__init__", "sitecustomize"}
    assert environment({"PYTHONPATH": "x"}, project="p", out=None, main_pid=1)["PYTHONPATH"] == (
        f"{FOLDER}{os.pathsep}x"
    )


def test_credentials_are_stored_as_tags_where_that_is_asked(
    start: Callable[..., subprocess.Popen[str]], model: Model, tmp_path: Path
) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    agent = AGENT.replace('"hi"', f'"use {key}"')
    command = ("--redact", "secrets", "--", sys.executable, "agent.py")

    program = start(*command, agent=agent, XDG_STATE_HOME=str(tmp_path / "state"))
    _, told = program.communicate(timeout=60)

    assert (program.returncode, told) == (
        0,
        f"ctxdiff: 1 model call recorded in {tmp_path / 'agent.ctrace'}\n",
    )
    assert key.encode() in model.bodies[0]
    assert key.encode() not in (tmp_path / "agent.ctrace").read_bytes()
    reader = read(tmp_path / "agent.ctrace")
    (call,) = reader.load(reader.sessions()[0].id).calls
    assert [p.block.text for p in reader.inputs(call.id)] == ["use [secret:aws-key#1]"]
    reader.close()
