"""`LlamaCpp`: the tokenizer of a GGUF file. It cuts out special tokens, and a model encodes the text between them.

Ids, ties and the treatment of unknown text are those of llama.cpp (src/llama-vocab.cpp), even where the library that a
model comes from does something else. The models are left to models.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
from tokcli.engine.llama_cpp.settings import NORMAL, SPECIAL
from tokcli.engine.llama_cpp.vocabulary import LlamaVocabulary
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.twins import HasTwin, twin_of
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import DecodingSpec, DropsSpace
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.stream.token_cuts import TokenCuts
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text
from tokcli.engine.text_tokenizer import NextTokens, TextTokenizer
from tokcli.engine.tokens import Tokens, added, joined

if TYPE_CHECKING:
    from tokcli.engine.llama_cpp.fragment_models import FragmentModel


@dataclass(frozen=True)
class LlamaCpp(LlamaVocabulary, HasTwin, TextTokenizer):
    """The tokenizer of a GGUF file: a vocabulary with llama.cpp's rules for text."""

    @cached_property
    def model(self) -> FragmentModel:
        """The model, which encodes text without special tokens."""
        # here, since a compiled vocabulary encodes natively: the models take a tenth of the start-up of `count`
        from tokcli.engine.llama_cpp.models import model_of

        return model_of(self)

    @cached_property
    def cuts(self) -> TokenCuts:
        """The tokens that are cut out of text before the model sees it."""
        return TokenCuts(self.added_tokens(), "ascii")

    def added_tokens(self) -> list[AddedToken]:
        """Return the tokens that are found in text before the model sees it."""
        kinds, lstrip, rstrip = self.kinds, self.settings.lstrip, self.settings.rstrip
        return [
            AddedToken(text, n, lstrip=n in lstrip, rstrip=n in rstrip, special=bool(kinds[n] & SPECIAL))
            for text, n in self.found_tokens
        ]

    def text_around(self, between: object) -> CutText:
        """Return what encodes whole texts, given what encodes the text between the tokens that are cut out."""
        puts_space = self.kind == "llama" and self.settings.add_space_prefix
        return CutText(between, self.cuts, puts_space=puts_space, bytes_of=self.bytes_of, name=self.name)

    @cached_property
    def native(self) -> CutText | None:
        """The native twin, which cuts special tokens out in Python; None where the model has none."""
        between = twin_of(self.model)
        return None if between is None else self.text_around(between)

    @property
    def in_python(self) -> CutText:
        """What cuts special tokens out of texts, and encodes the text between them by the model."""
        return self.text_around(_ModelInPython(self.model))

    @cached_property
    def shortcut(self) -> Shortcut | None:
        """Ranks and a known pattern that give the same ids; None where other patterns cut text, or merges differ."""
        return None if self.pre is None else self.model.shortcut(self)

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the name and the patterns of llama.cpp's pre-tokenizer, if the model has one."""
        return [] if self.pre is None else [("pre-tokenizer of llama.cpp", self.pre)]

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return self.pre is not None and self.pre.ignore_merges

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern would lose of the model."""
        model = {"llama": "scores", "bert": "WordPiece model", "t5": "Unigram scores", "rwkv": "longest-token model"}
        return [f"its {model.get(self.kind, 'pre-tokenizer, merges or added tokens, which ranks do not hold')}"]

    def notes_on_ranks(self) -> list[str]:
        """Return a sentence about the characters that llama.cpp's older tables classify differently."""
        return ["llama.cpp has the tables of Unicode 15.1: it splits at newer characters in another way."]

    def decoding_facts(self) -> DecodingFacts:
        """Return how ids are decoded."""
        unusual = [number for number, kind in enumerate(self.kinds) if kind != NORMAL]
        settings = self.settings
        drops: DropsSpace = "of the first id" if settings.add_space_prefix else "no"
        spec = DecodingSpec(drops, cleans_spaces=settings.clean_spaces)
        return DecodingFacts(range(len(self.texts)), unusual, self.bytes_of, spec)

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


class _ModelInPython:
    """Encodes the text between special tokens by a model, in Python; see `CutText`."""

    def __init__(self, model: FragmentModel) -> None:
        self._model = model

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text (uint32); no special token is in it."""
        del allowed
        return memoryview(array("I", self._model.tokenize(plain_text(text))))

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text after another one, for T5's Unigram."""
        del allowed, places
        ids, total = self._model.encode_after(before, total, plain_text(text))
        return Tokens(ids), total
