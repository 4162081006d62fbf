"""How many tokens a JSON schema takes among the parameters of a tool: the cookbook's rules, at any depth.

The cookbook counts one level of properties: a name, a type and a description in one line, and the values of `enum`.
Objects in objects, items of arrays, alternatives and definitions are counted here in the same way; any other string
in a schema is counted as the text that it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tokcli.cli.chat.left_out import has_text, strings_in

Count = Callable[[str], int]

PROPERTIES, PROPERTY, ENUM, ENUM_ITEM = 3, 3, -3, 3  # tokens beside the texts

BY_NAME = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}  # schemas by name
SCHEMAS = {
    "anyOf",
    "oneOf",
    "allOf",
    "prefixItems",
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "any_of",
    "prefix_items",
}  # fmt: skip - one schema, or a list of them; Gemini has snake case, too
IN_LINE = {"type", "description"}
# Lists of names that are properties, too: what is made of a schema marks the properties instead.
REPEATED = {"required", "propertyOrdering", "property_ordering", "dependentRequired"}


def count_schema(schema: Any, count: Count) -> int:
    """Return the number of tokens in a schema, but for its own type and description.

    >>> count_schema({"properties": {"a": {"type": "string", "enum": ["b", "c d"]}}}, lambda text: len(text.split()))
    13
    """
    tokens = 0
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword in BY_NAME and isinstance(value, dict):
            tokens += PROPERTIES if value else 0
            tokens += sum(count_property(name, one, count) for name, one in value.items())
        elif keyword in SCHEMAS and isinstance(value, (dict, list)):
            tokens += sum(_count_nameless(one, count) for one in (value if isinstance(value, list) else [value]))
        elif keyword == "enum" and isinstance(value, list):
            tokens += ENUM + sum(ENUM_ITEM + count(_text_of(one)) for one in value)
        elif keyword in IN_LINE and isinstance(value, str):
            continue
        elif keyword not in REPEATED and has_text(value):
            tokens += count(_text_of(value))
    return tokens


def count_property(name: str, found: object, count: Count) -> int:
    """Return the number of tokens of a property: its name, type and description, and what else its schema has."""
    return PROPERTY + count(f"{name}:{_line(found)}") + count_schema(found, count)


def _count_nameless(schema: object, count: Count) -> int:
    """Return the number of tokens of a schema that has no name, such as that of the items of an array."""
    line = _line(schema)
    return (count(line) if line != ":" else 0) + count_schema(schema, count)


def _line(schema: object) -> str:
    """Return the type and the description of a property as the cookbook joins them."""
    members: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    kind, text = (value if isinstance(value := members.get(one), str) else "" for one in ("type", "description"))
    return f"{kind}:{without_stop(text)}"


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) else json.dumps(value, ensure_ascii=False)


def without_stop(description: str) -> str:
    """Return the description of a function or parameter without the full stop at its end."""
    return description.removesuffix(".")


def texts_in_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield each text in a schema: the names of properties and definitions, and each string, whatever the keyword.

    >>> sorted(texts_in_schema({"type": "object", "properties": {"a": {"enum": ["b"]}}, "default": {"c": "d"}}))
    ['a', 'b', 'c', 'd', 'object']
    """
    for keyword, value in schema.items():
        if keyword in BY_NAME and isinstance(value, dict):
            for name, one in value.items():
                yield name
                yield from texts_in_schema(one) if isinstance(one, dict) else strings_in(one)
        elif keyword in SCHEMAS and isinstance(value, (dict, list)):
            for one in value if isinstance(value, list) else [value]:
                yield from texts_in_schema(one) if isinstance(one, dict) else strings_in(one)
        else:
            yield from strings_in(value)
