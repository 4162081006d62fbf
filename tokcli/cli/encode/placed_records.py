"""`encode --records --offsets`: the tokens of a batch of records with their places, and the template around them."""

from __future__ import annotations

from array import array
from contextlib import suppress
from typing import TYPE_CHECKING

from tokcli.cli.encode.whole_texts import placed_ids
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.stream.utf8 import special_finder, valid_utf8
from tokcli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcli.cli.encode.encode_options import EncodeRequest
    from tokcli.cli.inputs.records import Batch
    from tokcli.engine.roles.record_runs import Records
    from tokcli.engine.tokens import Ids, Spans

Placed = tuple[memoryview, "Spans", bool]
"""The ids of a record (uint32), where each begins and ends in it, in the unit that was asked for; whether -n cut it."""


def placed_records(request: EncodeRequest, batch: Batch, most: int | None) -> list[Placed] | None:
    """Return up to `most` tokens of each record of a batch, without a template; None where records go one by one.

    So do those with special tokens, pairs of texts or lists of words, and those that raise an error. This is for tokens
    whose bytes do not tell their places.
    """
    asked, tokenizer = request.options, request.encoding.tokenizer
    one_by_one = asked.keep == "last" or asked.is_sampled or asked.errors == "bytes"
    if one_by_one or tokenizer.puts_space_first or request.needs_one_by_one(batch):
        return None
    batch.replace_invalid(asked.errors)
    texts = batch.texts
    is_utf8 = texts.is_utf8 or valid_utf8(texts.data) == len(texts.data)
    if not is_utf8 or special_finder(request.looked_for).is_in(texts.data):
        return None
    with suppress(InputError):
        made = tokenizer.place_records(texts.data, texts.ends, texts.separator_size)
        placed = (_by_itself(request, text) for text in texts) if made is None else _each(request, texts, made)
        found = [_limited(ids, spans, most) for ids, spans in placed]
        request.watch_records(texts)
        return found
    return None


def framed(request: EncodeRequest, records: Iterable[Placed]) -> Iterator[Placed]:
    """Yield records with the tokens that the template and the frame add, whose spans are 0 to 0."""
    (first, last), (bos, eos) = request.frame, request.template_ids
    before, after = first + bos, eos + last
    no_places = [array("Q", [0, 0] * len(added)) for added in (before, after)]
    for ids, spans, is_cut in records:
        all_ids = memoryview(b"".join([before, ids, after])).cast("I")
        yield all_ids, memoryview(b"".join([no_places[0], spans, no_places[1]])).cast("Q"), is_cut


def _limited(ids: memoryview, spans: Spans, limit: int | None) -> Placed:
    if limit is None or len(ids) <= limit:
        return ids, spans, False
    return ids[:limit], spans[: 2 * limit], True


def _each(
    request: EncodeRequest, texts: Records, made: Iterable[tuple[Ids, Spans]]
) -> Iterator[tuple[memoryview, Spans]]:
    """Yield the ids of each record, and their places in the unit that was asked for."""
    in_bytes = request.options.offsets == "byte"
    for text, (ids, spans) in zip(texts, made, strict=True):
        yield memoryview(ids), byte_spans(text, spans) if in_bytes else spans


def _by_itself(request: EncodeRequest, text: bytes) -> tuple[memoryview, Spans]:
    if not text:
        return memoryview(array("I")), array("Q")
    part = memoryview(text)
    ids, spans = placed_ids(request, part, request.encoding.tokenizer.encode_spans(part), begins=True)
    if spans is None:
        raise InputError("the places of its tokens are not known")
    return ids, spans
