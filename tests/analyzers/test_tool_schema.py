"""Arguments against schemas, with a library of the field as the judge."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from ctxdiff_analyzers.tool_schema import Violation, violation
from hypothesis import given
from hypothesis import strategies as st

ORDER = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d+$"},
        "pieces": {"type": "integer", "minimum": 1, "maximum": 99},
        "grade": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "note": {"type": ["string", "null"], "maxLength": 5},
        "to": {"$ref": "#/$defs/place"},
        "when": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "required": ["sku"],
    "additionalProperties": False,
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        }
    },
}


@pytest.mark.parametrize(
    ("more", "rule", "where"),
    [
        ({"sku": 7}, "type", ("sku",)),
        ({"sku": "abc"}, "pattern", ("sku",)),
        ({"pieces": "3"}, "type", ("pieces",)),
        ({"pieces": 2.5}, "type", ("pieces",)),
        ({"pieces": True}, "type", ("pieces",)),
        ({"pieces": 0}, "range", ("pieces",)),
        ({"grade": "c"}, "enum", ("grade",)),
        ({"tags": "x"}, "type", ("tags",)),
        ({"tags": ["x", 1]}, "type", ("tags", 1)),
        ({"tags": ["x"] * 3}, "length", ("tags",)),
        ({"note": "too long"}, "length", ("note",)),
        ({"to": {}}, "required", ("to", "city")),
        ({"when": []}, "anyOf", ("when",)),
        ({"speed": 1}, "additionalProperties", ("speed",)),
    ],
)
def test_what_fails_is_told_with_its_place(more: Any, rule: Any, where: Any) -> None:
    assert violation({"sku": "ABC-1", **more}, ORDER) == Violation(rule, where)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"pieces": 3.0},
        {"note": None},
        {"tags": None, "to": None},  # left out, as models spell it
        {"tags": [], "when": 4, "grade": "a", "to": {"city": "x", "zip": 1}},
    ],
)
def test_what_satisfies_its_schema_is_nothing_to_tell(more: Any) -> None:
    assert violation({"sku": "ABC-1", **more}, ORDER) is None


def test_a_missing_required_property_is_told() -> None:
    assert violation({}, ORDER) == Violation("required", ("sku",))
    assert violation({"sku": None}, ORDER) == Violation("type", ("sku",))


def test_extra_properties_are_allowed_by_default() -> None:
    assert violation({"b": 1}, {"type": "object", "properties": {"a": {}}}) is None


@pytest.mark.parametrize(
    ("value", "fails"), [({"n": 1}, False), ({"n": None}, False), ({"n": "x"}, True), ({}, False)]
)
def test_geminis_dialect_is_understood(value: Any, fails: bool) -> None:
    schema = {
        "type": "OBJECT",
        "properties": {"n": {"any_of": [{"type": "INTEGER"}], "nullable": True}},
    }
    assert (violation(value, schema) is not None) == fails


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {},
        [],
        {"type": "strnig"},
        {"type": 7, "required": "sku", "properties": [], "items": 3},
        {"$ref": "https://example.com/schema"},
        {"$ref": "#/nowhere"},
        {"pattern": "("},
    ],
)
def test_a_schema_that_is_none_forbids_nothing(schema: Any) -> None:
    assert violation({"a": [1, {"b": "c"}]}, schema) is None


def doubled(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"anyOf": [schema, schema], "allOf": [schema, schema]}
    return schema


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (deep(900), {"$ref": "#"}),
        (deep(900), {"type": "object", "properties": {"a": {"$ref": "#"}}}),
        ({"a": 1}, doubled(60)),
        (1, {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}),
        (1, {"anyOf": [{"$ref": "#/anyOf/1"}, {"$ref": "#/anyOf/0"}]}),
        ("a" * 256 + "!", {"pattern": "^(a+)+$"}),
        ("a" * 256 + "!", {"pattern": "^(a|aa)+$"}),
        ("a" * 256 + "!", {"pattern": "a*a*a*a*a*a*a*b"}),
        ("a" * 256, {"pattern": "(?:a{0,99}){0,99}b"}),
        ("a" * 256, {"pattern": "[" * 250}),
        ("a" * 256, {"pattern": "(" * 128 + ")" * 128}),
        ([0] * 300_000, {"items": {"type": "integer"}}),
    ],
)
def test_a_hostile_schema_costs_little_and_raises_no_alarm(value: Any, schema: Any) -> None:
    # Unbounded work would run into the time limit of the tests.
    assert violation(value, schema) is None


leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "A-1"])
values = st.recursive(
    leaves | st.floats(-2, 2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
kinds = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, min_size=1, max_size=2, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "minimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "pattern": st.sampled_from(["^a", "b$", "^[A-Z]-\\d+$", "^(a|b)$", "a+b*"]),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.just("#/$defs/d"),
        },
    )


schemas = st.recursive(
    st.fixed_dictionaries({}, optional={"type": kinds}), schemas_of, max_leaves=6
)
DEFS = {"$defs": {"d": {"type": "string"}}}


@given(values, schemas)
def test_what_we_call_invalid_a_validator_of_the_field_calls_invalid(
    value: Any, schema: Any
) -> None:
    if violation(value, schema | DEFS) is not None:
        assert not jsonschema.Draft202012Validator(schema | DEFS).is_valid(value)


@given(st.dictionaries(st.sampled_from("abc"), leaves, max_size=3), st.data())
def test_what_a_validator_of_the_field_calls_invalid_in_common_schemas_we_call_invalid(
    value: Any, data: Any
) -> None:
    kind = st.fixed_dictionaries({"type": kinds}, optional={"enum": st.lists(leaves, min_size=1)})
    schema = {
        "type": "object",
        "properties": data.draw(st.dictionaries(st.sampled_from("abc"), kind, max_size=3)),
        "required": data.draw(st.lists(st.sampled_from("abc"), unique=True)),
        "additionalProperties": data.draw(st.booleans()),
    }
    # What is null and not required counts as left out for us, and for the judge is left out.
    said = {k: v for k, v in value.items() if v is not None or k in schema["required"]}
    unknown = {k for k in value if k not in said and k not in schema["properties"]}
    if unknown and not schema["additionalProperties"]:
        return
    ours = violation(value, schema)
    assert (ours is None) == jsonschema.Draft202012Validator(schema).is_valid(said)
