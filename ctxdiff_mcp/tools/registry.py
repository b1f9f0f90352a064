"""The tools in the order in which they are listed, and how one is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxdiff_capture.errors import NoMemory, StoreBusy, StoreError, UnfinishedChange

from ctxdiff_mcp.answers.asking import Unanswerable
from ctxdiff_mcp.tools import block, cache, diff, explain, runs, search, tokens
from ctxdiff_mcp.tools.arguments import BadArguments, Values, checked
from ctxdiff_mcp.tools.problems import bad_arguments, explained, store_problem
from ctxdiff_mcp.tools.tool import Context, Tool

TOOLS: tuple[Tool, ...] = (
    runs.TOOL,
    explain.TOOL,
    diff.TOOL,
    tokens.TOOL,
    cache.TOOL,
    block.TOOL,
    search.TOOL,
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def run_tool(tool: Tool, context: Context, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """The tool's answer, and whether it is an error.

    Raises:
        Cancelled: the caller has left.
        NoMemory: there may be more of it when other runs are closed.
    """
    try:
        return _answer(tool, context, checked(tool.arguments, arguments)), False
    except BadArguments as problem:
        return bad_arguments(problem.lines, tool.name, context.policy), True
    except Unanswerable as problem:
        return explained(problem, context.policy), True
    except NoMemory:
        raise
    except StoreError as problem:
        return store_problem(problem), True


def _answer(tool: Tool, context: Context, values: Values) -> str:
    """The tool's answer; once more when a file that was read changed where it stands."""
    try:
        return tool.answer(context, values)
    except UnfinishedChange:
        raise
    except StoreBusy:
        return tool.answer(context, values)
