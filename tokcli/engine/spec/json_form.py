"""Frozen data as JSON, and back: each value is checked by the type of its field.

A named tuple is an object of its fields and its type, another tuple a list, and bytes are hexadecimal. Ints are ids: 32
bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin


def to_json(value: Any) -> Any:
    """Return frozen data as values that json.dumps takes."""
    if isinstance(value, tuple):
        made = list(map(to_json, value))
        fields = getattr(value, "_fields", None)
        return made if fields is None else {"type": type(value).__name__, **dict(zip(fields, made, strict=True))}
    if isinstance(value, Mapping):
        return {str(key): item.hex() for key, item in value.items()}
    return value


def of_json(kind: Any, value: Any) -> Any:
    """Return a value that json.loads gave as data of a type; ValueError where it is none.

    >>> of_json(tuple[int, ...], [1, 2]), of_json(str | None, None)
    ((1, 2), None)
    """
    origin, kinds = get_origin(kind), get_args(kind)
    if NoneType in kinds:
        return None if value is None else of_json(kinds[0], value)
    if origin is tuple:
        return _tuple(kinds, value)
    if origin is UnionType:  # of named tuples
        name = value.get("type") if type(value) is dict else None
        kind = next((each for each in kinds if each.__name__ == name), None)
    if origin is Literal:
        fits = type(value) is str and value in kinds
    elif origin is Mapping or hasattr(kind, "_fields"):
        if type(value) is dict:
            return _bytes_by_id(value) if origin is Mapping else _record(kind, value)
        fits = False
    else:
        fits = type(value) is kind and (kind is not int or 0 <= value < 1 << 32)
    if not fits:
        raise ValueError(f"no {kind}")
    return value


def _record(kind: Any, value: dict[str, Any]) -> Any:
    types = kind.__annotations__
    if value.keys() != {"type", *types} or value["type"] != kind.__name__:
        raise ValueError(f"no {kind}")
    return kind(*(of_json(each, value[name]) for name, each in types.items()))


def _tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if type(value) is not list:
        raise ValueError("no list")
    if kinds[-1] is not ...:
        return tuple(of_json(kind, item) for kind, item in zip(kinds, value, strict=True))
    if kinds[0] not in (int, str):
        return tuple(of_json(kinds[0], item) for item in value)
    is_of_kind = not set(map(type, value)) - {kinds[0]}
    if not is_of_kind or (kinds[0] is int and value and not 0 <= min(value) <= max(value) < 1 << 32):
        raise ValueError("a list of other values")
    return tuple(value)


def _bytes_by_id(value: dict[str, Any]) -> dict[int, bytes]:
    listed = [(key, item) for key, item in value.items() if key.isascii() and key.isdigit() and type(item) is str]
    found = {int(key): bytes.fromhex(item) for key, item in listed}
    if len(found) < len(value) or max(found, default=0) >= 1 << 32:
        raise ValueError("no bytes of ids")
    return found
