"""`Pipeline`: normalizer, pre-tokenizer, model, post-processor, and the decoder back, as a tokenizer.json names them.

It holds the parts and calls them in order; each part's rules are its own module's. What it is to an `Encoding`, any
tokenizer of this kind can be: see `Tokenizer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from tokcli.engine import backend
from tokcli.engine.added_tokens import AddedToken, AddedTokenFinder, are_apart, finders
from tokcli.engine.aligned import Aligned
from tokcli.engine.detokenizer import ByteLevel, Decoder, decoded
from tokcli.engine.models import Model
from tokcli.engine.native_text import NativeText
from tokcli.engine.normalizer import Normalizer, UnicodeForm
from tokcli.engine.normalizer import Sequence as Normalizers
from tokcli.engine.pair_bpe import PairBpe
from tokcli.engine.pattern import Ranges
from tokcli.engine.piece_cache import CACHE_PIECE_CHARS, CACHE_PIECES
from tokcli.engine.postprocessor import PostProcessor, Tokens, joined
from tokcli.engine.ranked import Ranked
from tokcli.engine.shortcut import Shortcut
from tokcli.engine.splitters import Splitter

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding


class Tokenizer(Protocol):
    """What turns whole texts into ids and back, by rules of its own."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The tokens that become ids only where they are allowed."""

    @property
    def is_byte_level(self) -> bool:
        """Whether any bytes can be encoded."""

    @property
    def max_id(self) -> int:
        """The largest id that there is."""

    @property
    def shortcut(self) -> Shortcut | None:
        """What does the same and is faster, if there is such a thing."""

    @property
    def native(self) -> NativeText | None:
        """The native twin of `encode`, where there is one for whole texts."""

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The same, and where they stand, in characters."""

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """One or two texts through the template; `add`: with its special tokens."""

    @property
    def has_template(self) -> bool:
        """Whether `finish` has anything to add."""

    @property
    def decodes_apart(self) -> bool:
        """Whether ids stand for the same bytes whatever stands beside them."""

    def split(self, text: str) -> list[str]:
        """The pieces that are encoded one by one."""

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError."""

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes that each id stands for by itself."""

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do, and where the model does not merge."""


@dataclass(frozen=True)
class Pipeline:
    """The parts of a tokenizer.json. `pieces` are added tokens, in the order of the file."""

    model: Model
    decoder: Decoder
    normalizer: Normalizer | None = None
    splitter: Splitter | None = None
    processor: PostProcessor | None = None
    added: Sequence[AddedToken] = ()
    token_text: Callable[[str], bytes] = str.encode
    is_byte_level: bool = False
    needs_start: bool = False  # whether a splitter asks where a piece stands in the text
    pat_str: str | None = None  # where the splitter cuts by this alone, and then writes bytes as characters
    unsafe: Ranges = ()  # but for text with these characters
    prefix_space: bool = False  # and with a space before each text that has none
    parts: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of the file, without the model
    _cache: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The added tokens that are special."""
        return {token.content: token.id for token in self.added if token.special}

    @cached_property
    def shortcut(self) -> Shortcut | None:
        """Ranks, where this is byte-level BPE with a known pattern, and merges, added tokens and forms allow it."""
        normalizer = self.normalizer
        if self.pat_str is None:
            return None
        if isinstance(normalizer, Normalizers) and len(normalizer.normalizers) <= 1:
            normalizer = next(iter(normalizer.normalizers), None)
        if not (normalizer is None or isinstance(normalizer, UnicodeForm)) or not self._finds_alike(normalizer):
            return None
        ranked = self._ranked
        if ranked is None or (self.prefix_space and (self.unsafe or ranked.missing or ranked.whole_only or normalizer)):
            return None  # with a prefix: where a text begins is only known to what takes it
        return Shortcut.of(
            self.pat_str,
            ranked,
            {t.content: t.id for t in self.added},
            unsafe=self.unsafe,
            form=None if normalizer is None else normalizer.form,
            prefix_space=self.prefix_space,
        )

    @cached_property
    def _ranked(self) -> Ranked | None:
        """The model as ranks, where it is byte-level BPE behind a known pattern, and its merges allow it."""
        if self.pat_str is None or not isinstance(self.model, PairBpe) or not self.model.is_plain:
            return None
        return self.model.ranks()

    def _finds_alike(self, normalizer: UnicodeForm | None) -> bool:
        """Whether added tokens are found alike in text as it came and in one go."""
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
    def decodes_apart(self) -> bool:
        """Whether the decoder looks at each token by itself."""
        return isinstance(self.decoder, ByteLevel)

    @property
    def has_template(self) -> bool:
        """Whether special tokens may be added."""
        return self.processor is not None

    @cached_property
    def _finders(self) -> Callable[[frozenset[str]], tuple[AddedTokenFinder, AddedTokenFinder]]:
        return lru_cache(maxsize=8)(lambda allowed: finders(self.added, self._normalized, allowed))

    def _normalized(self, text: str) -> str:
        aligned = Aligned(text)
        if self.normalizer is not None:
            self.normalizer(aligned)
        return aligned.text

    def _segments(self, text: str, allowed: frozenset[str], spans: bool) -> list[tuple[Aligned, int | None]]:
        """The text cut at added tokens, normalized: (segment, id of the token that it is)."""
        raw, normalized = self._finders(allowed)
        whole = Aligned.of(text) if spans else Aligned(text)
        out: list[tuple[Aligned, int | None]] = []
        for begin, end, number in raw.find(text):
            segment = whole if (begin, end) == (0, len(text)) else whole.part(begin, end)
            if number is not None:
                out.append((segment, number))
                continue
            if self.normalizer is not None:
                self.normalizer(segment)
            for first, last, inner in normalized.find(segment.text):
                if inner is None and (first, last) == (0, len(segment.text)) and not spans:
                    out.append((segment, None))
                else:
                    out.append((segment.part(first, last), inner))
        return out

    @cached_property
    def native(self) -> NativeText | None:
        """The native twin."""
        from tokcli.engine.native_models import guarded
        from tokcli.engine.native_pipelines import pipeline

        return guarded(lambda: pipeline(self))

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        found = self.native.encode(text, allowed) if self.native is not None else None
        return self.encode_in_python(text, allowed) if found is None else found

    def encode_in_python(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The same by the parts."""
        if self.needs_start and self.normalizer is not None:
            return self.encode_spans(text, allowed).ids
        ids: list[int] = []
        is_first = True
        for segment, number in self._segments(text, allowed, spans=False):
            segment.start = 0 if is_first else 1  # all that a splitter asks
            is_first = False
            if number is not None:
                ids.append(number)
            elif (native := self._natively(segment.text)) is not None:
                ids += native
            else:
                for piece in self.splitter(segment) if self.splitter else (segment,):
                    ids += self._encode_piece(piece.text)
        return ids

    def encode_segments(self, text: str, allowed: frozenset[str]) -> list[int] | None:
        """The ids of a text, if native code can do all that stands between its added tokens."""
        ids: list[int] = []
        for segment, number in self._segments(text, allowed, spans=False):
            found = [number] if number is not None else self._natively(segment.text)
            if found is None:
                return None
            ids += found
        return ids

    def _natively(self, text: str) -> list[int] | None:
        """The ids of a normalized segment, where native code splits and merges as this pipeline does."""
        if self._inner is None:
            return None
        shortcut, encoding = self._inner
        if not shortcut.holds_for(text):
            return None
        return encoding.encode_ordinary(shortcut.with_prefix(text))

    @cached_property
    def segment_shortcut(self) -> Shortcut | None:
        """What splits and merges one segment, where a known pattern and ranks do; added tokens may be of any kind."""
        if backend.native() is None or self._ranked is None or self.pat_str is None:
            return None
        return Shortcut.of(self.pat_str, self._ranked, {}, unsafe=self.unsafe, prefix_space=self.prefix_space)

    @cached_property
    def _inner(self) -> tuple[Shortcut, Encoding] | None:
        """The same, and the encoding that does it."""
        from tokcli.engine.encoding import Encoding

        shortcut = self.segment_shortcut
        if shortcut is None:
            return None
        encoding = Encoding.on_demand(
            "segments", pat_str=shortcut.pat_str, special_tokens={}, max_rank=shortcut.max_id,
            load_ranks=shortcut.load_ranks, load_image=shortcut.load_image,
        )  # fmt: skip
        return (shortcut, encoding) if encoding.is_native else None

    def _encode_piece(self, piece: str) -> tuple[int, ...]:
        ids = self._cache.get(piece)
        if ids is None:
            ids = self.model.encode(piece)
            if len(piece) <= CACHE_PIECE_CHARS:
                if len(self._cache) >= CACHE_PIECES:
                    self._cache.clear()
                self._cache[piece] = ids
        return ids

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The ids of a text, the texts of the tokens, and where they stand."""
        out = Tokens([], texts=[], spans=[])
        texts, spans = out.texts or [], out.spans or []
        for segment, number in self._segments(text, allowed, spans=True):
            if number is not None:
                out.ids.append(number)
                texts.append(segment.text)
                spans.append(segment.span(0, len(segment.text)))
                continue
            for piece in self.splitter(segment) if self.splitter else (segment,):
                for token in self.model.tokens(piece.text):
                    out.ids.append(token.id)
                    texts.append(token.text)
                    spans.append(piece.span(token.begin, token.end))
        return Tokens(out.ids, texts=texts, spans=spans)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """One or two texts through the post-processor."""
        for number, tokens in enumerate(texts):
            tokens.type_ids = [number] * len(tokens.ids)
        return joined(self.processor(texts, add) if self.processor is not None else texts)

    def split(self, text: str) -> list[str]:
        """The pieces as they stand in the text: what a piece takes with it from there."""
        pieces: list[str] = []
        at = 0
        for segment, number in self._segments(text, frozenset(), spans=True):
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
        return {**self.model.texts(), **self._added_texts}

    @cached_property
    def _added_texts(self) -> Mapping[int, str]:
        return {t.id: self._normalized(t.content) if t.normalized else t.content for t in self.added}

    def bytes_of(self, number: int) -> bytes:
        """The bytes that decoding one id gives."""
        return decoded([number], self._added_texts if number in self._added_texts else self._texts, self.decoder)

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids, special tokens printed."""
        return decoded(ids, self._texts, self.decoder)

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do, and where the model does not merge."""
        if not isinstance(self.model, PairBpe) or number in self._added_ids:
            return None
        return self.model.parents(number)

    @cached_property
    def _added_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self.added)

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes of each id: of an added token its text."""
        found = {number: self.token_text(text) for number, text in self.model.texts().items()}
        return found | {token.id: token.content.encode() for token in self.added}
