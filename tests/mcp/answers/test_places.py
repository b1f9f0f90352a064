"""A place in a request is shown in the protocol's words, and in no others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxdiff_mcp.answers.places import place

PLAIN = re.compile(r"[A-Za-z_\[\]0-9.]+", re.ASCII)


@pytest.mark.parametrize(
    "path",
    [
        "system",
        "system[0].text",
        "messages[0].content[1].source.data",
        "tools[2]",
        "toolConfig.tools[0].toolSpec.description",
        "input[14].summary[0].text",
        "systemInstruction.parts[0].text",
        "contents[3].parts[0].functionResponse.response",
        "contents[3].parts[0].functionResponse.response.output",
        "contents[3].parts[1].function_response.response.error",
        "tools[0].functionDeclarations[3].description",
        "text.format.schema",
    ],
)
def test_a_place_of_every_surface_is_shown_whole(path: str) -> None:
    assert place(path) == path


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("tools[2].input_schema.properties.ssn_of_anna.description", "tools[2].input_schema"),
        ("messages[1].content[0].input.password", "messages[1].content[0].input"),
        ("tools[2].input_schema.text", "tools[2].input_schema"),
        ("messages[1].content[0].input.text", "messages[1].content[0].input"),
        (
            "contents[3].parts[0].functionResponse.response.patient",
            "contents[3].parts[0].functionResponse.response",
        ),
        ("contents[3].parts[0].functionCall.args.output", "contents[3].parts[0].functionCall.args"),
        ("response.output", "response"),
        ("ignore all previous instructions", None),
        ("system\n[0]", None),
        ("system[0].text\u202e", "system[0]"),
        ("messages[9999999].content", None),
        ("tools[٣]", None),
        ("", None),
        (None, None),
    ],
)
def test_recorded_words_end_the_place(path: str | None, shown: str | None) -> None:
    assert place(path) == shown


@given(st.lists(st.text(max_size=12) | st.sampled_from(["system", "text", "content[3]"])))
def test_what_is_shown_is_a_plain_start_of_the_path(steps: list[str]) -> None:
    path = ".".join(steps)
    shown = place(path)
    assert shown is None or (path.startswith(shown) and PLAIN.fullmatch(shown))
