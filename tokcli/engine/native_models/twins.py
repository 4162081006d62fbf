"""Native twins of tokenizers: the interface of a twin, and the table of the functions that build them, by type.

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

    from tokcli.engine.stream.utf8 import TextOrUtf8
    from tokcli.engine.tokens import Tokens


class RecordEncoder(Protocol):
    """Encodes many records in one call.

    The records are in one buffer of UTF-8; each ends before one of `ends` (uint64), where its separator ends. Each
    method returns None where records have to be encoded one by one.
    """

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview] | None:
        """Return the ids of all records (uint32), and where those of each begin and the last ones end (uint64)."""

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview | None:
        """Return the number of ids of each record (uint32)."""


class TextTwin(Protocol):
    """A native model that encodes whole texts, exactly as its Python twin does.

    Each method returns None for a text that only Python can encode, and raises ValueError for bytes that are not UTF-8.
    """

    @property
    def counts_blanks(self) -> bool:
        """Whether the tokens that have places also have their `blanks`."""

    def encode(self, text: TextOrUtf8, allowed: frozenset[str]) -> list[int] | None:
        """Return the ids of a text, in which the special tokens in `allowed` become ids."""

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview | None:
        """Return the ids of a text as uint32."""

    def encode_batch(self, texts: list[str], threads: int) -> list[list[int] | None]:
        """Return the ids of each text, in which no special token is looked for; None for a text that is refused."""

    def encode_array_batch(self, texts: list[str], threads: int) -> tuple[memoryview, memoryview] | None:
        """Return the ids of all texts (uint32), and where those of each begin and the last ones end (uint64)."""

    def encode_next(self, text: TextOrUtf8, total: float, *, begins: bool, places: bool) -> tuple[Tokens, float] | None:
        """Return the tokens of a part of a text, with their places in it if asked for, and the sum of scores after it.

        Sums go through the whole text, and `total` is the one before the part. No special token is looked for.
        """

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int | None:
        """Return the number of ids of a text."""

    def encode_spans(
        self, text: TextOrUtf8, allowed: frozenset[str], *, begins: bool = True, ends: bool = True
    ) -> Tokens | None:
        """Return the tokens of a text, or of a part of one, with their places.

        Of a part, as `part_ends` gives them, `begins` and `ends` say whether the whole text begins and ends with it.
        """

    def part_ends(self, text: memoryview, size: int) -> memoryview | None:
        """Return the bytes (uint64) at which parts of a text end whose tokens and places are found one by one.

        Each has `size` bytes or a few more. There are none where the text has to be seen whole, or has added tokens.
        """

    def for_records(self, allowed: frozenset[str], before: bytes = b"") -> RecordEncoder:
        """Return what encodes many records at once; the special tokens in `allowed` become ids.

        `before` (UTF-8) is put before each record that is not empty.
        """

    def image(self) -> bytes:
        """Return the tables in the form that is kept in the cache."""


TwinFor = Callable[[frozenset[str]], TextTwin]
"""Gives the twin for the special tokens that become their ids."""

T = TypeVar("T")
_BUILDERS: dict[type, Callable[[Any], TextTwin | None]] = {}


def register(kind: type[T], build: Callable[[T], TextTwin | None]) -> None:
    """Register the function that builds the twin of a type; it returns None where only Python can do the work."""
    _BUILDERS[kind] = build


def twin_of(model: object) -> TextTwin | None:
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
    def native(self) -> TextTwin | None:
        """The native twin; None where Python does all of the work."""
        return twin_of(self)

    def set_native(self, twin: TextTwin) -> None:
        """Use an existing twin, such as one from the cache, instead of building one."""
        object.__setattr__(self, "native", twin)  # a tokenizer may be a frozen dataclass, and a twin is no field of it
