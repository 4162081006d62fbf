"""`encode --records`: the records of an input encoded for a writer, many at once where that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.encode.encode_inputs import encode_one
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.paired_records import render_pairs
from tokcli.cli.encode.placed_records import Placed, framed, placed_records
from tokcli.cli.encode.whole_texts import cut_records, room
from tokcli.cli.encode.write_ids import IdWriter, OffsetObjects
from tokcli.cli.inputs.records import Batch, batches_of
from tokcli.engine.roles import record_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer


def encode_records(request: EncodeRequest, source: streams.Input, writer: IdWriter) -> bool:
    """Encode the records of an input, many at once where that is possible; return whether -n cut any."""
    truncated = False

    def work(batch: Batch) -> tuple[Buffer, bool] | None:
        if isinstance(writer, OffsetObjects):
            return render_placed(request, batch, writer)
        return render_batch(request, batch, writer) if writer.takes_batches else None

    asked = request.options
    has_places = request.encoding.tokenizer.sees_whole_texts or not asked.offsets  # those of words, too
    batches = batches_of(source, asked, takes_words=has_places or not asked.skip_invalid)
    for batch, made in request.shared_batches(batches, work):
        writer.output.answer(batch.objects)
        if made is not None:
            writer.write_records(made[0])
            truncated |= made[1]
        else:
            for record in batch.records():
                with writer.output.as_one():  # no half line where a record has an error
                    truncated |= encode_one(request, record, writer)
        batch.finish(writer.output)
    return truncated


def render_batch(request: EncodeRequest, batch: Batch, writer: IdWriter) -> tuple[Buffer, bool] | None:
    """Return a batch of records as they are written, and whether -n cuts any; None if they go one by one."""
    if request.encoding.tokenizer.sees_whole_texts and batch.has_pairs():
        return render_pairs(request, batch, writer)
    made, limit = _own_ids(request, batch), request.options.limit
    if made is None or limit is None or not request.adds_tokens:
        return made and writer.render_records(*request.finished_records(*made), limit)
    ids, offsets, cut = cut_records(*made, room(request, limit))
    return writer.render_records(*request.finished_records(ids, offsets), None, cut)


def render_placed(request: EncodeRequest, batch: Batch, writer: OffsetObjects) -> tuple[Buffer, bool] | None:
    """Return what `render_batch` does, for a writer of places."""
    adds_tokens, limit = request.adds_tokens, request.options.limit
    most = room(request, limit) if adds_tokens and limit is not None else limit
    placed: Iterable[Placed] | None = None
    if not writer.knows_places:
        placed = placed_records(request, batch, most)
    elif (made := _own_ids(request, batch)) is not None:
        placed = writer.placed(*made, most)
    if placed is None:
        return None
    return writer.render_placed(framed(request, placed) if adds_tokens else placed)


def encode_batch(request: EncodeRequest, batch: Batch) -> tuple[memoryview, memoryview] | None:
    """Return the ids (uint32) of a batch of records, and where those of each begin and the last end (uint64); or None.

    None means that the records have to be encoded one by one.
    """
    made = _own_ids(request, batch)
    return None if made is None else request.finished_records(*made)


def _own_ids(request: EncodeRequest, batch: Batch) -> tuple[memoryview, memoryview] | None:
    """Return what `encode_batch` does, without the tokens of a template."""
    asked = request.options
    if request.needs_one_by_one(batch) or asked.keep == "last" or asked.is_sampled:  # drawn once, in order
        return None
    batch.replace_invalid(asked.errors)
    made = record_runs.encode_records(request.encoding.tokenizer, batch.texts, request.read_options)
    if made is not None:
        request.watch_records(batch.texts)
    return made
