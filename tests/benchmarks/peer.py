"""The peer in an environment of its own, pinned, from PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from base64 import b64encode
from hashlib import sha1
from pathlib import Path

PEER = "ctxdiff==0.5.1"
# The released peer imports a module that mcp 2 removed; its server needs the old major.
REQUIREMENTS = [PEER, "mcp<2", "openai", "anthropic"]
# tiktoken looks for a file named by the SHA-1 of this address before it asks the network.
VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def cache_folder() -> Path:
    """Where the peer's environment is kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ctxdiff-mcp-benchmarks"


def peer_environment() -> dict[str, str]:
    """Environment variables for both sides.

    The peer counts exactly under them, as it does once it has a vocabulary, and Python keeps what
    it compiled, as it does for installed packages.
    """
    folder = cache_folder() / "tiktoken"
    target = folder / sha1(VOCABULARY.encode(), usedforsecurity=False).hexdigest()
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Imported here: the peer's own interpreter reads this file too, and has no recorder of ours.
        from ctxdiff_capture.tokens.vocabulary import ranks

        lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in ranks().items())
        target.write_bytes(b"".join(lines))
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"TIKTOKEN_CACHE_DIR": str(folder)}


def peer_python() -> Path:
    """The interpreter of a virtual environment that holds the peer; made once, then reused."""
    folder = (
        cache_folder() / f"{PEER.replace('==', '-')}-py{sys.version_info[0]}.{sys.version_info[1]}"
    )
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = folder / "complete"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        done.touch()
    return python
