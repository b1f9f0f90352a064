"""Every renderer's whole text on the demo's trace, against files to be read in a diff."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from ctxdiff_capture.importers.base import import_log

from ctxdiff_mcp.answers.block import block, turn_blocks
from ctxdiff_mcp.answers.cache import cache
from ctxdiff_mcp.answers.diff import diff
from ctxdiff_mcp.answers.explain import explain
from ctxdiff_mcp.answers.runs import runs
from ctxdiff_mcp.answers.search import search
from ctxdiff_mcp.answers.source import Source
from ctxdiff_mcp.answers.tokens import tokens
from ctxdiff_mcp.text.block import block_lines, turn_block_lines
from ctxdiff_mcp.text.cache import cache_lines
from ctxdiff_mcp.text.diff import diff_lines
from ctxdiff_mcp.text.explain import explain_lines
from ctxdiff_mcp.text.lines import Line
from ctxdiff_mcp.text.runs import run_lines
from ctxdiff_mcp.text.search import search_lines
from ctxdiff_mcp.text.tokens import token_lines

RENDERED: dict[str, Callable[[Source], list[Line]]] = {
    "runs": lambda source: run_lines(runs(source)),
    "explain-8": lambda source: explain_lines(explain(source, "latest", 8)),
    "explain-first": lambda source: explain_lines(explain(source, "latest", 1, window=200)),
    "explain-chosen": lambda source: explain_lines(explain(source, "latest")),
    "diff-7-8": lambda source: diff_lines(diff(source, "latest", 7, 8)),
    "diff-across-agents": lambda source: diff_lines(diff(source, "latest", 8, 9)),
    "tokens": lambda source: token_lines(tokens(source, "latest", window=400)),
    "tokens-writer": lambda source: token_lines(tokens(source, "latest", agent="writer")),
    "cache": lambda source: cache_lines(cache(source, "latest")),
    "cache-stable": lambda source: cache_lines(cache(source, "latest", agent="writer")),
    "block": lambda source: block_lines(block(source, "latest", turn=2, position=7)),
    "block-list": lambda source: turn_block_lines(turn_blocks(source, "latest", 8)),
    "search": lambda source: search_lines(search(source, "latest", "75 °C")),
    "search-nothing": lambda source: search_lines(search(source, "latest", "no such words")),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("golden") / "demo.ctrace"
    import_log(Path(str(files("ctxdiff_mcp.cli") / "data" / "demo.jsonl")), path)
    return Source(path)


@pytest.mark.parametrize("name", RENDERED)
def test_a_renderer_gives_the_golden_text(
    name: str, source: Source, matches_golden: Callable[[str, str], None]
) -> None:
    lines = RENDERED[name](source)
    text = "".join(f"{line.style:8} {line.text}".rstrip() + "\n" for line in lines)
    matches_golden(f"text/{name}.txt", text)
