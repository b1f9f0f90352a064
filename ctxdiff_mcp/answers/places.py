"""Places in a request, spelled with words of the providers' protocols and with numbers alone.

A path is made from a recorded request, whose keys a stranger may have chosen: a property of a
tool's schema, an argument. Only listed words pass, so no recorded word can.
"""

from __future__ import annotations

import re

MOST_STEPS = 8
"""Steps of a path that are shown."""
_STEP = re.compile(r"([A-Za-z_]{1,40})((?:\[[0-9]{1,6}\]){0,2})", re.ASCII)
_WORDS = re.compile(
    r"""
    additionalModelRequestFields | args | arguments | cache_control | cachePoint | cachedContent
    | content | contents | custom | data | description | documents | document | effort |
    encrypted_content | file | file_data | fileData | format | function | functionCall |
    functionDeclarations | functionResponse | function_call | function_declarations |
    function_response |
    generationConfig | generation_config | id | image | image_url | inferenceConfig | inlineData
    | input | inputSchema | input_schema | instructions | json | json_schema | logit_bias |
    max_completion_tokens | max_output_tokens | max_tokens | messages | metadata | model | name
    | output | outputConfig | output_config | output_format | parallel_tool_calls | parameters |
    parts | prompt | prompt_cache_key | prompt_cache_options | prompt_cache_retention |
    reasoning | reasoningContent | reasoningText | reasoning_content | reasoning_effort |
    refusal | response | response_format | responseSchema | role | schema | service_tier |
    signature | source | speed | strict | summary | system | systemInstruction |
    system_instruction | temperature | text | thinking | thinkingConfig | thinking_config |
    toolChoice | toolConfig | toolResult | toolSpec | toolUse | tool_calls | tool_choice |
    tool_config | tools | top_k | top_p | ttl | type | url | verbosity
    """,
    re.VERBOSE,
)
"""Keys of the requests of the surfaces that have a decoder."""
_OPEN = re.compile(
    r"""
    args | arguments | inputSchema | input_schema | json | logit_bias | metadata | parameters |
    response | responseSchema | schema
    """,
    re.VERBOSE,
)
"""Keys below which the keys are the program's own."""

_OUTCOME = re.compile("error|output")
"""Keys that Gemini's protocol names in a function's response. Source: google-genai 3.6.1."""


def place(path: str | None) -> str | None:
    """The path as far as it is made of the protocol's words; None where it does not start so.

    `tools[2].input_schema.properties.city` is shown as `tools[2].input_schema`.
    """
    if path is None:
        return None
    known: list[str] = []
    steps = path.split(".", MOST_STEPS)[:MOST_STEPS]
    for at, step in enumerate(steps):
        found = _STEP.fullmatch(step)
        if found is None or not _WORDS.fullmatch(found[1]):
            break
        known.append(step)
        if _OPEN.fullmatch(found[1]) or (found[1] == "input" and len(known) > 1):
            outcome = "".join(steps[at + 1 : at + 2])
            answers = at > 0 and steps[at - 1] in ("functionResponse", "function_response")
            if answers and found[1] == "response" and _OUTCOME.fullmatch(outcome):
                known.append(outcome)
            break
    return ".".join(known) or None
