"""What is done to a call between the wire and the disk.

Credentials become tags, and the program's own hook has its say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Literal, Protocol, TypeAlias

from ctxdiff_capture.errors import StoreError
from ctxdiff_capture.hashing import digest_of
from ctxdiff_capture.model import Block, Call
from ctxdiff_capture.recorder.redacted_parts import FAILED, WITHHELD, Hook, Parts
from ctxdiff_capture.secrets.keys import KEY_BYTES, key_of_file, keyed_digest, user_key
from ctxdiff_capture.secrets.tags import identity_of, tag_of

__all__ = ["FAILED", "SECRETS", "WITHHELD", "Redact", "Redaction", "Steps", "steps_of"]

SECRETS = "secrets"
VARIABLE = "CTXDIFF_REDACT"

Step: TypeAlias = "Hook | Literal['secrets']"
Steps: TypeAlias = tuple[Step, ...]
"""What is done to each text, in this order."""

Redact: TypeAlias = "Step | Sequence[Step]"
"""`"secrets"`, a hook, or both in the order in which they are to work.

A hook gets a block and gives back what to store in its place; None withholds the text. It sees
every input and output block, also of stages. Texts that stand outside of blocks come as blocks of
role `params`, `tag`, `error`, `decision` or `metadata` and kind `text`, of which only the text is
used. The content hash of what it gives back is not used: see `Redaction`.
"""

_MOST_REMEMBERED = 50_000


def steps_of(redact: Redact | None, environ: Mapping[str, str]) -> Steps:
    """The steps that a program asked for, and its environment: `CTXDIFF_REDACT=secrets`.

    Raises:
        ValueError: a word other than `secrets`.
        TypeError: neither a word nor callable.
    """
    asked: list[object] = list(redact) if isinstance(redact, list | tuple) else [redact]
    if redact is None:
        asked = []
    steps = [_step(one) for one in asked]
    named = environ.get(VARIABLE, "").strip()
    if named and _step(named) not in steps:
        steps.append(_step(named))
    return tuple(steps)


def _step(one: object) -> Step:
    if isinstance(one, str):
        if one != SECRETS:
            raise ValueError(f"texts are redacted by {SECRETS!r} or a function, not by {one!r}")
        return "secrets"
    if callable(one):
        return one
    raise TypeError(f"texts are redacted by {SECRETS!r} or a function, not by {one!r}")


class Numbers(Protocol):
    """What a trace knows of credentials."""

    def salt(self) -> str:
        """What tells this trace from others."""

    def number(self, kind: str, digest: str) -> int:
        """The number of the credential with that keyed digest."""


class Redaction:
    """The redaction of one trace. Used by one thread.

    A block that was changed never keeps the hash of what it was: that could be guessed, and would
    show the text of a session that stored it in clear.

    - Where credentials became tags, the hash is the format's own, of the text with the tags: the
      same credential has the same number in the whole file.
    - Where a hook changed it, the hash is keyed: of what it was and what it is now. Two texts that
      a hook makes equal stay two blocks, so that a change is still seen.

    Args:
        steps: what is done; empty changes nothing.
        numbers: those of the trace; asked only when something was found.
        environ: where the user's key may be.
    """

    def __init__(
        self, steps: Steps, numbers: Numbers, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.steps = steps
        self._numbers = numbers
        self._environ = environ
        self._has_hook = any(step != SECRETS for step in steps)
        self._kept_key: bytes | None = None
        self._known: dict[tuple[str, str], int] = {}
        self._masked: dict[str, Block | None] = {}
        self._clean_pieces: set[bytes] = set()

    def begin(self) -> None:
        """A session begins; the trace may be another one than before, under the same name."""
        self._kept_key = None
        self._known.clear()
        self._masked.clear()

    def of(self, call: Call) -> Call:
        """`call` as it may be stored. Labels stay those of the original texts.

        The bytes of the request are left out unless nothing in them was changed. A step that
        fails, or gives back something that is no block, costs the text and not the call; how often
        is in the call's metadata under `redaction`.
        """
        seen = Parts(self).of(call) if self.steps else call
        if not self._may_keep_request(call, seen):
            seen = replace(seen, request_pieces=None)
        if call.request_digest is not None and seen.request_pieces is None:
            # All but a short secret may be known: without a key it could be guessed.
            digest = keyed_digest(self._key(), "request", call.request_digest)
            seen = replace(seen, request_digest=digest)
        return seen

    def masked(self, text: str) -> str:
        """The text with credentials as tags."""
        from ctxdiff_capture.secrets.detect import masked  # noqa: PLC0415 - loaded if asked for

        return masked(text, self._tag)

    def masked_block(self, block: Block) -> Block:
        """The block with credentials as tags; itself when there are none."""
        known = self._masked.get(block.content_hash, block)
        if known is not block:
            return block if known is None else known
        text = self.masked(block.text)
        found = None if text == block.text else replace(block, text=text)
        # The text of a picture says its cost, which may differ where its hash does not.
        if block.kind != "image":
            if len(self._masked) >= _MOST_REMEMBERED:
                self._masked.clear()
            self._masked[block.content_hash] = found
        return found or block

    def identified(self, block: Block, original: Block, *, by_hook: bool) -> Block:
        """`block`, which was made of `original`, under a hash of its own."""
        if by_hook:
            parts = (original.content_hash, block.role, block.kind, block.text)
            return replace(block, content_hash=keyed_digest(self._key(), "block", *parts))
        return replace(block, content_hash=digest_of(block.role, block.kind, block.text))

    def _tag(self, kind: str, value: str) -> str:
        digest = keyed_digest(self._key(), "secret", kind, identity_of(kind, value))
        number = self._known.get((kind, digest))
        if number is None:
            number = self._known[kind, digest] = self._numbers.number(kind, digest)
        return tag_of(kind, number)

    def _key(self) -> bytes:
        if self._kept_key is None:
            # Without steps only digests of requests are keyed, for which this session is enough.
            of_user = user_key(self._environ) if self.steps else os.urandom(KEY_BYTES)
            try:
                salt = self._numbers.salt() if self.steps else ""
            except StoreError:
                return key_of_file(of_user, os.urandom(KEY_BYTES).hex())
            self._kept_key = key_of_file(of_user, salt)
        return self._kept_key

    def _may_keep_request(self, call: Call, seen: Call) -> bool:
        if call.request_pieces is None or not self.steps:
            return True
        return not self._has_hook and seen == call and self._is_clean(call.request_pieces)

    def _is_clean(self, pieces: Sequence[bytes]) -> bool:
        """Whether no piece has a credential, not even where a decoder does not look."""
        from ctxdiff_capture.secrets.detect import secret_spans  # noqa: PLC0415 - as above

        for piece in pieces:
            digest = sha256(piece).digest()
            if digest in self._clean_pieces:
                continue
            if secret_spans(piece.decode("utf-8", "replace")):
                return False
            if len(self._clean_pieces) >= _MOST_REMEMBERED:
                self._clean_pieces.clear()
            self._clean_pieces.add(digest)
        return True
