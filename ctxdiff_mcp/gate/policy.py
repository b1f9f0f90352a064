"""What may leave: how much, and in redact mode which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ctxdiff_mcp.gate.names import is_inline
from ctxdiff_mcp.gate.secrets import SecretTags

Redact: TypeAlias = Literal["off", "text", "all"]
"""`text` withholds texts and keeps short plain names; `all` withholds names too."""

Counts: TypeAlias = Literal["exact", "bucket"]
"""Token counts as they are, or to two significant digits."""

DEFAULT_CAP = 8_000
HARD_CAP = 20_000
MIN_CAP = 1_000


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one server."""

    redact: Redact = "off"
    default_cap: int = DEFAULT_CAP
    """Bytes of a result's message unless the caller asks for more."""
    hard_cap: int = HARD_CAP
    """Bytes of a result's message, whatever the caller asks for."""
    mask_secrets: bool = True
    """Show credentials as tags."""
    counts: Counts = "exact"
    """How token counts are shown in redact mode."""
    tags: SecretTags = field(default_factory=SecretTags, compare=False)

    def __post_init__(self) -> None:
        if not MIN_CAP <= self.default_cap <= self.hard_cap <= HARD_CAP:
            raise ValueError(
                f"caps must rise from {MIN_CAP} to {HARD_CAP}, "
                f"not {self.default_cap!r}, {self.hard_cap!r}"
            )
        if self.counts == "bucket" and self.redact == "off":
            raise ValueError("token counts are rounded in redact mode only")

    @property
    def rounds_counts(self) -> bool:
        """True when no exact token count may be shown or follow from what is shown."""
        return self.counts == "bucket"

    @property
    def hides_text(self) -> bool:
        """True when no captured text may be shown."""
        return self.redact != "off"

    @property
    def hides_names(self) -> bool:
        """True when names are shown as handles, and accepted only as handles."""
        return self.redact == "all"

    def shows_name(self, name: str) -> bool:
        """Whether a name may be shown as it is spelled."""
        if self.redact == "off":
            return True
        return self.redact == "text" and is_inline(name) and self.masked(name) == name

    def masked(self, text: str) -> str:
        """The text with credentials as tags, where the policy says so."""
        return self.tags.masked(text) if self.mask_secrets else text

    def masked_excerpt(self, text: str, origins: Sequence[str]) -> str:
        """An excerpt without the pieces of its origins' credentials, where the policy says so."""
        return self.tags.masked_by(text, origins) if self.mask_secrets else text
