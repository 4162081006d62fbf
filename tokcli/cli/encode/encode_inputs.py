"""`encode`: inputs and records encoded for a writer: in parts or whole, and many records at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli import records, streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.whole_texts import encode_placed, encode_whole
from tokcli.cli.encode.write_ids import IdWriter, last_of, limited

if TYPE_CHECKING:
    from typing_extensions import Buffer


def encode_all(request: EncodeRequest, writer: IdWriter) -> bool:
    """Encode every input, or every record of it, for the writer; return whether -n cut any of them."""
    truncated = False
    for source in request.texts:
        if request.options.records:
            truncated |= encode_records(request, source, writer)
        else:
            truncated |= encode_one(request, source, writer)
    return truncated


def asks_whole(request: EncodeRequest, source: streams.Input | records.Record) -> bool:
    """Return whether a text must be seen whole: for a template, a pair of texts, or the places of its tokens."""
    if not request.encoding.tokenizer.sees_whole_texts:
        return False
    asked = request.options
    return bool(asked.add_special_tokens or asked.offsets or records.has_pair(source))


def places_chunks(request: EncodeRequest, source: streams.Input | records.Record) -> bool:
    """Return whether a text that `asks_whole` does so only for the places of its tokens, which chunks tell, too."""
    asked = request.options
    return not (asked.add_special_tokens or records.has_pair(source) or asked.errors == "bytes" or asked.keep == "last")


def encode_one(request: EncodeRequest, source: streams.Input | records.Record, writer: IdWriter) -> bool:
    """Encode one input or record for the writer; return whether -n cut it."""
    asked, encode, truncated = request.options, request.encoding.tokenizer.encode_part, False

    def skip(ids: memoryview) -> None:
        nonlocal truncated
        truncated = truncated or len(ids) > 0
        writer.skip(ids)

    writer.begin()
    if asks_whole(request, source):
        how = encode_placed if places_chunks(request, source) else encode_whole
        truncated = how(request, source, writer)
        writer.end(truncated)
        return truncated
    with streams.naming(source.shown):
        if asked.limit is None:
            for rendered, count in request.shared_parts(lambda part: rendered_ids(writer, encode(part)), source):
                writer.add(rendered, count)
        elif asked.keep == "last":
            for ids in last_of(request.shared_parts(encode, source), asked.limit, skip):
                writer.add(writer.render(ids), len(ids))
        else:
            for ids, truncated in limited(map(encode, request.parts(source)), asked.limit):  # noqa: B007
                writer.add(writer.render(ids), len(ids))
    writer.end(truncated)
    return truncated


def rendered_ids(writer: IdWriter, ids: memoryview) -> tuple[Buffer, int]:
    """Return ids as they are written, and their number."""
    return writer.render(ids), len(ids)


def encode_records(request: EncodeRequest, source: streams.Input, writer: IdWriter) -> bool:
    """Encode the records of an input, many at once where that is possible; return whether -n cut any."""
    truncated = False

    def work(batch: records.Batch) -> tuple[Buffer, bool] | None:
        if not writer.takes_batches:
            return None
        made = encode_batch(request, batch)
        return made and writer.render_records(*made, request.options.limit)

    for batch, made in request.shared_batches(records.batches_of(source, request.options), work):
        writer.output.answer(batch.objects)
        if made is not None:
            writer.write_records(made[0])
            truncated |= made[1]
        else:
            for record in batch.records():
                truncated |= encode_one(request, record, writer)
        batch.finish(writer.output)
    return truncated


def encode_batch(request: EncodeRequest, batch: records.Batch) -> tuple[memoryview, memoryview] | None:
    """Return the ids (uint32) of a batch of records, and where those of each begin and the last end (uint64); or None.

    None means that the records have to be encoded one by one.
    """
    if request.options.keep == "last" or request.has_pairs(batch):
        return None
    batch.replace_noise(request.options.errors)
    native = request.encoding.tokenizer.for_records(batch.data, request.read_options, is_utf8=batch.is_utf8)
    made = None if native is None else native.encode_records(batch.data, batch.ends, batch.separator_size)
    return None if made is None else request.finished_records(*made)
