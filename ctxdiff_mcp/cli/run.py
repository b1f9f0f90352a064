"""`ctxdiff-mcp run`: a Python program, recorded without a change to it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ctxdiff_capture.errors import SelectionError
from ctxdiff_capture.recorder.redact import SECRETS
from ctxdiff_capture.recorder.redact import VARIABLE as REDACT
from ctxdiff_capture.recorder.startup import environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it is called and where it goes; the program and its arguments come last."""
    parser.add_argument(
        "--project", metavar="NAME", help="name of the recording; else the script's name"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="the trace, or a folder for it; else CTXDIFF_STORE, else ./NAME.ctrace",
    )
    parser.add_argument(
        "--redact", choices=[SECRETS], help="store credentials as tags: [secret:aws-key#1]"
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="-- PROGRAM ...",
        help="such as `python agent.py`",
    )


def run(args: argparse.Namespace) -> int:
    """Become the program, so that its signals, terminal and exit status are its own.

    On Windows, where no process becomes another one, wait for it and give its exit status.

    Raises:
        SelectionError: there is no such program.
    """
    command = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not command:
        raise SelectionError("no program to run", remedy="ctxdiff-mcp run -- python agent.py")
    command = _with_interpreter(command)
    program = shutil.which(command[0])
    if program is None:
        raise SelectionError(
            f"there is no program {command[0]!r}", remedy="ctxdiff-mcp run -- python agent.py"
        )
    if (word := _blind(command)) is not None:
        sys.stderr.write(
            f"ctxdiff: this program runs unrecorded: Python starts no recording with {word};"
            " call trace.auto() in it instead\n"
        )
    becomes = os.name != "nt"
    variables = environment(
        os.environ,
        project=args.project or _name_of(command),
        out=args.out,
        main_pid=os.getpid() if becomes else None,
    )
    if args.redact:
        variables[REDACT] = args.redact
    sys.stdout.flush()
    sys.stderr.flush()
    if becomes:
        os.execve(program, command, variables)  # noqa: S606 - the user names the program
    return subprocess.run([program, *command[1:]], env=variables, check=False).returncode  # noqa: S603


def _with_interpreter(command: Sequence[str]) -> list[str]:
    """`command`, with the Python of the PATH before a script that cannot be executed itself."""
    if not command[0].endswith(".py") or shutil.which(command[0]) is not None:
        return list(command)
    python = shutil.which("python") or shutil.which("python3") or sys.executable
    return [python, *command]


def _blind(command: Sequence[str]) -> str | None:
    """The option by which Python leaves the environment or its site alone, and so us; or None."""
    if not Path(command[0]).name.lower().startswith(("python", "pypy")):
        return None
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-") or word.startswith("--"):
            break
        for at, letter in enumerate(word[1:], 2):
            if letter in "EIS":
                return f"-{letter}"
            if letter in "cm":
                return None
            if letter in "WX":  # the rest is its value, or the next word
                if not word[at:]:
                    next(words, None)
                break
    return None


def _name_of(command: Sequence[str]) -> str:
    """What the program is called: the script, `-m`'s module, or the program itself."""
    scripts = [Path(word).stem for word in command if word.endswith(".py")]
    if scripts:
        return scripts[0]
    if "-m" in command[1:-1]:
        return command[command.index("-m") + 1]
    return Path(command[0]).stem
