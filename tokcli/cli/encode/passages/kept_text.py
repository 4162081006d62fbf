"""`encode -n --as-text`: the text of at most N tokens at one end of each input, or of each record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.whole_texts import left_by_template
from tokcli.cli.encode.write_ids import TRUNCATED
from tokcli.cli.inputs import records
from tokcli.cli.json_stream import line, text_member
from tokcli.cli.record import SEPARATOR, Record, has_pair
from tokcli.engine.chunking.cutter import PassageCutter, locate, located_parts
from tokcli.engine.chunking.window import Located
from tokcli.engine.stream.utf8 import work_of
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.stream.utf8 import StreamPart


def write_ends(request: EncodeRequest, output: streams.Output) -> bool:
    """Write the beginning of each input or record, or with --keep last its end; return whether any was cut."""
    asked, was_cut = request.options, False
    size = left_by_template(request, asked.limit or 0)
    for source in request.texts:
        if asked.records is None:
            was_cut |= write_end(request, source, output, b"", size)
            continue
        for batch in records.read_batches(source, asked.records, asked.field, asked.errors, takes_words=False):
            output.answer(batch.objects)
            for record in batch.records():
                refuse_pair(record, "--as-text")
                was_cut |= write_end(request, record, output, SEPARATOR[asked.records], size)
            batch.finish(output)
    return was_cut


def write_end(
    request: EncodeRequest, source: streams.Input | Record, output: streams.Output, separator: bytes, size: int
) -> bool:
    """Write the text of at most `size` tokens at one end of an input or record; return whether more was left out."""
    asked = request.options
    cutter = PassageCutter(request.encoding.tokenizer, size, options=request.read_options)
    with streams.naming(source.shown):
        parts = located(request, source)
        kept = cutter.last(parts) if asked.keep == "last" else cutter.first(parts)
    if asked.as_json or asked.records == "jsonl":
        output.write(line(text_member(kept.data) | ({} if kept.is_last else TRUNCATED)))
    else:
        output.write(kept.data + separator)
    return not kept.is_last


def located(request: EncodeRequest, source: streams.Input | Record) -> Iterator[Located]:
    """Return the parts of an input with their tokens, which --jobs threads compute unless only the first are wanted."""
    tokenizer = request.encoding.tokenizer

    def work(item: tuple[StreamPart, int]) -> Located:
        return locate(tokenizer, *item)

    parts = located_parts(tokenizer, request.watched(source.blocks()), request.read_options)
    if not isinstance(source, streams.Input) or (request.options.keep == "first" and request.options.limit is not None):
        return map(work, parts)
    return request.shared(work, parts, lambda item: work_of(item[0]))


def refuse_pair(record: Record, what: str) -> None:
    """Raise InputError for a record that is a pair of texts."""
    if has_pair(record):
        raise InputError(f"a pair of texts ('text_pair') has no {what}", "Leave out one of them.", where=record.shown)
