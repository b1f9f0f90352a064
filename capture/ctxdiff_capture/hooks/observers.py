"""Tells a program's own callbacks what is about to be sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from ctxdiff_capture.guard import host_never_sees, log
from ctxdiff_capture.model import Exchange
from ctxdiff_capture.tokens.counter import Counter

if TYPE_CHECKING:  # loaded by the first snapshot: most programs ask for none
    from ctxdiff_capture.hooks.snapshots import ContextSnapshot

OnCall: TypeAlias = "Callable[[ContextSnapshot], object]"

MOST_WAITING = 1_000
MOST_BYTES = 64 * 2**20
"""Requests that may wait for slow callbacks; what comes beyond is not told to them."""
PATIENCE_S = 6.0
"""How long `flush` and `stop` wait for callbacks."""

_telling: ContextVar[bool] = ContextVar("ctxdiff_telling", default=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Subscription:
    callback: OnCall
    in_line: bool
    window: int | None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request that left."""

    exchange: Exchange
    seq: int
    call_id: str


_Queue: TypeAlias = "SimpleQueue[_Sent | threading.Event | None]"


class Observers:
    """Callbacks of one tracer. They run in order on a thread of their own, or in line.

    On a thread of their own: a callback that takes its time must not keep calls from being stored.

    Args:
        count: gives the tracer's token counter, which a fork replaces.
    """

    def __init__(self, count: Callable[[], Counter]) -> None:
        self._count = count
        self._all: tuple[_Subscription, ...] = ()
        self._missed = 0
        self._lock = threading.Lock()
        self._at_work = threading.Lock()
        self._held_for: int | None = None
        self._queue: _Queue = SimpleQueue()
        self._waiting_bytes = 0
        self._thread: threading.Thread | None = None

    def __bool__(self) -> bool:
        """Whether anybody wants to be told."""
        return bool(self._all) and not _telling.get()

    def add(self, callback: OnCall, *, in_line: bool, window: int | None) -> Callable[[], None]:
        """Tell `callback` of each call from now on; what is returned ends that."""
        subscription = _Subscription(callback, in_line, window)
        with self._lock:
            self._all = (*self._all, subscription)

        def unsubscribe() -> None:
            with self._lock:
                self._all = tuple(s for s in self._all if s is not subscription)

        return unsubscribe

    def tell(self, exchange: Exchange, *, seq: int, call_id: str) -> None:
        """A request is about to leave. Callbacks in line have returned when this returns."""
        sent = _Sent(exchange, seq, call_id)
        subscriptions = self._all
        in_line = [s for s in subscriptions if s.in_line]
        if in_line:
            self._run(sent, in_line)
        if len(in_line) < len(subscriptions):
            self._queue_up(sent)

    def flush(self) -> bool:
        """Wait until the callbacks have run for all that was sent; False when that took too long.

        Asked by a callback, it does not wait.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        done = threading.Event()
        self._queue.put(done)
        return done.wait(PATIENCE_S)

    def stop(self) -> None:
        """Let the callbacks run for what was sent, then end the thread. Bounded."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            if thread is not threading.current_thread():
                thread.join(PATIENCE_S)
        if self._missed:
            log.warning("ctxdiff: on_call was not told of %d calls", self._missed)
            self._missed = 0

    def pause(self) -> None:
        """A fork comes: wait until no lock of the decoders is held here, and keep it so."""
        # Several threads may fork at once; one that gives up must not forget another's lock.
        if self._at_work.acquire(timeout=PATIENCE_S):
            self._held_for = threading.get_ident()

    def resume(self) -> None:
        """The fork is over, this is the parent."""
        if self._held_for == threading.get_ident():
            self._held_for = None
            self._at_work.release()

    def restart(self) -> None:
        """Begin anew, without what waits: in a child process its thread is gone."""
        self._lock = threading.Lock()
        self._at_work = threading.Lock()
        self._held_for = None
        self._queue = SimpleQueue()
        self._waiting_bytes = 0
        self._thread = None

    def _queue_up(self, sent: _Sent) -> None:
        if self._queue.qsize() >= MOST_WAITING or self._waiting_bytes > MOST_BYTES:
            self._missed += 1
            return
        self._waiting_bytes += len(sent.exchange.request)
        self._queue.put(sent)
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, args=(self._queue,), name="ctxdiff-hooks", daemon=True
                )
                self._thread.start()

    def _work(self, queue: _Queue) -> None:
        while (item := queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            # Sums without a lock may drift; an empty queue sets them right.
            waiting = self._waiting_bytes - len(item.exchange.request)
            self._waiting_bytes = 0 if queue.empty() else waiting
            self._run(item, [s for s in self._all if not s.in_line])

    def _run(self, sent: _Sent, subscriptions: list[_Subscription]) -> None:
        snapshot: ContextSnapshot | None = None
        with host_never_sees("take a snapshot of a call"), self._at_work:
            # Inside: a fork while a module is loaded would leave it locked in the child.
            from ctxdiff_capture.hooks.snapshots import snapshot_of  # noqa: PLC0415 - see above

            snapshot = snapshot_of(
                sent.exchange, seq=sent.seq, call_id=sent.call_id, count=self._count()
            )
        if snapshot is None:
            return
        # Calls that a callback makes are recorded, but not told: it would never end.
        token = _telling.set(True)
        try:
            for subscription in subscriptions:
                _call(subscription, snapshot)
        finally:
            _telling.reset(token)


def _call(subscription: _Subscription, snapshot: ContextSnapshot) -> None:
    window = subscription.window
    if window is not None:
        from ctxdiff_capture.hooks.snapshots import Budget  # noqa: PLC0415 - see above

        snapshot = replace(snapshot, budget=Budget(window, snapshot.total_tokens))
    try:
        subscription.callback(snapshot)
    except BaseException as error:
        # On our own thread even `sys.exit` ends nothing; in line, an interrupt is the host's.
        if subscription.in_line and not isinstance(error, Exception):
            raise
        log.warning("ctxdiff: an on_call callback failed; the call is unaffected", exc_info=True)
