"""The decoders of a tokenizer.json, which turn the texts of tokens into the text that they encode.

In the decoded text, bytes that are not UTF-8 are surrogates (PEP 383): nothing is lost where the library has U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.engine.pipeline.finders import Finder, matches
from tokcli.engine.tokens import check_growth, most_made_of
from tokcli.errors import UnknownTokenError


class Decoder(Protocol):
    """A callable that turns the texts of tokens into other texts, which joined are the decoded text."""

    def __call__(self, tokens: list[str], /) -> list[str]: ...


def decoded(ids: Iterable[int], texts: Mapping[int, str], decoder: Decoder) -> bytes:
    """Return the bytes of ids by the texts of their tokens; UnknownTokenError for an id without a text."""
    return "".join(decoder(texts_of(ids, texts))).encode("utf-8", "surrogateescape")


def texts_of(ids: Iterable[int], texts: Mapping[int, str]) -> list[str]:
    """Return the text of each id; UnknownTokenError for an id without one."""
    try:
        return [texts[number] for number in ids]
    except KeyError as error:
        raise UnknownTokenError(f"{error.args[0]} is not an id of the vocabulary") from None


_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>", re.ASCII)  # "+A" is a number in Rust, too
_CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def byte_of(token: str) -> int | None:
    """Return the byte that a token such as <0x0A> stands for; None for any other token."""
    match = _BYTE.fullmatch(token) if len(token) == 6 else None
    return None if match is None else int(match[1], 16)


class DecoderSequence(NamedTuple):
    """Applies decoders one after the other."""

    decoders: tuple[Decoder, ...]

    def __call__(self, tokens: list[str]) -> list[str]:
        most = most_made_of(sum(map(len, tokens)))
        for decoder in self.decoders:
            tokens = decoder(tokens)
            check_growth(sum(map(len, tokens)), most, "decoder")
        return tokens


class ByteLevelDecoder:
    """Turns characters of GPT-2's alphabet into bytes; a token with any other character is its own text."""

    def __call__(self, tokens: list[str]) -> list[str]:
        data = bytearray()
        for token in tokens:
            try:
                data += bytes([BYTE_OF[char] for char in token])
            except KeyError:
                data += token.encode("utf-8", "surrogateescape")
        return [data.decode("utf-8", "surrogateescape")]


class ByteFallback:
    """Turns tokens such as <0x0A> into bytes; a run of them is decoded as UTF-8 together."""

    def __call__(self, tokens: list[str]) -> list[str]:
        out: list[str] = []
        held = bytearray()
        for token in tokens:
            if (byte := byte_of(token)) is not None:
                held.append(byte)
                continue
            if held:
                out.append(held.decode("utf-8", "surrogateescape"))
                held.clear()
            out.append(token)
        return [*out, held.decode("utf-8", "surrogateescape")] if held else out


class Fuse:
    """Joins all tokens into one."""

    def __call__(self, tokens: list[str]) -> list[str]:
        return ["".join(tokens)]


class StripDecoder(NamedTuple):
    """Drops a character up to `start` times at the beginning of each token, and up to `stop` times at its end."""

    content: str
    start: int
    stop: int

    def __call__(self, tokens: list[str]) -> list[str]:
        return [self._stripped(token) for token in tokens]

    def _stripped(self, token: str) -> str:
        begin, end = 0, len(token)
        while begin < min(self.start, len(token)) and token[begin] == self.content:
            begin += 1
        while end > max(len(token) - self.stop, begin) and token[end - 1] == self.content:
            end -= 1
        return token[begin:end]


class ReplaceDecoder(NamedTuple):
    """Replaces what a pattern finds in each token."""

    finder: Finder
    content: str

    def __call__(self, tokens: list[str]) -> list[str]:
        size = sum(map(len, tokens))
        most, out = most_made_of(size), []
        for token in tokens:
            parts = []
            for begin, end, is_match in matches(self.finder, token):
                if is_match:
                    size += len(self.content) - (end - begin)
                    check_growth(size, most, "decoder")
                parts.append(self.content if is_match else token[begin:end])
            out.append("".join(parts))
        return out


class WordPieceDecoder(NamedTuple):
    """Puts a space before each token but the first; one that continues a word loses its prefix instead."""

    prefix: str
    cleanup: bool

    def __call__(self, tokens: list[str]) -> list[str]:
        out = []
        for at, token in enumerate(tokens):
            if at:
                token = token[len(self.prefix) :] if token.startswith(self.prefix) else f" {token}"
            out.append(cleaned(token) if self.cleanup else token)
        return out


def cleaned(text: str) -> str:
    """Return a text without the spaces before English punctuation and contractions."""
    for old, new in _CLEANUP:
        text = text.replace(old, new)
    return text


class MetaspaceDecoder(NamedTuple):
    """Turns visible spaces into spaces, and drops those of the first token if encoding puts one there."""

    replacement: str
    is_prepended: bool

    def __call__(self, tokens: list[str]) -> list[str]:
        return [
            token.replace(self.replacement, "" if at == 0 and self.is_prepended else " ")
            for at, token in enumerate(tokens)
        ]


class BpeSuffix(NamedTuple):
    """Turns the suffix that ends a word into a space, and drops it from the last token."""

    suffix: str

    def __call__(self, tokens: list[str]) -> list[str]:
        last = len(tokens) - 1
        return [token.replace(self.suffix, "" if at == last else " ") for at, token in enumerate(tokens)]


class Ctc(NamedTuple):
    """Drops repeated tokens and padding, and turns the delimiter of words into a space."""

    pad_token: str
    word_delimiter_token: str
    cleanup: bool

    def __call__(self, tokens: list[str]) -> list[str]:
        out = []
        for at, token in enumerate(tokens):
            if at and token == tokens[at - 1]:
                continue
            text = token.replace(self.pad_token, "")
            if self.cleanup:
                text = cleaned(text).replace(self.word_delimiter_token, " ")
            if text:
                out.append(text)
        return out


class Spaced:
    """Joins tokens with spaces, as the library does where a file has no decoder."""

    def __call__(self, tokens: list[str]) -> list[str]:
        return [" ".join(tokens)]
