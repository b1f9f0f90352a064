"""How a client of the older protocol begins to talk with a server."""

from __future__ import annotations

from typing import Any

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "start",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
"""Answered with one line."""
READY: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
