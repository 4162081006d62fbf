"""Tokenizers that see a text whole: templates, pairs of texts, and places in a text that is normalized."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.write_ids import STEP_TOKENS, IdWriter, limited
from tokcli.cli.record import Record, RecordOfWords, pair_of
from tokcli.cli.request import known_size
from tokcli.engine.stream.chunks import Chunk, ReadOptions
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.stream.utf8 import StreamPart, char_count, utf8_of
from tokcli.engine.tokens import Spans, Tokens, joined
from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.tokenizer import Tokenizer

BLOCK_BYTES = 1 << 15  # read at once, for the same reason: the places of tokens take more memory than their text
TOKEN_BYTES = 4  # of text, as a rule
SHARED_BYTES = 1 << 17  # of text; one with fewer is encoded before threads have started
PART_BYTES = 1 << 16  # of its parts


def encode_placed(request: EncodeRequest, source: streams.Input | Record, writer: IdWriter, most: int | None) -> bool:
    """Encode up to `most` tokens of one input or record with their places, as it is read; return whether that cut it.

    A tokenizer that has to see a text whole reads it as a single chunk.
    """
    left, is_cut = most, False
    known = known_size(source) if isinstance(source, streams.Input) and left is None else 0

    def place(part: _PlacedPart) -> list[_Step]:
        steps = _steps(request, part)
        if left is None and len(steps) == 1:  # of several each is rendered by itself
            steps[0].render(writer)
        return steps

    def kept(found: Iterable[list[_Step]]) -> Iterator[_Step]:
        nonlocal left, is_cut
        for step in chain.from_iterable(found):
            if left is not None:
                is_cut = step.cut(left)
                left -= step.count
            yield step
            if is_cut:
                return

    def render(step: _Step) -> _Step:
        step.render(writer)
        return step

    with streams.naming(source.shown):
        parts = _placed_parts(request, source)
        placed = request.shared(place, parts, lambda part: part.size, known=known, large=SHARED_BYTES)
        for step in request.shared(render, kept(placed), lambda step: step.work, large=SHARED_BYTES):
            writer.add_whole(step.rendered, step.count, {})
    return is_cut


class _PlacedPart:
    """A part of an input, its size in bytes, and the place of its first character (or byte) in the input."""

    def __init__(self, part: StreamPart, place: int, *, is_first: bool) -> None:
        self.part, self.place, self.is_first = part, place, is_first
        self.size = _size(part, in_bytes=True)

    def tokens(self, request: EncodeRequest) -> Tokens:
        """Return the tokens of the part with their places in its characters."""
        tokenizer, part = request.encoding.tokenizer, self.part
        if isinstance(part, Chunk) and part.allowed is None:
            part = Chunk(part.text, part.offset, pieces=part.pieces, tail=part.tail, allowed=request.allowed)
        return allow_inner_threads(tokenizer.encode_spans, request.threads)(part)


class PartOfWhole(_PlacedPart):
    """Bytes `begin` to `end` of a text that is seen whole, which `Tokenizer.part_ends` has cut."""

    def __init__(self, whole: memoryview, begin: int, end: int, place: int) -> None:
        super().__init__(whole[begin:end], place, is_first=begin == 0)
        self._whole, self._begin, self._end = whole, begin, end

    def tokens(self, request: EncodeRequest) -> Tokens:
        """Return the tokens of the part with their places in its characters."""
        tokenizer, whole = request.encoding.tokenizer, self._whole
        begin, end = self._begin, self._end
        part = tokenizer.encode_part_spans(whole[begin:end], begins=begin == 0, ends=end == whole.nbytes)
        if part is not None:
            return part
        found = tokenizer.encode_spans(whole)  # rarely, and then most of its parts are encoded by Python
        first, last = (char_count(whole[:at]) for at in (begin, end))
        starts = (found.spans or ())[::2]
        before = sum(start < first for start in starts)
        until = sum(start < last for start in starts) if end < whole.nbytes else len(starts)
        spans = [place - first for place in (found.spans or ())[2 * before : 2 * until]]
        return Tokens(found.ids[before:until], spans=spans)


class _Step:
    """Some tokens of a text, `count` of them: ids (uint32) and spans, to be moved on by `shift`; then, as written."""

    rendered: tuple[Buffer, Buffer]

    def __init__(self, ids: memoryview, spans: memoryview | None, shift: int) -> None:
        self._ids, self._spans, self._shift = ids, spans, shift
        self.count = len(ids)
        self.work = TOKEN_BYTES * self.count  # in bytes of text, until it is rendered

    def cut(self, limit: int) -> bool:
        """Keep at most `limit` tokens, and return whether there were more."""
        is_cut = self.count > limit
        if is_cut:
            self._ids, self.count = self._ids[:limit], limit
            self._spans = None if self._spans is None else self._spans[: 2 * limit]
        return is_cut

    def render(self, writer: IdWriter) -> None:
        """Make `rendered`, once; the memory of ids and spans is free for those of the next part."""
        if self.work:
            self.rendered = writer.render_whole(self._ids, self._spans, self._shift)
            self._ids, self._spans, self.work = memoryview(b""), None, 0


def _placed_parts(request: EncodeRequest, source: streams.Input | Record) -> Iterator[_PlacedPart]:
    in_bytes, at, is_first = request.options.offsets == "byte", 0, True
    for part in _parts(request, source):
        begin = 0
        for end in _part_ends(request, part):
            assert isinstance(part, memoryview)
            yield PartOfWhole(part, begin, end, at)
            at += _size(part[begin:end], in_bytes=in_bytes)
            begin = end
        if not begin:
            yield _PlacedPart(part, at, is_first=is_first)
            at += _size(part, in_bytes=in_bytes)
        is_first = False


def _part_ends(request: EncodeRequest, part: StreamPart) -> Sequence[int]:
    """Return where the parts of a part end that threads take one by one; nothing where that is not worth it."""
    if not isinstance(part, memoryview) or part.nbytes < SHARED_BYTES:
        return ()
    ends = request.encoding.tokenizer.part_ends(part, PART_BYTES)
    return ends if len(ends) > 1 else ()


def _size(part: StreamPart, *, in_bytes: bool) -> int:
    """Return the number of bytes of a part, or of characters."""
    if not in_bytes:
        return char_count(part)
    return len(part.text.encode()) if isinstance(part, Chunk) else part.nbytes


def _parts(request: EncodeRequest, source: streams.Input | Record) -> Iterator[StreamPart]:
    """Yield the parts of an input, or chunks where parts would begin with an added space, which has no place."""
    if request.encoding.tokenizer.puts_space_first:
        return request.chunks(source)
    blocks = source.blocks(BLOCK_BYTES) if isinstance(source, streams.Input) else source.blocks()
    options = ReadOptions(request.options.errors, request.allowed, request.refused, BLOCK_BYTES, places=True)
    return request.encoding.tokenizer.read_parts(request.watched(blocks), options)


def _steps(request: EncodeRequest, placed: _PlacedPart) -> list[_Step]:
    """Return the tokens of a part and their places in it, in the unit that was asked for."""
    ids, spans = placed_ids(request, placed.part, placed.tokens(request), begins=placed.is_first)
    places = None if spans is None else memoryview(spans)
    return [
        _Step(ids[at : at + STEP_TOKENS], places and places[2 * at : 2 * (at + STEP_TOKENS)], placed.place)
        for at in range(0, len(ids), STEP_TOKENS)
    ]


def placed_ids(
    request: EncodeRequest, part: StreamPart, found: Tokens, *, begins: bool
) -> tuple[memoryview, Spans | None]:
    """Return the ids of a part of a text (uint32), and their spans in it, in the unit that was asked for.

    `found` are its tokens with their places in its characters; `begins` says whether the text begins with the part.
    """
    found.begins = begins
    tokens = request.encoding.tokenizer.finish([found], False)
    spans = tokens.spans
    if request.options.offsets == "byte" and spans is not None:
        spans = byte_spans(part.text.encode() if isinstance(part, Chunk) else utf8_of(part), spans)
    return memoryview(tokens.ids), spans


def encode_whole(request: EncodeRequest, source: streams.Input | Record, writer: IdWriter) -> bool:
    """Encode one input or record, seen whole, for the writer; return whether -n cut it."""
    asked = request.options
    with streams.naming(source.shown):
        pair = pair_of(source, asked.errors)
        most = _most_wanted(request) if pair is None else None
        texts, found = zip(*(_tokens_of(request, one, most) for one in (source, pair) if one is not None), strict=True)
        kept, is_cut = kept_tokens(request, found)
        tokens = request.finished(kept)
    spans = _in_unit(tokens.spans, asked.offsets, texts)
    members = {} if pair is None else {"type_ids": tokens.type_ids, "special_tokens_mask": tokens.special}
    size = len(tokens.ids)
    limit = size if asked.limit is None else min(size, asked.limit)
    begin, end = (0, limit) if asked.keep == "first" else (size - limit, size)
    rendered = writer.render_whole(
        memoryview(tokens.ids[begin:end]), None if spans is None else spans[2 * begin : 2 * end]
    )
    writer.add_whole(rendered, limit, {name: values[begin:end] for name, values in members.items()})
    return is_cut or limit < size


def _most_wanted(request: EncodeRequest) -> int | None:
    """Return how many tokens at the beginning of a text tell what -n keeps of it; None where all are needed."""
    asked = request.options
    return None if asked.limit is None or asked.keep == "last" else asked.limit + 1


def _tokens_of(request: EncodeRequest, source: streams.Input | Record, most: int | None) -> tuple[str, Tokens]:
    """Return the text that was read, and its tokens with their places; without --offsets, no text and no places.

    Where `most` is a number, and no places are wanted, it is enough to return so many tokens. Words are encoded each by
    itself, and the places of their tokens are those in the word, as Hugging Face has them.
    """
    if isinstance(source, RecordOfWords):
        if request.options.offsets == "byte":
            raise InputError("--offsets byte is for texts, not for lists of words", "Use --offsets char.")
        return "", joined([_tokens_of(request, word, most)[1] for word in request.words_of(source)])
    tokenizer = request.encoding.tokenizer
    if not request.options.offsets:
        parts = limited(map(tokenizer.encode_part, request.parts(source)), most)
        return "", Tokens(memoryview(b"".join(ids for ids, _ in parts)).cast("I"))
    chunk = tokenizer.read_whole(request.watched(source.blocks()), request.read_options)
    encode = allow_inner_threads(tokenizer.encode_spans, request.threads)
    return ("", Tokens([], spans=[], blanks=[])) if chunk is None else (chunk.text, encode(chunk))


def _in_unit(spans: Spans | None, unit: str | None, texts: Sequence[str]) -> Spans | None:
    """Return spans, given in characters, in the unit of --offsets, or None without; InputError for bytes of pairs."""
    if spans is None or unit is None or unit == "char":
        return spans if unit else None
    if len(texts) > 1:
        raise InputError("--offsets byte is for single texts", "Use --offsets char with text_pair.")
    return byte_spans(texts[0].encode(), spans)


# --- -n beside a template --------------------------------------------------------------------------------------------


def template_size(request: EncodeRequest, texts: int = 1) -> int:
    """Return the number of tokens that template and frame add to a text, or to a pair of texts."""
    return len(request.finished([Tokens([]) for _ in range(texts)]).ids) if request.adds_tokens else 0


def left_by_template(request: EncodeRequest, limit: int, texts: int = 1) -> int:
    """Return how many of the tokens of -n `limit` the template leaves to a text, or to a pair of texts in all.

    InputError where the template has more tokens itself.
    """
    added = template_size(request, texts)
    if limit < added:
        tokens = f"{added} token" + "s" * (added > 1)
        to_pair = " to a pair of texts" if texts > 1 else ""
        raise InputError(
            f"-n {limit} has no room for the {tokens} that {adding(request)}{to_pair}",
            f"Use -n {added} or more: what is added is never cut.",
        )
    return limit - added


def adding(request: EncodeRequest) -> str:
    """Return which options add tokens, with the verb: "--add-special-tokens adds"."""
    asked = request.options
    given = {
        "--prepend-special": asked.prepend_special,
        "--add-special-tokens": asked.add_special_tokens,
        "--append-special": asked.append_special,
    }
    names = [name for name, value in given.items() if value]
    return f"{' and '.join(names)} add" + "s" * (len(names) == 1)


def room(request: EncodeRequest, limit: int, texts: int = 1) -> int:
    """Return how many tokens of a text, or of a pair in all, -n `limit` keeps: each as often as the template has it."""
    return left_by_template(request, limit, texts) // _times(request.encoding.tokenizer, texts)


def _times(tokenizer: Tokenizer, texts: int) -> int:
    """Return how often a template takes a text: a single one once, of a pair the one that it takes most often."""
    if texts == 1:
        return 1
    alone = [[Tokens([0]) if place == at else Tokens([]) for place in range(texts)] for at in range(texts)]
    return max(1, *(len(tokenizer.finish(each, False).ids) for each in alone))


def kept_tokens(request: EncodeRequest, found: Sequence[Tokens]) -> tuple[list[Tokens], bool]:
    """Return what -n keeps of the tokens of a text or a pair, before the post-processor, and whether it cuts any.

    A pair loses tokens of its longer text first, as in the library tokenizers ("LongestFirst").
    """
    limit = request.options.limit
    if limit is None:
        return list(found), False
    sizes = [len(tokens.ids) for tokens in found]
    kept = longest_first(sizes, room(request, limit, len(found)))
    at_end = request.options.keep == "last"
    parts = [_part(tokens, size, of, at_end) for tokens, size, of in zip(found, kept, sizes, strict=True)]
    return parts, kept != sizes


def longest_first(sizes: Sequence[int], most: int) -> list[int]:
    """Return how many tokens are kept of a text, or of each of two, so that there are at most `most` in all.

    The shorter text is cut only where the longer one is as short: then the longer gets the odd token, or the second
    of two that were equal.

    >>> longest_first([9, 3], 8), longest_first([9, 9], 5), longest_first([9, 8], 5), longest_first([9], 5)
    ([5, 3], [2, 3], [3, 2], [5])
    """
    if len(sizes) == 1 or sum(sizes) <= most:
        return [min(size, most) for size in sizes]
    first, second = sizes
    less, more = most // 2, most - most // 2
    if min(sizes) <= less:
        less, more = min(sizes), most - min(sizes)
    return [more, less] if first > second else [less, more]


def _part(tokens: Tokens, size: int, of: int, at_end: bool) -> Tokens:
    """Return the first (or the last) `size` of a text's `of` tokens."""
    if size == of:
        return tokens
    begin = of - size if at_end else 0
    end = begin + size

    def pairs(numbers: Spans | None) -> Spans | None:
        return None if numbers is None else numbers[2 * begin : 2 * end]

    return Tokens(tokens.ids[begin:end], spans=pairs(tokens.spans), blanks=pairs(tokens.blanks))


def cut_records(ids: memoryview, offsets: memoryview, most: int) -> tuple[memoryview, memoryview, list[bool]]:
    """Return the first `most` ids of each record, where those of each begin (uint64), and which records were cut."""
    cut = [end - begin > most for begin, end in pairwise(offsets)]
    if not any(cut):
        return ids, offsets, cut
    kept, begins = [], array("Q", [0])
    for begin, end in pairwise(offsets):
        kept.append(ids[begin : min(end, begin + most)])
        begins.append(begins[-1] + len(kept[-1]))
    return memoryview(b"".join(kept)).cast("I"), memoryview(begins), cut
