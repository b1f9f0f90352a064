"""Calls on their way into a store that may fail for a while. Used by the writer's thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import sleep
from typing import TypeAlias

from ctxdiff_capture.errors import StoreBusy, StoreError, StoreFull
from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.model import Call
from ctxdiff_capture.store.base import SessionWriter
from ctxdiff_capture.wire.flight import Invocation

Pair: TypeAlias = tuple[Invocation, Call]
Working: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Entered for each piece of work; between two of them a fork may come."""

NOT_WRITTEN = "the trace could not be written"

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Losses:
    """Calls that will not be in the trace, by reason.

    Args:
        name: what warnings call the trace.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # Each thread adds to numbers of its own: a shared one would lose what the others added
        # while a thread stands between reading and writing it, and a lock would make them wait.
        self._counts: dict[tuple[int, str], int] = {}
        self._noted: dict[str, int] = {}
        self._first = threading.Lock()
        self.is_known = False
        """Whether a warning has already said why calls are lost."""

    def add(self, reason: str, count: int = 1) -> None:
        """Count them; the first one is reported at once. Called by any thread."""
        key = threading.get_ident(), reason
        self._counts[key] = self._counts.get(key, 0) + count
        if self._first.acquire(blocking=False) and not self.is_known:
            log.warning(
                "ctxdiff could not record a call in %s (%s); your program is unaffected."
                " Further losses are counted and reported at the end",
                self._name,
                reason,
            )

    def note(self, write: Callable[[str, int], bool]) -> None:
        """Hand what was not noted yet to `write`, until it fails. Called by one thread."""
        for reason, count in self._by_reason().items():
            new = count - self._noted.get(reason, 0)
            if new:
                if not write(reason, new):
                    return
                self._noted[reason] = count

    def tell_sum(self) -> None:
        """Say how many there were."""
        if total := sum(self._by_reason().values()):
            log.warning("ctxdiff: %d calls are not in %s", total, self._name)

    def _by_reason(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (_, reason), count in list(self._counts.items()):
            counts[reason] += count
        return counts


class Storing:
    """A session that is opened, and written to, again and again until that works.

    A lock of another program and a full disk pass; calls are kept until then. Other troubles cost
    the call, or the session when it cannot be opened.

    Args:
        open_session: opens the store.
        name: what warnings call the trace.
    """

    def __init__(self, open_session: Callable[[], SessionWriter], name: str) -> None:
        self._open_session = open_session
        self._name = name
        self._session: SessionWriter | None = None
        self._is_refused = False
        self._trouble: StoreError | None = None
        self._has_warned = False
        self.losses = Losses(name)
        self.closing = threading.Event()
        """Set when no more time may be taken than a lock needs."""
        self.steps = 0
        """Counts what got done, for those who wait."""

    def open(self, working: Working) -> None:
        """Begin the session, or find out that this cannot be done now."""
        with working():
            self._is_open()
        self._warn()

    def store(self, pairs: Sequence[Pair], working: Working) -> None:
        """Store calls, waiting for a trouble that may pass; what cannot be stored is counted."""
        # Of two attempts of one call in one batch the later one says it all.
        left = list({call.id: (invocation, call) for invocation, call in pairs}.values())
        pause = _FIRST_PAUSE_S
        while left:
            is_last_try = self.closing.is_set()
            with working():
                left = self._left_of(left)
            if not left:
                break
            self._warn()
            if is_last_try and not isinstance(self._trouble, StoreBusy):
                # Where not all of them fit, some may.
                for pair in left:
                    with working():
                        if self._left_of([pair]):
                            self.losses.add(NOT_WRITTEN)
                break
            if self.closing.is_set():
                sleep(_FIRST_PAUSE_S)
            else:
                self.closing.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        if self._session is not None:
            with working():
                self.losses.note(self._is_loss_noted)

    def store_early(self, pairs: Sequence[Pair], working: Working) -> None:
        """Store calls that have not ended, if that works at once."""
        if self._session is not None and self._trouble is None:
            with working():
                self._left_of([pair for pair in pairs if not pair[0].is_stored])

    def settle(self, working: Working) -> None:
        """Let a copy of the file alone have what was stored."""
        if self._session is not None:
            with working(), host_never_sees("settle the trace"):
                self._session.settle()

    def release(self) -> None:
        """Let a fork come, between two pieces of work."""
        if self._session is not None:
            with host_never_sees("let go of the trace for a fork"):
                self._session.release()

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            with host_never_sees("close the trace"):
                self._session.close()

    def _warn(self) -> None:
        """Say once that calls wait."""
        if self._trouble is not None and not self._has_warned:
            self._has_warned = self.losses.is_known = True
            log.warning(
                "ctxdiff cannot write %s now: %s; calls are kept in memory until it can, within"
                " bounds",
                self._name,
                self._trouble,
            )

    def _is_open(self) -> bool:
        if self._session is None and not self._is_refused:
            self._trouble = None
            self._is_refused = True
            with host_never_sees("open the trace"):
                try:
                    self._session = self._open_session()
                    self._is_refused = False
                except (StoreBusy, StoreFull) as trouble:
                    self._trouble = trouble
                    self._is_refused = False
                except (StoreError, OSError) as problem:
                    self.losses.is_known = True
                    log.warning("ctxdiff records nothing in %s: %s", self._name, problem)
        return self._session is not None

    def _left_of(self, pairs: list[Pair]) -> list[Pair]:
        """Store calls. Gives those that a passing trouble has left, the trouble being noted."""
        if not self._is_open() or self._session is None:
            if self._is_refused:
                self.losses.add("the trace could not be opened", len(pairs))
                self.steps += 1
                return []
            return pairs
        self._trouble = None
        fresh = [pair for pair in pairs if not pair[0].is_stored]
        again = [pair for pair in pairs if pair[0].is_stored]
        session = self._session
        if len(fresh) > 1 and self._is_done(lambda: session.write_many([c for _, c in fresh])):
            for invocation, _ in fresh:
                invocation.is_stored = True
            fresh = []
        # One bad call must not cost its neighbours.
        return [
            pair
            for pair in (*fresh, *again)
            if self._trouble is not None or not self._is_settled(session, pair)
        ]

    def _is_settled(self, session: SessionWriter, pair: Pair) -> bool:
        """Store one call, or count it as lost; False when it should be tried again."""
        invocation, call = pair
        write = session.amend if invocation.is_stored else session.write
        if self._is_done(lambda: write(call)):
            invocation.is_stored = True
        elif self._trouble is not None:
            return False
        else:
            self.losses.add(NOT_WRITTEN)
        return True

    def _is_loss_noted(self, reason: str, count: int) -> bool:
        session = self._session
        return session is not None and self._is_done(lambda: session.note_loss(reason, count))

    def _is_done(self, write: Callable[[], None]) -> bool:
        with host_never_sees("store a call"):
            try:
                write()
            except (StoreBusy, StoreFull) as trouble:
                self._trouble = trouble
                return False
            except (StoreError, OSError) as problem:
                log.debug("ctxdiff could not write %s: %s", self._name, problem)
                return False
            self.steps += 1
            return True
        return False
