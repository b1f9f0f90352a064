"""`ctxdiff-mcp demo`: record a pipeline that breaks, then ask the real server why."""

from __future__ import annotations

import argparse
import shutil
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from tempfile import TemporaryDirectory

from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.importers.base import import_log
from ctxdiff_capture.recorder import trace

from ctxdiff_mcp.cli.demo_client import ask_server
from ctxdiff_mcp.cli.demo_pipeline import ANSWERS, BROKEN_TURN, run_pipeline
from ctxdiff_mcp.cli.demo_provider import provider
from ctxdiff_mcp.cli.output import write_json, write_lines
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.shown import shown

NAME = "ctxdiff-demo"
COMMAND = "ctxdiff-mcp"

CONFIGURATION = (
    "Claude Code:  claude mcp add ctxdiff -- ctxdiff-mcp serve",
    'Cursor:       {"mcpServers": {"ctxdiff": {"command": "ctxdiff-mcp", "args": ["serve"]}}}',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the trace is kept, and the form of the report."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the trace in this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Record, ask, print. Needs no key and no network.

    Raises:
        StoreError: the file to keep exists already: a second recording would join the first.
    """
    if args.out and args.out.exists():
        raise StoreError(f"{args.out} exists", remedy="remove it, or name another with --out")
    if args.out and not args.out.parent.is_dir():
        raise StoreError(f"{args.out.parent} is no folder", remedy="make it first")
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{NAME}.ctrace"
        how = record(path)
        answer = ask_server(path.parent, "ctxdiff_explain", {"run": NAME, "turn": BROKEN_TURN})
        if args.out:
            shutil.move(path, args.out)
    report(how, answer, args)
    return 0


def report(how: str, answer: str, args: argparse.Namespace) -> None:
    """Print what happened, the server's answer, and how to configure two clients."""
    if args.json:
        kept = str(args.out) if args.out else None
        write_json({"trace": kept, "recorded": how, "turn": BROKEN_TURN, "answer": answer})
        return
    question = f'ctxdiff_explain {{"run": "{NAME}", "turn": {BROKEN_TURN}}}'
    write_lines(
        [
            Line(f"Two agents, a researcher and a writer, made nine model calls ({how})."),
            Line("The letter they wrote states 75 °C where a bulletin they had read allows 55 °C."),
            Line(f"The server was started on the recording and asked: {question}"),
            Line(""),
            *map(Line, answer.splitlines()),  # the gate has cleaned and framed it
            Line(""),
            Line("Ask the same of your own agent. Configure the server once:"),
            *(Line(f"  {line}") for line in CONFIGURATION),
            Line("  (Cursor reads it from .cursor/mcp.json in the project)", "dim"),
            *_where_the_command_is(),
        ]
    )
    if args.out:
        write_lines([Line(f"The trace is kept in {shown(str(args.out))}", "dim")])


def _where_the_command_is() -> list[Line]:
    """A client starts the command by its PATH, which does not know an environment's folder."""
    own = shutil.which(COMMAND, path=get_path("scripts"))
    if own is None or shutil.which(COMMAND):
        return []
    return [Line(f"  ({COMMAND} is not on your PATH: write {shown(own)} in its place)", "dim")]


def record(path: Path) -> str:
    """Write the trace of the pipeline and tell how it was recorded."""
    if not (find_spec("openai") and find_spec("anthropic")):
        with as_file(files("ctxdiff_mcp.cli") / "data" / "demo.jsonl") as log:
            import_log(log, path)
        return "imported from the log of an earlier run"
    import anthropic  # noqa: PLC0415  only where the SDK is installed
    import openai  # noqa: PLC0415  likewise

    # A proxy that the environment names would be asked for the loopback address.
    with (
        provider(ANSWERS) as fake,
        openai.OpenAI(
            base_url=f"{fake.url}/v1",
            api_key="none",
            http_client=openai.DefaultHttpxClient(trust_env=False),
        ) as researcher,
        anthropic.Anthropic(
            base_url=fake.url,
            api_key="none",
            http_client=anthropic.DefaultHttpxClient(trust_env=False),
        ) as writer,
        trace.init(NAME, path=path) as tracer,
    ):
        run_pipeline(
            tracer.wrap(researcher, agent="researcher"),
            tracer.wrap(writer, agent="writer"),
            tag=tracer.tag,
            step=tracer.step,
        )
    return "recorded on the wire"
