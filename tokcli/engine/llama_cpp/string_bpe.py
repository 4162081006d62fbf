"""`WordsByMerges`: llama.cpp's BPE by merges of texts, for words that the patterns of a pre-tokenizer cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import cast

from tokcli.engine.bpe.bpe import BoundedCache, Join, MergeOrder
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token, to_byte_chars
from tokcli.engine.bpe.pairs import SHIFT, MergeList, in_order, last_two_ids, merge
from tokcli.engine.bpe.ranks import Ranked, ranks_of_texts
from tokcli.engine.llama_cpp.characters import changed_ranges
from tokcli.engine.llama_cpp.cutter import Cutter
from tokcli.engine.llama_cpp.fragment_models import FragmentModel
from tokcli.engine.llama_cpp.native_cuts import native_cuts
from tokcli.engine.llama_cpp.patterns import KNOWN, LINES
from tokcli.engine.llama_cpp.words import white_space_words
from tokcli.engine.spec.models import PairMerges, Pairs
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatternsInTurn
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tiktoken.text_ranks_of import text_ranks_of

_LONG_S = (0x17F, 0x17F)  # folds to s in known patterns, but not in llama.cpp
_NO_TOKEN = 1 << 31  # the number of a text that no merge knows


def pairs_in(lines: Iterable[bytes]) -> list[tuple[str, str]]:
    """Return the merges in lines, each two texts with a space between them.

    >>> pairs_in([b"a b", b"  c", b"d"])
    [('a', 'b'), (' ', 'c'), ('', '')]
    """
    pairs = []
    for line in lines:
        text = line.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        left, _, right = text.partition(" ")
        if not left or not right:
            cut = text.find(" ", 1)  # a token may begin with a space, as in llama.cpp
            left, right = (text[:cut], text[cut + 1 :]) if cut > 0 else ("", "")
        pairs.append((left, right))
    return pairs


class WordsByMerges(FragmentModel):
    """The model of gpt2 vocabularies: BPE by merges of texts, which need not be tokens.

    Texts in merges that are not tokens are numbered from the number of tokens on; a part that is left and is not a
    token becomes bytes. A spec may cut at white space first, which is then left out.
    """

    model_kind = "merges"
    splits_at_spaces = False

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self.splitter = cast(PatternsInTurn, spec.splitter[-1])
        self._drops_spaces, self._lowers = len(spec.splitter) > 1, bool(spec.normalizer)
        self._size, self._numbers = len(self.ids), dict(self.ids)
        lines = self.data.merges
        self._listed: PairMerges = MergeList.of(self.ids, lines) or self._numbered(pairs_in(lines))

    def _numbered(self, merges: Sequence[tuple[str, str]]) -> PairMerges:
        ids = self.ids
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
    def _is_closed(self) -> bool:
        """Whether merges are of tokens only: then a character without a token merges with nothing and is dropped."""
        return len(self._numbers) == self._size and "" not in self.ids

    @cached_property
    def ranked(self) -> Ranked | None:
        """The model as ranks of bytes; None where these cannot express it, or a text is more than its words."""
        merges = in_order(self._listed)
        if not self.data.byte_level or self._drops_spaces or max(merges[2::3], default=0) >= self._size:
            return None
        ignores = self.data.ignore_merges
        return ranks_of_texts(self.ids, merges, ignore_merges=ignores, drops_missing=self._is_closed)

    @property
    def pairs(self) -> Pairs | None:
        """The model as merges of tokens, if these are texts and not bytes, and what they merge are lines; else None."""
        model, by_bytes = self.data, {self.ids.get(byte_token(byte)) for byte in range(256)}
        is_of_lines = self.splitter.patterns == (LINES,) and not (model.ignore_merges or self._drops_spaces)
        if not is_of_lines or not self._is_closed or model.byte_level or None in by_bytes:
            return None
        is_alike = by_bytes.isdisjoint(in_order(self._listed))
        return Pairs(self.ids, self._listed, byte_fallback=True) if is_alike else None

    def parents(self, text: str) -> tuple[int, int] | None:
        """Return the two ids that merge into a token; None if none do."""
        parts = [self._numbers.get(char, _NO_TOKEN) for char in text]
        found = last_two_ids(parts, self._merges, self.ids[text])
        return found if found is not None and max(found) < self._size else None

    def merge_order(self) -> MergeOrder:
        """Return a function that gives the rank of the merge of two ids into a third."""
        merges = self._merges
        return lambda left, right, _: merges[left << SHIFT | right][0]

    @cached_property
    def cut(self) -> Callable[[str], list[str]]:
        """The function that cuts a text into words."""
        return Cutter(self.splitter.patterns).cut

    def split(self, text: str) -> list[str]:
        """Return the words of a text as they occur in it."""
        return self.cut(text)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text; bytes without a token are dropped, as in llama.cpp."""
        if self.data.shows_spaces:
            text = text.replace(" ", VISIBLE_SPACE)
        texts = white_space_words(text, self._lowers) if self._drops_spaces else [text]
        write = to_byte_chars if self.data.byte_level else str
        return [id for part in texts for word in self.cut(part) for id in self.ids_of_word(write(word))]

    @cached_property
    def ids_of_word(self) -> Callable[[str], Iterable[int]]:
        """The function that gives the ids of a word, written as the merges are; it keeps those of many words."""
        return BoundedCache(lambda word: tuple(self._encode_word(word))).__getitem__

    def _encode_word(self, word: str) -> Iterator[int]:
        whole, model = self.ids.get(word), self.data
        if whole is not None and (model.ignore_merges or (model.lines_whole and not word.strip("\n"))):
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
        for id, size in merge(parts, self._merges, merge_all=merge_all):
            if id < self._size:
                yield id
            else:
                yield from self._byte_ids(word[at : at + size])
            at += size

    def _byte_ids(self, text: str) -> Iterator[int]:
        for byte in text.encode():
            name = byte_token(byte) if not self.data.byte_level else chr(byte) if byte < 128 else ""
            if (id := self.ids.get(name)) is not None:
                yield id

    def text_ranks(self) -> TextRanks | None:
        """Return ranks and a known pattern that give the same ids; None where other patterns cut, or merges differ.

        The pattern does not hold for text with a long s or with characters that differ between Unicode 15.1 and 16.0.
        """
        pattern, tokens = KNOWN.get(self.splitter.patterns), self.spec.added
        if pattern is None or any(token.lstrip or token.rstrip for token in tokens):
            return None
        added, ranked = {token.content: token.id for token in tokens}, self.ranked
        if ranked is None or may_overlap(added):
            return None
        unsafe = *changed_ranges(), _LONG_S
        load_exact = partial(native_cuts, self.splitter)
        return text_ranks_of(self.spec.name, pattern, ranked, added, unsafe=unsafe, load_exact=load_exact)


def may_overlap(tokens: Iterable[str]) -> bool:
    """Return whether a token may begin within another one and end beyond it, so that the longer one is found.

    Where none does, the longest token at each place is found, from left to right. Runs of one character are no matter:
    both ways find the longest of them first.

    >>> may_overlap(["<a>", "<b>", "  ", "    "]), may_overlap(["<ab>", "b>cd>"])
    (False, True)
    """
    texts = set(filter(None, tokens))
    others = sorted(text for text in texts if not _is_run(text))
    runs = {text[0]: len(text) for text in sorted(texts.difference(others), key=len)}
    firsts = {text[0] for text in texts}
    if sum(len(text) ** 2 for text in texts) > _MOST_COMPARED:
        return True
    for text in texts:
        for begin in range(1, len(text)):
            if text[begin] in firsts:
                end = text[begin:]
                at = bisect_right(others, end)
                if at < len(others) and others[at].startswith(end):
                    return True
                if not _is_run(text) and _is_run(end) and runs.get(end[0], 0) > len(end):
                    return True
    return False


_MOST_COMPARED = 1 << 24  # characters


def _is_run(text: str) -> bool:
    return text == text[0] * len(text)
