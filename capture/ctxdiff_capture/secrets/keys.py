"""The secret that keyed digests need. It is the user's, and never beside a trace.

A digest of a short text without a key is the text: six digits are found in half a second. The key
is a file that only its owner can read, made when something is redacted for the first time, so that
later sessions of the same trace know a value again. Where there can be no such file, a key lives
as long as the process: then nothing is guessable either, and later sessions know nothing again.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from ctxdiff_capture.guard import log

KEY_BYTES = 32
VARIABLE = "CTXDIFF_KEY_FILE"


def key_path(environ: Mapping[str, str]) -> Path | None:
    """Where the user's key is kept; None when there is no home to keep it in."""
    if named := environ.get(VARIABLE, "").strip():
        return Path(named)
    if os.name == "nt":
        base = environ.get("LOCALAPPDATA", "")
    else:
        base = environ.get("XDG_STATE_HOME", "")
        if not base and environ.get("HOME"):
            base = str(Path(environ["HOME"]) / ".local" / "state")
    return Path(base) / "ctxdiff" / "redaction.key" if base else None


def user_key(environ: Mapping[str, str]) -> bytes:
    """The user's key, which is made if there is none; a passing one where it cannot be kept."""
    path = key_path(environ)
    if path is not None:
        try:
            return _kept(path)
        except OSError as problem:
            log.info("ctxdiff keeps no key for redaction (%s)", problem)
    return secrets.token_bytes(KEY_BYTES)


def key_of_file(of_user: bytes, salt: str) -> bytes:
    """The key of one trace: equal values in two traces have unlike digests."""
    return hmac.new(of_user, f"trace\x00{salt}".encode(), sha256).digest()


def keyed_digest(key: bytes, *parts: bytes | str) -> str:
    """HMAC-SHA-256 of the parts in order, 64 lower-case hex digits."""
    encoded = [p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p for p in parts]
    # Lengths in front: no two lists of parts are spelled alike.
    message = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
    return hmac.new(key, message, sha256).hexdigest()


def _kept(path: Path) -> bytes:
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        # Whole or not at all, and the first of two processes wins.
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return _read(path)


def _read(path: Path) -> bytes:
    found = path.read_bytes()
    if len(found) != KEY_BYTES:
        raise OSError(f"{path} is no key of {KEY_BYTES} bytes")
    return found
