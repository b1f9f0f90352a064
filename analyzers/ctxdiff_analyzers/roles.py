"""Whether a block is part of the prompt or of what was said."""

from __future__ import annotations

from ctxdiff_capture.model import BlockHead

PROMPT_ROLES = frozenset(("system", "developer"))


def is_prompt(block: BlockHead) -> bool:
    """True for system text; tool schemas are told apart."""
    return block.role in PROMPT_ROLES and block.kind != "tool_schema"


def is_conversation(block: BlockHead) -> bool:
    """True for what was said: neither system text nor a tool's schema."""
    return block.role not in PROMPT_ROLES and block.kind != "tool_schema"
