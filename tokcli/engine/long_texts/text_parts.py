"""The parts of a long text for a tokenizer that sees texts whole: read as a stream, cut, and encoded one by one.

Where a text may be cut, text_cuts.py and its families say. A part is encoded behind a letter that stands for the text
before it, so that nothing is added to it that belongs to the beginning of a text; the letter's ids are dropped.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, islice, repeat
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.long_texts.llama_cuts import cuts_of_llama
from tokcli.engine.long_texts.pipeline_cuts import cuts_of_pipeline
from tokcli.engine.long_texts.sentencepiece_cuts import cuts_of_sentencepiece
from tokcli.engine.long_texts.text_cuts import AROUND, LETTERS, NeighbourTable, TextCuts, places
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.engine.stream.utf8 import PartOfText, special_finder, valid_utf8
from tokcli.engine.tokens import Tokens
from tokcli.errors import DisallowedSpecialTokenError, InputError, NotUtf8Error

if TYPE_CHECKING:
    from tokcli.engine.executor import Executor
    from tokcli.engine.stream.utf8 import TextOrUtf8
    from tokcli.engine.text_tokenizer import TextTokenizer

PART_BYTES = 1 << 18  # of a part that a thread encodes: enough work, and little memory
PART_IN_ORDER_BYTES = 1 << 20  # of a part that threads share, since parts are encoded in order
_WINDOWS = (1 << 8, 1 << 11, 1 << 14, 1 << 17)  # bytes at the end to search for a place to cut: each size in turn
CONTEXT = 4 * AROUND  # bytes of text around a place to cut
_MOST_TRIED = 200  # places in a window: a text in which so many are no cuts is hardly one of words

_CUTS_OF: dict[type, Callable[[Any], TextCuts | None]] = {  # by the family of the tokenizer
    SentencePiece: cuts_of_sentencepiece,
    Pipeline: cuts_of_pipeline,
    LlamaCpp: cuts_of_llama,
}


def cuts_of(tokenizer: TextTokenizer, *, places: bool = False) -> TextCuts | None:
    """Return where the texts of a tokenizer may be cut; None where no place is known.

    `places` says that the places of tokens matter: then no token may begin in a part and end in the next one.
    """
    find = _CUTS_OF.get(type(tokenizer))
    cuts = None if find is None else find(tokenizer)
    return None if cuts is None or (places and cuts.unknown is not None) else cuts


class TextPart(PartOfText):
    """A part of a long text, as UTF-8, and what makes its ids; `previous` is the part before it, where that matters."""

    def __init__(self, data: memoryview, encoder: PartEncoder, before: str, previous: TextPart | None) -> None:
        super().__init__(data, b"")
        self._encoder, self._before, self._previous = encoder, before, previous
        self._lock = Lock()
        self._made: _Made | None = None

    def ids(self) -> memoryview:
        """Return the ids of the part (uint32)."""
        if self._encoder.in_order:
            return memoryview(self._in_order().tokens.ids)
        return self._encoder.ids_of(self.data, self._before)

    def _in_order(self, *, places: bool = False) -> _Made:
        """Return what is made of the part; whoever needs it first encodes it, and the parts before it."""
        with self._lock:
            if self._made is None:
                before = _NOTHING if self._previous is None else self._previous._in_order(places=places)
                self._made = self._encoder.encode_next(self.data, self._before, before, places=places)
                self._previous = None
            return self._made

    def count(self) -> int:
        """Return the number of ids of the part."""
        if self._encoder.in_order:
            return len(self._in_order().tokens.ids)
        return self._encoder.count_of(self.data, self._before)

    def tokens(self) -> Tokens:
        """Return the tokens of the part with their places in its characters; InputError where these are not known."""
        if self._encoder.in_order:
            return self._in_order(places=True).tokens
        return self._encoder.tokens_of(self.data, self._before)


class _Made(NamedTuple):
    """The tokens of a part; the sum of all scores and the last id after it."""

    tokens: Tokens
    total: float
    last: int | None


_NOTHING = _Made(Tokens([]), 0.0, None)


class PartEncoder:
    """Encodes the parts of one text, in which the special tokens in `allowed` become their ids."""

    def __init__(self, executor: Executor, allowed: frozenset[str], cuts: TextCuts) -> None:
        self.in_order, self._unknown = cuts.in_order, cuts.unknown
        self._executor, self._allowed = executor, allowed
        self._sizes: dict[str, int] = {"": 0}  # the number of ids of each letter that stands before parts

    def before(self, letter: str) -> str:
        """Return a letter that will stand before parts."""
        if letter not in self._sizes:
            self._sizes[letter] = len(self._executor.encode_array(letter, frozenset()))
        return letter

    def ids_of(self, data: memoryview, before: str) -> memoryview:
        """Return the ids of a part behind a letter. Its threads are those that take the parts."""

        def ids_of(text: TextOrUtf8) -> memoryview:
            return self._executor.encode_array(text, self._allowed)

        return _alone(ids_of, _behind(data, before))[self._sizes[before] :]

    def count_of(self, data: memoryview, before: str) -> int:
        """Return the number of ids of a part behind a letter."""

        def count_of(text: TextOrUtf8) -> int:
            return self._executor.count(text, self._allowed)

        return _alone(count_of, _behind(data, before)) - self._sizes[before]

    def encode_next(self, data: memoryview, before: str, previous: _Made, *, places: bool) -> _Made:
        """Return what is made of a part after another one."""
        tokens, total = self._executor.encode_next(data, self._allowed, before, previous.total, places=places)
        last = tokens.ids[-1] if len(tokens.ids) else previous.last
        if len(tokens.ids) and tokens.ids[0] == previous.last == self._unknown:
            tokens = Tokens(tokens.ids[1:])  # (of such texts, no places are asked for)
        return _Made(tokens, total, last)

    def tokens_of(self, data: memoryview, before: str) -> Tokens:
        """Return the tokens of a part with their places in its characters; InputError where these are not known."""
        found = self._executor.place(_behind(data, before), self._allowed)
        first = self._sizes[before]
        spans = found.spans or ()
        moved = array("Q", [place - len(before) for place in spans[2 * first :]])
        return Tokens(found.ids[first:], spans=moved, blanks=found.blanks and found.blanks[2 * first :])


def _behind(data: memoryview, before: str) -> memoryview:
    return memoryview(b"".join([before.encode(), data])) if before else data


def _alone(work: Callable[[memoryview], stream.Result], text: memoryview) -> stream.Result:
    return allow_inner_threads(work, 1)(text)


def read_text_parts(
    name: str,
    executor: Executor,
    cuts: TextCuts,
    blocks: stream.Blocks,
    options: stream.ReadOptions,
    part_bytes: int | None = None,
    context: int = CONTEXT,
) -> Iterator[TextPart]:
    """Yield the parts of a text, each of about `part_bytes`; `context` bytes around a cut are looked at.

    InputError where none ends within the limit of a piece.

    Special tokens that `options` refuse, and bytes that are not UTF-8, are errors that name their place.
    """
    size = part_bytes or (PART_IN_ORDER_BYTES if cuts.in_order else PART_BYTES)
    reader = _PartReader(name, cuts, options, size, context)
    encoder = PartEncoder(executor, options.allowed, cuts)
    previous: TextPart | None = None
    for data, letter in reader.parts(blocks):
        part = TextPart(memoryview(data), encoder, encoder.before(letter), previous)
        if cuts.in_order:
            previous = part
        yield part


def _whole(text: bytes, at: int) -> int:
    """Return the last place up to `at` that is between characters of UTF-8, in the text or at one of its ends."""
    at = max(at, 0)
    while 0 < at < len(text) and 0x80 <= text[at] < 0xC0:
        at -= 1
    return min(at, len(text))


class _PartReader:
    """Holds the text that is not in a part yet, which begins at byte `_offset` of the input's UTF-8."""

    def __init__(self, name: str, cuts: TextCuts, options: stream.ReadOptions, size: int, context: int) -> None:
        self._name, self._cuts, self._size, self._context = name, cuts, size, context
        self._refused = special_finder(options.refused)
        self._special = NeighbourTable(options.refused | options.allowed)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace") if options.errors == "replace" else None
        self._offset = self._read = 0  # `_read`: the bytes of the input that are known to be text
        self._cut_off = b""
        self._letter = ""

    def parts(self, blocks: stream.Blocks) -> Iterator[tuple[bytes, str]]:
        """Yield each part, and the letter that stands for the text before it: none for the first."""
        text = b""
        held: list[bytes] = []
        held_bytes = searched = 0
        wanted = self._size
        for block in chain.from_iterable(map(self._slices, blocks)):
            held.append(block)
            held_bytes += len(block)
            if held_bytes < wanted:
                continue
            text, held, held_bytes = text + self._utf8(b"".join(held)), [], 0
            if (found := self._cut(text, searched)) is not None:
                end, letter = found
                yield self._part(text[:end])
                text, self._letter, searched = text[end:], letter, 0
            else:
                searched = max(0, len(text) - self._context)
            self._check(text)
            # what has no cut is searched again when it has grown by half, or is too long
            wanted = min(max(self._size, len(text) // 2), stream.MAX_PIECE_BYTES + 1 - len(text))
        text += self._utf8(b"".join(held), final=True)
        if len(text) > stream.MAX_PIECE_BYTES and (found := self._cut(text, searched)) is not None:
            end, letter = found
            yield self._part(text[:end])
            text, self._letter = text[end:], letter
        self._check(text)
        if text:
            yield self._part(text)

    def _check(self, text: bytes) -> None:
        if len(text) > stream.MAX_PIECE_BYTES:
            raise InputError(
                f"a text above {stream.MAX_PIECE_BYTES >> 20} MiB without a place to cut it begins",
                f"{self._name} sees a text whole, or cut before spaces between words; cut it into records.",
                offset=self._offset,
                unit="byte",
            )

    def _slices(self, block: bytes) -> Iterator[bytes]:
        return (block[at : at + self._size] for at in range(0, len(block), self._size))

    def _utf8(self, data: bytes, *, final: bool = False) -> bytes:
        """Return more of the text; a character that is cut off waits for its end."""
        if self._decoder is not None:
            return self._decoder.decode(data, final).encode()
        data = self._cut_off + data
        size = valid_utf8(data)
        if size < len(data) and (final or len(data) - size >= MAX_CHARACTER):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise NotUtf8Error.of(error, start=self._read, takes_bytes=False) from None
        self._read += size
        self._cut_off = data[size:]
        return data[:size]

    def _cut(self, text: bytes, searched: int) -> tuple[int, str] | None:
        """Return the last byte at which a text may be cut, and a letter for what is before it; None if none is found.

        The first `searched` bytes hold no such place. What follows a cut has to be known some way.
        """
        end = _whole(text, len(text) - self._context)
        sizes = chain(_WINDOWS, repeat(_WINDOWS[-1]))
        while end > searched:
            begin = _whole(text, max(searched, end - next(sizes)))
            before = text[_whole(text, begin - self._context) : begin].decode()
            between = text[begin:end].decode()
            shown = before + between + text[end : _whole(text, end + self._context)].decode()
            first, last = len(before), len(before) + len(between)
            for at in islice(places(shown, first, last), _MOST_TRIED):
                if letter := self._letter_for(shown, at):
                    return begin + len(shown[first:at].encode()), letter
            end = begin
        return None

    def _letter_for(self, text: str, at: int) -> str:
        """Return a letter for what is before a place to cut; "" where the text may not be cut there."""
        rest = text[at : at + AROUND]
        if self._special.holds(text[at - 1], text[at]) or not self._cuts.is_cut(text, at):
            return ""
        return next((letter for letter in LETTERS if self._cuts.is_cut(letter + rest, 1)), "")

    def _part(self, data: bytes) -> tuple[bytes, str]:
        for begin, token in self._refused.find(data, len(data)):
            raise DisallowedSpecialTokenError.found(token, self._offset + begin, "byte")
        self._offset += len(data)
        return data, self._letter
