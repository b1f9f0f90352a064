"""The program that the demo records: two agents, one of which forgets to keep what it retrieved.

It is written as a user would write it. The fault is real and common: the researcher trims its
history to the latest messages, and the document it had retrieved was not among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ctxdiff_mcp.cli.demo_provider import Answer, ToolUse

if TYPE_CHECKING:
    from anthropic import Anthropic
    from openai import OpenAI

BROKEN_TURN = 8
"""The call, counted over both agents, at which the retrieved document is gone."""

KEPT = 8
"""Messages that the researcher keeps when its history has grown past `TRIM_ABOVE`."""
TRIM_ABOVE = 12

BULLETIN = (
    "Service bulletin SB-2041 (R290 heat pumps, Nordlund series 4). Units built before week 14 of "
    "2025 carry a relief valve that sticks when hot. Until the valve is replaced, the flow "
    "temperature must not exceed 55 °C. Units built later may run at the catalogue limit of 75 °C."
)


def tool(name: str, description: str, argument: str) -> dict[str, Any]:
    """A tool in the shape of Chat Completions, with one text argument."""
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [
    tool("search_bulletins", "Search the manufacturer's service bulletins.", "query"),
    tool("count_units", "How many units the customer has, by week of manufacture.", "customer"),
    tool("convert_currency", "Convert an amount between two currencies.", "amount"),
]
RESULTS = {
    "search_bulletins": {"hits": ["SB-2041"], "document": "handed to you in the next message"},
    "count_units": {"customer": "Havn Housing", "before_2025_w14": 112, "later": 38},
}

ANSWERS: Sequence[Answer] = (
    ToolUse("search_bulletins", {"query": "R290 flow temperature"}),
    "SB-2041 applies to these units. I keep its limits in mind for the letter.",
    "Outline: 1. Which units are concerned. 2. What to do now. 3. When the valve is replaced.",
    ToolUse("count_units", {"customer": "Havn Housing"}),
    "Havn Housing has 112 units built before week 14 of 2025 and 38 built later.",
    "Dear Havn Housing, this letter concerns 112 of your 150 heat pumps.",
    "Replacing one valve takes 40 minutes, so one technician needs about ten working days.",
    "I find no limit in the material that I have. The catalogue allows 75 °C; state 75 °C.",
    "Dear Havn Housing, please set the flow temperature of the 112 units to 75 °C.",
)
"""What the scripted models answer, in the order of the calls."""

Tag = Callable[[str, list[str]], None]
Step = Callable[[str], AbstractContextManager[Any]]


class Researcher:
    """Gathers facts over the Chat Completions API."""

    def __init__(self, client: OpenAI) -> None:
        self.client = client
        self.history: list[Any] = [
            {"role": "system", "content": "You gather facts. Answer only from the material."}
        ]

    def hear(self, text: str) -> None:
        """Add a message of the user."""
        self.history.append({"role": "user", "content": text})

    def turn(self) -> None:
        """Send the history, and add the answer and the results of its tools."""
        if len(self.history) > TRIM_ABOVE:
            # The fault: the retrieved document is older than the messages that are kept.
            self.history = [self.history[0], *self.history[-KEPT:]]
        response: Any = self.client.chat.completions.create(
            model="gpt-5-mini",
            messages=self.history,
            tools=TOOLS,  # type: ignore[arg-type]
        )
        message = response.choices[0].message
        self.history.append(message)
        for call in message.tool_calls or ():
            content = json.dumps(RESULTS[call.function.name])
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": content})


class Writer:
    """Writes the letter over the Messages API."""

    def __init__(self, client: Anthropic) -> None:
        self.client = client
        self.history: list[Any] = []

    def turn(self, text: str) -> None:
        """Ask for the next piece of text, and add the answer."""
        self.history.append({"role": "user", "content": text})
        response = self.client.messages.create(
            model="claude-sonnet-5",
            max_tokens=400,
            system="You write short, plain letters to customers. Use the facts you are given.",
            messages=self.history,
        )
        self.history.append({"role": "assistant", "content": response.content})


def run_pipeline(
    openai: OpenAI,
    anthropic: Anthropic,
    *,
    tag: Tag = lambda _label, _items: None,
    step: Step = lambda _name: nullcontext(),
) -> None:
    """Nine calls of the two agents.

    Args:
        openai: client of the researcher.
        anthropic: client of the writer.
        tag: `tracer.tag`, to label what was retrieved.
        step: `tracer.step`, to name the parts of the work.
    """
    researcher, writer = Researcher(openai), Writer(anthropic)
    with step("research"):
        researcher.hear("We write to Havn Housing about their R290 heat pumps. What applies?")
        researcher.turn()
        researcher.hear(BULLETIN)
        tag("rag", [BULLETIN])
        researcher.turn()
    with step("outline"):
        writer.turn("Outline a letter: some units need a new relief valve (SB-2041).")
    with step("research"):
        researcher.hear("How many of their units are concerned?")
        researcher.turn()
        researcher.turn()
    with step("draft"):
        writer.turn("112 of 150 units are concerned. Draft the opening.")
    with step("research"):
        researcher.hear("How long will the replacement take?")
        researcher.turn()
        researcher.hear("Which flow temperature may the letter state for these 112 units?")
        researcher.turn()
    with step("draft"):
        writer.turn("The flow temperature to state is 75 °C. Draft the instruction.")
