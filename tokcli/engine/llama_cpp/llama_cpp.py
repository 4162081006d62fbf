"""`LlamaCpp`: the tokenizer of a GGUF file. It cuts out special tokens, and a model encodes the text between them.

Ids, ties and the treatment of unknown text are those of llama.cpp (src/llama-vocab.cpp), even where the library that a
model comes from does something else. The models are left to models.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from tokcli.engine.base.arguments import NONE
from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
from tokcli.engine.llama_cpp.settings import NORMAL, SPECIAL
from tokcli.engine.llama_cpp.vocabulary import LlamaVocabulary
from tokcli.engine.native_models.text_model import NativeText, Refused
from tokcli.engine.native_models.twins import RecordEncoder, twin_of
from tokcli.engine.shortcut.shortcut import DecodingFacts, Shortcut
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text, special_finder
from tokcli.engine.text_tokenizer import NextTokens, TextTokenizer
from tokcli.engine.tokens import Spans, Tokens, added, joined, joined_ids, spans_of
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.llama_cpp.fragment_models import FragmentModel

_ASCII_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class LlamaCpp(LlamaVocabulary, TextTokenizer):
    """The tokenizer of a GGUF file: a vocabulary with llama.cpp's rules for text."""

    family: ClassVar[str] = "llama.cpp"

    @cached_property
    def model(self) -> FragmentModel:
        """The model, which encodes text without special tokens."""
        # here, since a compiled vocabulary encodes natively: the models take a tenth of the start-up of `count`
        from tokcli.engine.llama_cpp.models import model_of

        return model_of(self)

    @cached_property
    def native_model(self) -> NativeText | None:
        """The native twin of the model, for text without special tokens; None for a model that has none."""
        return twin_of(self.model)

    @property
    def is_native(self) -> bool:
        """Whether native code does the work between special tokens."""
        return self.native_model is not None

    def set_native_model(self, twin: NativeText) -> None:
        """Use an existing twin of the model, such as one from the cache, instead of building it."""
        object.__setattr__(self, "native_model", twin)  # this is a frozen dataclass, and the twin is not a field of it

    @cached_property
    def shortcut(self) -> Shortcut | None:
        """Ranks and a known pattern that give the same ids; None where other patterns cut text, or merges differ."""
        return None if self.pre is None else self.model.shortcut(self)

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the name and the patterns of llama.cpp's pre-tokenizer, if the model has one."""
        return [] if self.pre is None else [("pre-tokenizer of llama.cpp", self.pre)]

    @property
    def finds_whole(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return self.pre is not None and self.pre.ignore_merges

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern would lose of the model."""
        model = {"llama": "scores", "bert": "WordPiece model", "t5": "Unigram scores", "rwkv": "longest-token model"}
        return [f"its {model.get(self.kind, 'pre-tokenizer, merges or added tokens, which ranks do not hold')}"]

    def notes_on_ranks(self) -> list[str]:
        """Return a sentence about the characters that llama.cpp's older tables classify differently."""
        return ["llama.cpp has the tables of Unicode 15.1: it splits at newer characters in another way."]

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text, without those that a template adds."""
        return self.encode_array(text, allowed).tolist()

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        return joined_ids([ids for ids, _ in self._encoded(text, allowed)])

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        """Return the number of ids of a text."""
        return sum(len(ids) for ids, _ in self._encoded(text, allowed))

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text after another one, for T5's Unigram; see `TextTokenizer`."""
        parts: list[memoryview] = []
        text = plain_text(text)
        for fragment in self._fragments(text, allowed):
            if isinstance(fragment, int):
                parts.append(memoryview(array("I", [fragment])))
                total = 0.0
            else:
                ids, total = self._encode_next_fragment(fragment, before, total)
                parts.append(ids)
            before = ""  # text after a special token begins anew
        ids = joined_ids(parts)
        return Tokens(ids, spans=self._spans_of(map(self.bytes_of, ids), text) if places else None), total

    def _encode_next_fragment(self, text: str, before: str, total: float) -> tuple[memoryview, float]:
        if self.native_model is not None:
            with suppress(Refused):
                found, total = self.native_model.encode_next(text, total, begins=not before, places=False)
                return memoryview(found.ids), total
        ids, total = self.model.encode_after(before, total, text)
        return memoryview(array("I", ids)), total

    def for_records(self, data: bytes, allowed: frozenset[str]) -> RecordEncoder | None:
        """Return the native code that encodes all records in a buffer; None where a token may have to be cut out."""
        if self.native_model is None or self._holds_token(data, allowed):
            return None
        return self.native_model.for_records(NONE, b" " if self._adds_space else b"")

    @property
    def _adds_space(self) -> bool:
        return self.kind == "llama" and self.settings.add_space_prefix

    def _holds_token(self, data: bytes, allowed: frozenset[str]) -> bool:
        """Return whether a token that is cut out of text may be in its UTF-8."""
        return special_finder(frozenset(self._cutting(allowed)[2])).is_in(data)

    def _encoded(self, text: TextOrUtf8, allowed: frozenset[str]) -> Iterator[tuple[memoryview, bool]]:
        """Yield the ids (uint32) of each fragment of a text, and whether a space was put before it."""
        adds_space = self._adds_space
        if isinstance(text, memoryview):
            data = bytes(text)
            if not self._holds_token(data, allowed):
                yield self._encode_fragment(memoryview(b" " + data) if adds_space else text), adds_space
                return
            text = data.decode()
        after_special = True
        for fragment in self._fragments(text, allowed):
            if isinstance(fragment, int):
                yield memoryview(array("I", [fragment])), False
                after_special = True
                continue
            has_prefix = adds_space and after_special
            yield self._encode_fragment(" " + fragment if has_prefix else fragment), has_prefix
            after_special = False

    @cached_property
    def _cutting(self) -> Callable[[frozenset[str]], tuple[LongestMatch[str], list[tuple[str, int]], dict[str, int]]]:
        return lru_cache(maxsize=8)(self._cutting_for)

    def _cutting_for(self, allowed: frozenset[str]) -> tuple[LongestMatch[str], list[tuple[str, int]], dict[str, int]]:
        """Return what finds the tokens that are cut out, these tokens and their ids in order, and the index of each."""
        ids: dict[str, int] = {}
        for token, number in self.found_tokens.cut_out:
            if not self.kinds[number] & SPECIAL or token in allowed:
                ids.setdefault(token, number)
        return LongestMatch(ids), list(ids.items()), {token: at for at, token in enumerate(ids)}

    def _fragments(self, text: str, allowed: frozenset[str]) -> Iterator[str | int]:
        """Yield the ids of special tokens and the text between them; each is looked for in what longer ones left."""
        match, tokens, order = self._cutting(allowed)
        waiting = [(order[text[begin:end]], begin) for begin, end in match.everywhere(text)]
        heapify(waiting)
        is_taken = bytearray(len(text) if waiting else 0)
        found: list[tuple[int, int, int]] = []  # begin, end, id
        while waiting:
            at, begin = heappop(waiting)
            token, number = tokens[at]
            end = begin + len(token)
            if (taken := is_taken.find(1, begin, end)) < 0:
                is_taken[begin:end] = b"\1" * len(token)
                found.append((begin, end, number))
                self._take_spaces(text, is_taken, begin, end, number)
            elif (end := match.end(text, begin, taken)) > begin:  # a shorter one, in what is left
                heappush(waiting, (order[text[begin:end]], begin))
        end = 0
        for begin, after, number in [*sorted(found), (len(text), 0, 0)]:
            first = is_taken.find(0, end, begin) if found else end
            if 0 <= first < begin:
                yield text[first : is_taken.rfind(0, end, begin) + 1 if found else begin]
            if after:
                yield number
            end = after

    def _take_spaces(self, text: str, is_taken: bytearray, begin: int, end: int, number: int) -> None:
        """Mark as taken the white space beside a token that was found, where the token strips it."""
        lstrip, rstrip = number in self.settings.lstrip, number in self.settings.rstrip
        while lstrip and begin and not is_taken[begin - 1] and text[begin - 1] in _ASCII_SPACE:
            begin -= 1
            is_taken[begin] = 1
        while rstrip and end < len(text) and not is_taken[end] and text[end] in _ASCII_SPACE:
            is_taken[end] = 1
            end += 1

    def _encode_fragment(self, text: TextOrUtf8) -> memoryview:
        """Return the ids (uint32) of text between special tokens."""
        if self.native_model is not None:
            with suppress(Refused):
                return self.native_model.encode_array(text, NONE)
        return memoryview(array("I", self.model.encode(plain_text(text))))

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places; InputError where their bytes are not those of the text.

        A space that is put before the text has no place.
        """
        bytes_of = cache(self.bytes_of)
        ids: list[int] = []
        parts: list[bytes] = []
        for found, has_prefix in self._encoded(text, allowed):
            begun = len(parts)
            ids += found
            parts += map(bytes_of, found)
            if has_prefix and begun < len(parts):
                parts[begun] = parts[begun].removeprefix(b" ")
        return Tokens(ids, spans=self._spans_of(parts, text))

    def _spans_of(self, tokens: Iterable[bytes], text: str) -> Spans:
        parts = list(tokens)
        if b"".join(parts) != text.encode():
            raise InputError(f"{self.name} changes this text: the places of its tokens are not known")
        return spans_of(parts)

    def decoding_facts(self) -> DecodingFacts:
        """Return how ids are decoded."""
        unusual = [number for number, kind in enumerate(self.kinds) if kind != NORMAL]
        settings = self.settings
        ids = range(len(self.texts))
        drops, cleans = settings.add_space_prefix, settings.clean_spaces
        return DecodingFacts(ids, unusual, self.bytes_of, drops_space=drops, cleans_spaces=cleans)

    @property
    def has_template(self) -> bool:
        """Whether ids are added before or after a text."""
        settings = self.settings
        if self.kind == "plamo2":
            return False
        return self.kind == "bert" or (settings.add_bos and settings.bos is not None) or settings.add_eos

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return the texts in a row; with `add`, between BOS (CLS) and EOS (SEP), as the file asks for."""
        settings = self.settings
        if not add or not self.has_template:
            return joined(texts)
        first = settings.bos if settings.add_bos or self.kind == "bert" else None
        last = settings.sep if self.kind == "bert" else settings.eos if settings.add_eos else None
        before, after = ([] if n is None else [added([n], 0)] for n in (first, last))
        return joined([*before, *texts, *after])

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it."""
        return self.model.split(text)

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        text = self.texts[number]
        return None if self.ids[text] != number or self.kinds[number] & SPECIAL else self.model.parents(text)

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds tokens: by merges, on the best path, or as the pieces that fit."""
        return self.model.model_kind

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge of two ids into a third; None if nothing merges."""
        return self.model.merge_order()

    def scores(self) -> Sequence[float]:
        """Return the score of each id; empty where the model does not choose by scores."""
        return self.token_scores if self.model.uses_scores else ()
