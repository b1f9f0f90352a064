"""Begins to record when Python starts. Imports nothing of ours at the top: it may not be there."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from typing import Any


def _run_the_one_that_we_hide() -> None:
    """Python imports one `sitecustomize`; the system or the project may have its own."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - starts faster
    others = [path for path in sys.path if os.path.abspath(path) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Starter:
    """Begins to record when the first library is imported that may ask a model.

    A Python that needs none starts as fast as without us. `http.client` is part of Python and
    imported by much that never asks: there it begins with the first request.
    """

    LIBRARIES = frozenset(
        ("httpx", "httpx2", "aiohttp", "botocore", "requests", "urllib3", "dspy", "lm15")
    )
    PART_OF_PYTHON = "http.client"

    def __init__(self) -> None:
        self.tracer: Any = None
        self._finding = False
        self._undo: Any = None

    def look_back(self) -> None:
        """See to what Python has imported before this, as `.pth` files make it do."""
        if not self.LIBRARIES.isdisjoint(sys.modules):
            self._begin()
        elif self.PART_OF_PYTHON in sys.modules:
            self._wait_for_a_request(sys.modules[self.PART_OF_PYTHON].HTTPConnection)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of such a library, found by the others; None for all else."""
        del path, target
        if self._finding or self not in sys.meta_path:
            return None
        if name in self.LIBRARIES:
            self._begin()
            # Asked anew: recording has put a finder of its own before the others.
            return importlib.util.find_spec(name)
        if name != self.PART_OF_PYTHON:
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                self._wait_for_a_request(module.HTTPConnection)

            loader.exec_module = exec_module
        return spec

    def _wait_for_a_request(self, kind: Any) -> None:
        original = kind.request

        def request(connection: Any, *args: Any, **options: Any) -> Any:
            self._begin()
            # Tapped now, unless recording could not begin.
            again = original if kind.request is request else kind.request
            return again(connection, *args, **options)

        def undo() -> None:
            if kind.request is request:
                kind.request = original

        kind.request, self._undo = request, undo

    def _begin(self) -> None:
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        if self._undo is not None:
            self._undo()
        try:
            self.tracer = _recording()
        except Exception as fault:  # noqa: BLE001 - the program must start, whatever is wrong
            _say(f"this program runs unrecorded ({type(fault).__name__}: {fault})")

    def tell(self) -> None:
        """Say what was recorded."""
        if self.tracer is None and self not in sys.meta_path:
            return  # that it failed has been said
        count = 0 if self.tracer is None else self.tracer.count
        if not count:
            _say("no model call was seen, nothing is recorded")
        else:
            calls = f"{count} model call{'s' * (count > 1)}"
            _say(f"{calls} recorded in {self.tracer.path or 'the store'}")


def _recording() -> Any:
    """The tracer of this process, by our package of this Python or the one that `run` names."""
    problem = _make_importable()
    if problem is None:
        try:
            from ctxdiff_capture.recorder import trace  # noqa: PLC0415 - see the top
        except ImportError as missing:
            problem = str(missing)
        else:
            out = os.environ.get("CTXDIFF_RUN_OUT")
            return trace.auto(os.environ["CTXDIFF_RUN_PROJECT"], path=out)
    _say(f"this program runs unrecorded ({problem}); pip install ctxdiff-capture where it runs")
    return None


def _make_importable() -> str | None:
    """Let `import ctxdiff_capture` work. Gives what stands in the way."""
    if importlib.util.find_spec("ctxdiff_capture") is not None:
        return None
    # By its place and not by its folder on the path, which may hold all of another Python's
    # packages.
    folder = os.environ.get("CTXDIFF_RUN_PACKAGE", "")
    start = os.path.join(folder, "__init__.py")  # noqa: PTH118 - as above
    spec = importlib.util.spec_from_file_location(
        "ctxdiff_capture", start, submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None or not os.path.exists(start):  # noqa: PTH110
        return "ctxdiff-capture is not there"
    module = importlib.util.module_from_spec(spec)
    sys.modules["ctxdiff_capture"] = module
    spec.loader.exec_module(module)
    return None


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"ctxdiff: {text}\n")


if "CTXDIFF_RUN_PROJECT" in os.environ:
    _starter: Any = _Starter()
    sys.meta_path.insert(0, _starter)
    _starter.look_back()
    if os.environ.get("CTXDIFF_RUN_PID") == str(os.getpid()):
        import atexit

        atexit.register(_starter.tell)
_run_the_one_that_we_hide()
