"""`Pipeline`: the rules of a tokenizer.json. They run normalizer, pre-tokenizer, model and post-processor in order.

Each kind of part has a module of its own, which has its rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from typing import ClassVar, cast

from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.bpe import BoundedCache, MergeOrder, ModelKind
from tokcli.engine.bpe.byte_alphabet import bytes_of, to_byte_chars
from tokcli.engine.bpe.pairs import PairBpe
from tokcli.engine.bpe.ranks import Ranked
from tokcli.engine.native_models.text_model import NativeText, Refused
from tokcli.engine.pipeline.added_tokens import AddedTokenFinder, are_apart, finders
from tokcli.engine.pipeline.aligned import Aligned, blanks_of
from tokcli.engine.pipeline.cut_pattern import CutPattern, cut_pattern_of
from tokcli.engine.pipeline.decode_steps import StepDecoders
from tokcli.engine.pipeline.decoders import decoded
from tokcli.engine.pipeline.models import Model, model_of
from tokcli.engine.pipeline.normalizers import normalize
from tokcli.engine.pipeline.pretokenizers import pieces_of
from tokcli.engine.pipeline.processors import processed, trims
from tokcli.engine.spec.decoders import ByteLevelDecoder, Decoder
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.spec.json_form import to_json
from tokcli.engine.spec.models import TokenizerJsonModel
from tokcli.engine.spec.normalizers import Form, UnicodeForm
from tokcli.engine.spec.splitters import ByteLevel, Metaspace
from tokcli.engine.spec.templates import PostProcessor
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.text_tokenizer import SpecTokenizer
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tiktoken.text_ranks_of import text_ranks_of
from tokcli.engine.tokens import Tokens, check_growth, joined, most_made_of

Segment = tuple[Aligned, int | None]
"""An added token and its id, or normalized text between two of them and None."""


class Pipeline(SpecTokenizer):
    """The tokenizer of a spec that a tokenizer.json gave."""

    is_tokenizer_json: ClassVar[bool] = True

    @cached_property
    def model(self) -> Model:
        """The model, which turns pieces into ids."""
        return model_of(cast(TokenizerJsonModel, self.spec.model), self.spec.name)

    @property
    def _decoders(self) -> tuple[Decoder, ...]:
        return cast("tuple[Decoder, ...]", self.spec.decoder)

    @property
    def _processors(self) -> tuple[PostProcessor, ...]:
        return cast("tuple[PostProcessor, ...]", self.spec.template or ())

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether text is cut or joined as bytes, in GPT-2's alphabet."""
        return any(isinstance(step, ByteLevel | ByteLevelDecoder) for step in (*self.spec.splitter, *self._decoders))

    @cached_property
    def needs_start(self) -> bool:
        """Whether a splitter asks if a piece is at the start of the text."""
        return any(isinstance(step, Metaspace) and step.prepend_scheme == "first" for step in self.spec.splitter)

    @cached_property
    def cuts(self) -> CutPattern:
        """The patterns by which splitters cut text before they write bytes as characters."""
        return cut_pattern_of(self.spec.splitter)

    def decoding_facts(self) -> DecodingFacts:
        """Return the bytes of each id, or its text and the decoder."""
        added = [token.id for token in self.spec.added]
        ids = [*self.model.ids.values(), *added]
        if self.decodes_context_free:
            return DecodingFacts(ids, added, self.bytes_of, DecodingSpec())
        spec = DecodingSpec(steps=json.dumps(to_json(self._decoders)))
        return DecodingFacts(ids, ids, lambda id: _utf8(self._texts[id]), spec)

    @cached_property
    def text_ranks(self) -> TextRanks | None:
        """Ranks and one pattern that give the same ids, if they can express all of the tokenizer."""
        cuts, form = self.cuts, self._form
        if cuts.pat_str is None or (self.spec.normalizer and form is None) or not self._finds_alike():
            return None
        ranked = self.ranked
        if ranked is None or (cuts.prefix_space and (cuts.unsafe or ranked.missing or ranked.whole_only or form)):
            return None  # a prefix is for the beginning of a text, which the slow way for unsafe text does not know
        return text_ranks_of(
            self.spec.name,
            cuts.pat_str,
            ranked,
            {t.content: t.id for t in self.spec.added},
            unsafe=cuts.unsafe,
            form=form,
            prefix_space=cuts.prefix_space,
            hides_tokens=True,
        )

    @property
    def _form(self) -> Form | None:
        """The normalization form into which text is brought, if that is all that the normalizer does."""
        steps = self.spec.normalizer
        return steps[0].form if len(steps) == 1 and isinstance(steps[0], UnicodeForm) else None

    @cached_property
    def ranked(self) -> Ranked | None:
        """The model as ranks; None where it is not byte-level BPE after patterns, or ranks cannot give its merges."""
        if not (self.cuts.pat_str or self.cuts.row) or not isinstance(self.model, PairBpe) or not self.model.is_plain:
            return None
        return self.model.ranks()

    def _finds_alike(self) -> bool:
        """Return whether searching the text as given for all added tokens at once finds the same ones."""
        added = self.spec.added
        if any(t.single_word or t.lstrip or t.rstrip for t in added):
            return False
        later = [t.content for t in added if t.normalized]
        return not later or (
            not self.spec.normalizer and are_apart([t.content for t in added if not t.normalized], later)
        )

    @property
    def max_id(self) -> int:
        """The largest id."""
        return max((*self.model.ids.values(), *(token.id for token in self.spec.added)), default=0)

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes whatever ids are beside it."""
        steps = self._decoders
        return len(steps) == 1 and isinstance(steps[0], ByteLevelDecoder)

    @property
    def trims_spans(self) -> bool:
        """Whether the post-processor takes spaces out of spans."""
        return trims(self._processors)

    @cached_property
    def _finders(self) -> Callable[[frozenset[str]], tuple[AddedTokenFinder, AddedTokenFinder]]:
        return lru_cache(maxsize=8)(lambda allowed: finders(self.spec.added, self.added_texts, allowed))

    def normalized(self, text: str) -> str:
        """Return a text as the normalizer leaves it."""
        aligned = Aligned(text)
        normalize(self.spec.normalizer, aligned)
        return aligned.text

    def segments(self, text: str, allowed: frozenset[str], spans: bool) -> list[Segment]:
        """Return the segments of a text, cut at its added tokens: (added token, its id), or (normalized text, None)."""
        raw, normalized = self._finders(allowed)
        whole = Aligned.of(text) if spans else Aligned(text)
        out: list[Segment] = []
        made = 0
        for begin, end, id in raw.find(text):
            segment = whole if (begin, end) == (0, len(text)) else whole.part(begin, end)
            if id is not None:
                out.append((segment, id))
                continue
            normalize(self.spec.normalizer, segment)
            made += len(segment.text)
            whole.check(made)
            for first, last, inner in normalized.find(segment.text):
                if inner is None and (first, last) == (0, len(segment.text)) and not spans:
                    out.append((segment, None))
                else:
                    out.append((segment.part(first, last), inner))
        return out

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text; special tokens in `allowed` become their ids."""
        if self.needs_start and (self.spec.normalizer or len(self.spec.splitter) > 1):
            return self.encode_spans(text, allowed).ids.tolist()
        ids: list[int] = []
        for at, (segment, id) in enumerate(self.segments(text, allowed, spans=False)):
            segment.start = at  # a splitter only asks whether it is 0
            if id is not None:
                ids.append(id)
            elif (found := self._encode_segment(segment.text)) is not None:
                ids += found
            elif self.text_ranks is not None and self.text_ranks.holds_for(segment.text):
                words = self.text_ranks.split(self.text_ranks.with_prefix(segment.text))
                ids += chain.from_iterable(map(self._word_cache.__getitem__, words))
            else:
                for piece in pieces_of(self.spec.splitter, segment):
                    ids += self._cache[piece.text]
        return ids

    @cached_property
    def _word_cache(self) -> BoundedCache[tuple[int, ...]]:
        return BoundedCache(lambda word: self.model.tokenize(to_byte_chars(word)))

    @cached_property
    def _twin_of_segments(self) -> NativeText | None:
        """The native twin of all that follows a normalizer that is not native; None where more than that is not."""
        if self.native is not None or not self.spec.normalizer or self.needs_start:
            return None
        return Pipeline(self.spec._replace(normalizer=(), added=()), self.build_twin).native

    def _encode_segment(self, text: str) -> list[int] | None:
        if self._twin_of_segments is not None:
            with suppress(Refused):
                return self._twin_of_segments.encode(text, NONE)
        return None

    @cached_property
    def _cache(self) -> BoundedCache[tuple[int, ...]]:
        return BoundedCache(self.model.tokenize)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places in it, and their blanks."""
        ids: list[int] = []
        spans: list[int] = []
        blanks: list[int] = []
        for segment, id in self.segments(text, allowed, spans=True):
            if id is not None:
                ids.append(id)
                spans += segment.span(0, len(segment.text))
                blanks += blanks_of(segment.text)
                continue
            for piece in pieces_of(self.spec.splitter, segment):
                for token in self.model.tokens(piece.text):
                    ids.append(token.id)
                    spans += piece.span(token.begin, token.end)
                    blanks += blanks_of(token.text)
        return Tokens(ids, spans=spans, blanks=blanks)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts after the post-processor, with its special tokens if `add` is true."""
        for number, tokens in enumerate(texts):
            tokens.set_type(number)
        return joined(processed(self._processors, texts, add))

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it; joined, they are the text."""
        pieces: list[str] = []
        at = 0
        for segment, id in self.segments(text, NONE, spans=True):
            for part in [segment] if id is not None else pieces_of(self.spec.splitter, segment):
                end = part.span(0, len(part.text))[1]
                if end > at:
                    pieces.append(text[at:end])
                    at = end
        if at < len(text):
            pieces[-1:] = ["".join(pieces[-1:]) + text[at:]]
        return pieces

    @cached_property
    def _texts(self) -> Mapping[int, str]:
        return {**self.model.texts(), **self._decoded_texts}

    @cached_property
    def added_texts(self) -> Mapping[int, str]:
        """The text by which each added token is found, by id; InputError where the normalizer makes too much."""
        found, made = {t.id: t.content for t in self.spec.added}, 0
        most = most_made_of(sum(map(len, found.values())))
        for token in self.spec.added:
            if token.normalized:
                found[token.id] = self.normalized(token.content)
                made += len(found[token.id])
                check_growth(made, most, "normalizer")
        return found

    @cached_property
    def _decoded_texts(self) -> Mapping[int, str]:
        """The text to which each added token decodes, by id."""
        again = (token for token in self.spec.added if token.was_normalized and not token.normalized)
        return {**self.added_texts, **{token.id: self.normalized(token.content) for token in again}}

    def bytes_of(self, id: int) -> bytes:
        """Return the bytes that an id decodes to by itself."""
        texts = self._decoded_texts if id in self._decoded_texts else self._texts
        return decoded([id], texts, self._decoders)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, special tokens included; UnknownTokenError for an id that the vocabulary lacks."""
        return decoded(ids, self._texts, self._decoders)

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return self._step_decoders.stream()

    @cached_property
    def _step_decoders(self) -> StepDecoders:
        return StepDecoders(self._texts, self._decoders)

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        return None if id in self._added_ids else self.model.parents(id)

    @property
    def model_kind(self) -> ModelKind:
        """The way to find tokens: by merging, on the best path, or by looking pieces up."""
        return self.model.model_kind

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token is taken without merging."""
        return self.model.ignore_merges

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge of two ids into a third; None if nothing merges."""
        return self.model.merge_order()

    def scores(self) -> Sequence[float]:
        """Return the score of each id; empty where the model does not choose by scores."""
        return self.model.scores()

    def token_kinds(self) -> dict[int, str]:
        """Return what the file calls its added tokens, by id: `special` or `added`."""
        return {token.id: "special" if token.special else "added" for token in self.spec.added}

    @property
    def single_pattern(self) -> str | None:
        """The regex that alone cuts text into pieces; None where something else affects the pieces."""
        return None if self.cuts.prefix_space else self.cuts.pat_str

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the steps of the normalizer, where there is one, and those of the pre-tokenizer."""
        parts: list[tuple[str, object]] = [("normalizer", self.spec.normalizer)] if self.spec.normalizer else []
        whole = "none, the model sees the text between added tokens whole"
        return [*parts, ("pre-tokenizer", self.spec.splitter or whole)]

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern cannot express about the tokenizer."""
        if self.model.why_no_ranks:
            return [self.model.why_no_ranks]
        lost = []
        if self.spec.normalizer and self._form is None:
            lost.append(f"its normalizer ({', '.join(type(step).__name__ for step in self.spec.normalizer)})")
        if self.cuts.pat_str is None:
            lost.append("its pre-tokenizer, which is no single pattern that is known here")
        if any(token.single_word or token.lstrip or token.rstrip for token in self.spec.added):
            lost.append("what its added tokens take with them (single_word, lstrip, rstrip)")
        if isinstance(self.model, PairBpe) and not self.model.is_plain:
            lost.append("the prefix or suffix of its tokens")
        return lost or ["the order of its merges, which is not that of the ids"]

    @cached_property
    def _added_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self.spec.added)

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id; those of an added token are its text."""
        bytes_of_text = _byte_level_text if self.is_byte_level else _bytes_of_text
        found = {id: bytes_of_text(text) for id, text in self.model.texts().items()}
        return found | {token.id: token.content.encode() for token in self.spec.added}


def _byte_level_text(token: str) -> bytes:
    """Return the bytes that the characters of a byte-level token stand for; for any other token, its UTF-8."""
    data = bytes_of(token)
    return token.encode() if data is None else data


def _bytes_of_text(token: str) -> bytes:
    """Return the bytes of a token: <0xE9> is a byte, and U+2581 a space."""
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes.fromhex(token[3:5])
        except ValueError:
            pass
    return token.replace("\u2581", " ").encode()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
