"""Where a surface's request has its messages, system text and tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxdiff_capture.model import Json


@dataclass(frozen=True, slots=True)
class Shape:
    """Names of members of a request body; where there are two, the first that is there counts."""

    messages: str
    system: tuple[str, ...]
    tools: str

    def messages_of(self, body: Mapping[str, Json]) -> Json:
        """The conversation as sent; None when the body has none."""
        return body.get(self.messages)

    def system_of(self, body: Mapping[str, Json]) -> Json:
        """What stands outside of the conversation; None when there is nothing."""
        return next((body[name] for name in self.system if name in body), None)

    def tools_of(self, body: Mapping[str, Json]) -> Json:
        """The tools as sent; None when there are none."""
        found = body.get(self.tools)
        if self.tools == _CONVERSE_TOOLS and isinstance(found, Mapping):
            return found.get("tools")
        return found

    def replaced(
        self, body: Mapping[str, Json], messages: Json, tools: Json, system: Json
    ) -> dict[str, Json]:
        """`body` with other contents; None leaves tools and system as they are."""
        changed = {**body, self.messages: messages}
        if tools is not None:
            changed[self.tools] = {"tools": tools} if self.tools == _CONVERSE_TOOLS else tools
        if system is not None and self.system:
            there = next((name for name in self.system if name in body), self.system[0])
            changed[there] = system
        return changed


_CONVERSE_TOOLS = "toolConfig"
_SHAPES = {
    "openai.chat": Shape("messages", (), "tools"),
    "openai.responses": Shape("input", ("instructions",), "tools"),
    "anthropic.messages": Shape("messages", ("system",), "tools"),
    "gemini.generate_content": Shape(
        "contents", ("systemInstruction", "system_instruction"), "tools"
    ),
    "bedrock.converse": Shape("messages", ("system",), _CONVERSE_TOOLS),
    "bedrock.invoke_model": Shape("messages", ("system",), "tools"),
}


def shape_of(surface: str) -> Shape:
    """The shape of a surface's requests; of one that we do not know, the most common one."""
    return _SHAPES.get(surface, _SHAPES["openai.chat"])
