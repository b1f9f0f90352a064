"""Whether a tool's arguments satisfy the schema that was offered, in bounded work.

Tool schemas are JSON Schema in the dialects of the providers: Gemini's upper-case types and
`nullable`, keys in snake case as its SDK spells them. A schema comes out of a trace and may be
hostile, so it is never resolved over the network, a pattern is tried only where its cost is known,
and the work is limited; what is not understood, or not reached, counts as satisfied.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Rule: TypeAlias = Literal[
    "type", "required", "enum", "const", "additionalProperties", "range", "length", "pattern",
    "anyOf", "oneOf", "false",
]  # fmt: skip
STEPS = 20_000
"""Schema nodes that are looked at for one call."""
DEEPEST = 60
"""References and levels that are followed."""
LONGEST = 256
"""Code points of a text that a pattern is tried on."""

_NAMES = {
    "anyOf": ("any_of",),
    "oneOf": ("one_of",),
    "allOf": ("all_of",),
    "additionalProperties": ("additional_properties",),
    "minItems": ("min_items",),
    "maxItems": ("max_items",),
    "minLength": ("min_length",),
    "maxLength": ("max_length",),
    "minProperties": ("min_properties",),
    "maxProperties": ("max_properties",),
    "$defs": ("definitions", "defs"),
    "$ref": ("ref",),
    "prefixItems": ("prefix_items",),
}
"""Keywords that have a second spelling."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
}
_SIMPLE = re.compile(
    r"""
    (?P<start> \^ )?
    (?: \( (?: \?: )? (?: [\w\s\-./@:,;=_|] | \\[wdst.\-/|] )* \) (?! [+*{] )
      | \[ (?: \\. | [^\]\\] ){1,80} \] | \\[wdsWDS.\-/+*?()\[\]{}^$|\\]
      | [\w\s\-/@:,;=_%&~!'"<>\#] | \.
      | (?: [+*?] | \{ \d{1,3} (?: , \d{0,3} )? \} ) )*
    (?P<end> \$ )?
    """,
    re.VERBOSE,
)
"""Patterns without a group that repeats, whose cost grows with a small power of the text."""
_REPEATS = re.compile(r"(?<!\\)(?:[+*]|\{)")
MOST_REPEATS = {True: 3, False: 2}
"""Repetitions in a pattern that is tied to the start, and in one that is not."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The first thing in which a value fails its schema."""

    rule: Rule
    where: tuple[str | int, ...]
    """Keys and indices from the arguments down. Captured text."""


@dataclass(slots=True)
class _Check:
    root: Mapping[str, Any]
    steps: int = 0


def violation(value: Any, schema: Any) -> Violation | None:
    """Why `value` does not satisfy `schema`; None where it does, or the schema says nothing.

    Extra properties are allowed unless the schema forbids them, 5.0 is an integer, and null for a
    property that is not required counts as left out.
    """
    if not isinstance(schema, Mapping):
        return None
    try:
        return next(_violations(value, schema, _Check(schema), (), 0), None)
    except RecursionError:
        return None


def _violations(
    value: Any, schema: Any, check: _Check, where: tuple[str | int, ...], depth: int
) -> Iterator[Violation]:
    check.steps += 1
    if schema is False:
        yield Violation("false", where)
    if not isinstance(schema, Mapping) or check.steps > STEPS or depth > DEEPEST:
        return
    if isinstance(reference := _get(schema, "$ref"), str):
        target = _resolved(reference, check.root)
        if target is not None and target is not schema:
            yield from _violations(value, target, check, where, depth + 1)
    types = _types(schema)
    if types and not any(_is_of_type(value, kind) for kind in types):
        yield Violation("type", where)
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and not _nullable(value, schema) and not _among(value, allowed):
        yield Violation("enum", where)
    if "const" in schema and not _equal(value, schema["const"]):
        yield Violation("const", where)
    if isinstance(value, dict):
        yield from _of_object(value, schema, check, where, depth)
    elif isinstance(value, list):
        yield from _of_array(value, schema, check, where, depth)
    elif isinstance(value, str):
        yield from _of_text(value, schema, where)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _of_number(value, schema, where)
    yield from _combined(value, schema, check, where, depth)


def _combined(
    value: Any,
    schema: Mapping[str, Any],
    check: _Check,
    where: tuple[str | int, ...],
    depth: int,
) -> Iterator[Violation]:
    for part in _list(schema, "allOf"):
        yield from _violations(value, part, check, where, depth + 1)
    if any_of := _list(schema, "anyOf"):
        found = [next(_violations(value, p, check, where, depth + 1), None) for p in any_of]
        if None not in found and not _nullable(value, schema):
            yield _nearest(found, "anyOf", where)
    if one_of := _list(schema, "oneOf"):
        found = [next(_violations(value, p, check, where, depth + 1), None) for p in one_of]
        # More than one that fits is told only where every branch was looked at to the end.
        if None not in found and not _nullable(value, schema):
            yield _nearest(found, "oneOf", where)


def _nearest(
    found: Sequence[Violation | None], rule: Rule, where: tuple[str | int, ...]
) -> Violation:
    """Where a branch went further than the others, what stopped it there."""
    deepest = max((one for one in found if one is not None), key=lambda one: len(one.where))
    return deepest if len(deepest.where) > len(where) else Violation(rule, where)


def _of_object(
    value: dict[str, Any],
    schema: Mapping[str, Any],
    check: _Check,
    where: tuple[str | int, ...],
    depth: int,
) -> Iterator[Violation]:
    properties = _get(schema, "properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    needed = [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
    for key in needed:
        if key not in value:
            yield Violation("required", (*where, key))
    others = _get(schema, "additionalProperties")
    patterned = bool(_get(schema, "patternProperties"))
    for key, inner in value.items():
        if key in properties:
            # Models spell a property that they leave out as null.
            if inner is None and key not in needed:
                continue
            yield from _violations(inner, properties[key], check, (*where, key), depth + 1)
        elif others is False and not patterned:
            yield Violation("additionalProperties", (*where, key))
        elif isinstance(others, Mapping) and not patterned:
            yield from _violations(inner, others, check, (*where, key), depth + 1)
    size = len(value)
    if _beyond(size, _get(schema, "minProperties"), _get(schema, "maxProperties")):
        yield Violation("length", where)


def _of_array(
    value: list[Any],
    schema: Mapping[str, Any],
    check: _Check,
    where: tuple[str | int, ...],
    depth: int,
) -> Iterator[Violation]:
    if _beyond(len(value), _get(schema, "minItems"), _get(schema, "maxItems")):
        yield Violation("length", where)
    first = _list(schema, "prefixItems")
    items = schema.get("items")
    if isinstance(items, list):
        first, items = items, None
    for index, inner in enumerate(value):
        if check.steps > STEPS:
            return
        part = first[index] if index < len(first) else items
        if part is not None:
            yield from _violations(inner, part, check, (*where, index), depth + 1)


def _of_text(
    value: str, schema: Mapping[str, Any], where: tuple[str | int, ...]
) -> Iterator[Violation]:
    if _beyond(len(value), _get(schema, "minLength"), _get(schema, "maxLength")):
        yield Violation("length", where)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and len(value) <= LONGEST and not _matches(pattern, value):
        yield Violation("pattern", where)


def _of_number(
    value: float, schema: Mapping[str, Any], where: tuple[str | int, ...]
) -> Iterator[Violation]:
    low, high = _number(schema, "minimum"), _number(schema, "maximum")
    above, below = _number(schema, "exclusiveMinimum"), _number(schema, "exclusiveMaximum")
    # In older drafts the two are booleans beside `minimum` and `maximum`.
    above = low if schema.get("exclusiveMinimum") is True else above
    below = high if schema.get("exclusiveMaximum") is True else below
    out = _beyond(value, low, high)
    out = out or (above is not None and value <= above) or (below is not None and value >= below)
    if out:
        yield Violation("range", where)


def _matches(pattern: str, value: str) -> bool:
    """Whether the text has the pattern; True for a pattern whose cost is not known."""
    if len(pattern) > LONGEST or not pattern.isascii() or not _SIMPLE.fullmatch(pattern):
        return True
    if len(_REPEATS.findall(pattern)) > MOST_REPEATS[pattern.startswith("^")]:
        return True
    try:
        return re.search(pattern, value) is not None
    except (re.error, OverflowError):
        return True


def _types(schema: Mapping[str, Any]) -> list[str]:
    said = schema.get("type")
    types = said if isinstance(said, list) else [said]
    found = [kind.lower() for kind in types if isinstance(kind, str)]
    known = {*_TYPES, "number", "integer"}
    if not found or len(found) != len(types) or not known.issuperset(found):
        return []
    return [*found, "null"] if schema.get("nullable") is True else found


def _is_of_type(value: Any, kind: str) -> bool:
    if kind in ("number", "integer"):
        if not _is_number(value):
            return False
        return kind == "number" or (math.isfinite(value) and value == int(value))
    return isinstance(value, _TYPES[kind])


def _nullable(value: Any, schema: Mapping[str, Any]) -> bool:
    return value is None and schema.get("nullable") is True


def _among(value: Any, allowed: Sequence[Any]) -> bool:
    return any(_equal(value, one) for one in allowed)


def _equal(one: Any, other: Any) -> bool:
    """JSON's equality: 1 is 1.0 and is not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return type(one) is type(other) and _spelled(one) == _spelled(other)
    return bool(one == other)


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _beyond(value: float, low: Any, high: Any) -> bool:
    return (_is_number(low) and value < low) or (_is_number(high) and value > high)


def _number(schema: Mapping[str, Any], key: str) -> float | None:
    found = schema.get(key)
    return found if _is_number(found) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _get(schema: Mapping[str, Any], name: str) -> Any:
    if name in schema:
        return schema[name]
    return next((schema[key] for key in _NAMES.get(name, ()) if key in schema), None)


def _list(schema: Mapping[str, Any], name: str) -> list[Any]:
    found = _get(schema, name)
    return found if isinstance(found, list) else []


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """The part of the schema that a local reference names; None for any other reference."""
    if not reference.startswith("#"):
        return None
    at: Any = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list):
            at = at[int(key)] if key.isascii() and key.isdigit() and int(key) < len(at) else None
        elif isinstance(at, Mapping):
            at = _get(at, key)
        else:
            return None
    return at
