"""From the command line to one command: parsing, and the one place where errors are printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol

from ctxdiff_capture.errors import CtxdiffError

from ctxdiff_mcp._version import __version__
from ctxdiff_mcp.cli.output import complain, make_streams_safe
from ctxdiff_mcp.text.log import logged_to_stderr, uncaught

COMMANDS = {
    "serve": ("serve", "answer a coding agent over MCP on stdin and stdout (the default)"),
    "demo": ("demo", "record a small pipeline that breaks at turn 8 and ask the server why"),
    "run": ("run", "run a Python program and record every model call that it makes"),
    "import": ("import_log", "turn a log of LLM calls (JSON Lines) into a trace"),
    "runs": ("runs", "list the recorded runs, newest first"),
    "explain": ("explain", "tell why a turn went wrong: ranked findings with evidence"),
    "diff": ("diff", "show what entered, left and changed between two turns"),
    "tokens": ("tokens", "show what fills the context, turn by turn"),
    "cache": ("cache", "show where the prompt prefix breaks and what it costs"),
    "block": ("block", "show one block in full, or list the blocks of a turn"),
    "stages": ("stages", "show what the program held before a turn and did not send"),
    "search": ("search", "tell where a text is, when it entered and when it left"),
    "legend": ("legend", "tell what the handles of `serve --redact` stand for, to you alone"),
}
"""Command to its module in this package and its one line of help."""

REPORT = "please report it, with the traceback that CTXDIFF_STRICT=1 shows"


class Command(Protocol):
    """What a module of this package gives: one command."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and give the exit status."""


class _Parser(argparse.ArgumentParser):
    """Complains of arguments without repeating one as it is: some are copied from a trace."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        complain(message, remedy=f"`{self.prog} --help` tells more")
        self.exit(2)


def load(name: str) -> Command:
    """The module of a command. Only the chosen one is imported: the server must start fast."""
    module: Command = import_module(f"ctxdiff_mcp.cli.{COMMANDS[name][0]}")
    return module


def parser_for(chosen: str | None) -> argparse.ArgumentParser:
    """The parser, with the flags of the chosen command; the others are only named."""
    parser = _Parser(
        prog="ctxdiff-mcp",
        description="What did the model see at that turn, what had changed, and what follows?",
        epilog="`ctxdiff-mcp COMMAND --help` tells more. Without a command it serves.",
    )
    parser.add_argument("--version", action="version", version=f"ctxdiff-mcp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        sub = commands.add_parser(name, help=summary, description=description)
        if name == chosen:
            load(name).add_arguments(sub)
    return parser


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit status: 0 done, 1 failed, 2 used wrongly.

    A problem is printed on stderr with its remedy, never as a traceback.
    """
    make_streams_safe()
    with logged_to_stderr():
        return _run(argv)


def _run(argv: Sequence[str]) -> int:
    if not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version")):
        argv = ["serve", *argv]
    try:
        args = parser_for(argv[0]).parse_args(argv)
    except SystemExit as leaving:  # argparse has printed help or its complaint
        return leaving.code if isinstance(leaving.code, int) else 2
    try:
        status = load(args.command).run(args)
        if sys.stdout is not None:  # a shell's `>&-` leaves none
            sys.stdout.flush()
    except CtxdiffError as problem:
        from ctxdiff_mcp.cli.problems import status_of  # noqa: PLC0415  only failures need it

        return status_of(problem, args)
    except BrokenPipeError:
        # The reader has left (`| head`). Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as problem:
        complain(f"{problem.filename or args.command}", remedy=problem.strerror or "cannot be used")
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as fault:
        # The last door: a traceback would print recorded text as it is.
        if os.environ.get("CTXDIFF_STRICT") == "1":
            sys.excepthook = uncaught
            raise
        complain(f"internal error ({type(fault).__name__})", remedy=REPORT)
        return 1
    return status
