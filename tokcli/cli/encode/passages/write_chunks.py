"""`encode --chunk`: inputs, or each of their records, in passages of at most N tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeAlias

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.passages.kept_text import located, refuse_pair, write_ends
from tokcli.cli.encode.whole_texts import adding, template_size
from tokcli.cli.inputs import records
from tokcli.cli.json_stream import dump, path_members, text_member
from tokcli.cli.record import SEPARATOR, Record
from tokcli.engine.chunking.cutter import Passage, PassageCutter
from tokcli.engine.stream.ids import format_ids
from tokcli.engine.tokens import Tokens
from tokcli.errors import CheckFailed, InputError, TokcliError
from tokcli.render.numbers import counted

# The chunks of a record as they are written, and the error that follows them.
MadeChunks: TypeAlias = "tuple[Iterable[bytes], TokcliError | None]"
LARGE_BYTES = 1 << 22  # of records read together: the chunks of more than these are written one by one


def write(request: EncodeRequest) -> None:
    """Write the chunks of the inputs, or the text that -n keeps of them."""
    asked = request.options
    if asked.chunk is None and asked.limit is None:
        raise InputError("--as-text needs -n or --chunk", "Say how many tokens of the text to keep.")
    if asked.chunk is not None:
        check_overlap(asked.chunk, asked.overlap)
        if asked.as_text and not asked.as_json and asked.records is None:
            raise InputError("--as-text of chunks that may have newlines", "Add --json, or --records nul.")
    request.note_template()
    request.show_reading()
    own = "record", "index", "text", "bytes_hex", "ids", "count", "start", "end"
    chunk_members = (*own, asked.field or "text", *(() if is_alone(request) else ("path",)))
    with request.open_output(*(chunk_members if asked.chunk else ("text", "bytes_hex", "truncated"))) as output:
        if asked.chunk is not None:
            ChunkWriter(request, output, asked.chunk).write()
        elif write_ends(request, output) and asked.fail_if_truncated:
            output.flush()
            raise CheckFailed(f"there are more tokens than -n {asked.limit}")
        output.flush()


def check_overlap(size: int, overlap: int, added: int = 0) -> None:
    """Raise InputError for an overlap that fills chunks of `size` tokens, of which a template takes `added`."""
    most = size - added - 1
    if overlap <= most:
        return
    beside = f" beside the {counted(added, 'token')} that are added" if added else ""
    raise InputError(
        f"--overlap {overlap} leaves no room for more text in --chunk {size}{beside}",
        f"Use --overlap {most} or less, or larger chunks." if most else "Use larger chunks.",
    )


def is_alone(request: EncodeRequest) -> bool:
    """Return whether the request has a single input, which answers need not name."""
    return not request.options.recursive and len(request.inputs) == 1


class ChunkWriter:
    """Writes the chunks of inputs, or of each of their records: lines of ids, texts, or JSON objects."""

    def __init__(self, request: EncodeRequest, output: streams.Output, size: int) -> None:
        asked = request.options
        self._request, self._output, self._size = request, output, size
        self._is_json = asked.as_json or (asked.as_text and asked.records == "jsonl")
        self._added = template_size(request)
        if size <= self._added:
            tokens = counted(self._added, "token")
            raise InputError(
                f"--chunk {size} has no room for text beside the {tokens} that {adding(request)}",
                f"Use --chunk {self._added + 1} or more.",
            )
        check_overlap(size, asked.overlap, self._added)
        is_list = asked.form == "json"
        self._before, self._between, self._after = (b"[", b", ", b"]") if is_list else (b"", b" ", b"")
        self._end = SEPARATOR[asked.records or "lines"]
        self._empty = 0  # records without a text

    def write(self) -> None:
        """Write the chunks of all inputs; a note says how many records have no text, and so no chunk."""
        for source in self._request.texts:
            path = b"" if is_alone(self._request) else f"{dump(path_members(source.name))[1:-1]}, ".encode()
            if self._request.options.records is None:
                with streams.naming(source.shown):
                    for rendered in self._rendered(source, path):
                        self._output.write(rendered)
            else:
                self._write_records(source, path)
        if self._empty:
            have = "has" if self._empty == 1 else "have"
            self._request.note(f"{counted(self._empty, 'record')} {have} no text, and so no chunk.")

    def _write_records(self, source: streams.Input, path: bytes) -> None:
        """Write the chunks of each record of an input, which --jobs threads cut."""
        asked, output = self._request.options, self._output
        batches = records.batches_of(source, asked, takes_words=False)
        for batch, made in self._request.shared_batches(batches, partial(self._chunks_of_records, path)):
            objects = iter(batch.objects) if asked.all_fields else None
            for chunks, error in made:
                answered = [] if objects is None else [next(objects)]
                is_empty = True
                for rendered in chunks:
                    output.answer(answered)
                    output.write(rendered)
                    is_empty = False
                if error is not None:
                    raise error
                self._empty += is_empty
            batch.finish(output)

    def _chunks_of_records(self, path: bytes, batch: records.Batch) -> Iterable[MadeChunks]:
        """Return the chunks of each record of a batch, up to one with an error."""
        numbered = zip(batch.numbers, batch.records(), strict=True)
        made = ((self._chunks_of_record(path, number, record), None) for number, record in numbered)
        return made if len(batch.texts.data) > LARGE_BYTES else _kept(made)

    def _chunks_of_record(self, path: bytes, number: int, record: Record) -> Iterator[bytes]:
        with streams.naming(record.shown):
            refuse_pair(record, "chunks")
            yield from self._rendered(record, b'%b"record": %d, ' % (path, number - 1))

    def _rendered(self, source: streams.Input | Record, members: bytes) -> Iterator[bytes]:
        """Yield the chunks of a text as they are written; JSON objects begin with `members`."""
        request, asked = self._request, self._request.options
        cutter = PassageCutter(
            request.encoding.tokenizer, self._size,
            overlap=asked.overlap, boundary=asked.boundary, options=request.read_options, added=self._added,
        )  # fmt: skip
        for index, passage in enumerate(cutter.passages(located(request, source))):
            if self._is_json:
                yield json_of(passage, self._ids(passage), index, members)
            elif asked.as_text:
                yield passage.data + self._end
            else:
                ids = format_ids(self._ids(passage), self._between)
                yield b"".join([self._before, ids, self._after, self._end])

    def _ids(self, passage: Passage) -> memoryview:
        """Return the ids of a chunk, with those that the template and options add."""
        if not self._added:
            return passage.ids
        tokens, asked = Tokens(passage.ids), self._request.options
        made = self._request.finished([tokens]) if asked.add_special_tokens else self._request.framed(tokens)
        return memoryview(made.ids)


def _kept(made: Iterable[MadeChunks]) -> Iterable[MadeChunks]:
    """Return the chunks of all records up to the first with an error, which comes after its chunks."""
    kept: list[MadeChunks] = []
    for chunks, _ in made:
        done: list[bytes] = []
        kept.append((done, None))
        try:
            for rendered in chunks:
                done.append(rendered)  # noqa: PERF402 - those before an error are kept
        except TokcliError as error:
            kept[-1] = done, error
            break
    return kept


def json_of(passage: Passage, ids: memoryview, index: int, members: bytes) -> bytes:
    """Return a chunk as a line of JSON; `members` are its first: those that name the input and the record."""
    text = dump(text_member(passage.data))[1:-1].encode()
    sizes = b'"count": %d, "start": %d, "end": %d' % (len(ids), passage.start, passage.end)
    return b'{%b"index": %d, %b, "ids": [%b], %b}\n' % (members, index, text, bytes(format_ids(ids, b", ")), sizes)
