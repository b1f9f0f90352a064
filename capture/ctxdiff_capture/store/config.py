"""Where a session goes: one precedence, one grammar of targets.

Source: the `.ctrace` format, section 11.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ctxdiff_capture.errors import SelectionError

SUFFIX = ".ctrace"
ENVIRONMENT_VARIABLE = "CTXDIFF_STORE"

NETWORKED = ("postgresql", "postgres", "mysql", "mariadb")
SQLITE = ("sqlite", "sqlite3")

_FORMS = "give a file path, sqlite:///path, postgresql://… or mysql://…"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9_.-]+)?://(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Destination:
    """One store: a SQLite file or a networked database, never both."""

    path: Path | None = None
    """Absolute path of the SQLite file; None for a networked database."""
    dsn: str | None = field(default=None, repr=False)
    """Address of a networked database; may hold a password, so it is kept out of `repr`."""

    def __str__(self) -> str:
        """The path, or the database's scheme and host without credentials."""
        if self.path is not None:
            return str(self.path)
        parts = urlsplit(self.dsn or "")
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def resolve(
    project: str,
    *,
    store: str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
    configured: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str],
) -> Destination:
    """Where a new session of `project` goes.

    The first that is set wins: `store`, `path`, `configured`, `CTXDIFF_STORE` in `environ`,
    `./<project>.ctrace`. A path that is an existing directory means `<dir>/<project>.ctrace`.

    `path` is a file-system path, taken as it is: `~` is not expanded; a database's address is
    refused. Unlike ctxdiff, slashes and
    NUL in the project's name become `_` in a file name made from it, so that a name cannot lead
    out of the directory.

    Raises:
        SelectionError: a target is of no known form.
    """
    if store is not None:
        return _inside_directory(_destination(os.fspath(store)), project)
    if path is not None:
        return _inside_directory(_own_path(os.fspath(path)), project)
    if configured is not None:
        return _inside_directory(_destination(os.fspath(configured)), project)
    if named := environ.get(ENVIRONMENT_VARIABLE, "").strip():
        return _inside_directory(_destination(named), project)
    return _file(default_file_name(project))


def parse_target(text: str) -> Destination:
    """The store that `--project TEXT` names. Nothing is opened.

    Raises:
        SelectionError: `text` is of no known form, or names a directory.
    """
    destination = _destination(text)
    if destination.path is not None and destination.path.is_dir():
        raise SelectionError(
            f"{destination.path} is a directory, no single trace", remedy="name one file in it"
        )
    return destination


def default_file_name(project: str) -> str:
    """`<project>.ctrace` with slashes of both kinds and NUL made `_`."""
    return re.sub(r"[/\\\x00]", "_", project) + SUFFIX


def _destination(text: str) -> Destination:
    """The target that `text` spells: a database, a sqlite URL or a path."""
    if text.strip().lower() in (*NETWORKED, *SQLITE):
        raise SelectionError(f"{text.strip()!r} lacks its '://' and address", remedy=_FORMS)
    match = _SCHEME.fullmatch(text.strip())
    if match is None:
        return _file(os.path.expanduser(text))  # noqa: PTH111 - Path would fold `./` and blanks
    scheme, rest = match[1].lower(), match[2]
    if scheme in NETWORKED:
        return Destination(dsn=_address(f"{scheme}://{rest}"))
    if scheme in SQLITE:
        return _file(_sqlite_path(rest))
    raise SelectionError(f"{scheme}:// is no store that can be used", remedy=_FORMS)


def _address(dsn: str) -> str:
    try:
        urlsplit(dsn)
    except ValueError:  # an odd `[` in it; the address may hold a password and is not repeated
        raise SelectionError("the database's address cannot be read", remedy=_FORMS) from None
    return dsn


def _own_path(path: str) -> Destination:
    match = _SCHEME.fullmatch(path)
    if match is not None and match[1].lower() in NETWORKED:
        # As a file name it would stand in messages, password and all.
        raise SelectionError(
            f"path= names a file, and this is a {match[1].lower()}:// address",
            remedy="give it as store=",
        )
    return _file(path)


def _sqlite_path(rest: str) -> str:
    """The path of a sqlite URL: what follows `://`, decoded, its query dropped."""
    path = unquote(rest.partition("?")[0])
    if path.startswith("/"):
        path = "/" + path.lstrip("/")
        # `sqlite:///C:/x` means the drive, not a folder of that name.
        return path[1:] if re.match(r"/[A-Za-z]:", path) and os.name == "nt" else path
    return os.path.expanduser(path)  # noqa: PTH111 - as above


def _file(path: str) -> Destination:
    """The file at `path`, made absolute now: the host may change its directory later."""
    if not path or "\x00" in path:
        raise SelectionError(f"{path!r} is not a path", remedy=_FORMS)
    return Destination(path=Path(os.path.abspath(path)))  # noqa: PTH100 - resolve() follows links


def _inside_directory(destination: Destination, project: str) -> Destination:
    """`destination`, or the project's file in it where it is a directory."""
    if destination.path is not None and destination.path.is_dir():
        return Destination(path=destination.path / default_file_name(project))
    return destination
