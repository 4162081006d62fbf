"""The tokenizers of GGUF files, as llama.cpp has them: special tokens cut out first, then one of five models.

Ids, ties and what becomes of unknown text are llama.cpp's (src/llama-vocab.cpp), also where the library that a model
comes from would do something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from tokcli.engine.byte_alphabet import BYTE_OF
from tokcli.engine.llama_patterns import PreType
from tokcli.engine.models import byte_token
from tokcli.engine.native_text import NativeText
from tokcli.engine.piece_cache import CACHE_PIECE_CHARS, CACHE_PIECES
from tokcli.engine.postprocessor import Tokens, added, joined
from tokcli.engine.shortcut import Shortcut
from tokcli.engine.spm_normalizer import SPACE
from tokcli.engine.text import character_spans
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from tokcli.engine import llama_models as models

Kind = Literal["llama", "gpt2", "bert", "t5", "rwkv", "plamo2"]

NORMAL, CONTROL, USER_DEFINED, UNKNOWN, UNUSED, BYTE = 1, 2, 4, 8, 16, 32  # of a token, several at once
_SPECIAL = CONTROL | UNKNOWN
_LONG_S = (0x17F, 0x17F)  # folds to s, but not in llama.cpp
_ASCII_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class Settings:
    """What a file says beside its tokens."""

    bos: int | None = None
    eos: int | None = None
    unknown: int | None = None
    sep: int | None = None
    add_bos: bool = False
    add_eos: bool = False
    add_space_prefix: bool = False
    remove_extra_whitespaces: bool = False
    clean_spaces: bool = False
    lowercase: bool = True
    strip_accents: bool = True
    lstrip: frozenset[int] = frozenset()  # special tokens that take white space before them
    rstrip: frozenset[int] = frozenset()
    charsmap: bytes = field(default=b"", repr=False)
    whitespace_words: bool = False  # a gpt2 model of words, with the white space between them left out


@dataclass(frozen=True)
class LlamaCpp:
    """A GGUF vocabulary. `texts`, `scores` and `kinds` are by id."""

    kind: Kind
    texts: Sequence[str] = field(repr=False)
    scores: Sequence[float] = field(repr=False)
    kinds: Sequence[int] = field(repr=False)
    settings: Settings
    pre: PreType | None = None
    merges: Sequence[tuple[str, str]] = field(default=(), repr=False)
    name: str = "the vocabulary"
    _cache: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_byte_level(self) -> bool:
        """Whether any bytes can be encoded."""
        return self.kind == "gpt2" and self.pre is not None and self.pre.byte_encode

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {text: number for number, text in enumerate(self.texts)}

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """Control tokens, and the one for what is unknown: found in text only where they are allowed."""
        return {text: number for number, text in enumerate(self.texts) if self.kinds[number] & _SPECIAL}

    @cached_property
    def _cut_out(self) -> list[tuple[str, int]]:
        """What is found in text before anything else, the longest first."""
        wanted = CONTROL | USER_DEFINED | UNKNOWN
        found = [(text, number) for number, text in enumerate(self.texts) if self.kinds[number] & wanted]
        return sorted(found, key=lambda item: -len(item[0].encode("utf-8", "surrogateescape")))

    @cached_property
    def shortcut(self) -> Shortcut | None:
        """Ranks, where a known pattern is all that cuts the text, and the merges allow it.

        Text with characters that Unicode 15.1 has otherwise than 16.0, and contractions with a long s, are unsafe.
        """
        settings, pre = self.settings, self.pre
        if pre is None or pre.known is None or settings.lstrip or settings.rstrip or settings.whitespace_words:
            return None
        ranked = self._bpe.ranks()
        if ranked is None:
            return None
        wanted = CONTROL | USER_DEFINED | UNKNOWN
        added = {text: number for number, text in enumerate(self.texts) if self.kinds[number] & wanted}
        from tokcli.engine.llama_unicode import changed_ranges

        return Shortcut.of(pre.known, ranked, added, unsafe=(*changed_ranges(), _LONG_S))

    native: ClassVar[None] = None  # of whole texts: see _encode_text

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text, without those that a template adds."""
        ids: list[int] = []
        after_special = True
        for fragment in self._fragments(text, allowed):
            if isinstance(fragment, int):
                ids.append(fragment)
                after_special = True
                continue
            if self.kind == "llama" and self.settings.add_space_prefix and after_special:
                fragment = " " + fragment
            ids += self._encode_text(fragment)
            after_special = False
        return ids

    def _fragments(self, text: str, allowed: frozenset[str]) -> list[str | int]:
        """Text and the ids of special tokens in it; each token is looked for in what the longer ones left."""
        fragments: list[str | int] = [text] if text else []
        settings = self.settings
        for special, number in self._cut_out:
            if special not in text or (self.kinds[number] & _SPECIAL and special not in allowed):
                continue
            out: list[str | int] = []
            for fragment in fragments:
                if isinstance(fragment, int) or special not in fragment:
                    out.append(fragment)
                    continue
                first, *others = fragment.split(special)
                if number in settings.rstrip:
                    others = [part.lstrip(_ASCII_SPACE) for part in others]
                parts = [first, *others]
                if number in settings.lstrip:
                    parts = [*(part.rstrip(_ASCII_SPACE) for part in parts[:-1]), parts[-1]]
                for at, part in enumerate(parts):
                    if at:
                        out.append(number)
                    if part:
                        out.append(part)
            fragments = out
        return fragments

    @cached_property
    def _encode_text(self) -> Callable[[str], Sequence[int]]:
        if self.kind == "rwkv":
            from tokcli.engine.llama_models import Greedy, unescaped

            return Greedy({unescaped(t): n for n, t in enumerate(self.texts)}, self._unknown_id).encode
        if self.kind == "plamo2":
            from tokcli.engine.llama_plamo import Plamo

            of_bytes = {self._bytes_of(n)[0]: n for n, kind in enumerate(self.kinds) if kind & BYTE}
            others = {t: (n, self.scores[n]) for n, t in enumerate(self.texts) if not self.kinds[n] & BYTE}
            return Plamo(others, [of_bytes[byte] for byte in range(256)]).encode
        if self.kind == "gpt2":
            return self._encode_bpe
        native = self.native_model
        if native is None:
            return self._encode_in_python

        def encode(text: str) -> Sequence[int]:
            ids = native.encode(text, frozenset())
            return self._encode_in_python(text) if ids is None else ids

        return encode

    @cached_property
    def native_model(self) -> NativeText | None:
        """The native twin of a model that is not byte-level, for a stretch of text without special tokens."""
        return None if self._model is None else self._model.native

    def _encode_in_python(self, text: str) -> Sequence[int]:
        return [] if self._model is None else self._model.encode(text)

    @cached_property
    def _model(self) -> models.Spm | models.WordPieces | models.Ugm | None:
        from tokcli.engine import llama_models as models

        settings = self.settings
        if self.kind == "llama":
            return self._spm
        if self.kind == "bert":
            return models.WordPieces(
                self.ids, self._unknown_id(), lowercase=settings.lowercase, strip_accents=settings.strip_accents
            )
        if self.kind == "t5":
            return models.Ugm(self._ugm_pieces(), self._unknown_id(), settings.charsmap, settings.add_space_prefix,
                              settings.remove_extra_whitespaces)  # fmt: skip
        return None

    def _ugm_pieces(self) -> list[models.UgmPiece]:
        from tokcli.engine import llama_models as models

        wanted = NORMAL | USER_DEFINED | UNUSED
        return [
            models.UgmPiece(text, number, self.scores[number], bool(kind & NORMAL), bool(kind & USER_DEFINED))
            for number, (text, kind) in enumerate(zip(self.texts, self.kinds, strict=True))
            if kind & wanted
        ]

    def _unknown_id(self) -> int:
        if self.settings.unknown is None:
            raise InputError(f"{self.name} has no token for what is unknown")
        return self.settings.unknown

    def _byte_id(self, byte: int) -> int:
        number = self.ids.get(byte_token(byte), self.ids.get(chr(byte)) if byte < 128 else None)
        if number is None:
            raise InputError(f"{self.name} has no token for the byte 0x{byte:02x}")
        return number

    @cached_property
    def _bpe(self) -> models.StringBpe:
        from tokcli.engine import llama_models as models

        return models.StringBpe(self.ids, self.merges, self.pre or PreType(()))

    def _encode_bpe(self, text: str) -> list[int]:
        from tokcli.engine import llama_models as models

        pre = self.pre or PreType(())
        if pre.escape_whitespaces:
            text = text.replace(" ", SPACE)
        texts = models.white_space_words(text, self.settings.lowercase) if self.settings.whitespace_words else [text]
        ids: list[int] = []
        cache = self._cache
        for part in texts:
            for word in self._bpe.split(part):
                found = cache.get(word)
                if found is None:
                    found = tuple(self._bpe.encode_word(word))
                    if len(word) <= CACHE_PIECE_CHARS:
                        if len(cache) >= CACHE_PIECES:
                            cache.clear()
                        cache[word] = found
                ids += found
        return ids

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The ids, and where they stand: known where the tokens' bytes are those of the text."""
        ids = self.encode(text, allowed)
        parts = [self._bytes_of(number) for number in ids]
        if b"".join(parts) != text.encode():
            raise InputError(f"{self.name} changes this text: where its tokens stand is not known")
        return Tokens(ids, texts=[self.texts[n] for n in ids], spans=list(character_spans(parts)))

    @property
    def max_id(self) -> int:
        """The largest id."""
        return len(self.texts) - 1

    @property
    def decodes_apart(self) -> bool:
        """Whether nothing is cleaned up between tokens, or left out before the first."""
        return not (self.settings.add_space_prefix or self.settings.clean_spaces)

    @property
    def has_template(self) -> bool:
        """Whether ids are added around a text."""
        settings = self.settings
        if self.kind == "plamo2":
            return False
        return self.kind == "bert" or (settings.add_bos and settings.bos is not None) or settings.add_eos

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Texts one after the other; `add`: between BOS (CLS) and EOS (SEP), as the file asks for."""
        settings = self.settings
        if not add or not self.has_template:
            return joined(texts)
        first = settings.bos if settings.add_bos or self.kind == "bert" else None
        last = settings.sep if self.kind == "bert" else settings.eos if settings.add_eos else None
        around = [[added([n], [self.texts[n]], 0)] if n is not None else [] for n in (first, last)]
        return joined([*around[0], *texts, *around[1]])

    def split(self, text: str) -> list[str]:
        """The pieces, as they stand in the text."""
        if self.kind == "gpt2":
            return self._bpe.cut(text)
        return re.findall(r" ?[^ ]+| +", text)

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids, special tokens printed; the space that encoding puts first is left out."""
        out = bytearray()
        for at, number in enumerate(ids):
            if not 0 <= number < len(self.texts):
                raise UnknownTokenError(f"{number} is not an id of the vocabulary")
            data = self._bytes_of(number)
            out += data[1:] if at == 0 and self.settings.add_space_prefix and data.startswith(b" ") else data
        return cleaned(bytes(out)) if self.settings.clean_spaces else bytes(out)

    def _bytes_of(self, number: int) -> bytes:
        text, kind = self.texts[number], self.kinds[number]
        data = text.encode("utf-8", "surrogateescape")
        if self.kind == "rwkv":
            from tokcli.engine.llama_models import unescaped

            return unescaped(text)
        if self.kind == "plamo2" and not kind & BYTE:
            return data
        if kind & (_SPECIAL | USER_DEFINED):
            return data
        if kind & NORMAL:
            if self.is_byte_level:
                return b"".join(bytes([BYTE_OF[c]]) if c in BYTE_OF else c.encode("utf-8", "replace") for c in text)
            return data.replace(SPACE.encode(), b" ")
        if kind & BYTE:
            try:
                return bytes([int(text[3:5], 16)])
            except ValueError:
                return b""
        return b""

    @cached_property
    def _spm(self) -> models.Spm:
        from tokcli.engine import llama_models as models

        return models.Spm(self.ids, self.scores, self._byte_id)

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do, and for models that do not merge."""
        text = self.texts[number]
        if self.ids[text] != number or self.kinds[number] & _SPECIAL:
            return None
        if self.kind == "llama":
            return self._spm.parents(text)
        return self._bpe.parents(text) if self.kind == "gpt2" else None

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes of each id."""
        return {number: self._bytes_of(number) for number in range(len(self.texts))}


_CLEANED = (
    (re.compile(rb" ([?!.,])"), rb"\1"),
    (re.compile(rb" ' "), b"'"),
    (re.compile(rb" ('(?:s|m|re|ve))"), rb"\1"),
)


def cleaned(text: bytes) -> bytes:
    """Without the spaces before English punctuation (llama.cpp's `clean_spaces`)."""
    for pattern, instead in _CLEANED:
        text = pattern.sub(instead, text)
    return text
