"""How much of a context stands in the request, and how much the provider keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxdiff_capture.model import Json, Placement

Portability: TypeAlias = Literal["portable", "provider_bound"]

_DELEGATED = (
    "previous_response_id",
    "conversation",
    "prompt",
    "container",
    "cached_content",
    "context_management",
)
"""Parameters by which a request refers to what the provider keeps, on any surface."""
_SEALED = ('"encrypted_content"', '"thought_signature"', '"signature"', '"redacted_thinking"')
"""Members of parts that only the provider who made them can read."""


@dataclass(frozen=True, slots=True)
class ContextState:
    """Whether another provider could be given the same context."""

    portability: Portability
    """`provider_bound` when anything below is not empty."""
    delegated: tuple[tuple[str, Json], ...]
    """(parameter, value) of state that the provider keeps and the request only names."""
    sealed_parts: int
    """Parts that only this provider can read, such as encrypted reasoning."""


def context_state(params: Mapping[str, Json], placements: Sequence[Placement]) -> ContextState:
    """The state of a request with these parameters and input blocks."""
    delegated = tuple((name, params[name]) for name in _DELEGATED if params.get(name))
    sealed = sum(map(_is_sealed, placements))
    return ContextState("provider_bound" if delegated or sealed else "portable", delegated, sealed)


def _is_sealed(placement: Placement) -> bool:
    block = placement.block
    return block.kind == "content_part" and any(name in block.text for name in _SEALED)
