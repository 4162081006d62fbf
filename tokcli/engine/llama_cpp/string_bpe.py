"""`StringBpe`: llama.cpp's BPE by merges of texts, for words that the patterns of a pre-tokenizer cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from tokcli.engine.bpe.bpe import BoundedCache, Join, MergeOrder
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token, to_byte_chars
from tokcli.engine.bpe.pairs import SHIFT, MergeList, PairBpe, PairMerges, in_order, last_two_ids, merge
from tokcli.engine.bpe.ranks import Ranked, ranks_of_texts
from tokcli.engine.llama_cpp.characters import changed_ranges
from tokcli.engine.llama_cpp.cutter import Cutter
from tokcli.engine.llama_cpp.fragment_models import FragmentModel
from tokcli.engine.llama_cpp.native_cuts import native_cuts
from tokcli.engine.llama_cpp.patterns import LINES, PreType
from tokcli.engine.llama_cpp.settings import FOUND, LlamaSettings, may_overlap
from tokcli.engine.llama_cpp.vocabulary import LlamaVocabulary
from tokcli.engine.llama_cpp.words import white_space_words
from tokcli.engine.shortcut.from_ranks import shortcut_from_ranks
from tokcli.engine.shortcut.shortcut import Shortcut

_LONG_S = (0x17F, 0x17F)  # folds to s in known patterns, but not in llama.cpp
_NO_TOKEN = 1 << 31  # the number of a text that no merge knows


class MergeLines(Sequence[tuple[str, str]]):
    """Merges given as lines, each two texts with a space between them; lines are parsed when the first is asked for.

    >>> list(MergeLines([b"a b", b"  c", b"d"]))
    [('a', 'b'), (' ', 'c'), ('', '')]
    """

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        pairs = []
        for line in self.lines:
            text = line.partition(b"\0")[0].decode("utf-8", "surrogateescape")
            left, _, right = text.partition(" ")
            if not left or not right:
                cut = text.find(" ", 1)  # a token may begin with a space, as in llama.cpp
                left, right = (text[:cut], text[cut + 1 :]) if cut > 0 else ("", "")
            pairs.append((left, right))
        return pairs

    @overload
    def __getitem__(self, at: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[str, str]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, str] | list[tuple[str, str]]:
        return self._pairs[at]

    def __len__(self) -> int:
        return len(self.lines)


class StringBpe:
    """BPE by merges of texts, which need not be tokens; a part that is left and is not a token becomes bytes.

    Texts in merges that are not tokens are numbered from the number of tokens on.
    """

    def __init__(self, ids: Mapping[str, int], merges: Sequence[tuple[str, str]], pre: PreType) -> None:
        self._ids, self._pre = ids, pre
        self._size = len(ids)
        self._numbers = dict(ids)
        listed = MergeList.of(ids, merges.lines) if isinstance(merges, MergeLines) else None
        self._listed: PairMerges = self._numbered(merges) if listed is None else listed

    def _numbered(self, merges: Sequence[tuple[str, str]]) -> PairMerges:
        ids = self._ids
        try:  # usually all are tokens, and no merge occurs twice
            pairs = [ids[left] << SHIFT | ids[right] for left, right in merges]
            made = [ids[left + right] for left, right in merges]
            found = dict(zip(pairs, enumerate(made), strict=True))
        except KeyError:
            found = {}
        if len(found) == len(merges):
            return found
        found = {}
        for rank, (left, right) in enumerate(merges):
            pair = self._number(left) << SHIFT | self._number(right)
            found.setdefault(pair, (rank, self._number(left + right)))
        return found

    @cached_property
    def _merges(self) -> PairMerges:
        return self._listed.table if isinstance(self._listed, MergeList) else self._listed

    def _number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def is_closed(self) -> bool:
        """Whether merges are of tokens only: then a character without a token merges with nothing and is dropped."""
        return len(self._numbers) == self._size and "" not in self._ids

    def as_pairs(self) -> PairBpe | None:
        """Return the model as merges of tokens that are texts; None where merges make or take other texts or bytes."""
        by_bytes = {self._ids.get(byte_token(byte)) for byte in range(256)}
        merges = in_order(self._listed)
        is_alike = self.is_closed and not self._pre.byte_encode and None not in by_bytes and by_bytes.isdisjoint(merges)
        return PairBpe(self._ids, self._listed, byte_fallback=True) if is_alike else None

    def ranks(self) -> Ranked | None:
        """Return the model as ranks of bytes; None if ranks cannot express it."""
        merges = in_order(self._listed)
        if max(merges[2::3], default=0) >= self._size:
            return None
        return ranks_of_texts(self._ids, merges, ignore_merges=self._pre.ignore_merges, drops_missing=self.is_closed)

    def parents(self, text: str) -> tuple[int, int] | None:
        """Return the two ids that merge into a token; None if none do."""
        parts = [self._numbers.get(char, _NO_TOKEN) for char in text]
        found = last_two_ids(parts, self._merges, self._ids[text])
        return found if found is not None and max(found) < self._size else None

    def merge_order(self) -> MergeOrder:
        """Return a function that gives the rank of the merge of two ids into a third."""
        merges = self._merges
        return lambda left, right, _: merges[left << SHIFT | right][0]

    @cached_property
    def cut(self) -> Callable[[str], list[str]]:
        """The function that cuts a text into words."""
        return Cutter(self._pre.patterns).cut

    def split(self, text: str) -> list[str]:
        """Return the words of a text as merging sees them: byte by byte in GPT-2's alphabet, or as they are."""
        words = self.cut(text)
        return [to_byte_chars(word) for word in words] if self._pre.byte_encode else words

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text; bytes without a token are dropped, as in llama.cpp."""
        cache = self._cache
        return [number for word in self.split(text) for number in cache[word]]

    @cached_property
    def _cache(self) -> BoundedCache[tuple[int, ...]]:
        return BoundedCache(lambda word: tuple(self._encode_word(word)))

    def _encode_word(self, word: str) -> Iterator[int]:
        whole = self._ids.get(word)
        if whole is not None and (self._pre.ignore_merges or (self._pre.lines_whole and not word.strip("\n"))):
            yield whole
            return
        yield from self.merge_word(word)

    def merge_word(
        self, word: str, merge_all: Callable[[list[int], Join[int]], list[int]] | None = None
    ) -> Iterator[int]:
        """Yield the ids that merging a word gives; `merge_all` is another way to merge than `merge_parts`."""
        numbers = self._numbers
        parts = [(numbers.get(char, _NO_TOKEN), 1) for char in word]
        at = 0
        for number, size in merge(parts, self._merges, merge_all=merge_all):
            if number < self._size:
                yield number
            else:
                yield from self._byte_ids(word[at : at + size])
            at += size

    def _byte_ids(self, text: str) -> Iterator[int]:
        for byte in text.encode():
            name = byte_token(byte) if not self._pre.byte_encode else chr(byte) if byte < 128 else ""
            if (number := self._ids.get(name)) is not None:
                yield number


class WordsByMerges(FragmentModel):
    """The model of gpt2 vocabularies: BPE by merges, with spaces made visible or white space dropped where set."""

    model_kind = "merges"

    def __init__(self, bpe: StringBpe, pre: PreType, settings: LlamaSettings) -> None:
        self._bpe, self.pre, self._settings = bpe, pre, settings

    @cached_property
    def ranked(self) -> Ranked | None:
        """The model as ranks of bytes; None where these cannot express it, or a text is more than its words."""
        return self._bpe.ranks() if self.pre.byte_encode and not self._settings.whitespace_words else None

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text."""
        if self.pre.escape_whitespaces:
            text = text.replace(" ", VISIBLE_SPACE)
        if not self._settings.whitespace_words:
            return self._bpe.tokenize(text)
        return [n for word in white_space_words(text, self._settings.lowercase) for n in self._bpe.tokenize(word)]

    @property
    def pairs(self) -> PairBpe | None:
        """The model as merges of tokens, if these are texts and not bytes, and what they merge are lines; else None."""
        is_of_lines = self.pre.patterns == (LINES,) and not (self.pre.ignore_merges or self._settings.whitespace_words)
        return self._bpe.as_pairs() if is_of_lines else None

    def split(self, text: str) -> list[str]:
        """Return the words of a text as they occur in it."""
        return self._bpe.cut(text)

    def parents(self, text: str) -> tuple[int, int] | None:
        """Return the two ids that merge into the token with this text; None if none do."""
        return self._bpe.parents(text)

    def merge_order(self) -> MergeOrder:
        """Return a function that gives the rank of the merge of two ids into a third."""
        return self._bpe.merge_order()

    def shortcut(self, vocabulary: LlamaVocabulary) -> Shortcut | None:
        """Return ranks and a known pattern that give the same ids; None where other patterns cut, or merges differ.

        The pattern does not hold for text with a long s or with characters that differ between Unicode 15.1 and 16.0.
        """
        settings, pre, ranked = self._settings, self.pre, self.ranked
        if pre.known is None or settings.lstrip or settings.rstrip or ranked is None:
            return None
        added = {text: n for n, text in enumerate(vocabulary.texts) if vocabulary.kinds[n] & FOUND}
        if may_overlap(added):
            return None
        unsafe = *changed_ranges(), _LONG_S
        return shortcut_from_ranks(pre.known, ranked, added, unsafe=unsafe, load_exact=lambda: native_cuts(pre))
