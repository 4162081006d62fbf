"""`encode` for tokenizers that see a text whole: templates, pairs of texts, and offsets by their own rules."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tokcli.cli import records, streams
from tokcli.cli.options import Request
from tokcli.cli.write_ids import IdWriter
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.pipeline_encoding import PipelineEncoding
    from tokcli.engine.postprocessor import Tokens


def encode_whole(request: Request, source: streams.Input | records.Record, writer: IdWriter) -> bool:
    """One input or record to the writer; whether -n cut it."""
    encoding: PipelineEncoding = request.encoding  # type: ignore[assignment]
    limit = request.options["limit"]
    with streams.naming(source.shown):
        texts = [tokens_of(request, encoding, source)]
        pair = pair_of(source)
        if pair is not None:
            texts.append(tokens_of(request, encoding, pair))
        tokens = encoding.tokenizer.finish(texts, request.options["add_special_tokens"])
    truncated = limit is not None and len(tokens.ids) > limit
    spans = to_unit(tokens.spans, request.options["offsets"], source, pair)
    members = {} if pair is None else {"type_ids": tokens.type_ids, "special_tokens_mask": tokens.special}
    writer.add_whole(
        memoryview(array("I", tokens.ids[:limit])), spans and spans[:limit], {k: v[:limit] for k, v in members.items()}
    )
    return truncated


def pair_of(source: streams.Input | records.Record) -> records.Record | None:
    """The second text of a record, in its member text_pair."""
    if not isinstance(source, records.Record) or source.members is None or "text_pair" not in source.members:
        return None
    return records.Record(records.text_of(source.members, "text_pair", source.where), source.where)


def tokens_of(request: Request, encoding: PipelineEncoding, source: streams.Input | records.Record) -> Tokens:
    """The tokens of a text; with their places only where these are asked for."""
    from tokcli.engine.postprocessor import Tokens

    if not request.options["offsets"]:
        return Tokens([number for chunk in request.chunks(source) for number in encoding.encode_chunk(chunk)])
    chunk = encoding.read_whole(
        source.blocks(), errors=request.errors, allowed=request.allowed, refused=request.refused
    )
    return Tokens([], texts=[], spans=[]) if chunk is None else encoding.encode_spans(chunk)


def to_unit(
    spans: list[tuple[int, int]] | None,
    unit: str | None,
    source: streams.Input | records.Record,
    pair: records.Record | None,
) -> list[tuple[int, int]] | None:
    """Places in characters as places in the unit that was asked for."""
    if spans is None or unit is None or unit == "char":
        return spans if unit else None
    if pair is not None:
        raise InputError("--offsets byte is for single texts", "Use --offsets char with text_pair.")
    data = b"".join(source.blocks())
    starts = [at for at, byte in enumerate(data) if byte & 0xC0 != 0x80]
    starts.append(len(data))
    last = len(starts) - 1
    return [(starts[min(a, last)], starts[min(b, last)]) for a, b in spans]
