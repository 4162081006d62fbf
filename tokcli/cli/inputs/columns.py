"""A column of a Parquet or Arrow file as texts, or its rows as JSON, batch by batch (the extra `parquet`)."""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

from tokcli.cli.inputs.column_files import ARROW, PARQUET, holds_columns
from tokcli.cli.json_stream import dump
from tokcli.cli.streams import STANDARD_INPUT, Input
from tokcli.errors import SHORTAGES, InputError, is_memory_short, not_loaded

if TYPE_CHECKING:
    from typing_extensions import Buffer

# NumPy's OpenBLAS and Arrow's jemalloc start threads, or complain that they cannot, unless these variables are set
WITHOUT_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
LOADING_BYTES = 3 << 27  # of memory that pyarrow and NumPy may take until they have been loaded
ROWS = 4096  # in a batch, at most
BATCH_BYTES = 1 << 20  # of the texts in a batch that has several: some batches wait for each thread


class Texts:
    """The texts of some rows, one after the other, and where each ends (uint64).

    `rows` is the number of rows that were read, and `kept` those of them that have a text; None for all of them.
    """

    def __init__(self, data: bytes, ends: Buffer) -> None:
        self.data, self.ends = data, ends
        self.rows = memoryview(self.ends).nbytes // 8
        self.kept: list[int] | None = None


def file_of_columns(source: object) -> str | None:
    """Return the path of an input (or of a section's input) that is a Parquet or Arrow file; None for any other."""
    source = getattr(source, "source", source)
    if not isinstance(source, Input) or source.data is not None or source.name == STANDARD_INPUT:
        return None
    return source.name if holds_columns(source.name) else None


def has_words_or_pairs(path: str, field: str, pair: str) -> bool:
    """Return whether texts in the column `field` are lists of words, or have second texts in the column `pair`.

    Then rows have to be read as objects. InputError for a column `pair` that holds anything else.
    """
    arrow = import_pyarrow()
    try:
        with arrow.memory_map(path) as file:
            head = file.read(len(ARROW))
            file.seek(0)
            if head.startswith(PARQUET):
                schema = arrow.parquet.read_schema(file)
            else:
                schema = (arrow.ipc.open_file if head == ARROW else arrow.ipc.open_stream)(file).schema
            _, kind = _named_column(arrow, schema, path, field)
            second = schema.field(pair).type if pair in schema.names else None
            if second is not None and not (_is_text_or_words(arrow.types, second) or arrow.types.is_null(second)):
                raise InputError(f"column {pair!r} is not of strings but of {second}", "Rename it.", where=path)
            return second is not None or (_is_text_or_words(arrow.types, kind) and not _is_text(arrow.types, kind))
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise refused_by_pyarrow(error, "cannot be read as columns", path) from None


def texts_of_column(path: str, field: str, first: int, *, skips_null: bool = False) -> Iterator[Texts]:
    """Yield the texts of a column from row `first` on; InputError names what is wrong, such as a row without a text.

    With `skips_null`, rows without a text are left out.
    `field` is the name of the column, or names joined by periods that lead into a column of structs.
    """
    arrow = import_pyarrow()
    at = first
    try:
        for column in chain.from_iterable(map(_parts, _batches(arrow, path, field, first))):
            if column.null_count and skips_null:
                texts = _texts_in(column.drop_null())
                texts.rows = len(column)
                texts.kept = [row for row, is_text in enumerate(column.is_valid().to_pylist()) if is_text]
                yield texts
                at += len(column)
                continue
            if column.null_count:
                null = column.is_null().to_pylist().index(True)
                yield _texts_in(column.slice(0, null))
                raise InputError(
                    f"member {field!r} is not a string but null",
                    "--skip-invalid leaves such records out.",
                    where=f"{path}: record {at + null + 1}",
                )
            yield _texts_in(column)
            at += len(column)
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise refused_by_pyarrow(error, "cannot be read as columns", path) from None


def _batches(arrow: Any, path: str, field: str, first: int) -> Iterator[Any]:
    """Yield a column from row `first` on in batches, as arrays of strings with 64-bit offsets."""
    with arrow.memory_map(path) as file:
        head = file.read(len(ARROW))
        if head.startswith(PARQUET):
            opened = arrow.parquet.ParquetFile(file, pre_buffer=False)  # which would start threads
            column, take = _column(arrow, opened.schema_arrow, path, field)
            for group in range(opened.num_row_groups):
                about = opened.metadata.row_group(group)
                rows = about.num_rows
                if first < rows:
                    most = _rows_at_once(about, column)
                    for batch in opened.iter_batches(most, row_groups=[group], columns=[column], use_threads=False):
                        yield from _rest(take(batch.column(0)), first)
                        first = max(0, first - len(batch))
                else:
                    first -= rows
            return
        file.seek(0)
        is_file = head == ARROW  # which has an index of its batches, while a stream is read from its beginning
        opened = arrow.ipc.open_file(file) if is_file else arrow.ipc.open_stream(file)
        column, take = _column(arrow, opened.schema, path, field)
        for batch in map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened:
            for begin in range(0, len(batch), ROWS):
                part = batch.slice(begin, ROWS)
                yield from _rest(take(part.column(part.schema.get_field_index(column))), first)
                first = max(0, first - len(part))


def _rows_at_once(group: Any, column: str) -> int:
    """Return how many rows of a row group of Parquet to read at once: about BATCH_BYTES of a column."""
    chunks = map(group.column, range(group.num_columns))
    size: int = sum(one.total_uncompressed_size for one in chunks if f"{one.path_in_schema}.".startswith(f"{column}."))
    rows: int = group.num_rows
    return max(1, min(ROWS, BATCH_BYTES * rows // max(1, size)))


def _parts(column: Any) -> Iterator[Any]:
    """Yield a column in parts, each of texts with at most BATCH_BYTES together, or of one text that has more."""
    places, begin = _places(column), 0
    while begin < len(column):
        end = max(begin + 1, bisect_right(places, places[begin] + BATCH_BYTES) - 1)
        yield column.slice(begin, end - begin)
        begin = end


def _places(column: Any) -> memoryview:
    """Return where the texts of a column begin in its buffer, and where the last one ends."""
    return memoryview(column.buffers()[1]).cast("q")[column.offset : column.offset + len(column) + 1]


def _rest(column: Any, first: int) -> Iterator[Any]:
    if first < len(column):
        yield column.slice(first)


def _column(arrow: Any, schema: Any, path: str, field: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the name of the column that holds a field, and a function that takes the field out of the column."""
    (name, *inner), kind = _named_column(arrow, schema, path, field)
    if not _is_text(arrow.types, kind):
        raise InputError(f"column {field!r} is not of strings but of {kind}", where=path)

    def take(column: Any) -> Any:
        for each in inner:
            column = column.flatten()[column.type.get_field_index(each)]
        return column.cast(arrow.large_string())

    return name, take


def _named_column(arrow: Any, schema: Any, path: str, field: str) -> tuple[list[str], Any]:
    """Return the names that lead to a field, and the type of its values; InputError where there is no such column."""
    name, *inner = [field] if field in schema.names else field.split(".")
    kind = schema.field(name).type if name in schema.names else None
    for each in inner:
        kind = _member_type(arrow, kind, each)
    if kind is None:
        known = ", ".join(map(repr, schema.names[:8])) or "none"
        raise InputError(f"no column {field!r} (it has {known})", "Name the column with --field.", where=path)
    return [name, *inner], kind.value_type if arrow.types.is_dictionary(kind) else kind


def _is_text_or_words(types: Any, kind: Any) -> bool:
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_list = types.is_list(kind) or types.is_large_list(kind)
    return _is_text(types, kind.value_type if is_list else kind)


def _is_text(types: Any, kind: Any) -> bool:
    is_view = getattr(types, "is_string_view", types.is_string)  # from pyarrow 16 on
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def _member_type(arrow: Any, kind: Any, name: str) -> Any:
    """Return the type of a member of a struct; None where the type is no struct, or has no such member."""
    is_struct = kind is not None and arrow.types.is_struct(kind) and kind.get_field_index(name) >= 0
    return kind.field(name).type if is_struct else None


def _texts_in(column: Any) -> Texts:
    data, places = column.buffers()[2], _places(column)
    begin, end = places[0], places[-1]
    held = b"" if data is None else bytes(memoryview(data)[begin:end])
    return Texts(held, array("Q", (place - begin for place in places[1:])))


def refused_by_pyarrow(error: Exception, what: str, path: str, hint: str = "") -> Exception:
    """Return the error for a file that pyarrow refuses: a MemoryError or OSError where the file is not to blame."""
    if isinstance(error, MemoryError) or is_memory_short():
        return MemoryError()
    if isinstance(error, OSError) and error.errno in SHORTAGES:
        return OSError(error.errno, os.strerror(error.errno), path)  # pyarrow's own text has two lines
    return InputError(what, hint, where=path, detail=str(error).partition("\n")[0])


def import_pyarrow() -> Any:
    """Return the package pyarrow with its module parquet; InputError names the extra that installs it.

    pyarrow, and NumPy, which it loads, end the process where they lack memory: MemoryError comes before that.
    """
    for name, value in WITHOUT_THREADS.items():
        os.environ.setdefault(name, value)
    if "pyarrow" not in sys.modules and is_memory_short(LOADING_BYTES):
        raise MemoryError
    try:
        import pyarrow.parquet
    except ImportError as error:
        why, hint = not_loaded(error, "pip install 'tokcli[parquet]'")
        raise InputError(f"parquet needs pyarrow, {why}", hint) from None
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    return pyarrow


# --- rows with all their columns -------------------------------------------------------------------------------------


def objects_of_rows(path: str, first: int) -> Iterator[bytes]:
    """Yield the rows of a file, from row `first` on, as JSON objects; InputError for what cannot be written as JSON.

    Bytes are hexadecimal, dates, times and exact decimals are texts, and a number that JSON lacks (NaN) is null.
    """
    arrow = import_pyarrow()
    try:
        for rows in _rows_of(arrow, path):
            kept = rows.slice(min(first, len(rows)))
            first -= len(rows) - len(kept)
            for row in _without_times(arrow, kept).to_pylist():
                yield dump(_plain(row)).encode()
    except (arrow.ArrowException, OSError, ValueError) as error:
        hint = "Leave out --all-fields, or write the columns as texts."
        raise refused_by_pyarrow(error, "a row cannot be written as JSON", path, hint) from None


def _rows_of(arrow: Any, path: str) -> Iterator[Any]:
    """Yield the rows of a file, with all columns, in batches."""
    with arrow.memory_map(path) as file:
        head = file.read(len(ARROW))
        file.seek(0)
        if head.startswith(PARQUET):
            opened = arrow.parquet.ParquetFile(file, pre_buffer=False)
            for group in range(opened.num_row_groups):
                about = opened.metadata.row_group(group)
                most = max(1, min(ROWS, BATCH_BYTES * about.num_rows // max(1, about.total_byte_size)))
                yield from opened.iter_batches(most, row_groups=[group], use_threads=False)
        elif head == ARROW:
            opened = arrow.ipc.open_file(file)
            yield from _small(map(opened.get_batch, range(opened.num_record_batches)))
        else:
            yield from _small(arrow.ipc.open_stream(file))


def _small(batches: Iterable[Any]) -> Iterator[Any]:
    return (batch.slice(begin, ROWS) for batch in batches for begin in range(0, len(batch), ROWS))


def _without_times(arrow: Any, rows: Any) -> Any:
    """Return rows with dates and times as texts: Python's have no nanoseconds."""
    types = arrow.types
    columns = [
        column.cast(arrow.string())
        if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind)
        else column
        for column, kind in zip(rows.columns, rows.schema.types, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(columns, rows.schema.names)


def _plain(value: Any) -> Any:
    """Return a value of a row as JSON has it."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, (str, int)) else str(value)
