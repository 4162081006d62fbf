"""`ShortcutTokenizer`: the adapter that encodes by a shortcut's ranks and pattern, natively and in streams.

Text that a shortcut does not hold for, usually a few characters, is found by a check (text_check.py) and encoded by the
tokenizer's own rules.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from tokcli.engine.adapters.whole_text import WholeTextTokenizer
from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.merges import ParentTable, for_ids
from tokcli.engine.shortcut.text_check import Checks
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.engine.stream.utf8 import SplitText, allowed_in, text_of, utf8_of, without_surrogates
from tokcli.engine.tiktoken.native_encoder import NativeEncoder
from tokcli.engine.tiktoken.rank_tokenizer import RankTokenizer
from tokcli.engine.tokens import Tokens, joined, joined_ids, mapped_spans

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.shortcut.shortcut import Shortcut
    from tokcli.engine.shortcut.text_check import SegmentKind
    from tokcli.engine.stream.utf8 import AnyChunk
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.twins import RecordEncoder

Answer = TypeVar("Answer")


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
    def _checks(self) -> Checks | None:
        return Checks.of(self.shortcut) if self.is_native else None

    @cached_property
    def _check(self) -> _native.TextCheck | None:
        return None if self._checks is None else self._checks.whole(self._always_found)

    @cached_property
    def _checked(self) -> NativeEncoder | None:
        """The native encoder for texts in which the check finds nothing; None without one, or with `prefix_space`."""
        if self._checks is None or self.shortcut.prefix_space:
            return None
        native = self.fast.native
        return native if native is None or self._check is None else native.checked(self._check)

    def _at_once(self, ask: Callable[[NativeEncoder], Answer | None]) -> Answer | None:
        """Return what `ask` gets from native code; None where Python has to look at the texts first."""
        return None if self._checked is None else ask(self._checked)

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        if not allowed and (ids := self._at_once(lambda native: native.encode(text))) is not None:
            return ids
        ids = []
        for found, plain in self._stretches(without_surrogates(text), allowed):
            ids += found if plain is None else self.fast.encode(plain)
        return ids

    def count(self, text: str, allowed: frozenset[str] = NONE) -> int:
        """Return the number of ids of a text."""
        if not allowed and (count := self._at_once(lambda native: native.count(text))) is not None:
            return count
        stretches = self._stretches(without_surrogates(text), allowed)
        return sum(len(found) if plain is None else self.fast.count(plain) for found, plain in stretches)

    def encode_array(self, text: str, allowed: frozenset[str] = NONE) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        if not allowed and (ids := self._at_once(lambda native: native.encode_array(text))) is not None:
            return ids
        stretches = self._stretches(without_surrogates(text), allowed)
        arrays = [
            memoryview(array("I", f)) if plain is None else self.fast.encode_array(plain) for f, plain in stretches
        ]
        return joined_ids(arrays)

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        found = self._at_once(lambda native: native.encode_batch_lists(list(texts), threads))
        made = [None] * len(texts) if found is None else found
        return [self.encode(text) if ids is None else ids for text, ids in zip(texts, made, strict=True)]

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return all texts' ids in one array, and len(texts) + 1 offsets (uint64) at which each text's ids begin."""
        if (made := self._at_once(lambda native: native.encode_batch(list(texts), threads))) is not None:
            return made
        return super().encode_array_batch(texts, threads)

    def _stretches(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[Sequence[int], str | None]]:
        """Yield each segment of a text as (ids, None) or, where the ranks have to encode it, as ((), its text)."""
        found = special.together(allowed, self._always_found)
        for segment, kind in self._segments(text, found):
            if kind == "added":
                yield [self.shortcut.added[segment]], None
            elif kind == "slow":
                yield self._encode_slowly(segment), None
            else:
                yield (), self.shortcut.with_prefix(segment)

    def _segments(self, text: str, tokens: frozenset[str]) -> Iterator[tuple[str, SegmentKind]]:
        """Yield (segment, kind): an added token, normalized text that the shortcut holds for, or other text."""
        if self._checks is not None:
            yield from self._checks.segments(text, tokens)
            return
        for segment, is_added in special.segments(text, tokens):
            plain = segment if is_added else self.shortcut.normalized(segment)
            if is_added:
                yield segment, "added"
            elif self.shortcut.holds_for(plain):
                yield plain, "plain"
            else:
                yield segment, "slow"

    def _encode_slowly(self, text: str) -> list[int]:
        """Return the ids of a text that the shortcut does not hold for and that has no added tokens."""
        merging, words = self.fast.pieces, self.inner.cut(text)
        if words is None or merging is None:
            return self.inner.encode(text, NONE)
        ids = merging.encode(SplitText.of(filter(None, words)))
        return self.inner.encode(text, NONE) if ids is None else ids.tolist()

    def encode_spans(self, part: AnyChunk) -> Tokens:
        """Return the tokens of a whole text with their places in characters; InputError where these are not known."""
        checks, found = self._checks, allowed_in(part) | self._always_found
        if checks is None:
            return super().encode_spans(part)
        if isinstance(part, memoryview) and (plain := self._spans_of_part(part)) is not None:
            return plain
        parts, at = [], 0
        for text, is_added in checks.parts(text_of(part), found):
            if is_added:
                blanks = _placing().blanks_of(text)
                parts.append(Tokens([self.shortcut.added[text]], spans=[at, at + len(text)], blanks=blanks))
            else:
                parts.append(self._plain_spans(checks, text, at))
            at += len(text)
        return joined(parts)

    def _spans_of_part(self, part: memoryview) -> Tokens | None:
        """Return the tokens of a part of a stream; None where the shortcut does not hold for all of it as it is."""
        native, decoder = self.fast.native, self.fast.native_decoder
        if native is None or decoder is None or self.shortcut.prefix_space or not self._takes(part):
            return None
        tokens: Tokens | None = _placing().placed_utf8(native, decoder, part, 0, with_blanks=self.inner.trims_spans)
        return tokens

    def _plain_spans(self, checks: Checks, text: str, start: int) -> Tokens:
        """Return the tokens of a text that has no added tokens, `start` characters into the input."""
        normalized = checks.normalized(text)
        breaks = None if normalized == text else checks.breaks(text)
        parts, at = [], start if breaks is None else 0
        for segment, kind in checks.plain_segments(normalized):
            parts.append(self._spans_of(segment, at) if kind == "plain" else self._slow_spans(segment, at))
            at += len(segment)
        found = joined(parts)
        if breaks is not None and found.spans is not None:
            found.spans = mapped_spans(found.spans, breaks, start)
        return found

    def _spans_of(self, text: str, start: int) -> Tokens:
        """Return the tokens of a text that the shortcut holds for, `start` characters into the input."""
        native, decoder, found = self.fast.native, self.fast.native_decoder, None
        if native is not None and decoder is not None:
            found = _placing().placed(self.shortcut, native, decoder, text, start, with_blanks=self.inner.trims_spans)
        return self._slow_spans(text, start) if found is None else found

    def _slow_spans(self, text: str, start: int) -> Tokens:
        """Return the tokens of a text that the shortcut does not hold for, `start` characters into the input."""
        found = self.inner.encode_spans(text, NONE)
        if found.spans is not None:
            found.spans = array("Q", [start + place for place in found.spans])
        return found

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
        return self.fast.encode_part(part) if self._takes(part) else self.encode_array(text_of(part), allowed_in(part))

    def encode_each(self, part: SplitText) -> tuple[Buffer, bytes] | None:
        """Return the ids of a part, and the number of ids of each piece (uint32); None where Python has to do it."""
        return self.fast.encode_each(part)

    def count_part(self, part: AnyChunk, threads: int = 1) -> int:
        """Return the number of ids of a part of a stream."""
        return self.fast.count_part(part, threads) if self._takes(part) else self.count(text_of(part), allowed_in(part))

    def _takes(self, part: AnyChunk) -> bool:
        """Return whether the shortcut holds for a part of a stream as it is; added tokens have been cut out."""
        if isinstance(part, stream.Chunk):
            if part.allowed is not None:
                return False
            if part.special or part.tail:
                return True
        elif isinstance(part, SplitText) and part.is_noise:
            return True
        if not self.shortcut.looks_at_text:
            return True
        if self._checks is not None and (check := self._checks.whole(NONE)) is not None:
            return check.read(part.text if isinstance(part, stream.Chunk) else utf8_of(part)) is True
        text = text_of(part)
        return self.shortcut.normalized(text) == text and self.shortcut.holds_for(text)

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that takes all records at once; None where the shortcut does not hold for all."""
        errors = "strict" if self.shortcut.looks_at_text or self.shortcut.prefix_space else options.errors
        found = self._for_ranks(ReadOptions(errors, options.allowed, options.refused))
        native = self.fast.for_records(data, found, is_utf8=is_utf8, puts_space=self.shortcut.prefix_space)
        return native if native is None or self._takes(memoryview(data)) else None

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """Return the pieces of a chunk as bytes; a special token is one piece."""
        return self.fast.split_chunk(chunk) if self._takes(chunk) else super().split_chunk(chunk)

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


def _placing() -> ModuleType:
    """Return the module that finds the places of tokens in texts."""
    from tokcli.engine.shortcut import placed  # 1 ms, for the table of spaces

    return placed


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
