"""OpenAI's o200k_base vocabulary, shipped with the package and never fetched."""

from __future__ import annotations

import logging
import os
import zlib
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

log = logging.getLogger("ctxdiff")

TABLE = "o200k_base.zlib"
"""The shipped file, unpacked: a byte per token that tells its length, then the tokens, by rank."""
SHA256 = "440741350e7cfa1c0f4869ce742d1b043550adbda5187adcac9e787edac6fba9"
"""Of the unpacked file. A test builds the table as it was published and compares that."""
_TOKENS = 199_998

# Source: o200k_base in tiktoken's public encodings (MIT), read 2026-08.
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERN = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_SPECIAL = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}


class Vocabulary:
    """The table, loaded on first need by whichever thread needs it; the others wait.

    Loading takes about half a second, most of it inside tiktoken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._encoding: tiktoken.Encoding | None = None
        self._is_broken = False

    def leave_to_parent(self) -> None:
        """In a forked child: a load that another thread had begun will never end here."""
        if self._encoding is None and self._lock.locked():
            self._lock = Lock()
            self._is_broken = True

    def count(self, text: str) -> int | None:
        """Tokens of `text`, spellings of special tokens as ordinary text.

        None when the table cannot be loaded or tiktoken gives up on the text.
        """
        encoding = self._loaded()
        if encoding is None:
            return None
        try:
            return len(encoding.encode_ordinary(text))
        except BaseException as fault:
            # tiktoken's panics are no `Exception`, and their class cannot be imported.
            if type(fault).__name__ != "PanicException":
                raise
            return None

    def _loaded(self) -> tiktoken.Encoding | None:
        if self._encoding is not None or self._is_broken:
            return self._encoding
        with self._lock:
            if self._encoding is None and not self._is_broken:
                try:
                    self._encoding = load()
                except ImportError as missing:
                    self._is_broken = True
                    log.warning("ctxdiff estimates tokens: %s", missing)
                except Exception:
                    self._is_broken = True
                    log.exception("ctxdiff could not load its vocabulary; tokens are estimated")
            return self._encoding


def load() -> tiktoken.Encoding:
    """The encoding, read from the package. It counts and encodes; it cannot be pickled.

    Raises:
        OSError: the table is missing.
        ValueError: its bytes are not the published ones.
    """
    import tiktoken  # noqa: PLC0415 - costs readers' start-up, and only counting needs it

    table = ranks()
    encoding = tiktoken.Encoding(
        "o200k_base", pat_str=_PATTERN, mergeable_ranks=table, special_tokens=_SPECIAL
    )
    # tiktoken has copied the table and keeps ours only to be pickled: 25 MB that nobody reads.
    table.clear()
    return encoding


def ranks() -> dict[bytes, int]:
    """Each token's bytes and its number, as they were published.

    Raises:
        OSError: the table is missing.
        ValueError: its bytes are not the ones that were shipped.
    """
    data = zlib.decompress(files("ctxdiff_capture.tokens").joinpath(TABLE).read_bytes())
    if (digest := sha256(data).hexdigest()) != SHA256:
        raise ValueError(f"the vocabulary has SHA-256 {digest!r} and not {SHA256!r}")
    stream = BytesIO(data)
    lengths = stream.read(_TOKENS)
    # No step of this runs in Python, so that the host's threads wait a quarter of the time.
    return dict(zip(map(stream.read, lengths), range(_TOKENS), strict=True))


o200k = Vocabulary()
"""The one table of the process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=o200k.leave_to_parent)
