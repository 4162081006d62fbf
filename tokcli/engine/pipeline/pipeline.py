"""`Pipeline`: the tokenizer of a tokenizer.json. It calls normalizer, pre-tokenizer, model and post-processor in order.

Each kind of part has a module of its own, which has its rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, ClassVar

from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.bpe import BoundedCache, MergeOrder, ModelKind
from tokcli.engine.bpe.byte_alphabet import to_byte_chars
from tokcli.engine.bpe.pairs import PairBpe
from tokcli.engine.bpe.ranks import Ranked
from tokcli.engine.native_models.text_model import NativeText, Refused
from tokcli.engine.native_models.twins import HasTwin
from tokcli.engine.pipeline.added_tokens import AddedToken, AddedTokenFinder, are_apart, finders
from tokcli.engine.pipeline.aligned import Aligned, blanks_of
from tokcli.engine.pipeline.decode_steps import decode_stream
from tokcli.engine.pipeline.decoders import ByteLevelDecoder, Decoder, decoded
from tokcli.engine.pipeline.models import Model
from tokcli.engine.pipeline.normalizers import Normalizer, UnicodeForm, one_of
from tokcli.engine.pipeline.pretokenizers import Metaspace, Splitter
from tokcli.engine.pipeline.processors import PostProcessor, trims
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.shortcut.from_ranks import shortcut_from_ranks
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.engine.tokens import Tokens, check_growth, joined, most_made_of
from tokcli.engine.unicode.ranges import Ranges

Segment = tuple[Aligned, int | None]
"""An added token and its id, or normalized text between two of them and None."""


@dataclass(frozen=True)
class Pipeline(HasTwin, TextTokenizer):
    """The tokenizer made of the parts of a tokenizer.json. `added` are the added tokens in the order of the file."""

    model: Model
    decoder: Decoder
    normalizer: Normalizer | None = None
    splitter: Splitter | None = None
    processor: PostProcessor | None = None
    added: Sequence[AddedToken] = ()
    token_text: Callable[[str], bytes] = str.encode
    is_byte_level: bool = False
    needs_start: bool = False  # a splitter asks whether a piece is at the start of the text
    pat_str: str | None = None  # the one pattern by which the splitter cuts, before it writes bytes as characters
    row: tuple[str, ...] = ()  # where `pat_str` is None: the patterns by which the splitter cuts, one after another
    unsafe: Ranges = ()  # characters that make the splitter cut differently from `pat_str`
    exact: tuple[str, ...] = ()  # the patterns in a row by which it cuts text with such a character
    prefix_space: bool = False  # a space is put before each text that has none
    file_notes: Sequence[str] = ()
    parts: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of the file, without the model

    is_tokenizer_json: ClassVar[bool] = True

    def decoding_facts(self) -> DecodingFacts | None:
        """Return the bytes of each id, or its text and the decoder; None where nothing was read of a decoder."""
        added = [token.id for token in self.added]
        ids = [*self.model.ids.values(), *added]
        if self.decodes_context_free:
            return DecodingFacts(ids, added, self.bytes_of, DecodingSpec())
        if self.parts is None:
            return None
        components = json.dumps({"decoder": self.parts.get("decoder")})
        return DecodingFacts(ids, ids, lambda number: _utf8(self._texts[number]), DecodingSpec(components=components))

    def added_tokens(self) -> Sequence[AddedToken]:
        """Return the added tokens in the order of the file."""
        return self.added

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of the special tokens."""
        return {token.content: token.id for token in self.added if token.special}

    @cached_property
    def shortcut(self) -> Shortcut | None:
        """Ranks and one pattern that give the same ids; None where they cannot express all of the tokenizer."""
        normalizer = one_of(self.normalizer)
        if self.pat_str is None:
            return None
        if not (normalizer is None or isinstance(normalizer, UnicodeForm)) or not self._finds_alike(normalizer):
            return None
        ranked = self.ranked
        if ranked is None or (self.prefix_space and (self.unsafe or ranked.missing or ranked.whole_only or normalizer)):
            return None  # a prefix is for the beginning of a text, which the slow way for unsafe text does not know
        return shortcut_from_ranks(
            self.pat_str,
            ranked,
            {t.content: t.id for t in self.added},
            unsafe=self.unsafe,
            form=None if normalizer is None else normalizer.form,
            prefix_space=self.prefix_space,
            hides_tokens=True,
        )

    @cached_property
    def ranked(self) -> Ranked | None:
        """The model as ranks; None where it is not byte-level BPE after patterns, or ranks cannot give its merges."""
        if (self.pat_str is None and not self.row) or not isinstance(self.model, PairBpe) or not self.model.is_plain:
            return None
        return self.model.ranks()

    def _finds_alike(self, normalizer: UnicodeForm | None) -> bool:
        """Return whether searching the text as given for all added tokens at once finds the same ones."""
        if any(t.single_word or t.lstrip or t.rstrip for t in self.added):
            return False
        later = [t.content for t in self.added if t.normalized]
        return not later or (
            normalizer is None and are_apart([t.content for t in self.added if not t.normalized], later)
        )

    @property
    def max_id(self) -> int:
        """The largest id."""
        return max((*self.model.ids.values(), *(token.id for token in self.added)), default=0)

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes whatever ids are beside it."""
        return isinstance(self.decoder, ByteLevelDecoder)

    @property
    def has_template(self) -> bool:
        """Whether `finish` may add special tokens."""
        return self.processor is not None

    @property
    def trims_spans(self) -> bool:
        """Whether the post-processor takes spaces out of spans."""
        return trims(self.processor)

    @cached_property
    def _finders(self) -> Callable[[frozenset[str]], tuple[AddedTokenFinder, AddedTokenFinder]]:
        return lru_cache(maxsize=8)(lambda allowed: finders(self.added, self.added_texts, allowed))

    def normalized(self, text: str) -> str:
        """Return a text as the normalizer leaves it."""
        aligned = Aligned(text)
        if self.normalizer is not None:
            self.normalizer(aligned)
        return aligned.text

    def segments(self, text: str, allowed: frozenset[str], spans: bool) -> list[Segment]:
        """Return the segments of a text, cut at its added tokens: (added token, its id), or (normalized text, None)."""
        raw, normalized = self._finders(allowed)
        whole = Aligned.of(text) if spans else Aligned(text)
        out: list[Segment] = []
        made = 0
        for begin, end, number in raw.find(text):
            segment = whole if (begin, end) == (0, len(text)) else whole.part(begin, end)
            if number is not None:
                out.append((segment, number))
                continue
            if self.normalizer is not None:
                self.normalizer(segment)
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
        if self.needs_start and (self.normalizer is not None or not isinstance(self.splitter, Metaspace)):
            return self.encode_spans(text, allowed).ids.tolist()
        ids: list[int] = []
        for at, (segment, number) in enumerate(self.segments(text, allowed, spans=False)):
            segment.start = at  # a splitter only asks whether it is 0
            if number is not None:
                ids.append(number)
            elif (found := self._encode_segment(segment.text)) is not None:
                ids += found
            elif self.shortcut is not None and self.shortcut.holds_for(segment.text):
                words = self._pattern.split(self.shortcut.with_prefix(segment.text))
                ids += chain.from_iterable(map(self._word_cache.__getitem__, words))
            else:
                for piece in self.splitter(segment) if self.splitter else (segment,):
                    ids += self._cache[piece.text]
        return ids

    @cached_property
    def _pattern(self) -> PreTokenizer:
        """The one pattern by which text is cut, where there is a shortcut: it matches faster than splitters do."""
        return PreTokenizer(self.pat_str or "")

    @cached_property
    def _word_cache(self) -> BoundedCache[tuple[int, ...]]:
        return BoundedCache(lambda word: self.model.tokenize(to_byte_chars(word)))

    @cached_property
    def _twin_of_segments(self) -> NativeText | None:
        """The native twin of all that follows a normalizer that is not native; None where more than that is not."""
        if self.native is not None or self.normalizer is None or self.needs_start:
            return None
        return replace(self, normalizer=None, added=()).native

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
        for segment, number in self.segments(text, allowed, spans=True):
            if number is not None:
                ids.append(number)
                spans += segment.span(0, len(segment.text))
                blanks += blanks_of(segment.text)
                continue
            for piece in self.splitter(segment) if self.splitter else (segment,):
                for token in self.model.tokens(piece.text):
                    ids.append(token.id)
                    spans += piece.span(token.begin, token.end)
                    blanks += blanks_of(token.text)
        return Tokens(ids, spans=spans, blanks=blanks)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts after the post-processor, with its special tokens if `add` is true."""
        for number, tokens in enumerate(texts):
            tokens.set_type(number)
        return joined(self.processor(texts, add) if self.processor is not None else texts)

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it; joined, they are the text."""
        pieces: list[str] = []
        at = 0
        for segment, number in self.segments(text, frozenset(), spans=True):
            parts = [segment] if number is not None or self.splitter is None else self.splitter(segment)
            for part in parts:
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
        found, made = {t.id: t.content for t in self.added}, 0
        most = most_made_of(sum(map(len, found.values())))
        for token in self.added:
            if token.normalized:
                found[token.id] = self.normalized(token.content)
                made += len(found[token.id])
                check_growth(made, most, "normalizer")
        return found

    @cached_property
    def _decoded_texts(self) -> Mapping[int, str]:
        """The text to which each added token decodes, by id."""
        again = (token for token in self.added if token.was_normalized and not token.normalized)
        return {**self.added_texts, **{token.id: self.normalized(token.content) for token in again}}

    def bytes_of(self, number: int) -> bytes:
        """Return the bytes that an id decodes to by itself."""
        return decoded([number], self._decoded_texts if number in self._decoded_texts else self._texts, self.decoder)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, special tokens included; UnknownTokenError for an id that the vocabulary lacks."""
        return decoded(ids, self._texts, self.decoder)

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return decode_stream(self._texts, self.decoder)

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        return None if number in self._added_ids else self.model.parents(number)

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
        return {token.id: "special" if token.special else "added" for token in self.added}

    @property
    def single_pattern(self) -> str | None:
        """The regex that alone cuts text into pieces; None where something else affects the pieces."""
        return None if self.prefix_space else self.pat_str

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the normalizer, where there is one, and the pre-tokenizer."""
        parts: list[tuple[str, object]] = [] if self.normalizer is None else [("normalizer", self.normalizer)]
        return [*parts, ("pre-tokenizer", self.splitter or "none, the model sees the text between added tokens whole")]

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern cannot express about the tokenizer."""
        if self.model.why_no_ranks:
            return [self.model.why_no_ranks]
        lost = []
        if self.normalizer is not None and not isinstance(self.normalizer, UnicodeForm):
            lost.append(f"its normalizer ({type(self.normalizer).__name__})")
        if self.pat_str is None:
            lost.append("its pre-tokenizer, which is no single pattern that is known here")
        if any(token.single_word or token.lstrip or token.rstrip for token in self.added):
            lost.append("what its added tokens take with them (single_word, lstrip, rstrip)")
        if isinstance(self.model, PairBpe) and not self.model.is_plain:
            lost.append("the prefix or suffix of its tokens")
        return lost or ["the order of its merges, which is not that of the ids"]

    @cached_property
    def _added_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self.added)

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id; those of an added token are its text."""
        found = {number: self.token_text(text) for number, text in self.model.texts().items()}
        return found | {token.id: token.content.encode() for token in self.added}


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
