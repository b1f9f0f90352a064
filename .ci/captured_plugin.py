# ruff: noqa: INP001  a folder of scripts, no package
"""A plugin of mypy: captured text is spelled by the gate, and by nothing that spells any object.

`str`, `print`, `format`, f-strings, JSON and logging take whatever they are given, so that mypy
alone would let captured text through; at run time it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import Instance, TupleType, Type, UnionType, get_proper_type

CAPTURED = "ctxdiff_mcp.gate.captured.Captured"
FUNCTIONS = frozenset(
    (
        *("builtins.str", "builtins.print", "builtins.format", "builtins.ascii"),
        *("json.dumps", "json.dump", "orjson.dumps"),
    )
)
METHODS = ("builtins.str.format", "logging.Logger.", "logging.LoggerAdapter.")
"""An f-string is `str.format` to mypy."""


class CapturedPlugin(Plugin):
    """Refuses captured text where any object is taken."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """The check of a call of one of `FUNCTIONS`."""
        return _checked if fullname in FUNCTIONS else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """The check of a call of one of `METHODS`."""
        return _checked if fullname.startswith(METHODS) else None


def plugin(_: str) -> type[Plugin]:
    """What mypy asks a plugin's module for."""
    return CapturedPlugin


def _checked(context: FunctionContext | MethodContext) -> Type:
    if any(_holds_captured(one) for several in context.arg_types for one in several):
        context.api.fail("captured text leaves through the gate only", context.context)
    return context.default_return_type


def _holds_captured(given: Type) -> bool:
    found = get_proper_type(given)
    if isinstance(found, Instance):
        return found.type.fullname == CAPTURED or _any(found.args)
    if isinstance(found, (TupleType, UnionType)):
        return _any(found.items)
    return False


def _any(types: Iterable[Type]) -> bool:
    return any(map(_holds_captured, types))
