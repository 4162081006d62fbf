"""Tokenizers that see a text whole: templates, pairs of texts, and places in a text that is normalized."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tokcli.cli import records, streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.write_ids import IdWriter
from tokcli.engine.stream.chunks import Chunk, ReadOptions
from tokcli.engine.stream.parallel import with_threads_inside
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.stream.utf8 import utf8_of
from tokcli.engine.tokens import Spans, Tokens
from tokcli.errors import InputError

STEP_TOKENS = 1 << 15  # written at once: their lines fit into a cache, and into memory that is used again
BLOCK_BYTES = 1 << 15  # read at once, for the same reason: the places of tokens take more memory than their text
WORK = 8  # times as much as ids without places: these are found, mapped and written, too


def sees_whole(request: EncodeRequest) -> bool:
    """Return whether the bytes of tokens do not tell their places: the text is normalized, or gets a template."""
    tokenizer = request.encoding.tokenizer
    return tokenizer.changes_text or (tokenizer.sees_whole_texts and request.options.add_special_tokens)


class WholeTokens(NamedTuple):
    """A whole text, the ids of its tokens, and their spans in its characters, None where these are not known."""

    text: str
    ids: Sequence[int]
    spans: Spans | None


def whole_tokens(request: EncodeRequest, blocks: Iterable[bytes]) -> WholeTokens:
    """Return the tokens of a text whose tokenizer `sees_whole`, with the template where it is asked for."""
    tokenizer = request.encoding.tokenizer
    whole = tokenizer.read_whole(blocks, request.read_options)
    found = Tokens([], spans=[])
    if whole is not None:
        try:
            found = tokenizer.encode_spans(whole)
        except InputError:  # a tokenizer that changes texts does not always know the places
            found = Tokens(tokenizer.encode_part(whole))
    if request.options.add_special_tokens:
        found = tokenizer.finish([found], True)
    return WholeTokens("" if whole is None else whole.text, found.ids, found.spans)


def encode_placed(request: EncodeRequest, source: streams.Input | records.Record, writer: IdWriter) -> bool:
    """Encode one input or record with the places of its tokens, as it is read; return whether -n cut it.

    A tokenizer that has to see a text whole reads it as a single chunk.
    """
    left, at, is_cut = request.options.limit, 0, False
    with streams.naming(source.shown):
        chunks = enumerate(_chunks(request, source))
        placed = request.shared(lambda item: _placed(request, *item), chunks, _work_on)
        for tokens, spans, size in placed:
            ids = memoryview(tokens.ids)[:left]
            for first in range(0, len(ids), STEP_TOKENS):
                some = ids[first : first + STEP_TOKENS]
                own = None if spans is None else memoryview(spans)[2 * first : 2 * (first + len(some))]
                writer.add_whole(some, own, {}, at)
            at += size
            if left is not None:
                left -= len(ids)
                is_cut = len(ids) < len(tokens.ids)
                if is_cut:
                    break
    return is_cut


def _chunks(request: EncodeRequest, source: streams.Input | records.Record) -> Iterator[Chunk]:
    """Yield an input as chunks, made of parts, which are faster to read, unless these begin with an added space."""
    if request.encoding.tokenizer.puts_space_first:
        yield from request.chunks(source)
        return
    blocks = source.blocks(BLOCK_BYTES) if isinstance(source, streams.Input) else source.blocks()
    options = ReadOptions(request.options.errors, request.allowed, request.refused, BLOCK_BYTES)
    for part in request.encoding.tokenizer.read_parts(blocks, options):
        yield part if isinstance(part, Chunk) else Chunk(str(utf8_of(part), "utf-8"), 0)


def _work_on(item: tuple[int, Chunk]) -> int:
    """Return how much work a chunk is, in bytes of text; the first one may be the only one, so it is not shared."""
    number, chunk = item
    return WORK * len(chunk.text) if number else 0


def _placed(request: EncodeRequest, number: int, chunk: Chunk) -> tuple[Tokens, Spans | None, int]:
    """Return the tokens of a chunk, their places in it, and its size, in the unit that was asked for."""
    tokenizer = request.encoding.tokenizer
    if chunk.allowed is None:
        chunk = Chunk(chunk.text, chunk.offset, pieces=chunk.pieces, tail=chunk.tail, allowed=request.allowed)
    found = with_threads_inside(tokenizer.encode_spans, request.threads)(chunk)
    found.begins = not number
    tokens = tokenizer.finish([found], False)
    if request.options.offsets == "byte" and tokens.spans is not None:
        data = chunk.text.encode()
        return tokens, byte_spans(data, tokens.spans), len(data)
    return tokens, tokens.spans, len(chunk.text)


def encode_whole(request: EncodeRequest, source: streams.Input | records.Record, writer: IdWriter) -> bool:
    """Encode one input or record, seen whole, for the writer; return whether -n cut it."""
    asked = request.options
    with streams.naming(source.shown):
        pair = records.pair_of(source, asked.errors)
        texts, found = zip(*(_tokens_of(request, one) for one in (source, pair) if one is not None), strict=True)
        tokens = request.encoding.tokenizer.finish(list(found), asked.add_special_tokens)
    spans = _in_unit(tokens.spans, asked.offsets, texts)
    members = {} if pair is None else {"type_ids": tokens.type_ids, "special_tokens_mask": tokens.special}
    size = len(tokens.ids)
    limit = size if asked.limit is None else min(size, asked.limit)
    begin, end = (0, limit) if asked.keep == "first" else (size - limit, size)
    writer.add_whole(
        memoryview(tokens.ids[begin:end]),
        None if spans is None else spans[2 * begin : 2 * end],
        {name: values[begin:end] for name, values in members.items()},
    )
    return limit < size


def _tokens_of(request: EncodeRequest, source: streams.Input | records.Record) -> tuple[str, Tokens]:
    """Return the text that was read, and its tokens with their places; without --offsets, no text and no places."""
    tokenizer = request.encoding.tokenizer
    if not request.options.offsets:
        return "", Tokens(memoryview(b"".join(map(tokenizer.encode_part, request.parts(source)))).cast("I"))
    chunk = tokenizer.read_whole(source.blocks(), request.read_options)
    encode = with_threads_inside(tokenizer.encode_spans, request.threads)
    return ("", Tokens([], spans=[], blanks=[])) if chunk is None else (chunk.text, encode(chunk))


def _in_unit(spans: Spans | None, unit: str | None, texts: Sequence[str]) -> Spans | None:
    """Return spans, given in characters, in the unit of --offsets, or None without; InputError for bytes of pairs."""
    if spans is None or unit is None or unit == "char":
        return spans if unit else None
    if len(texts) > 1:
        raise InputError("--offsets byte is for single texts", "Use --offsets char with text_pair.")
    return byte_spans(texts[0].encode(), spans)
