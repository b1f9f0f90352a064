"""Credentials in captured text: found by their shape, shown as stable tags.

`[secret:aws-key#3]` stands for the third distinct AWS key; the same value always has the same tag,
so a changed key is still seen to change.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A credential in a text, by code points."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    clue: str
    """A text without it has none of this shape; lower case."""
    pattern: re.Pattern[str]
    """Group 1 is the secret."""


def _shape(kind: str, clue: str, pattern: str) -> _Shape:
    # ASCII: a Chinese letter in front of a key is a word's boundary.
    return _Shape(kind, clue, re.compile(pattern, re.ASCII))


# Formats as the providers document them, 2026-10. Repetitions are bounded or end the pattern, so
# that a search is linear. The first shape that claims a place keeps it.
_SHAPES = (
    _shape(
        "private-key",
        "private key-----",
        r"(-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=:,\s]|-(?!----)|\\[nr])*"
        r"(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----)?)",
    ),
    _shape("anthropic-key", "sk-ant-", r"\b(sk-ant-[A-Za-z0-9_-]{16,})"),
    _shape("openrouter-key", "sk-or-", r"\b(sk-or-[A-Za-z0-9_-]{16,})"),
    _shape("openai-key", "sk-", r"\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,})"),
    _shape("google-key", "aiza", r"\b(AIza[0-9A-Za-z_-]{35})"),
    _shape("google-token", "ya29.", r"\b(ya29\.[0-9A-Za-z_-]{20,})"),
    _shape("aws-key", "", r"\b((?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})\b"),
    _shape(
        "aws-secret",
        "secret",
        r"(?i:secret_?access_?key|aws_?secret_?key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _shape("azure-key", "accountkey=", r"(?i:AccountKey=)([A-Za-z0-9+/]{60,}={0,2})"),
    _shape("github-token", "gh", r"\b(gh[pousr]_[A-Za-z0-9]{30,})"),
    _shape("github-token", "github_pat_", r"\b(github_pat_[A-Za-z0-9_]{22,})"),
    _shape("gitlab-token", "glpat-", r"\b(glpat-[A-Za-z0-9_-]{20,})"),
    _shape("slack-token", "xox", r"\b(xox[abeprs]-[A-Za-z0-9-]{10,})"),
    _shape("stripe-key", "k_", r"\b([rs]k_(?:live|test)_[A-Za-z0-9]{16,})"),
    _shape("huggingface-token", "hf_", r"\b(hf_[A-Za-z0-9]{30,})"),
    _shape("npm-token", "npm_", r"\b(npm_[A-Za-z0-9]{36})"),
    _shape("groq-key", "gsk_", r"\b(gsk_[A-Za-z0-9]{30,})"),
    _shape("xai-key", "xai-", r"\b(xai-[A-Za-z0-9]{30,})"),
    _shape("sendgrid-key", "sg.", r"\b(SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64})"),
    _shape(
        "jwt",
        "eyj",
        r"(?<![\w-])(eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,})",
    ),
    _shape("bearer-token", "bearer", r"\b(?i:bearer)[ \t]{1,4}([A-Za-z0-9._~+/-]{16,}={0,2})"),
    _shape("basic-auth", "basic", r"\b(?i:authorization:\s{0,4}basic) ([A-Za-z0-9+/]{8,}={0,2})"),
    _shape(
        "password",
        "://",
        r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,100}:([^\s/@\"'<>]{1,200})@",
    ),
)


def is_tag(text: str) -> bool:
    """True when the text is a credential's tag and nothing else."""
    return re.fullmatch(r"\[secret:[a-z-]+#[0-9]+\]", text) is not None


def secret_spans(text: str) -> list[Span]:
    """The credentials in a text, ascending, without overlap."""
    lowered = text.lower()
    found: list[Span] = []
    for shape in _SHAPES:
        if shape.clue not in lowered:
            continue
        spans = [
            Span(*hit.span(1), shape.kind)
            for hit in shape.pattern.finditer(text)
            if not is_tag(hit[1])
        ]
        found = _with(found, spans)
    return found


def _with(kept: list[Span], more: list[Span]) -> list[Span]:
    """Both lists in order; what overlaps a kept span is dropped."""
    merged: list[Span] = []
    ranked = sorted(
        [(span.start, 0, span) for span in kept] + [(span.start, 1, span) for span in more],
        key=lambda item: item[:2],
    )
    for _, rank, span in ranked:
        if merged and span.start < merged[-1].end:
            if rank == 0:  # a kept span wins over the newcomer in front of it
                merged[-1] = span
            continue
        merged.append(span)
    return merged


PART_CHARS = 5
"""Of a credential: a piece of it that long, or longer, is shown as its tag too."""
SHORTEST = 3
"""A shorter value (`://me:x@`) cannot be told from the letters around it."""


class SecretTags:
    """Numbers distinct credentials by first appearance, for as long as the server lives."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[bytes, int]] = {}
        self._lock = threading.Lock()

    def tag(self, kind: str, value: str) -> str:
        """The tag of a credential; the value itself is not kept."""
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            of_kind = self._numbers.setdefault(kind, {})
            return f"[secret:{kind}#{of_kind.setdefault(digest, len(of_kind) + 1)}]"

    def masked(self, text: str) -> str:
        """The text with every credential as its tag."""
        spans = secret_spans(text)
        if not spans:
            return text
        parts = []
        done = 0
        for span in spans:
            parts += [text[done : span.start], self.tag(span.kind, text[span.start : span.end])]
            done = span.end
        return "".join([*parts, text[done:]])

    def masked_by(self, text: str, origins: Sequence[str]) -> str:
        """The text with every credential of `origins` as its tag, even where it is cut short.

        `text` is an excerpt of `origins`, however it was cut and joined.
        """
        found = []
        for origin in origins:
            for span in secret_spans(origin):
                value = origin[span.start : span.end]
                found += [(at, end, self.tag(span.kind, value)) for at, end in _pieces(text, value)]
        parts, done = [], 0
        for at, end, tag in sorted(found):
            if at >= done:
                parts += [text[done:at], tag]
            done = max(done, end)
        return "".join([*parts, text[done:]])


def _pieces(text: str, value: str) -> list[tuple[int, int]]:
    """Stretches of the text that are made of pieces of the value, ascending."""
    size = min(PART_CHARS, len(value))
    pieces = {value[at : at + size] for at in range(len(value) - size + 1)}
    found: list[tuple[int, int]] = []
    for at in range(len(text) - size + 1):
        if size < SHORTEST or text[at : at + size] not in pieces:
            continue
        if found and at <= found[-1][1]:
            found[-1] = (found[-1][0], at + size)
        else:
            found.append((at, at + size))
    return found
