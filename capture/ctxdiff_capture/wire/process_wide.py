"""Taps in the classes of the HTTP libraries: every client of the process is reported.

Libraries that are not imported yet are tapped when they are. Nothing is imported here.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ctxdiff_capture.guard import host_never_sees
from ctxdiff_capture.wire import tries
from ctxdiff_capture.wire.flight import Sink
from ctxdiff_capture.wire.tap_aiohttp import AiohttpTap
from ctxdiff_capture.wire.tap_botocore import BotocoreTap, is_recorded_service
from ctxdiff_capture.wire.tap_httpx import HttpxTap
from ctxdiff_capture.wire.tap_lm15 import Lm15Tap
from ctxdiff_capture.wire.tap_requests import RequestsTap
from ctxdiff_capture.wire.tap_stdlib import StdlibTap

_Method = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Taps:
    """What one sink has."""

    sink: Sink
    httpx: HttpxTap
    aiohttp: AiohttpTap
    botocore: BotocoreTap
    requests: RequestsTap
    stdlib: StdlibTap
    lm15: Lm15Tap


_lock = threading.Lock()
_active: tuple[_Taps, ...] = ()
"""Replaced as a whole, so that methods read it without the lock."""
_patched: dict[tuple[type, str], tuple[_Method, _Method]] = {}
"""Class and name of a method to what it was and what it is."""


def install(sink: Sink, agent: str | None) -> None:
    """Report to `sink` what any client sends to a model, until `uninstall`."""
    global _active  # noqa: PLW0603 - the classes are the process's, and so are their taps
    with _lock:
        if any(taps.sink is sink for taps in _active):
            return
        taps = _Taps(
            sink,
            HttpxTap(sink, agent),
            AiohttpTap(sink, agent),
            BotocoreTap(sink, agent),
            RequestsTap(sink, agent),
            StdlibTap(sink, agent),
            Lm15Tap(sink, agent),
        )
        _active = (*_active, taps)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        for name in _CLASSES:
            if (module := sys.modules.get(name)) is not None:
                _patch(module)


def uninstall(sink: Sink) -> None:
    """Report nothing to `sink` any more. The last one leaves the classes as they were."""
    global _active  # noqa: PLW0603 - see above
    with _lock:
        for taps in _active:
            if taps.sink is sink:
                taps.botocore.leave()
        _active = tuple(taps for taps in _active if taps.sink is not sink)
        if _active:
            return
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        for (kind, name), (original, ours) in _patched.items():
            # What somebody else has put over ours stays; ours then only passes on.
            if vars(kind).get(name) is ours:
                setattr(kind, name, original)
        _patched.clear()


def _patch(module: ModuleType) -> None:
    for class_name, method, tapped in _CLASSES[module.__name__]:
        kind = getattr(module, class_name, None)
        original = getattr(kind, method, None)
        # A module that is still being imported has its classes later: its loader calls again.
        if kind is None or original is None or (kind, method) in _patched:
            continue
        ours = wraps(original)(tapped(original))
        setattr(kind, method, ours)
        _patched[kind, method] = (original, ours)


def _send(original: _Method) -> _Method:
    def send(self: Any, request: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.httpx.carry, call)
        return call(request, **options)

    return send


def _send_async(original: _Method) -> _Method:
    async def send(self: Any, request: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.httpx.carry_async, call)
        return await call(request, **options)

    return send


def _requests_send(original: _Method) -> _Method:
    def send(self: Any, request: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.requests.carry, call)
        return call(request, **options)

    return send


def _stdlib_request(original: _Method) -> _Method:
    def request(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.stdlib.ask, self, call)
        return call(method, url, *args, **options)

    return request


def _stdlib_answer(original: _Method) -> _Method:
    def getresponse(self: Any, *args: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.stdlib.answer, self, call)
        return call(*args, **options)

    return getresponse


def _lm15_stream(original: _Method) -> _Method:
    def stream(self: Any, request: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.lm15.carry, call)
        return call(request)

    return stream


def _lm15_stream_async(original: _Method) -> _Method:
    async def stream(self: Any, request: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.lm15.carry_async, call)
        return await call(request)

    return stream


def _aiohttp_request(original: _Method) -> _Method:
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        call = partial(original, self)
        for taps in _active:
            call = partial(taps.aiohttp.carry, self, call)
        return await call(method, url, **options)

    return request


def _operation(original: _Method) -> _Method:
    def operation(self: Any, *args: Any, **options: Any) -> Any:
        call = partial(original, self)
        if _active and is_recorded_service(self):
            for taps in _active:
                taps.botocore.listen(self.meta.events)
                call = partial(taps.botocore.carry, call)
        return call(*args, **options)

    return operation


def _operation_async(original: _Method) -> _Method:
    async def operation(self: Any, *args: Any, **options: Any) -> Any:
        call = partial(original, self)
        if _active and is_recorded_service(self):
            for taps in _active:
                taps.botocore.listen(self.meta.events)
                call = partial(taps.botocore.carry_async, call)
        return await call(*args, **options)

    return operation


_HTTPX = (("Client", "send", _send), ("AsyncClient", "send", _send_async))
_LM15 = (("StdlibTransport", "stream", _lm15_stream),)
_LM15_ASYNC = (("StdlibAsyncTransport", "_do_stream", _lm15_stream_async),)
_CLASSES: dict[str, Sequence[tuple[str, str, Callable[[_Method], _Method]]]] = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "requests.sessions": (("Session", "send", _requests_send),),
    "http.client": (
        ("HTTPConnection", "request", _stdlib_request),
        ("HTTPConnection", "getresponse", _stdlib_answer),
    ),
    "urllib3.connection": (("HTTPConnection", "request", _stdlib_request),),
    "urllib3.connectionpool": (("HTTPConnectionPool", "urlopen", tries.as_one),),
    "dspy._vendor.lm15.transports._sync": _LM15,
    "dspy._vendor.lm15.transports._async": _LM15_ASYNC,
    "lm15.transports._sync": _LM15,
    "lm15.transports._async": _LM15_ASYNC,
    "aiohttp.client": (("ClientSession", "_request", _aiohttp_request),),
    "botocore.client": (("BaseClient", "_make_api_call", _operation),),
    "google.genai._api_client": (
        ("BaseApiClient", "_request", tries.as_one),
        ("BaseApiClient", "_async_request", tries.as_one_async),
    ),
    "aiobotocore.client": (("AioBaseClient", "_make_api_call", _operation_async),),
}
"""Module to its classes that are tapped: class, method, how."""


class _Finder(MetaPathFinder):
    """Finds modules as the others do, and taps those above when they have been loaded."""

    def __init__(self) -> None:
        self._asking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is to be tapped; None leaves it to the other finders."""
        del path, target
        if fullname not in _CLASSES or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.now = False
        with host_never_sees("tap a library that is imported"):
            loader: Any = spec and spec.loader
            if loader is not None:
                loader.exec_module = partial(_load, loader.exec_module)
        return spec


def _load(exec_module: Callable[[ModuleType], None], module: ModuleType) -> None:
    exec_module(module)
    with _lock, host_never_sees("tap a library that is imported"):
        if _active:
            _patch(module)


_FINDER = _Finder()
