"""SentencePiece's models: BPE by scores, Unigram, words, characters; pieces that are bytes, control, unused, unknown.

Text is seen whole: no pre-tokenizer cuts it. The order of merging, and of additions in Unigram, is that of
SentencePiece 0.2 (bpe_model.cc, unigram_model.cc), the resegmentation of unused pieces too.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

from tokcli.engine.bpe import last_two
from tokcli.engine.models import byte_token
from tokcli.engine.native_text import NativeText
from tokcli.engine.piece_cache import CACHE_PIECE_CHARS, CACHE_PIECES
from tokcli.engine.postprocessor import Tokens, joined
from tokcli.engine.spm_normalizer import SPACE, SpmNormalizer
from tokcli.engine.unigram import UNKNOWN_PENALTY, prefixes, single
from tokcli.errors import UnknownTokenError

Kind = Literal["normal", "unknown", "control", "user_defined", "byte", "unused"]
ModelType = Literal["unigram", "bpe", "word", "char"]
Found = tuple[str, int]  # a piece of the normalized text, and its id (or the unknown one's)

_MERGEABLE: frozenset[Kind] = frozenset({"normal", "user_defined", "unused"})
_RESEGMENT_DEPTH = 100  # beyond it SentencePiece, too, takes a piece as it is
_RESET = 100_000.0  # scores beyond it are counted from zero again, for a float of 32 bits to stay exact


class Piece(NamedTuple):
    """A piece of the vocabulary; its score is a float of 32 bits."""

    text: str
    score: float
    kind: Kind


@dataclass(frozen=True)
class SentencePiece:
    """A model: its pieces by id, how text is normalized, and how ids become text again."""

    pieces: Sequence[Piece] = field(repr=False)
    model_type: ModelType
    normalizer: SpmNormalizer
    byte_fallback: bool = False
    unknown_surface: str = " \u2047 "
    denormalizer: SpmNormalizer | None = None
    _cache: dict[str, tuple[Found, ...]] = field(default_factory=dict, repr=False, compare=False)

    special_tokens: Mapping[str, int] = field(default_factory=dict, init=False, repr=False)
    is_byte_level: ClassVar[bool] = False
    has_template: ClassVar[bool] = False
    decodes_apart: ClassVar[bool] = False
    shortcut: ClassVar[None] = None

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: the fields, without what is made from them on demand."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"_cache": {}}

    @property
    def max_id(self) -> int:
        """The largest id."""
        return len(self.pieces) - 1

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Pieces that text can become: of BPE also those that must not merge, which hide nothing else."""
        return {text: i for i, (text, _, kind) in enumerate(self.pieces) if kind in _MERGEABLE}

    @cached_property
    def _unknown(self) -> int:
        return next((i for i, p in enumerate(self.pieces) if p.kind == "unknown"), -1)

    @cached_property
    def _bytes(self) -> dict[int, int]:
        """The ids of bytes."""
        ids = {text: i for i, (text, _, _) in enumerate(self.pieces) if text[:3] == "<0x"}
        return {byte: ids[byte_token(byte)] for byte in range(256) if byte_token(byte) in ids}

    # --- text to ids -------------------------------------------------------------------------------------------------

    @cached_property
    def native(self) -> NativeText | None:
        """The native twin."""
        from tokcli.engine import native_models

        return native_models.guarded(lambda: native_models.sentencepiece(self))

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        found = self.native.encode(text, allowed) if self.native is not None else None
        return self.encode_in_python(text, allowed) if found is None else found

    def encode_in_python(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The same in Python."""
        del allowed
        return [number for number, _ in self._numbered(self._segment(self.normalizer.normalize(text)))]

    def encode_normalized(self, text: str) -> list[int]:
        """The ids of a text as the normalizer leaves it, such as a piece's own."""
        return [number for number, _ in self._numbered(self._segment(text))]

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The ids of a text, and where they stand: of an unknown character's bytes, only the last has it."""
        del allowed
        normalized, origins = self.normalizer.normalize_aligned(text)
        ids, spans = [], []
        at = 0
        for number, size in self._numbered(self._segment(normalized)):
            ids.append(number)
            spans.append((origins[at], origins[at + size]))
            at += size
        return Tokens(ids, texts=[self.pieces[number].text for number in ids], spans=spans)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """There is no template."""
        del add
        return joined(texts)

    def split(self, text: str) -> list[str]:
        """The words, as they stand in the text: each space begins one."""
        return re.findall(r" ?[^ ]+| +", text) if text else []

    def _numbered(self, found: Iterator[Found] | Sequence[Found]) -> Iterator[tuple[int, int]]:
        """(id, characters of the normalized text): unknown ones as bytes, or a run of them as one."""
        unknown = 0  # characters
        for text, number in found:
            if number != self._unknown:
                if unknown:
                    yield self._unknown, unknown
                    unknown = 0
                yield number, len(text)
            elif self.byte_fallback:
                data = text.encode()
                for byte in data[:-1]:
                    yield self._bytes[byte], 0
                yield self._bytes[data[-1]], len(text)
            else:
                unknown += len(text)
        if unknown:
            yield self._unknown, unknown

    @cached_property
    def _segment(self) -> Callable[[str], Sequence[Found]]:
        return {"bpe": self._bpe, "unigram": self._unigram, "word": self._words, "char": self._characters}[
            self.model_type
        ]

    # --- words and characters ----------------------------------------------------------------------------------------

    def _known(self, text: str) -> Found:
        number = self._ids.get(text, self._unknown)
        return text, self._unknown if self.pieces[number].kind == "unused" else number

    def _words(self, text: str) -> Sequence[Found]:
        return [self._known(word) for word in re.findall(f"^[^{SPACE}]+|{SPACE}[^{SPACE}]*", text)]

    def _characters(self, text: str) -> Sequence[Found]:
        return [self._known(symbol) for symbol in self._symbols.findall(text)]

    @cached_property
    def _symbols(self) -> re.Pattern[str]:
        """User-defined symbols, or single characters."""
        kept = sorted(self.normalizer.kept, key=lambda symbol: (-len(symbol), symbol))
        return re.compile("|".join([*map(re.escape, kept), "."]), re.DOTALL)

    # --- BPE ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _word_pattern(self) -> re.Pattern[str] | None:
        """Cuts where nothing can merge: before spaces, if no piece has a space behind something else."""
        inside = re.compile(f"[^{SPACE}]{SPACE}")
        texts = [p.text for p in self.pieces if p.kind in _MERGEABLE]
        if any(map(inside.search, texts)) or any(p.kind == "unused" for p in self.pieces):
            return None
        return re.compile(f"{SPACE}*[^{SPACE}]+|{SPACE}+")

    def _bpe(self, text: str) -> Sequence[Found]:
        if self._word_pattern is None:
            return self._merged(text)
        found: list[Found] = []
        cache = self._cache
        for word in self._word_pattern.findall(text):
            pieces = cache.get(word)
            if pieces is None:
                pieces = tuple(self._merged(word))
                if len(word) <= CACHE_PIECE_CHARS:
                    if len(cache) >= CACHE_PIECES:
                        cache.clear()
                    cache[word] = pieces
            found += pieces
        return found

    def _merged(self, text: str) -> list[Found]:
        """Symbols joined, the pair of the highest score first, the leftmost of equals, until none is a piece."""
        symbols: list[str] = self._symbols.findall(text)
        frozen = self.normalizer.kept
        count = len(symbols)
        following, previous = list(range(1, count + 1)), list(range(-1, count - 1))
        agenda: list[tuple[float, int, int, int]] = []
        parts_of: dict[str, tuple[str, str]] = {}  # of unused pieces
        ids, pieces = self._ids, self.pieces

        def consider(left: int, right: int) -> None:
            if symbols[left] in frozen or symbols[right] in frozen:
                return
            both = symbols[left] + symbols[right]
            number = ids.get(both)
            if number is None:
                return
            piece = pieces[number]
            heapq.heappush(agenda, (-piece.score, left, right, len(both)))
            if piece.kind == "unused":
                parts_of[both] = symbols[left], symbols[right]

        for at in range(count - 1):
            consider(at, at + 1)
        while agenda:
            _, left, right, size = heapq.heappop(agenda)
            if not symbols[left] or not symbols[right] or len(symbols[left]) + len(symbols[right]) != size:
                continue
            symbols[left] += symbols[right]
            symbols[right] = ""
            behind = following[left] = following[right]
            if behind < count:
                previous[behind] = left
            if previous[left] >= 0:
                consider(previous[left], left)
            if behind < count:
                consider(left, behind)
        return [found for symbol in symbols if symbol for found in self._resegmented(symbol, parts_of)]

    def _resegmented(self, symbol: str, parts_of: Mapping[str, tuple[str, str]]) -> Iterator[Found]:
        """A piece, or where it is unused, what it was merged from."""
        pending = [(symbol, 0)]
        while pending:
            text, depth = pending.pop()
            number = self._ids.get(text)
            if number is None:
                yield text, self._unknown
            elif depth > _RESEGMENT_DEPTH or self.pieces[number].kind != "unused":
                yield text, number
            elif text not in parts_of:
                yield text, self._unknown
            else:
                left, right = parts_of[text]
                pending += [(right, depth + 1), (left, depth + 1)]

    # --- Unigram -----------------------------------------------------------------------------------------------------

    @cached_property
    def _scores(self) -> dict[str, float]:
        """What each piece that may be taken scores; user-defined ones by their size in bytes."""
        found = {}
        for number in self._ids.values():
            text, score, kind = self.pieces[number]
            if kind != "unused":
                found[text] = single(0.1 * (len(text.encode()) - 1)) if kind == "user_defined" else score
        return found

    @cached_property
    def _prefixes(self) -> frozenset[str]:
        return prefixes(self._scores)

    @cached_property
    def _unknown_score(self) -> float:
        lowest = min((p.score for p in self.pieces if p.kind == "normal"), default=3.4028234663852886e38)
        return single(lowest - UNKNOWN_PENALTY)

    def _unigram(self, text: str) -> Sequence[Found]:
        """The best way through the text, in floats of 32 bits."""
        scores, beginnings = self._scores, self._prefixes
        size = len(text)
        best = [0.0] * (size + 1)
        starts = [-1] * (size + 1)
        known = [False] * (size + 1)
        frontier = 0
        for begin in range(size):
            here = best[begin]
            if not -_RESET <= here <= _RESET:
                for at in range(begin, frontier + 1):
                    if at == begin or starts[at] >= 0:
                        best[at] = single(best[at] - here)
                here = 0.0
            has_single = False
            for end in range(begin + 1, size + 1):
                part = text[begin:end]
                if part not in beginnings:
                    break
                score = scores.get(part)
                if score is None:
                    continue
                frontier = max(frontier, end)
                total = single(score + here)
                if starts[end] < 0 or total > best[end]:
                    best[end], starts[end], known[end] = total, begin, True
                has_single |= end == begin + 1
            if not has_single:
                end = begin + 1
                frontier = max(frontier, end)
                total = single(self._unknown_score + here)
                if starts[end] < 0 or total > best[end]:
                    best[end], starts[end], known[end] = total, begin, False
        found: list[Found] = []
        end = size
        while end > 0:
            part = text[starts[end] : end]
            found.append((part, self._ids[part] if known[end] else self._unknown))
            end = starts[end]
        return found[::-1]

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids. Control pieces are nothing; a space at the beginning is that of the normalizer."""
        out = bytearray()
        settings = self.normalizer
        strips = settings.add_dummy_prefix or settings.remove_extra_whitespaces
        at_start = True
        for number in ids:
            if not 0 <= number < len(self.pieces):
                raise UnknownTokenError(f"{number} is not an id of the vocabulary")
            text, _, kind = self.pieces[number]
            if kind == "byte":
                out.append(int(text[3:5], 16))
                continue
            if out:
                at_start = False
            if kind == "control":
                continue
            took_space = at_start and strips and text.startswith(SPACE)
            if kind == "unknown":
                out += self.unknown_surface.encode()
            else:
                out += (text[1:] if took_space else text).replace(SPACE, " ").encode()
            if out or (took_space and not settings.remove_extra_whitespaces):
                at_start = False
        if self.denormalizer is None:
            return bytes(out)
        return self.denormalizer.normalize(out.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    # --- merges ------------------------------------------------------------------------------------------------------

    @cached_property
    def _order(self) -> dict[str, float]:
        """What merges first has the lowest number; user-defined symbols merge with nothing."""
        pieces = self.pieces
        return {text: -pieces[n].score for text, n in self._ids.items() if pieces[n].kind != "user_defined"}

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do, and for models that do not merge."""
        text, _, kind = self.pieces[number]
        if self.model_type != "bpe" or kind not in ("normal", "unused"):
            return None
        found = last_two(self._order, text)
        if found is None or any(symbol in text for symbol in self.normalizer.kept):
            return None
        left, right = self._ids.get(found[0]), self._ids.get(found[1])
        return None if left is None or right is None else (left, right)

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes that each id stands for."""
        return {
            number: bytes([int(text[3:5], 16)]) if kind == "byte" else text.replace(SPACE, " ").encode()
            for number, (text, _, kind) in enumerate(self.pieces)
        }
