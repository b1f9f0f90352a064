from __future__ import annotations

from types import SimpleNamespace

import pytest
from ctxdiff_analyzers.paths import dotted, holder_of, path_of
from ctxdiff_capture.model import CallDetail


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/messages/3/content/0", "messages[3].content[0]"),
        ("/messages/1/content", "messages[1].content"),
        ("/systemInstruction/parts/0/text", "systemInstruction.parts[0].text"),
        ("/input/2", "input[2]"),
        ("/a~1b/~0", "a/b.~"),
        ("", None),
        (None, None),
    ],
)
def test_a_pointer_is_written_with_dots_and_brackets(pointer: str, path: str) -> None:
    assert dotted(pointer) == path


def test_a_block_has_the_place_that_its_call_recorded(make: SimpleNamespace) -> None:
    run = make.run()
    paths = {0: "/system", 1: "/messages/0/content"}
    turn = run.add(make.system("s"), make.user("hi"), detail=CallDetail(paths=paths))
    timeline = run.done()
    assert path_of(timeline, turn, 1) == "messages[0].content"
    assert holder_of(timeline, turn, 1) == "messages[0]"
    assert holder_of(timeline, turn, 0) == "system"


def test_a_block_without_a_recorded_place_has_none(make: SimpleNamespace) -> None:
    run = make.run()
    turn = run.add(make.user("hi"))
    assert path_of(run.done(), turn, 0) is None
