"""The part of JSON Schema that the policy's schema uses, checked by hand: what an editor's validator would say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

KNOWN = {
    "$schema", "title", "description", "type", "properties", "additionalProperties", "required", "enum", "const",
    "anyOf", "items", "pattern", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems",
}  # fmt: skip
KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float, Decimal),
    "boolean": (bool,),
    "null": (type(None),),
}


def violations(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where a value breaks the schema. An unknown keyword is a mistake of the schema itself."""
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    if "anyOf" in schema and all(list(violations(value, each)) for each in schema["anyOf"]):
        yield path
    kinds = schema.get("type", [])
    if kinds and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield path
        return
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        yield path
    if isinstance(value, dict):
        yield from _mapping(value, schema, path)
    elif isinstance(value, list | tuple):
        yield from (path for _ in range(len(value) < schema.get("minItems", 0)))
        for number, item in enumerate(value):
            yield from violations(item, schema.get("items", {}), f"{path}[{number}]")
    elif isinstance(value, str):
        if not re.search(schema.get("pattern", ""), value) or len(value) < schema.get("minLength", 0):
            yield path
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        low, high, above = (schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum"))
        if (low is not None and value < low) or (high is not None and value > high):
            yield path
        if above is not None and value <= above:
            yield path


def _mapping(value: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    yield from (f"{path}.{name}" for name in schema.get("required", ()) if name not in value)
    for name, item in value.items():
        if name in properties:
            yield from violations(item, properties[name], f"{path}.{name}")
        elif more is False:
            yield f"{path}.{name}"
        elif more is not True:
            yield from violations(item, more, f"{path}.{name}")


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
