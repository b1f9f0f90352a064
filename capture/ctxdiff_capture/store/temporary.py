"""Where files stand that only this process needs."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def temporary_folder() -> Path:
    """The system's folder for temporary files; never the current one by default.

    Python's own choice ends with the current folder where no other can be written to, or all are
    full, and writes a file there to try it: beside the traces that must not be touched.

    Raises:
        FileNotFoundError: there is none that may be written to.
    """
    if os.name == "nt" or tempfile.tempdir is not None:
        return Path(tempfile.gettempdir())
    for name in _usual():
        if os.path.isdir(name) and os.access(name, os.W_OK | os.X_OK):  # noqa: PTH112  no such check of a Path
            return Path(name).absolute()
    raise FileNotFoundError(errno.ENOENT, "there is no folder for temporary files")


def _usual() -> Iterator[str]:
    """Where Python looks, but for the current folder. Source: the docs of `tempfile.tempdir`."""
    for variable in ("TMPDIR", "TEMP", "TMP"):
        if named := os.environ.get(variable):
            yield named
    yield from ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108  mkdtemp makes the names
