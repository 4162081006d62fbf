"""`LlamaCpp`: the tokenizer of a GGUF file. It cuts out special tokens, and a model encodes the text between them.

Ids, ties and the treatment of unknown text are those of llama.cpp (src/llama-vocab.cpp), even where the library that a
model comes from does something else.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import cast

from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
from tokcli.engine.llama_cpp.fragment_models import FragmentModel, LlamaSpm, Plamo, Rwkv
from tokcli.engine.llama_cpp.string_bpe import WordsByMerges
from tokcli.engine.llama_cpp.token_bytes import bytes_of
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.llama_cpp.words import LlamaWords
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.spec.models import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, LlamaKind, LlamaModel
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.spec.splitters import PatternsInTurn
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.stream.spaced_decoder import SpacedDecoder
from tokcli.engine.stream.token_cuts import TokenCuts
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text
from tokcli.engine.text_tokenizer import NextTokens, SpecTokenizer
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tokens import Tokens
from tokcli.errors import UnknownTokenError

_MODELS: Mapping[LlamaKind, type[FragmentModel]] = {
    "llama": LlamaSpm,
    "gpt2": WordsByMerges,
    "bert": LlamaWords,
    "t5": LlamaUnigram,
    "rwkv": Rwkv,
    "plamo2": Plamo,
}
_NAMES = ((UNKNOWN, "unknown"), (CONTROL, "control"), (USER_DEFINED, "user-defined"), (UNUSED, "unused"),
          (BYTE, "byte"))  # fmt: skip


class LlamaCpp(SpecTokenizer):
    """The tokenizer of a GGUF file, by its spec."""

    @cached_property
    def data(self) -> LlamaModel:
        """The tables of the model."""
        return cast(LlamaModel, self.spec.model)

    @cached_property
    def model(self) -> FragmentModel:
        """The model, which encodes text without special tokens; InputError where it needs a token that is missing."""
        return _MODELS[self.data.kind](self.spec)

    @property
    def is_byte_level(self) -> bool:
        """Whether any bytes can be encoded."""
        return self.data.byte_level

    @property
    def max_id(self) -> int:
        """The largest id."""
        return len(self.data.texts) - 1

    @cached_property
    def cuts(self) -> TokenCuts:
        """The tokens that are cut out of text before the model sees it."""
        return TokenCuts(self.spec.added, "ascii")

    def text_around(self, between: object) -> CutText:
        """Return what encodes whole texts, given what encodes the text between the tokens that are cut out."""
        step = next(iter(self.spec.normalizer), None)
        puts_space = self.data.kind == "llama" and isinstance(step, SentencePieceNormalizer) and step.add_dummy_prefix
        return CutText(between, self.cuts, puts_space=puts_space, bytes_of=self.bytes_of, name=self.spec.name)

    @property
    def in_python(self) -> CutText:
        """The model in Python, around which special tokens are cut out of texts."""
        return self.text_around(_ModelInPython(self.model))

    @cached_property
    def text_ranks(self) -> TextRanks | None:
        """Ranks and a known pattern that give the same ids, unless other patterns cut text, or merges differ."""
        return self.model.text_ranks() if self.spec.splitter else None

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the name and the patterns of llama.cpp's pre-tokenizer, if the model has one."""
        steps = (step for step in self.spec.splitter if isinstance(step, PatternsInTurn))
        return [("pre-tokenizer of llama.cpp", step.patterns) for step in steps]

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return self.data.ignore_merges

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern would lose of the model."""
        model = {"llama": "scores", "bert": "WordPiece model", "t5": "Unigram scores", "rwkv": "longest-token model"}
        others = "pre-tokenizer, merges or added tokens, which ranks do not hold"
        return [f"its {model.get(self.data.kind, others)}"]

    def notes_on_ranks(self) -> list[str]:
        """Return a sentence about the characters that llama.cpp's older tables classify differently."""
        return ["llama.cpp has the tables of Unicode 15.1: it splits at newer characters in another way."]

    def decoding_facts(self) -> DecodingFacts:
        """Return how ids are decoded."""
        model = self.data
        unusual = [id for id, kind in enumerate(model.kinds) if kind != NORMAL]
        return DecodingFacts(range(len(model.texts)), unusual, self.bytes_of, cast(DecodingSpec, self.spec.decoder))

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes anywhere: no space is dropped or cleaned up."""
        return bool(self.spec.decoder == DecodingSpec())

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return SpacedDecoder(self._joined, cast(DecodingSpec, self.spec.decoder))

    def _joined(self, ids: Sequence[int]) -> bytes:
        for id in ids:
            if not 0 <= id <= self.max_id:
                raise UnknownTokenError(f"{id} is not an id of the vocabulary")
        return b"".join(map(self.bytes_of, ids))

    def bytes_of(self, id: int) -> bytes:
        """Return the bytes of an id by itself; none for unused tokens."""
        return bytes_of(self.data, id)

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id."""
        return {id: self.bytes_of(id) for id in range(self.max_id + 1)}

    def token_kinds(self) -> dict[int, str]:
        """Return the kinds of the tokens that are not normal, by id; of several kinds, the first in _NAMES."""
        kinds = enumerate(self.data.kinds)
        names = ((id, next((name for bit, name in _NAMES if kind & bit), "")) for id, kind in kinds)
        return {id: name for id, name in names if name}

    @property
    def splits_at_spaces(self) -> bool:
        """Whether `split` gives words, as `words_at_spaces` does."""
        return self.model.splits_at_spaces

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it."""
        return self.model.split(text)

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        model = self.data
        return None if model.kinds[id] & (CONTROL | UNKNOWN) else self.model.parents(model.texts[id])

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds tokens: by merges, on the best path, or as the pieces that fit."""
        return self.model.model_kind

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge of two ids into a third; None if nothing merges."""
        return self.model.merge_order()

    def scores(self) -> Sequence[float]:
        """Return the score of each id; empty where the model does not choose by scores."""
        return self.data.scores if self.model.uses_scores else ()


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
