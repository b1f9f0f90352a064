"""Traces are written here as the server's own tests write them."""

from tests.mcp.conftest import block, new_trace, turn

__all__ = ["block", "new_trace", "turn"]
