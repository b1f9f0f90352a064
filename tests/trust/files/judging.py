"""Asks a server everything about a folder of bad files and says which promises broke."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.trust.files.stdio import Answered, StdioServer

MOST_SECONDS = 5.0
MOST_MEGABYTES = 512.0
MOST_HASHED = 2**30
"""Of a larger file the times and the size are compared, not the bytes."""
MOST_LISTS = 10
MOST_RUNS = 6
"""Runs of a folder that are asked one by one."""

_INLINE = re.compile(r"[A-Za-z0-9_.:/-]{1,40}")
_NONCE = re.compile(r"captured ([0-9A-Za-z]{10}) ")


@dataclass
class Verdict:
    """What was measured over one folder."""

    slowest_seconds: float = 0.0
    peak_megabytes: float = 0.0
    broken: list[str] = field(default_factory=list)
    """One line per broken promise, its word first: TIME, MEM, ALIVE, NOWRITE, ..."""
    refused: str = ""
    """The server's line about files that it cannot read."""


def state_of(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """All entries of a folder and of the one above it, with contents; links are not followed."""
    found: dict[bytes, tuple[object, ...]] = {}
    for path in _entries(os.fsencode(folder)):
        info = os.lstat(path)
        content = ""
        if stat.S_ISREG(info.st_mode) and info.st_size < MOST_HASHED:
            content = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()
        found[path] = (info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, content)
    for entry in os.scandir(os.fsencode(folder.parent)):
        found[b"../" + entry.name] = (entry.inode(),)
    return found


def _entries(folder: bytes) -> Iterator[bytes]:
    yield folder
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path)
        else:
            yield entry.path


def judged(
    folder: Path,
    *,
    secrets: Sequence[str] = (),
    canaries: Sequence[str] = (),
    bystander: str = "good",
    is_still: bool = True,
) -> Verdict:
    """Ask a server of its own everything about `folder`.

    Args:
        folder: holds the bad files and one good trace.
        secrets: texts that no answer may hold.
        canaries: texts that may stand inside frames alone.
        bystander: the handle of the good trace.
        is_still: nobody else changes the folder meanwhile.
    """
    verdict = Verdict()
    before = state_of(folder) if is_still else {}
    server = StdioServer(folder, cwd=folder.parent)
    try:
        for what, answer, again in _asked(server, bystander, is_still):
            verdict.slowest_seconds = max(verdict.slowest_seconds, answer.seconds)
            _judge(verdict, what, answer, secrets, canaries)
            if again is not None and _plain(answer.text) != _plain(again.text):
                verdict.broken.append(f"STABLE: {what} answered differently")
            if not answer.is_alive:
                break
            if what == "ctxdiff_runs {}":
                verdict.refused = _line_with(answer.text, "not readable")
                if f"- {bystander}: 2 turns" not in answer.text:
                    verdict.broken.append("BYSTANDER: the good trace is not listed")
    finally:
        server.close()
    verdict.peak_megabytes = server.peak_megabytes
    if verdict.peak_megabytes > MOST_MEGABYTES:
        verdict.broken.append(f"MEM: {verdict.peak_megabytes:.0f} MB")
    for text in secrets:
        if text in server.errors:
            verdict.broken.append("NOLEAK: on stderr")
    if is_still:
        after = state_of(folder)
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        verdict.broken += [f"NOWRITE: {os.fsdecode(path)}" for path in changed]
    return verdict


def _asked(
    server: StdioServer, bystander: str, is_still: bool
) -> Iterator[tuple[str, Answered, Answered | None]]:
    """Every question with its answer and, where it is asked twice, the second one."""
    listing = server.call("ctxdiff_runs", limit=100)
    again = server.call("ctxdiff_runs", limit=100) if is_still else None
    # Where the machine is busy, the first lists are incomplete and say so; each comes further.
    for _ in range(MOST_LISTS):
        if again is None or _plain(listing.text) == _plain(again.text):
            break
        yield "an incomplete list", listing, None
        listing, again = again, server.call("ctxdiff_runs", limit=100)
    yield "ctxdiff_runs {}", listing, again
    handles = re.findall(r"^- ([^\s:]+): ", listing.text, re.MULTILINE)
    others = [handle for handle in handles if handle != bystander]
    if not others:
        yield "a refused one", server.call("ctxdiff_explain", run="x"), None
    for run in dict.fromkeys((*others[:MOST_RUNS], *others[-1:])):
        for tool, arguments in _questions():
            answer = server.call(tool, run=run, **arguments)
            yield f"{tool} {run} {arguments}", answer, None
            digest = re.search(r"\b[0-9a-f]{8}\b", answer.text)
            if tool == "ctxdiff_block" and digest:
                yield f"block {digest[0]}", server.call(tool, run=run, content_hash=digest[0]), None
    for tool in ("ctxdiff_explain", "ctxdiff_tokens"):
        answer = server.call(tool, run=bystander)
        yield f"{tool} of the good one", answer, server.call(tool, run=bystander)
        if is_still and "error" in answer.text[:20]:
            yield "BYSTANDER", Answered("", 0, False), None


def _questions() -> Iterator[tuple[str, dict[str, object]]]:
    yield "ctxdiff_explain", {}
    yield "ctxdiff_diff", {"turn_a": 1, "turn_b": 2}
    yield "ctxdiff_diff", {"turn_a": 1, "run_b": "good"}
    yield "ctxdiff_tokens", {}
    yield "ctxdiff_cache", {}
    yield "ctxdiff_block", {"turn": 2}
    yield "ctxdiff_block", {"turn": 2, "position": 2}
    yield "ctxdiff_search", {"query": "hello"}


def _judge(
    verdict: Verdict, what: str, answer: Answered, secrets: Sequence[str], canaries: Sequence[str]
) -> None:
    if not answer.is_alive:
        verdict.broken.append(f"ALIVE: no answer to {what}")
    if answer.seconds > MOST_SECONDS:
        verdict.broken.append(f"TIME: {answer.seconds:.1f} s for {what}")
    if "internal" in answer.text[:40]:
        verdict.broken.append(f"INTERNAL: {what}")
    for text in secrets:
        if text in answer.text:
            verdict.broken.append(f"NOLEAK: in the answer to {what}")
    outside = _outside_frames(answer.text)
    for text in canaries:
        # A plain short name may stand in the server's lines.
        if text in outside and not _INLINE.fullmatch(text):
            verdict.broken.append(f"CONTAIN: outside a frame in the answer to {what}")


def _outside_frames(text: str) -> str:
    inside = False
    kept = []
    for line in text.splitlines():
        if line.startswith("⟦captured "):
            inside = True
        elif line.startswith("⟦end "):
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def _plain(text: str) -> str:
    """The answer without its nonce."""
    found = _NONCE.search(text)
    return text.replace(found[1], "N") if found else text


def _line_with(text: str, words: str) -> str:
    return next((line for line in text.splitlines() if words in line), "")
