"""`LlamaVocabulary`: the tokens and settings of a GGUF file, and the way back from ids to text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.bpe.byte_alphabet import BYTE_OF, VISIBLE_SPACE, byte_token
from tokcli.engine.llama_cpp.settings import (
    BYTE,
    FOUND,
    NORMAL,
    SPECIAL,
    USER_DEFINED,
    LlamaModel,
    LlamaSettings,
    kind_names,
    spaced_decoder,
)
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.tokens import check_growth, most_made_of
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from tokcli.engine.llama_cpp.patterns import PreType


@dataclass(frozen=True)
class LlamaVocabulary:
    """A vocabulary, its kind of model and settings; `texts`, `token_scores` and `kinds` (see settings.py) are by id.

    `pre` and `merges` belong to gpt2 models; `name` is the name of the vocabulary in errors.
    """

    kind: LlamaModel
    texts: Sequence[str] = field(repr=False)
    token_scores: Sequence[float] = field(repr=False)
    kinds: Sequence[int] = field(repr=False)
    settings: LlamaSettings
    pre: PreType | None = None
    merges: Sequence[tuple[str, str]] = field(default=(), repr=False)
    name: str = "the vocabulary"

    @property
    def is_byte_level(self) -> bool:
        """Whether any bytes can be encoded."""
        return self.kind == "gpt2" and self.pre is not None and self.pre.byte_encode

    @property
    def max_id(self) -> int:
        """The largest id."""
        return len(self.texts) - 1

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {text: number for number, text in enumerate(self.texts)}

    @cached_property
    def found_tokens(self) -> Sequence[tuple[str, int]]:
        """The tokens that are found in text before the model sees it, and their ids."""
        return [(text, number) for number, text in enumerate(self.texts) if self.kinds[number] & FOUND]

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The control tokens and the unknown one: they are found in text only where they are allowed."""
        return {text: number for text, number in self.found_tokens if self.kinds[number] & SPECIAL}

    def unknown_id(self) -> int:
        """Return the id of unknown text; InputError if there is none."""
        if self.settings.unknown is None:
            raise InputError(f"{self.name} has no token for unknown text")
        return self.settings.unknown

    def byte_id(self, byte: int) -> int:
        """Return the id of a byte; InputError if it has no token."""
        number = self.ids.get(byte_token(byte), self.ids.get(chr(byte)) if byte < 128 else None)
        if number is None:
            raise InputError(f"{self.name} has no token for the byte 0x{byte:02x}")
        return number

    def token_kinds(self) -> dict[int, str]:
        """Return the kinds of the tokens that are not normal, by id: `control`, `unknown`, `user-defined` ..."""
        return kind_names(self.kinds)

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes anywhere: no space is dropped or cleaned up."""
        return not (self.settings.add_space_prefix or self.settings.clean_spaces)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, without the space that encoding puts first; UnknownTokenError for an unknown id."""
        decoder = self.decode_stream()
        return decoder.add(ids) + decoder.finish()

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return spaced_decoder(self._joined, self.settings.add_space_prefix, self.settings.clean_spaces)

    def _joined(self, ids: Sequence[int]) -> bytes:
        for number in ids:
            if not 0 <= number < len(self.texts):
                raise UnknownTokenError(f"{number} is not an id of the vocabulary")
        return b"".join(map(self.bytes_of, ids))

    def bytes_of(self, number: int) -> bytes:
        """Return the bytes of an id by itself; none for unused tokens."""
        text, kind = self.texts[number], self.kinds[number]
        data = text.encode("utf-8", "surrogateescape")
        if self.kind == "rwkv":
            return unescaped(text)
        if self.kind == "plamo2":
            return bytes([int(text[3:5], 16)]) if kind & BYTE and is_byte_token(text) else data
        if kind & (SPECIAL | USER_DEFINED):
            return data
        if kind & NORMAL:
            if self.pre is None or self.pre.escape_whitespaces:
                return data.replace(VISIBLE_SPACE.encode(), b" ")
            return _bytes_of_characters(text)
        return bytes([_number(data[3:5])]) if kind & BYTE else b""

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id."""
        return {number: self.bytes_of(number) for number in range(len(self.texts))}


def is_byte_token(text: str) -> bool:
    """Return whether a token is written as a byte, like <0x0A>."""
    return re.fullmatch("<0x[0-9A-Fa-f]{2}>", text) is not None


def _number(digits: bytes) -> int:
    """Return the low byte of what C's strtol reads in base 16: spaces, a sign, digits; what follows is ignored."""
    found = re.match(rb"[ \t-\r]*([+-]?)([0-9A-Fa-f]*)", digits)
    value = int(found[2] or b"0", 16) if found else 0
    return (-value if found and found[1] == b"-" else value) & 0xFF


def _bytes_of_characters(text: str) -> bytes:
    """Return the bytes of a text in GPT-2's alphabet; other characters become [UNK_BYTE_0x...], as in llama.cpp."""
    data, unknown = text.encode("utf-8", "surrogateescape"), len(text) - sum(char in BYTE_OF for char in text)
    check_growth(unknown * (len(data) + 21), most_made_of(len(data)), "vocabulary")
    out = bytearray()
    for char in text:
        if char in BYTE_OF:
            out.append(BYTE_OF[char])
        else:
            shown = "\ufffd" if "\udc80" <= char <= "\udcff" else char  # a byte that is not UTF-8
            out += b"[UNK_BYTE_0x%s%s]" % (shown.encode().hex().encode(), data)
    return bytes(out)


_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a token that is written with RWKV's escapes.

    >>> unescaped(r"a\n\x0a")
    b'a\n\n'
    """

    def plain(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        return {b"t": b"\t", b"n": b"\n", b"r": b"\r"}.get(match[2], match[2])

    return _ESCAPE.sub(plain, text.encode("utf-8", "surrogateescape"))
