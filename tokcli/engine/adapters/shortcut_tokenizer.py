"""`ShortcutTokenizer`: the adapter that encodes by a shortcut's ranks and pattern, natively and in streams.

Text that native code does not take, with characters that the pattern splits differently, is encoded in parts: those
around such characters by the tokenizer's own rules.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.adapters.whole_text import WholeTextTokenizer
from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.merges import ParentTable, for_ids
from tokcli.engine.native_models.rank_models import TwinFor, twin_of_ranks
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.engine.stream.utf8 import (
    SplitText,
    allowed_in,
    special_finder,
    text_or_utf8,
    utf8_of,
    valid_utf8,
    without_surrogates,
)
from tokcli.engine.text_tokenizer import plain_text
from tokcli.engine.tiktoken.native_encoder import native_splitter
from tokcli.engine.tiktoken.rank_tokenizer import RankTokenizer

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_models.twins import RecordEncoder, TextOrUtf8
    from tokcli.engine.shortcut.shortcut import Shortcut
    from tokcli.engine.stream.utf8 import AnyChunk
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tokens import Tokens


def adapted(name: str, rules: TextTokenizer) -> WholeTextTokenizer:
    """Return the adapter for a tokenizer of whole texts: one that encodes by its shortcut, if it has one."""
    return WholeTextTokenizer(name, rules) if rules.shortcut is None else ShortcutTokenizer(name, rules)


class ShortcutTokenizer(WholeTextTokenizer):
    """A tokenizer of whole texts with a shortcut: `fast` encodes, by ranks, the text that the shortcut holds for."""

    def __init__(self, name: str, rules: TextTokenizer) -> None:
        super().__init__(name, rules)
        if rules.shortcut is None:
            raise ValueError(f"{name} has no shortcut")
        self.shortcut: Shortcut = rules.shortcut
        self.fast = RankTokenizer(
            name,
            pat_str=self.shortcut.pat_str,
            special_tokens=self.shortcut.added,
            max_rank=self.shortcut.max_id,
            load_ranks=self.shortcut.load_ranks,
            load_image=self.shortcut.load_image,
        )
        # added tokens that are not special are always found, whatever is allowed
        self._always_found = frozenset(self.shortcut.added.keys() - self.special_tokens.keys())

    @property
    def is_native(self) -> bool:
        """Whether native code does the work."""
        return self.fast.is_native

    @property
    def changes_text(self) -> bool:
        """Whether the bytes of tokens may differ from the text that they encode."""
        return self.shortcut.form is not None or self.shortcut.prefix_space

    @property
    def puts_space_first(self) -> bool:
        """Whether `read_parts` puts a space before the text."""
        return self.shortcut.prefix_space

    @cached_property
    def _twin(self) -> TwinFor | None:
        """The function that gives the native twin for the special tokens that become ids; None without native code."""
        return self._twin_with(puts_space=self.shortcut.prefix_space)

    @cached_property
    def _twin_of_parts(self) -> TwinFor | None:
        """The twin for parts of streams, which have the space already that is put before a text."""
        return self._twin_with(puts_space=False) if self.shortcut.prefix_space else self._twin

    def _twin_with(self, *, puts_space: bool) -> TwinFor | None:
        shortcut = self.shortcut
        if self.fast.opened is None:
            return None
        return twin_of_ranks(
            self.fast.opened,
            native_splitter(self.fast.pretokenizer),
            shortcut.added,
            self.special_tokens,
            exceptions=shortcut.unsafe,
            exact=shortcut.load_exact(),
            form=shortcut.form,
            puts_space=puts_space,
            hides_tokens=shortcut.hides_tokens,
            image=shortcut.load_image(),
        )

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        if self._twin is not None and (ids := self._twin(allowed).encode(text, allowed)) is not None:
            return ids
        return self._encode_in_parts(without_surrogates(text), allowed)

    def count(self, text: str, allowed: frozenset[str] = NONE) -> int:
        """Return the number of ids of a text."""
        return self._count(self._twin, text, allowed)

    def _count(self, twin: TwinFor | None, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        if twin is not None and (count := twin(allowed).count(text, allowed)) is not None:
            return count
        return len(self._encode_in_parts(plain_text(text), allowed))

    def encode_array(self, text: str, allowed: frozenset[str] = NONE) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        return self._encode_array(self._twin, text, allowed)

    def _encode_array(self, twin: TwinFor | None, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        if twin is not None and (ids := twin(allowed).encode_array(text, allowed)) is not None:
            return ids
        return memoryview(array("I", self._encode_in_parts(plain_text(text), allowed)))

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        made: list[list[int] | None] = [None] * len(texts)
        if self._twin is not None:
            made = self._twin(NONE).encode_batch(list(texts), threads)
        return [self.encode(text) if ids is None else ids for text, ids in zip(texts, made, strict=True)]

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return all texts' ids in one array, and len(texts) + 1 offsets (uint64) at which each text's ids begin."""
        if self._twin is not None and (made := self._twin(NONE).encode_array_batch(list(texts), threads)) is not None:
            return made
        return super().encode_array_batch(texts, threads)

    def _encode_in_parts(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text that native code does not take whole: of added tokens, and of parts between them."""
        ids: list[int] = []
        for segment, is_added in special.segments(text, special.together(allowed, self._always_found)):
            if is_added:
                ids.append(self.shortcut.added[segment])
                continue
            for part, is_exceptional in self.shortcut.parts(self.shortcut.normalized(segment)):
                if is_exceptional:
                    ids += self.inner.encode(part, NONE)
                else:
                    ids += self.fast.encode(self.shortcut.with_prefix(part))
        return ids

    def encode_spans(self, part: AnyChunk) -> Tokens:
        """Return the tokens of a whole text with their places in characters; InputError where these are not known."""
        allowed, twin = allowed_in(part), self._twin_for(part)
        found = None if twin is None else twin(allowed).encode_spans(text_or_utf8(part), allowed)
        return super().encode_spans(part) if found is None else found

    def encode_own_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (id, ids of the text that it decodes to) for those ids whose bytes are UTF-8."""
        texts: dict[int, str] = {}
        for number in ids:
            with suppress(UnicodeDecodeError):
                texts[number] = self.decode([number]).decode()
        return zip(texts, self.encode_batch(list(texts.values()), 1), strict=True)

    # --- streams -----------------------------------------------------------------------------------------------------

    def read_chunks(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[stream.Chunk]:
        """Yield the chunks of a stream; the whole stream is one chunk where a space may be put before the text."""
        if self.shortcut.prefix_space:
            return super().read_chunks(blocks, options)
        return self.fast.read_chunks(blocks, self._for_ranks(options))

    def read_parts(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[AnyChunk]:
        """Yield the parts of a stream: UTF-8 where native code takes it, else chunks."""
        if not self.shortcut.prefix_space:
            return self.fast.read_parts(blocks, self._for_ranks(options))
        is_plain = self.fast.pretokenizer.is_known and options.errors != "bytes"
        read = self.fast.read_parts if is_plain else self.fast.read_chunks
        return with_prefix(read(blocks, self._for_ranks(options)))

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether a stream may be cut at byte `at` of UTF-8: never, if a space may be put before the text."""
        return not self.shortcut.prefix_space and self.fast.cuts_at(data, at)

    def token_spans(self, ids: Sequence[int], start: int = 0, *, in_chars: bool = True) -> array[int]:
        """Return the first and the past-the-end character (or byte) of each id's bytes; see `TokenVocabulary`."""
        return self.fast.token_spans(ids, start, in_chars=in_chars)

    def read_split(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[SplitText | stream.Chunk]:
        """Yield the parts of a stream: text with its pieces if the shortcut holds for any text, else chunks."""
        if self.shortcut.prefix_space or self.shortcut.looks_at_text:
            return self.read_chunks(blocks, options)
        return self.fast.read_split(blocks, self._for_ranks(options))

    def _for_ranks(self, options: ReadOptions) -> ReadOptions:
        found = special.together(options.allowed, self._always_found)
        return ReadOptions(options.errors, found, special.without(options.refused, found), options.chunk_bytes)

    def encode_part(self, part: AnyChunk) -> memoryview:
        """Return the ids of a part of a stream as an array (uint32)."""
        if _is_for_ranks(part):
            return self.fast.encode_part(part)
        return self._encode_array(self._twin_for(part), text_or_utf8(part), allowed_in(part))

    def _twin_for(self, part: AnyChunk) -> TwinFor | None:
        """Return the twin for a part of a stream, or for a chunk that is a whole text."""
        return self._twin if isinstance(part, stream.Chunk) and part.allowed is not None else self._twin_of_parts

    def encode_each(self, part: SplitText) -> tuple[Buffer, bytes] | None:
        """Return the ids of a part, and the number of ids of each piece (uint32); None where Python has to do it."""
        return self.fast.encode_each(part)

    def count_part(self, part: AnyChunk) -> int:
        """Return the number of ids of a part of a stream."""
        if _is_for_ranks(part):
            return self.fast.count_part(part)
        return self._count(self._twin_for(part), text_or_utf8(part), allowed_in(part))

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that takes all records at once; see `Tokenizer`."""
        if self._twin is None or special_finder(options.refused).is_in(data):
            return None
        if not is_utf8 and valid_utf8(data) < len(data):
            is_plain = not (self.shortcut.looks_at_text or self.shortcut.prefix_space)
            return self.fast.for_records(data, self._for_ranks(options)) if is_plain else None
        return self._twin(options.allowed).for_records(options.allowed)

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """Return the pieces of a chunk as bytes; a special token is one piece."""
        is_plain = _is_for_ranks(chunk) or not self.shortcut.looks_at_text or self.shortcut.is_plain(chunk.text)
        return self.fast.split_chunk(chunk) if is_plain else super().split_chunk(chunk)

    # --- tokens ------------------------------------------------------------------------------------------------------

    def all_parents(self) -> ParentTable:
        """Return the parents of every id; VocabularyError where ids are too large for a table."""
        return for_ids(self.fast.all_parents(), self.max_id + 1)

    def scores(self) -> Sequence[float]:
        """Return an empty sequence: ranks decide, not scores."""
        return ()

    def token_kinds(self) -> dict[int, str]:
        """Return the kind of each added token by id: special or added."""
        special_tokens = self.special_tokens
        return {
            number: "special" if text in special_tokens else "added" for text, number in self.shortcut.added.items()
        }


def _is_for_ranks(part: AnyChunk) -> bool:
    """Return whether a part of a stream is encoded by the ranks alone: a special token, or bytes that are not UTF-8."""
    if isinstance(part, stream.Chunk):
        return part.allowed is None and bool(part.special or part.tail)
    return isinstance(part, SplitText) and part.is_noise


def with_prefix(parts: Iterator[AnyChunk]) -> Iterator[AnyChunk]:
    """Yield the parts of a stream, with a space put before each text between special tokens that lacks one."""
    begins = True
    for part in parts:
        if isinstance(part, stream.Chunk):
            if begins and part.text and not part.special and not part.text.startswith(" "):
                part = stream.Chunk(" " + part.text, part.offset, tail=part.tail, allowed=part.allowed)
            begins = part.special or (begins and not part.text)
        else:
            data = utf8_of(part)
            if begins and data.nbytes and data[0] != 0x20:
                part = memoryview(b" " + data)
            begins = begins and not part.nbytes
        yield part
