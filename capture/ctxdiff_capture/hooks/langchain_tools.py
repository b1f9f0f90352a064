"""LangChain's tools as the provider's own API takes them.

LangChain tells a handler of them in OpenAI's form whatever the provider; its integrations rewrite
them when they send. Source: langchain-google-genai 4.4 and langchain-aws 1.9, by what they sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctxdiff_capture.model import Json

_NULL = {"type": "null"}


def gemini_config(tools: Json, choice: Json) -> dict[str, Json]:
    """`tools` and `toolConfig` of a request.

    Args:
        tools: as LangChain bound them; None when there are none.
        choice: as LangChain has it: `any`, `auto`, `none`, or a tool's name.
    """
    if not isinstance(tools, Sequence) or not tools:
        return {}
    declared, others = [], []
    for tool in tools:
        function = _function_of(tool)
        if function is None:
            # A tool of Gemini's own, told with all that it is not.
            others.append({k: _without_nulls(v) for k, v in tool.items() if v is not None})
        else:
            declared.append(_declaration(function))
    names = [function["name"] for function in declared]
    body: dict[str, Json] = {
        "tools": [*([{"functionDeclarations": declared}] if declared else []), *others]
    }
    if isinstance(choice, str) and choice:
        modes = {"auto": "AUTO", "none": "NONE"}
        config: dict[str, Json] = {"mode": modes.get(choice, "ANY")}
        if choice not in modes:
            config["allowedFunctionNames"] = [choice] if choice in names else names
        body["toolConfig"] = {"functionCallingConfig": config}
    return body


def bedrock_config(tools: Json, choice: Json) -> dict[str, Json]:
    """`toolConfig` of a request; as above, but that `choice` is Bedrock's own."""
    if not isinstance(tools, Sequence) or not tools:
        return {}
    config: dict[str, Json] = {"tools": [_spec(tool) for tool in tools]}
    if choice is not None:
        config["toolChoice"] = choice
    return {"toolConfig": config}


def _function_of(tool: Json) -> Mapping[str, Json] | None:
    """Name, description and parameters of a tool in any of the forms that LangChain takes."""
    if not isinstance(tool, Mapping):
        return None
    function = tool.get("function")
    if isinstance(function, Mapping):
        return function
    if "input_schema" in tool:
        return {**tool, "parameters": tool["input_schema"]}
    return tool if "name" in tool and "parameters" in tool else None


def _without_nulls(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


# Bedrock


def _spec(tool: Json) -> Json:
    function = _function_of(tool)
    if function is None:  # Bedrock's own form, or a cache point
        return tool
    schema = _without_null_types(function.get("parameters") or {})
    named = {key: function[key] for key in ("name", "description") if function.get(key)}
    return {"toolSpec": {**named, "inputSchema": {"json": schema}}}


def _without_null_types(schema: Json) -> Json:
    """A schema in which no value may be null."""
    if isinstance(schema, list):
        return [_without_null_types(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: _without_null_types(inner) for key, inner in schema.items()}
    union, kinds = found.get("anyOf"), found.get("type")
    if isinstance(union, list) and _NULL in union:
        left = [inner for inner in union if inner != _NULL]
        if len(left) == 1:
            del found["anyOf"]
            found |= left[0]
        else:
            found["anyOf"] = left
    if isinstance(kinds, list) and "null" in kinds:
        named = [kind for kind in kinds if kind != "null"]
        found["type"] = named[0] if len(named) == 1 else named
    return found


# Gemini


def _declaration(function: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {"name": function.get("name") or "MISSING_NAME"}
    if function.get("description"):
        found["description"] = function["description"]
    parameters = function.get("parameters")
    if isinstance(parameters, Mapping) and parameters.get("properties"):
        found["parameters"] = {
            **{key: parameters[key] for key in ("title", "description") if key in parameters},
            "type": "OBJECT",
            "properties": _properties(parameters["properties"]),
            "required": parameters.get("required", []),
        }
    return found


def _properties(properties: Json) -> dict[str, Json]:
    return {
        name: _property(schema)
        for name, schema in properties.items()
        if isinstance(schema, Mapping)
    }


def _property(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A property; of several types that are not null, the last one counts."""
    union = [inner for inner in schema.get("anyOf") or () if isinstance(inner, Mapping)]
    kind = _kind(schema)
    found: dict[str, Json] = {"type": kind}
    if _NULL in union:
        found["nullable"] = True
    meant = next((i for i in reversed(union) if i != _NULL and _kind(i) == kind), schema)
    told = {key: meant.get(key) or schema.get(key) for key in ("enum", "description")}
    found |= {key: value for key, value in told.items() if value}
    items, inner = meant.get("items"), meant.get("properties")
    if kind == "ARRAY" and items is not None:
        found["items"] = _items(items)
    if kind == "OBJECT" and isinstance(inner, Mapping):
        found["properties"] = _properties(inner)
        # Not the schema's own list: what has no default.
        needed = [n for n, s in inner.items() if isinstance(s, Mapping) and "default" not in s]
        if needed:
            found["required"] = needed
    return found


def _items(schema: Json) -> dict[str, Json]:
    if not isinstance(schema, Mapping):
        return {"type": "STRING"}
    kind = _kind(schema)
    found: dict[str, Json] = {"type": kind}
    if kind == "OBJECT" and isinstance(schema.get("properties"), Mapping):
        found["properties"] = _properties(schema["properties"])
    if kind == "ARRAY" and "items" in schema:
        found["items"] = _items(schema["items"])
    if about := schema.get("description") or schema.get("title"):
        found["description"] = about
    found |= {key: schema[key] for key in ("enum", "required") if key in schema}
    return found


def _kind(schema: Mapping[str, Json]) -> str:
    kinds = [i.get("type") for i in schema.get("anyOf") or () if isinstance(i, Mapping)]
    named = [kind for kind in kinds or [schema.get("type")] if isinstance(kind, str)]
    return next((kind.upper() for kind in reversed(named) if kind != "null"), "STRING")
