"""`WholeTextTokenizer`: a `TextTokenizer` with everything that an `Encoding` needs, for texts that must be seen whole.

An input is one chunk of at most stream.MAX_PIECE_BYTES: what a normalizer and a model make of the end of a text depends
on what follows. Where ranks and a pattern give the same ids, shortcut_tokenizer.py takes over.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeVar

from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.merges import ParentTable, one_by_one
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.engine.stream.parallel import ordered
from tokcli.engine.stream.utf8 import (
    PartOfText,
    allowed_in,
    begun,
    special_finder,
    text_of,
    text_or_utf8,
    valid_utf8,
    without_surrogates,
)
from tokcli.engine.token_vocabulary import TokenVocabulary
from tokcli.engine.tokens import Tokens
from tokcli.errors import DisallowedSpecialTokenError, InputError, NotUtf8Error, PatternError, TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
    from tokcli.engine.native_models.twins import RecordEncoder
    from tokcli.engine.stream.chunks import Utf8Errors
    from tokcli.engine.stream.decoding import ByteDecoder
    from tokcli.engine.stream.utf8 import AnyChunk, SplitText
    from tokcli.engine.text_tokenizer import TextTokenizer

Ids = TypeVar("Ids", list[int], memoryview)

LEAST_FOR_THREADS = (
    1 << 18
)  # characters; with fewer, threads lose more by learning the texts' words each anew than they gain
LONG_TEXT_BYTES = 1 << 23  # a text above is cut into parts, where it may be: memory does not grow with it
LARGEST_GROUP = 64  # texts that a thread encodes before it takes others


class WholeTextTokenizer(TokenVocabulary):
    """A tokenizer of whole texts, `inner`, with arrays, batches, streams and look-ups of tokens.

    `inner` may be a compiled one, which knows less than its file; `rules` is the same with all that the file says.
    """

    special_tokens: dict[str, int]
    max_id: int
    sees_whole_texts = True
    cuts_long_texts = True  # above LONG_TEXT_BYTES, where they may be

    def __init__(self, name: str, rules: TextTokenizer) -> None:
        self.name = name
        self.inner = rules
        self.special_tokens = dict(rules.special_tokens)
        self.max_id = rules.max_id
        self._special_ids = frozenset(self.special_tokens.values())

    def __reduce__(self) -> tuple[Any, ...]:
        rules: Any = self.rules
        # the names of a dataclass's fields (the module dataclasses takes 0.5 ms to load)
        given = {name: getattr(rules, name) for name in rules.__match_args__}
        given.pop("_cache", None)
        return _restore, (type(self), self.name, type(rules), given)

    @property
    def rules(self) -> TextTokenizer:
        """The tokenizer of whole texts with everything that its file says; if it was compiled, the file is read now."""
        return self.inner.whole

    @property
    def is_native(self) -> bool:
        """Whether native code does the work."""
        return self.inner.is_native

    @property
    def changes_text(self) -> bool:
        """Whether the bytes of tokens may differ from the text that they encode: True, as nothing rules it out."""
        return True

    @property
    def puts_space_first(self) -> bool:
        """Whether `read_parts` puts a space before the text."""
        return False

    @cached_property
    def pretokenizer(self) -> PreTokenizer | None:
        """The pattern that alone cuts text; None where there is none, or it has syntax that only Oniguruma knows."""
        pat_str = self.rules.single_pattern
        with suppress(PatternError):
            return None if pat_str is None else PreTokenizer(pat_str)
        return None

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return (name, object) of each part of the tokenizer that cuts text, in order."""
        return self.rules.cutting_parts()

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        native = self.inner.native
        if native is not None and (ids := native.encode(text, allowed)) is not None:
            return ids
        return self.inner.encode(without_surrogates(text), allowed)

    def count(self, text: str, allowed: frozenset[str] = NONE) -> int:
        """Return the number of ids of a text."""
        return self.inner.count(text, allowed)

    def encode_array(self, text: str, allowed: frozenset[str] = NONE) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        return self.inner.encode_array(text, allowed)

    def encode_bytes(self, data: bytes) -> memoryview:
        """Return the ids of UTF-8 as an array; UnicodeDecodeError for other bytes."""
        return self.encode_array(data.decode())

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        native = self.inner.native
        if native is None:
            return self._of_each(self.encode, texts, threads)
        made = native.encode_batch(list(texts), threads)
        return [self.encode(text) if ids is None else ids for text, ids in zip(texts, made, strict=True)]

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return all texts' ids in one array, and len(texts) + 1 offsets (uint64) at which each text's ids begin."""
        native = self.inner.native
        if native is not None and (made := native.encode_array_batch(list(texts), threads)) is not None:
            return made
        arrays = self._of_each(self.encode_array, texts, threads)
        return memoryview(b"".join(arrays)).cast("I"), memoryview(array("Q", accumulate(map(len, arrays), initial=0)))

    def _of_each(self, work: Callable[[str], Ids], texts: Sequence[str], threads: int) -> list[Ids]:
        """Return `work(text)` of each text; threads share many texts, in groups, where native code does the work."""
        if threads == 1 or not self.is_native or sum(map(len, texts)) < LEAST_FOR_THREADS:
            return list(map(work, texts))
        size = max(1, min(LARGEST_GROUP, len(texts) // (4 * threads)))
        groups = (texts[at : at + size] for at in range(0, len(texts), size))
        return list(chain.from_iterable(ordered(lambda group: list(map(work, group)), groups, threads)))

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of a piece, taken as a text of its own."""
        return self.inner.encode(piece.decode("utf-8", "replace"), NONE)

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """Return the number of ids of each piece, taken as a text of its own."""
        return [len(self.encode_piece(piece)) for piece in pieces]

    def encode_own_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (id, ids of the text that it stands for); an empty sequence where that text cannot be encoded."""
        rules = self.rules
        for number in ids:
            text = rules.own_text(number)
            if text is None:
                continue
            try:
                yield number, rules.encode_own_text(text)
            except TokcliError:
                yield number, ()

    # --- streams -----------------------------------------------------------------------------------------------------

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it; joined, they are the text."""
        return self.inner.split(without_surrogates(text))

    def read_chunks(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[stream.Chunk]:
        """Yield a stream as one chunk, or nothing if it is empty; InputError above stream.MAX_PIECE_BYTES."""
        whole = self.read_whole(blocks, options)
        if whole is not None:
            yield whole

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return False: what a text becomes depends on all of it."""
        del data, at
        return False

    def read_split(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[SplitText | stream.Chunk]:
        """Yield a stream as one chunk, as `read_chunks` does: its text is split whole."""
        return self.read_chunks(blocks, options)

    def read_parts(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[AnyChunk]:
        """Yield a stream as one part, or nothing if it is empty; above LONG_TEXT_BYTES, as parts where it may be cut.

        InputError where what has to be seen whole is above stream.MAX_PIECE_BYTES.
        """
        blocks, is_long = begun(blocks, LONG_TEXT_BYTES)
        if is_long and self.cuts_long_texts:
            from tokcli.engine.long_texts.text_parts import cuts_of, read_text_parts  # all families: for long texts

            if (cuts := cuts_of(self.rules, places=options.places)) is not None:
                yield from read_text_parts(self.name, self.inner, cuts, blocks, options)
                return
        data = self._joined(blocks)
        is_plain = not options.allowed and not special_finder(options.refused).is_in(data) and self.inner.is_native
        if is_plain and valid_utf8(data) == len(data):
            if data:
                yield memoryview(data)
            return
        yield from self.read_chunks([data], options)

    def read_whole(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> stream.Chunk | None:
        """Return a stream as one chunk, or None if it is empty; InputError above stream.MAX_PIECE_BYTES."""
        text = _decoded(self._joined(blocks), options.errors)
        for begin, end in special.finder(options.refused).find(text):
            raise DisallowedSpecialTokenError.found(text[begin:end], len(text[:begin].encode()), "byte")
        return stream.Chunk(text, 0, allowed=options.allowed) if text else None

    def _joined(self, blocks: stream.Blocks) -> bytes:
        """Return all bytes of a stream; InputError above stream.MAX_PIECE_BYTES."""
        held, size = [], 0
        for block in blocks:
            held.append(block)
            size += len(block)
            if size > stream.MAX_PIECE_BYTES:
                raise InputError(
                    f"a text above {stream.MAX_PIECE_BYTES >> 20} MiB",
                    f"{self.name} has to see a text whole; cut it into records.",
                )
        return b"".join(held)

    def encode_part(self, part: AnyChunk) -> memoryview:
        """Return the ids of a part of a stream as an array (uint32)."""
        if isinstance(part, PartOfText):
            return part.encode()
        return self.inner.encode_array(text_or_utf8(part), allowed_in(part))

    def encode_each(self, part: SplitText) -> tuple[Buffer, bytes] | None:
        """Return None: texts are encoded whole."""
        del part
        return None

    def count_part(self, part: AnyChunk) -> int:
        """Return the number of ids of a part of a stream."""
        if isinstance(part, PartOfText):
            return part.count()
        return self.inner.count(text_or_utf8(part), allowed_in(part))

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that encodes all records in a buffer at once; see `Tokenizer`."""
        if special_finder(options.refused).is_in(data) or not (is_utf8 or valid_utf8(data) == len(data)):
            return None
        return self.inner.for_records(data, options.allowed)

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """Return the pieces of a chunk as bytes."""
        return [piece.encode() for piece in self.inner.split(chunk.text)]

    def encode_spans(self, part: AnyChunk) -> Tokens:
        """Return the tokens of a whole text with their places in characters; InputError where these are not known."""
        if isinstance(part, PartOfText):
            return part.encode_spans()
        allowed, native = allowed_in(part), self.inner.placing_twin
        found = None if native is None else native.encode_spans(text_or_utf8(part), allowed)
        return self.inner.encode_spans(text_of(part), allowed) if found is None else found

    def part_ends(self, part: AnyChunk, size: int) -> Sequence[int]:
        """Return the bytes at which parts of a text end for `encode_part_spans`; see `Tokenizer`."""
        native = None if self.inner.trims_spans else self.inner.native
        if native is None or not isinstance(part, memoryview):
            return ()
        return native.part_ends(part, size) or ()

    def encode_part_spans(self, part: memoryview, *, begins: bool, ends: bool) -> Tokens | None:
        """Return the tokens of a part that `part_ends` gave, with their places in it; see `Tokenizer`."""
        native = self.inner.native
        return None if native is None else native.encode_spans(part, NONE, begins=begins, ends=ends)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts after the post-processor, which adds its special tokens if `add`."""
        return self.inner.finish(texts, add)

    @property
    def has_template(self) -> bool:
        """Whether `finish` can add special tokens."""
        return self.inner.has_template

    @property
    def file_notes(self) -> Sequence[str]:
        """Notes on what the file asks for that is not done unasked; each continues a sentence with the file's name."""
        return self.inner.file_notes

    # --- ids to text -------------------------------------------------------------------------------------------------

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes whatever ids are beside it."""
        return self.inner.decodes_context_free

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        return self.inner.decode(ids)

    def decode_stream(self) -> ByteDecoder | None:
        """Return a decoder of ids that come a few at a time; None where each id decodes by itself."""
        return self.inner.decode_stream()

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""
        return self.inner.decode(ids.tolist())

    def decode_text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8; UnknownTokenError as in `decode`."""
        return self.inner.decode(ids).decode("utf-8", "replace")

    # --- tokens ------------------------------------------------------------------------------------------------------

    @cached_property
    def _token_bytes(self) -> Mapping[int, bytes]:
        return self.inner.token_bytes()

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id, special tokens included."""
        return self._token_bytes

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {token: number for number, token in self._token_bytes.items() if number not in self._special_ids}

    def ranks(self) -> dict[bytes, int]:
        """Return the id of each token that is not special, by its bytes; of ids with the same bytes, the last."""
        return self._ranks

    @cached_property
    def _ids_by_token(self) -> dict[bytes, int]:
        return self.ids_by_token()

    def id_of(self, token: bytes) -> int | None:
        """Return the id of a token, special or not; None where there is none."""
        return self._ids_by_token.get(token)

    def is_special(self, number: int) -> bool:
        """Return whether an id is that of a special token."""
        return number in self._special_ids

    def scores(self) -> Sequence[float]:
        """Return the score of each id; an empty sequence where the model does not choose by scores."""
        return self.rules.scores()

    def token_kinds(self) -> dict[int, str]:
        """Return the kind, such as control or byte, of each token that is not normal, by id."""
        return self.rules.token_kinds()

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds tokens: by merges, on the best path, or as the pieces that fit."""
        return self.rules.model_kind

    @property
    def finds_whole(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return self.rules.finds_whole

    def merge_order(self) -> MergeOrder | None:
        """Return the function that gives the rank of a merge; None for a model that does not merge."""
        return self.rules.merge_order()

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None where none do, or the model does not merge."""
        return self.inner.parents(number)

    def all_parents(self) -> ParentTable:
        """Return the parents of every id; VocabularyError where ids are too large for a table."""
        return one_by_one(self.max_id + 1, self._token_bytes, self.inner.parents)

    def merge_steps(self, piece: bytes) -> None:
        """Return None: the merges of a piece follow from the parents of its tokens."""
        del piece


def _restore(kind: type[WholeTextTokenizer], name: str, rules: type[Any], given: dict[str, Any]) -> WholeTextTokenizer:
    """Return the tokenizer that was pickled, made from the fields of its rules without their caches."""
    return kind(name, rules(**given))


def _decoded(data: bytes, errors: Utf8Errors) -> str:
    try:
        return data.decode("utf-8", "replace" if errors == "replace" else "strict")
    except UnicodeDecodeError as error:
        raise NotUtf8Error.of(error, takes_bytes=False) from None
