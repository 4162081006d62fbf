"""Inputs read as records (--records): each line, NUL-ended string or JSON object by itself, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tokcli.cli import messages
from tokcli.cli.inputs.columns import file_of_columns, has_words_or_pairs, objects_of_rows, texts_of_column
from tokcli.cli.inputs.left_of import NOT_LINES, Left, refuse_columns
from tokcli.cli.inputs.whole_input import MARK
from tokcli.cli.json_stream import parse, parse_objects
from tokcli.cli.record import PAIR, SEPARATOR, Record, RecordOfWords, check_pair, json_name, pair_of, text_or_words
from tokcli.cli.streams import Input, Output
from tokcli.engine import backend
from tokcli.engine.roles.record_runs import Records
from tokcli.engine.stream.chunks import BLOCK_BYTES, MAX_PIECE_BYTES
from tokcli.engine.stream.utf8 import valid_utf8
from tokcli.errors import InputError, TokcliError

if TYPE_CHECKING:
    from tokcli.cli.inputs.left_of import RecordSource
    from tokcli.cli.options import RecordKind, TextOptions
    from tokcli.engine.stream.chunks import Utf8Errors


Text: TypeAlias = "bytes | list[bytes]"  # a text, or a list of words
NO_WORDS: Mapping[int, list[bytes]] = {}
MAX_RECORD_BYTES = MAX_PIECE_BYTES  # a record is held in memory, as a piece is
ROWS_AS_OBJECTS = 256  # read together, where a row is read with all its columns
MAX_BLOCK_BYTES = 1 << 20  # of records that are encoded together: with 256 KiB, handing them over takes a tenth longer


class TextsOfRecords(NamedTuple):
    """The texts of all records in a row, and how many of them each record has: one or two."""

    texts: Records
    counts: list[int]


class Batch:
    """Records that were read together: their numbers in the source, and their `texts`.

    `objects` are the JSON objects that the texts come from, unparsed. `error` is that of the record after these.
    `offset` is the byte of the source at which the records begin; of a Parquet or Arrow file, the row. `words` has the
    lists of words that take the place of a text, by their place in the batch; among the texts, these are empty.
    """

    def __init__(
        self,
        source: RecordSource,
        numbers: Sequence[int],
        texts: Records,
        objects: Iterable[bytes] = (),
        members: list[dict[str, Any]] | None = None,
        error: TokcliError | None = None,
        offset: int = 0,
        words: Mapping[int, list[bytes]] = NO_WORDS,
    ) -> None:
        self.source, self.numbers, self.texts = source, numbers, texts
        self.objects, self.members = objects, members
        self.error, self.offset, self.words = error, offset, words

    def records(self) -> Iterator[Record]:
        """Yield the records one by one."""
        for i, (number, text) in enumerate(zip(self.numbers, self.texts, strict=True)):
            members = None if self.members is None else self.members[i]
            shown = f"{self.source.shown}: record {number}"
            if i in self.words:
                yield RecordOfWords(self.words[i], shown, members)
            else:
                yield Record(text, shown, members)

    def has_pairs(self) -> bool:
        """Return whether a record has a second text."""
        return any(members.get(PAIR) is not None for members in self.members or ())

    def with_pairs(self, errors: Utf8Errors) -> TextsOfRecords:
        """Return the text of each record and, of those that have one, the second text; InputError as `pair_of` does."""
        texts: list[bytes] = []
        counts = []
        for record in self.records():
            pair = pair_of(record, errors)
            found = [record.data] if pair is None else [record.data, pair.data]
            texts += found
            counts.append(len(found))
        return TextsOfRecords(Records.of(texts), counts)

    def replace_invalid(self, errors: Utf8Errors) -> None:
        """Put U+FFFD in place of what is not UTF-8, where `errors` is "replace"."""
        data = self.texts.data
        if errors == "replace" and not self.texts.is_utf8 and valid_utf8(data) < len(data):
            replaced: bytes = backend.code().replace_invalid(data)[0]
            self.texts = Records(replaced, _ends_in(replaced, data[-1:]), self.texts.separator_size)

    def raise_error(self) -> None:
        """Raise the error of the next record, if there is one."""
        if self.error is not None:
            raise self.error

    def finish(self, output: Output) -> None:
        """Raise the error of the next record, if there is one; else flush the answers, which their reader may await."""
        self.raise_error()
        output.flush()


class _Last(Batch):
    """The end of an input, without records; its error is that of an input of which no record was JSON."""

    def __init__(self, source: RecordSource, left: Left) -> None:
        super().__init__(source, (), Records.of([]))
        self._left = left

    def raise_error(self) -> None:
        self.error = self._left.error()  # known only here: threads may have made this batch before others were parsed
        super().raise_error()


class Unparsed:
    """Records that were read together, of `size` bytes; any thread may `parse` them while others are read."""

    __slots__ = ("parse", "size")

    def __init__(self, size: int, parse: Callable[[], Batch]) -> None:
        self.size, self.parse = size, parse


def read_batches(
    source: RecordSource,
    kind: RecordKind,
    field: str | None = None,
    errors: Utf8Errors = "strict",
    *,
    as_text: bool = True,
    takes_words: bool = True,
) -> Iterator[Batch]:
    """Yield the records of an input in batches, each of as many as were read together; InputError for one too long.

    The text of a JSON object is its member `field` (see `text_of`), or without `as_text` the whole object. A row of a
    Parquet or Arrow file is such an object, too. A batch ends before a line without a text, and has its error. Without
    `takes_words`, a list of words is no text.
    """
    text_in = partial(text_or_words, field=field or "text", errors=errors, takes_words=takes_words)
    return (unparsed.parse() for unparsed in _unparsed(source, kind, field or "text", text_in, as_text=as_text))


def _unparsed(
    source: RecordSource, kind: RecordKind, field: str, text_in: Callable[..., Text], *, as_text: bool = True
) -> Iterator[Unparsed]:
    """Yield the records of an input as `read_batches` does, before JSON is parsed; `text_in` reads member `field`."""
    if kind == "jsonl" and as_text and (path := file_of_columns(source)) is not None:
        if has_words_or_pairs(path, field, PAIR):
            yield from _rows_as_objects(source, path, text_in)
        else:
            yield from _rows(source, path, field)
        return
    number = 1  # of the next record
    offset = 0
    left = Left(source)

    def next_number() -> int:
        return number

    for raw in _whole_records(source, kind, next_number, as_text=as_text):
        size = len(raw)
        if kind == "jsonl" and offset == 0:
            raw = raw.removeprefix(MARK)
        elif (
            kind == "lines" and b"\r" in raw and b"\r\n" in raw and source.notes
        ):  # one byte is found ten times as fast
            messages.print_note_once("lines end in CR (Windows' line ends): the CR is part of each record.")
        ends = _ends_in(raw, SEPARATOR[kind])
        if kind == "jsonl" and as_text:
            yield Unparsed(size, partial(_texts_in, left, source, number, raw, field, text_in, offset))
        else:
            batch = Batch(source, range(number, number + len(ends)), Records(raw, ends, 1), offset=offset)
            yield Unparsed(size, partial(_itself, batch))
        number += len(ends)  # also blank lines
        offset += size
    if kind == "jsonl" and as_text and source.skips_invalid and getattr(source, "is_whole", True):
        yield Unparsed(0, partial(_Last, source, left))


def _itself(batch: Batch) -> Batch:
    return batch


def _rows(source: RecordSource, path: str, field: str) -> Iterator[Unparsed]:
    """Yield the rows of a Parquet or Arrow file in batches, whose `offset` counts rows."""
    first: int = getattr(source, "start", 0)
    at, objects = first, objects_of_rows(path, first)
    for rows in texts_of_column(path, field, first, skips_null=source.skips_invalid):
        kept = range(rows.rows) if rows.kept is None else rows.kept
        messages.leave_out(rows.rows - len(kept), f"{source.shown}: a row without member {field!r}")
        numbers = range(at + 1, at + rows.rows + 1) if rows.kept is None else [at + row + 1 for row in kept]
        texts = Records(rows.data, rows.ends, 0)
        batch = Batch(source, numbers, texts, _NextRows(objects, rows.rows, kept), offset=at - first)
        yield Unparsed(len(rows.data), partial(_itself, batch))
        at += rows.rows


def _rows_as_objects(source: RecordSource, path: str, text_in: Callable[..., Text]) -> Iterator[Unparsed]:
    """Yield the rows of a Parquet or Arrow file as `_rows` does, but read as lines of JSON are, with all columns."""
    first: int = getattr(source, "start", 0)
    at, objects = first, objects_of_rows(path, first)
    while rows := list(islice(objects, ROWS_AS_OBJECTS)):
        raw = b"\n".join([*rows, b""])
        yield Unparsed(len(raw), partial(_texts, Left(source), source, at + 1, raw, text_in, at - first))
        at += len(rows)


class _NextRows:
    """The next rows of a file as JSON objects: they are read, with all their columns, where they are asked for.

    `kept` are those of the rows that are records.
    """

    def __init__(self, objects: Iterator[bytes], rows: int, kept: Sequence[int]) -> None:
        self._objects, self._rows, self._kept = objects, rows, kept

    def __iter__(self) -> Iterator[bytes]:
        rows = list(islice(self._objects, self._rows))
        return (rows[row] for row in self._kept)


class _Lines:
    """The JSON objects on lines, each of which ends in a newline; they are cut apart only where they are asked for."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._raw[:-1].split(b"\n"))


def batches_of(source: RecordSource, asked: TextOptions, *, takes_words: bool = True) -> Iterator[Unparsed]:
    """Return the records of an input in batches as `read_batches` does: as --records, --field and --errors say."""
    field = asked.field or "text"
    text_in = partial(text_or_words, field=field, errors=asked.errors, takes_words=takes_words)
    return _unparsed(source, asked.records or "lines", field, text_in)


def batches_of_lines(source: RecordSource) -> Iterator[Unparsed]:
    """Return the lines of an input in batches, as they are: blank lines, too."""
    return _unparsed(source, "jsonl", "text", text_or_words, as_text=False)


def _whole_records(
    source: RecordSource, kind: RecordKind, number: Callable[[], int], *, as_text: bool
) -> Iterator[bytes]:
    """Yield whole records with their separators, of a block or more at a time.

    `number()` is that of the record after those that were yielded, for errors.
    """
    separator = SEPARATOR[kind]
    parts: list[bytes] = []  # of a record that spans several blocks
    size = 0
    blocks = source.blocks(BLOCK_BYTES, MAX_BLOCK_BYTES)
    for block in refuse_columns(source, blocks, as_text=as_text) if kind == "jsonl" else blocks:
        end = block.rfind(separator) + 1
        if end:
            yield b"".join([*parts, memoryview(block)[:end]])
            parts, size = [], 0
        parts.append(block[end:])
        size += len(parts[-1])
        if size > MAX_RECORD_BYTES:
            raise InputError(f"record {number()} is above {MAX_RECORD_BYTES >> 20} MiB", where=source.shown)
    if size:
        yield b"".join([*parts, separator])


def _ends_in(data: bytes, separator: bytes) -> memoryview:
    return memoryview(backend.code().record_ends(data, separator[0])).cast("Q")


def _texts_in(
    left: Left, source: RecordSource, first: int, raw: bytes, field: str, text_in: Callable[..., Text], offset: int
) -> Batch:
    """Return the texts of JSON Lines as a batch; it ends before the first line without a text, whose error it has."""
    found = _plain_texts(raw, field)
    if found is None:
        return _texts(left, source, first, raw, text_in, offset)
    left.add(len(found[1]), [])
    texts = Records(*found, 0, is_utf8=True)
    return Batch(source, range(first, first + len(texts.ends)), texts, _Lines(raw), offset=offset)


def _plain_texts(raw: bytes, field: str) -> tuple[bytes, bytes] | None:
    """Return the texts of JSON Lines, and where each ends (uint64); None unless every line is a plain object."""
    found: tuple[bytes, bytes] | None
    found = backend.code().json_texts(raw, field.encode(errors="surrogatepass"), PAIR.encode())
    return found


def _texts(
    left: Left, source: RecordSource, first: int, raw: bytes, text_in: Callable[..., Text], offset: int
) -> Batch:
    """Return the texts of JSON Lines, as `_texts_in` does, each line by itself; invalid lines may be left out."""
    lines = [(number, line) for number, line in enumerate(raw[:-1].split(b"\n"), first) if line.strip()]
    parsed = parse_objects([line for _, line in lines])
    kept: list[tuple[int, bytes, dict[str, Any], Text]] = []
    error, left_out, has_objects = None, list[TokcliError](), False
    for place, (number, line) in enumerate(lines):
        try:
            members = read_object(line, None) if parsed is None else parsed[place]
            has_objects = True
            text = text_in(members, where=None)
            if source.skips_invalid and members.get(PAIR) is not None:
                check_pair(text_in(members, field=PAIR, where=None), None, has_words=isinstance(text, list))
            kept.append((number, line, members, text))
        except TokcliError as wrong:
            wrong.where = f"{source.shown}: record {number}"
            if source.skips_invalid:
                left_out.append(wrong)
                continue
            wrong.hint = with_way_out(NOT_LINES if line.lstrip()[:1] == b"[" or line.strip() == b"{" else wrong.hint)
            error = wrong
            break
    left.add(len(kept), left_out, has_objects=has_objects)
    numbers, objects, all_members, texts = (
        (list(column) for column in zip(*kept, strict=True)) if kept else ([], [], [], [])
    )
    words = {place: text for place, text in enumerate(texts) if isinstance(text, list)}
    whole = [b"" if isinstance(text, list) else text for text in texts]
    return Batch(source, numbers, Records.of(whole), objects, all_members, error, offset, words)


def with_way_out(hint: str) -> str:
    """Return the hint of an error in a record, with the option that leaves such records out."""
    return f"{hint} --skip-invalid leaves such records out.".strip()


def read_records(source: Input, kind: RecordKind, field: str | None, errors: Utf8Errors) -> Iterator[Record]:
    """Yield the records of an input, of a list each word; InputError names the first that is wrong."""
    for batch in read_batches(source, kind, field, errors):
        for record in batch.records():
            yield from record.texts()
        batch.raise_error()


def read_object(raw: bytes, where: str | None) -> dict[str, Any]:
    """Return the members of a JSON object, parsed strictly; InputError for anything else."""
    members = read_json(raw, where)
    if not isinstance(members, dict):
        raise InputError(
            f"not a JSON object but {json_name(members)}", 'An object is written {"member": value}.', where=where
        )
    return members


def read_document(data: bytes, where: str | None) -> Any:
    """Return the value of a JSON document as `read_json` does; a mark of UTF-8 at its beginning is skipped."""
    text = data.removeprefix(MARK)
    try:
        return read_json(text, where)
    except InputError as error:
        if error.offset is not None:
            error.offset += len(data) - len(text)
        raise


def read_json(raw: bytes, where: str | None) -> Any:
    """Return the value of JSON, parsed strictly; InputError names the byte at which it is wrong."""
    try:
        return parse(raw.decode())
    except RecursionError:
        raise InputError("nested too deep", where=where) from None
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", where=where, offset=error.start, unit="byte") from None
    except ValueError as error:
        found: Any = error
        if "int_max_str_digits" in str(error):
            raise InputError("a number with too many digits", "Write it as a string.", where=where) from None
        if not hasattr(error, "pos"):  # none such as NaN
            raise InputError(f"not JSON: {error}", where=where) from None
        at, reason = len(found.doc[: found.pos].encode()), found.msg[:1].lower() + found.msg[1:]
        raise InputError("not JSON", where=where, offset=at, unit="byte", detail=reason) from None
