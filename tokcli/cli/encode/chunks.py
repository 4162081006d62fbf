"""`encode --chunk`: texts in passages of at most N tokens; and `-n --as-text`: the text at one end of the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.write_ids import TRUNCATED
from tokcli.cli.inputs import records
from tokcli.cli.json_stream import dump, line, text_member
from tokcli.cli.record import SEPARATOR, Record
from tokcli.engine.chunking.chunks import check_sizes
from tokcli.engine.chunking.cutter import Located, Passage, PassageCutter, locate, located_parts
from tokcli.engine.stream.ids import format_ids
from tokcli.engine.stream.utf8 import work_of
from tokcli.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from tokcli.engine.stream.utf8 import AnyChunk


def write(request: EncodeRequest) -> None:
    """Write the chunks of the inputs, or the text that -n keeps of them."""
    asked = request.options
    if asked.chunk is None and asked.limit is None:
        raise InputError("--as-text needs -n or --chunk", "Say how many tokens of the text to keep.")
    if asked.chunk is not None:
        check_sizes(asked.chunk, asked.overlap)
        if asked.as_text and not asked.as_json and asked.records not in ("nul", "jsonl"):
            raise InputError("--as-text of chunks that may have newlines", "Add --records nul or --records jsonl.")
    request.show_reading()
    with request.open_output("text", "bytes_hex", "truncated") as output:
        if asked.chunk is not None:
            for source in request.texts:
                write_chunks(request, source, output, asked.chunk)
        elif write_ends(request, output) and asked.fail_if_truncated:
            output.flush()
            raise CheckFailed(f"there are more tokens than -n {asked.limit}")
        output.flush()


def located(request: EncodeRequest, source: streams.Input | Record) -> Iterator[Located]:
    """Return the parts of an input with their tokens, which --jobs threads compute unless only the first are wanted."""
    tokenizer = request.encoding.tokenizer

    def work(item: tuple[AnyChunk, int]) -> Located:
        return locate(tokenizer, *item)

    parts = located_parts(tokenizer, source.blocks(), request.read_options)
    if not isinstance(source, streams.Input) or (request.options.keep == "first" and request.options.limit is not None):
        return map(work, parts)
    return request.shared(work, parts, lambda item: work_of(item[0]))


# --- chunks ----------------------------------------------------------------------------------------------------------


def write_chunks(request: EncodeRequest, source: streams.Input, output: streams.Output, size: int) -> None:
    """Write the chunks of an input: lines of ids, texts, or JSON objects."""
    asked = request.options
    cutter = PassageCutter(
        request.encoding.tokenizer, size,
        overlap=asked.overlap, boundary=asked.boundary, options=request.read_options,
    )  # fmt: skip
    is_json = asked.as_json or asked.records == "jsonl"
    is_alone = isinstance(request.texts, list) and len(request.texts) == 1
    path = b"" if is_alone else f'"path": {dump(source.name)}, '.encode()
    before, between, after = (b"[", b", ", b"]") if asked.form == "json" else (b"", b" ", b"")
    after += SEPARATOR[asked.records or "lines"]
    with streams.naming(source.shown):
        for index, passage in enumerate(cutter.passages(located(request, source))):
            if is_json:
                output.write(json_of(passage, index, path))
            elif asked.as_text:
                output.write(passage.data)
                output.write(after)
            else:
                output.write(b"".join([before, format_ids(passage.ids, between), after]))


def json_of(passage: Passage, index: int, path: bytes) -> bytes:
    """Return a chunk as a line of JSON; `path` is the member that names the input, empty if there is only one."""
    text = dump(text_member(passage.data))[1:-1].encode()
    ids = format_ids(passage.ids, b", ")
    sizes = b'"count": %d, "start": %d, "end": %d' % (len(passage.ids), passage.start, passage.end)
    return b'{%b"index": %d, %b, "ids": [%b], %b}\n' % (path, index, text, bytes(ids), sizes)


# --- the text that -n keeps ------------------------------------------------------------------------------------------


def write_ends(request: EncodeRequest, output: streams.Output) -> bool:
    """Write the beginning of each input or record, or with --keep last its end; return whether any was cut."""
    asked, was_cut = request.options, False
    for source in request.texts:
        if asked.records is None:
            was_cut |= write_end(request, source, output, b"")
            continue
        for batch in records.read_batches(source, asked.records, asked.field, asked.errors):
            output.answer(batch.objects)
            for record in batch.records():
                was_cut |= write_end(request, record, output, SEPARATOR[asked.records])
            batch.finish(output)
    return was_cut


def write_end(request: EncodeRequest, source: streams.Input | Record, output: streams.Output, separator: bytes) -> bool:
    """Write the text of at most -n tokens at one end of an input or record; return whether more text was left out."""
    asked = request.options
    cutter = PassageCutter(request.encoding.tokenizer, asked.limit or 0, options=request.read_options)
    with streams.naming(source.shown):
        parts = located(request, source)
        kept = cutter.last(parts) if asked.keep == "last" else cutter.first(parts)
    if asked.as_json or asked.records == "jsonl":
        output.write(line(text_member(kept.data) | ({} if kept.is_last else TRUNCATED)))
    else:
        output.write(kept.data + separator)
    return not kept.is_last
