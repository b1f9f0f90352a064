"""Labels follow into the threads that a program starts and the work that it gives to pools.

Python gives a new thread no context and lets a pool's thread keep its own from one piece of work
to the next. Of all context variables only ours are handed on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import thread as pools
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeAlias
from weakref import WeakSet

from ctxdiff_capture.guard import host_never_sees

_Labels: TypeAlias = list[tuple[ContextVar[Any], Any]]


class Labelled:
    """Something whose context variables are handed on."""

    variables: tuple[ContextVar[Any], ...]

    def follow(self) -> None:
        """Hand the variables on from here on. The first call taps the two classes for good."""
        if self not in _followed:
            with _lock:
                if not _followed:
                    _tap(threading.Thread, "start", _started)
                    _tap(ThreadPoolExecutor, "submit", _submitted)
                _followed.add(self)


_lock = threading.Lock()
_followed: WeakSet[Labelled] = WeakSet()


def _tap(kind: Any, name: str, ours: Callable[..., Any]) -> None:
    original = vars(kind)[name]
    if getattr(original, "ctxdiff_original", None) is not None:
        return

    @wraps(original)
    def tapped(*args: Any, **options: Any) -> Any:
        return ours(original, *args, **options)

    tapped.ctxdiff_original = original  # type: ignore[attr-defined]
    setattr(kind, name, tapped)


def _labels() -> _Labels:
    """What is set here."""
    nothing = object()
    with host_never_sees("hand labels on to a thread"):
        found = [(v, v.get(nothing)) for each in list(_followed) for v in each.variables]
        return [(variable, value) for variable, value in found if value is not nothing]
    return []


def _under(labels: _Labels, call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """What `call` gives where `labels` are set; they are not set any more afterwards."""
    tokens = [(variable, variable.set(value)) for variable, value in labels]
    try:
        return call(*args, **options)
    finally:
        for variable, token in tokens:
            variable.reset(token)


def _started(start: Callable[..., None], thread: Any) -> None:
    # A pool's own thread outlives the work that it was started for.
    if getattr(thread, "_target", None) is not _POOLS_OWN and (labels := _labels()):
        thread.run = partial(_run, thread, labels, vars(thread).get("run"))
    start(thread)


_POOLS_OWN = pools._worker  # noqa: SLF001 - nothing else tells a pool's thread


def _run(thread: Any, labels: _Labels, own: Callable[[], None] | None) -> None:
    # Ours holds the thread. What was there before is the host's, or the class's.
    del thread.run
    if own is not None:
        thread.run = own
    _under(labels, thread.run)


def _submitted(submit: Callable[..., Any], pool: Any, /, *args: Any, **options: Any) -> Any:
    if args and (labels := _labels()):
        return submit(pool, _under, labels, *args, **options)
    return submit(pool, *args, **options)
