"""Native twins of tokenizers: the table of the functions that build them, by the type of the rules.

A family of tokenizers asks here for its twin. The modules of `bindings/`, which know the native code and the families,
register their builders when they are imported, and the readers of file formats import them. Without a builder, or
without the native backend, a tokenizer has no twin and Python does all of its work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tokcli.engine import backend

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_models.text_model import NativeText


class RecordEncoder(Protocol):
    """Encodes many records in one call.

    The records are in one buffer; each ends before one of `ends` (uint64), where its separator ends. Each method raises
    Refused where a record cannot be encoded so.
    """

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all records (uint32), and where those of each begin and the last ones end (uint64)."""

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview:
        """Return the number of ids of each record (uint32)."""


T = TypeVar("T")
_BUILDERS: dict[type, Callable[[Any], NativeText | None]] = {}


def register(kind: type[T], build: Callable[[T], NativeText | None]) -> None:
    """Register the function that builds the twin of a type, if its tables have native forms."""
    _BUILDERS[kind] = build


def twin_of(model: object) -> NativeText | None:
    """Build the twin of a tokenizer or model; return None where there can be none."""
    build = _BUILDERS.get(type(model))
    if build is None or not backend.is_native():
        return None
    try:
        return build(model)
    except (ValueError, OverflowError):  # the native code refuses a table, or a number or text does not fit into one
        return None


class HasTwin:
    """A base of tokenizers and models that may have a twin, which is built on first use."""

    @cached_property
    def native(self) -> NativeText | None:
        """The native twin, if there is one."""
        return twin_of(self)
