"""`Tokenizer`: the one tokenizer, which `Encoding` and the commands use, for vocabularies of any family.

The rules of a family (`TextTokenizer`) say what a text becomes; executor.py encodes whole texts by their
native twin or by themselves. Here are parts of streams, records, places and pieces; roles/ has what reads streams, and
what is known of tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeGuard

from tokcli.engine.base.arguments import NONE
from tokcli.engine.executor import Executor
from tokcli.engine.native_models.text_model import Refused
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.roles.lookups import Lookups
from tokcli.engine.roles.readers import PatternReader, PrefixReader, RanksReader, Reader, WholeReader
from tokcli.engine.stream.chunks import PLAIN, Chunk, ReadOptions
from tokcli.engine.stream.utf8 import (
    PartOfText,
    SplitText,
    allowed_in,
    special_finder,
    text_or_utf8,
    valid_utf8,
    without_surrogates,
)
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.tokens import Ids, Spans, Tokens, joined_ids
from tokcli.errors import PatternError, TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_models.text_model import PlacedIds, RecordEncoder, TwinFor
    from tokcli.engine.spec.spec import TokenizerSpec
    from tokcli.engine.stream.chunks import Blocks
    from tokcli.engine.stream.utf8 import StreamPart
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tiktoken.text_ranks import TextRanks


class Streams(Executor):
    """Reads streams of bytes in parts, and turns these into ids or pieces, one after another or many at once.

    `ranked` are the ranks that give the ids of texts, and the pattern by which streams are cut, if there are such: the
    rules themselves, or their `text_ranks`. `parts` encodes parts of streams, which have the space already that
    may be put before a text. `knows_pieces`: the pattern splits any text as the rules do.
    """

    reader: Reader
    ranked: RankVocabulary | None
    text_ranks: TextRanks | None
    parts: Executor
    knows_pieces: bool

    def read_chunks(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[Chunk]:
        """Yield blocks of bytes as chunks of text whose ids, in a row, are those of the whole input.

        Special tokens in `refused` raise DisallowedSpecialTokenError.
        """
        return self.reader.read_chunks(blocks, options)

    def read_parts(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[StreamPart]:
        """Yield blocks of bytes in the form that is encoded fastest: UTF-8 where native code takes it, else chunks."""
        return self.reader.read_parts(blocks, options)

    def read_whole(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Chunk | None:
        """Return blocks of bytes as one chunk; None where they are empty, InputError above MAX_PIECE_BYTES."""
        return self.reader.read_whole(blocks, options)

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether streams may be cut at byte `at` of UTF-8: both sides then have the ids of the whole."""
        return self.reader.cuts_at(data, at)

    def encode_part(self, part: StreamPart) -> memoryview:
        """Return the ids of a part of a stream as an array (uint32)."""
        if isinstance(part, PartOfText):
            return part.ids()
        if self.ranked is not None and self._is_known(part):
            return self.ranked.encode_known(part)
        return self._for(part).encode_array(text_or_utf8(part), allowed_in(part))

    def count_part(self, part: StreamPart) -> int:
        """Return the number of ids of a part of a stream."""
        if isinstance(part, PartOfText):
            return part.count()
        if self.ranked is not None and self._is_known(part):
            return self.ranked.count_known(part)
        return self._for(part).count(text_or_utf8(part), allowed_in(part))

    def _is_known(self, part: StreamPart) -> TypeGuard[SplitText | Chunk]:
        """Return whether ranks alone encode a part: a special token, bytes that are not UTF-8, or known pieces."""
        if isinstance(part, Chunk):
            is_cut = part.allowed is None and bool(part.special or part.tail)
            return is_cut or (self.knows_pieces and part.pieces is not None)
        return isinstance(part, SplitText) and (part.is_invalid or self.knows_pieces)

    def _for(self, part: StreamPart) -> Executor:
        """Return what encodes a part of a stream, or a chunk that is a whole text."""
        return self if isinstance(part, Chunk) and part.allowed is not None else self.parts

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that encodes all records in a buffer at once; None where they go one by one.

        Records go one by one where a special token that the options name may occur in `data`, or where `data` is not
        all UTF-8 and `options.errors` is not "bytes". Where `is_utf8`, the caller knows that it is all UTF-8.
        """
        if special_finder(options.refused).is_in(data):
            return None
        if is_utf8 or valid_utf8(data) == len(data):
            return None if self.twin is None else self.twin(options.allowed).records_in(data, options.allowed)
        if self.ranked is None or not self.knows_pieces or options.errors != "bytes":
            return None
        return self.ranked.for_invalid(data, self.reader.cut_out(options))

    # --- places ------------------------------------------------------------------------------------------------------

    def encode_spans(self, part: StreamPart) -> Tokens:
        """Return the tokens of a part with their places in characters; InputError where these are not known."""
        if isinstance(part, PartOfText):
            return part.tokens()
        if isinstance(self.inner, RankVocabulary):
            ids = self.encode_part(part)
            return Tokens(ids, spans=self.inner.token_spans(ids))
        return self._for(part).place(text_or_utf8(part), allowed_in(part))

    def place_records(self, data: bytes, ends: Buffer, separator_size: int) -> Iterator[tuple[Ids, Spans]] | None:
        """Return the ids of each record, and their places in its characters; None where records go one by one.

        The places are those after the post-processor, whose special tokens are not added.
        Each record of `data`, which is UTF-8, ends `separator_size` bytes before one of `ends` (uint64).
        """
        if self.twin is None or isinstance(self.inner, RankVocabulary):
            return None
        twin, trims = self.twin(NONE), self.inner.trims_spans
        with suppress(Refused):
            if twin.counts_blanks or not trims:
                found = twin.place_records(data, ends, separator_size)
                return _each_placed(found, self.inner.finish if trims else None)
        return None

    def part_ends(self, part: StreamPart, size: int) -> Sequence[int]:
        """Return the bytes at which parts of a part end that `encode_part_spans` takes one by one.

        Each has `size` bytes or a few more. There are none where `encode_spans` has to take all of it, which is the
        rule where streams are cut by a pattern: their parts are short.
        """
        if self.ranked is not None or self.twin is None or self.inner.trims_spans or not isinstance(part, memoryview):
            return ()
        with suppress(Refused):
            return self.twin(NONE).part_ends(part, size)
        return ()

    def encode_part_spans(self, part: memoryview, *, begins: bool, ends: bool) -> Tokens | None:
        """Return the tokens of a part that `part_ends` gave, with their places in its characters.

        `begins` and `ends` say whether what it was cut out of begins and ends with it. Return None for a part whose
        places only `encode_spans` of the whole tells.
        """
        if self.twin is not None:
            with suppress(Refused):
                return self.twin(NONE).encode_spans(part, NONE, begins=begins, ends=ends)
        return None


def _each_placed(
    found: PlacedIds, finish: Callable[[list[Tokens], bool], Tokens] | None
) -> Iterator[tuple[Ids, Spans]]:
    """Yield the ids of each record, and their spans, which `finish` may change."""
    ids, offsets, spans, blanks = found
    for begin, end in pairwise(offsets):
        both = slice(2 * begin, 2 * end)
        if finish is None or blanks is None:
            yield ids[begin:end], spans[both]
        else:
            tokens = finish([Tokens(ids[begin:end], spans=spans[both], blanks=blanks[both])], False)
            yield tokens.ids, tokens.spans or array("Q")


class Pieces(Streams):
    """Splits texts into pieces, and turns pieces into ids, which are not split again."""

    def read_split(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[SplitText | Chunk]:
        """Yield blocks of bytes as text with its pieces where native code splits it, else as chunks to be split."""
        for part in self.reader.read_split(blocks, options):
            if isinstance(part, SplitText) or part.special or part.tail:
                yield part
            else:
                yield self._split(part.text) or part

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it; joined, they are the text."""
        text = without_surrogates(text)
        found = self._split(text)
        return self.inner.split(text) if found is None else found.pieces

    def _split(self, text: str) -> SplitText | None:
        """Return a text with its pieces where native code tells these as the rules do."""
        if self.twin is not None and not (isinstance(self.inner, RankVocabulary) or self.inner.splits_at_spaces):
            with suppress(Refused):
                data = text.encode()
                return SplitText(memoryview(data), self.twin(NONE).piece_ends(data))
        return None

    def split_chunk(self, chunk: Chunk) -> list[bytes]:
        """Return the pieces of a chunk; a special token is one piece."""
        is_plain = self.knows_pieces or (self.text_ranks is not None and self.text_ranks.is_plain(chunk.text))
        if self.ranked is not None and (is_plain or self._is_known(chunk)):
            return self.ranked.split_chunk(chunk)
        pieces = chunk.pieces if self.ranked is None else None
        return [piece.encode() for piece in (self.split(chunk.text) if pieces is None else pieces)]

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of one piece, which is not split again where ranks encode it; else it is a text of its own."""
        if isinstance(self.inner, RankVocabulary):
            return self.inner.encode_piece(piece)
        return self.encode(piece.decode("utf-8", "replace"))

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """Return the number of ids of each piece, as `encode_piece` gives them."""
        if isinstance(self.inner, RankVocabulary):
            return self.inner.count_pieces(pieces)
        return [len(self.encode_piece(piece)) for piece in pieces]

    def encode_each(self, part: SplitText) -> tuple[Buffer, bytes] | None:
        """Return the ids of a part and the number of ids of each piece (uint32); None where texts are encoded whole."""
        if self.knows_pieces and self.ranked is not None and self.ranked.pieces is not None:
            with suppress(Refused):
                return self.ranked.pieces.merge_each(part)
        return None

    def encode_own_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (id, ids of the text that it stands for) for those ids that stand for a text by themselves.

        Of ranks, also those whose bytes are no text: these are encoded as one piece. Where a text cannot be encoded,
        there are no ids.
        """
        rules = self.inner.whole if self.ranked is None else self.inner
        texts: dict[int, str] = {}
        for id in ids:
            if (text := rules.own_text(id)) is None:
                if isinstance(rules, RankVocabulary):
                    yield id, rules.encode_piece(rules.token_bytes()[id])
            elif rules.is_own_text_normalized:
                yield id, _or_nothing(rules.encode_own_text, text)
            else:
                texts[id] = text
        try:
            made: Iterable[Sequence[int]] = self.encode_batch(list(texts.values()), 1)
        except TokcliError:  # one of them cannot be encoded
            made = (_or_nothing(self.encode, text) for text in texts.values())
        yield from zip(texts, made, strict=True)


def _or_nothing(encode: Any, text: str) -> Sequence[int]:
    with suppress(TokcliError):
        ids: Sequence[int] = encode(text)
        return ids
    return ()


class Tokenizer(Pieces, Lookups):
    """A tokenizer, called `name` in messages, with all ways from text to ids and back.

    `inner` are its rules: they may be compiled, and then know less than their file; `rules` know all that it says.
    Without `cuts_long_texts`, a long text that ranks do not cut is always seen whole.
    """

    def __init__(self, name: str, inner: TextTokenizer, *, cuts_long_texts: bool = True) -> None:
        super().__init__(inner)
        self.name, self.max_id, self.special_tokens = name, inner.max_id, dict(inner.special_tokens)
        self._whole_reader = WholeReader(name, self, cuts_long_texts=cuts_long_texts)
        self.parts: Executor = self
        self.text_ranks = text_ranks = inner.text_ranks
        if isinstance(inner, RankVocabulary):
            self.ranked, self.reader, self.knows_pieces = inner, PatternReader(inner), True
        elif text_ranks is not None:
            self.ranked, self.knows_pieces = text_ranks, not text_ranks.looks_at_text
            # added tokens that are not special are always found, whatever is allowed
            always = frozenset(text_ranks.special_tokens.keys() - self.special_tokens.keys())
            reader = PrefixReader if text_ranks.spec.puts_space else RanksReader
            self.reader = reader(self.ranked, self._whole_reader, always, splits_all=self.knows_pieces)
            self.parts = Executor(self.ranked) if text_ranks.spec.puts_space else self
        else:
            self.ranked, self.reader, self.knows_pieces = None, self._whole_reader, False

    def __reduce__(self) -> tuple[Any, ...]:
        rules: Any = self.rules
        return (Tokenizer, (self.name, self.inner)) if rules is None else (_restore, (self.name, rules.spec))

    @cached_property
    def twin(self) -> TwinFor | None:
        """The function that gives the native twin for the special tokens that become ids, if there is a twin."""
        return self.inner.twins if self.text_ranks is None else self.text_ranks.twins_of_rules(self.special_tokens)

    @property
    def rules(self) -> TextTokenizer | None:
        """The rules with everything that their file says, which is read if it has to be; None for ranks."""
        return None if isinstance(self.inner, RankVocabulary) else self.inner.whole

    @property
    def sees_whole_texts(self) -> bool:
        """Whether the tokenizer is more than ranks and a pattern: templates and offsets then need the whole text."""
        return not isinstance(self.inner, RankVocabulary)

    @property
    def is_native(self) -> bool:
        """Whether native code does the work."""
        return self.twin is not None or self.inner.is_native

    @property
    def changes_text(self) -> bool:
        """Whether tokens may have other bytes than the text that they encode, as after a normalizer."""
        if self.text_ranks is not None:
            return self.text_ranks.spec.form is not None or self.text_ranks.spec.puts_space
        return self.ranked is None

    @property
    def puts_space_first(self) -> bool:
        """Whether `read_parts` adds a space before the text that is not in the input."""
        return self.text_ranks is not None and self.text_ranks.spec.puts_space

    @cached_property
    def pretokenizer(self) -> PreTokenizer | None:
        """The pattern that alone cuts text into pieces; None where there is none, or other parts cut text too.

        Also None where it has syntax that only Oniguruma knows.
        """
        if isinstance(self.inner, RankVocabulary):
            return self.inner.pretokenizer
        pat_str = self.inner.single_pattern
        with suppress(PatternError):
            return None if pat_str is None else PreTokenizer(pat_str)
        return None

    def encode_bytes(self, data: bytes) -> memoryview:
        """Return the ids of bytes as an array. UnicodeDecodeError where they must be UTF-8 and are not.

        Ranks take any bytes, as `--errors bytes` does.
        """
        if valid_utf8(data) == len(data):
            return self.encode_array(memoryview(data))
        if not isinstance(self.inner, RankVocabulary):
            data.decode()  # raises the error
        return joined_ids(list(map(self.encode_part, self.read_parts([data], ReadOptions("bytes")))))


def _restore(name: str, spec: TokenizerSpec) -> Tokenizer:
    """Return the tokenizer that was pickled, made from its spec."""
    from tokcli.engine.roles.rules import rules_of

    return Tokenizer(name, rules_of(spec))
