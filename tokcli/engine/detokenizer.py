"""The decoders of a tokenizer.json: the texts of tokens to the text they stand for.

Bytes that are not UTF-8 stand in it as surrogates (PEP 383), so that nothing is lost where the library has U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tokcli.engine.byte_alphabet import BYTE_OF
from tokcli.engine.matching import Finder, matches
from tokcli.errors import UnknownTokenError

Decoder = Callable[[list[str]], list[str]]


def decoded(ids: Iterable[int], texts: Mapping[int, str], decoder: Decoder) -> bytes:
    """The bytes of some ids whose tokens have these texts; UnknownTokenError."""
    try:
        tokens = [texts[number] for number in ids]
    except KeyError as error:
        raise UnknownTokenError(f"{error.args[0]} is not an id of the vocabulary") from None
    if not tokens:
        return b""
    return "".join(decoder(tokens)).encode("utf-8", "surrogateescape")


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


@dataclass(frozen=True)
class Sequence:
    """One after the other."""

    decoders: tuple[Decoder, ...]

    def __call__(self, tokens: list[str]) -> list[str]:
        for decoder in self.decoders:
            tokens = decoder(tokens)
        return tokens


@dataclass(frozen=True)
class ByteLevel:
    """Printable characters back to bytes; a token with any other character is its own text."""

    def __call__(self, tokens: list[str]) -> list[str]:
        data = bytearray()
        for token in tokens:
            try:
                data += bytes([BYTE_OF[char] for char in token])
            except KeyError:
                data += token.encode("utf-8", "surrogateescape")
        return [data.decode("utf-8", "surrogateescape")]


@dataclass(frozen=True)
class ByteFallback:
    """Tokens such as <0x0A> as bytes; a run of them is text where it is UTF-8."""

    def __call__(self, tokens: list[str]) -> list[str]:
        out: list[str] = []
        held = bytearray()
        for token in tokens:
            if len(token) == 6 and (match := _BYTE.fullmatch(token)):
                held.append(int(match[1], 16))
                continue
            if held:
                out.append(held.decode("utf-8", "surrogateescape"))
                held.clear()
            out.append(token)
        return [*out, held.decode("utf-8", "surrogateescape")] if held else out


@dataclass(frozen=True)
class Fuse:
    """All tokens as one."""

    def __call__(self, tokens: list[str]) -> list[str]:
        return ["".join(tokens)]


@dataclass(frozen=True)
class Strip:
    """Up to `start` of a character at the beginning of each token, and up to `stop` at its end, left out."""

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


@dataclass(frozen=True)
class Replace:
    """Something else for what a pattern finds in each token."""

    finder: Finder
    content: str

    def __call__(self, tokens: list[str]) -> list[str]:
        return [
            "".join(self.content if is_match else token[a:b] for a, b, is_match in matches(self.finder, token))
            for token in tokens
        ]


@dataclass(frozen=True)
class WordPiece:
    """Words with spaces between, continuations without."""

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
    """English punctuation without the space before it."""
    for old, new in _CLEANUP:
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Metaspace:
    """Spaces for their visible character; none at the beginning of the first token, where one was put."""

    replacement: str
    is_prepended: bool

    def __call__(self, tokens: list[str]) -> list[str]:
        return [
            token.replace(self.replacement, "" if at == 0 and self.is_prepended else " ")
            for at, token in enumerate(tokens)
        ]


@dataclass(frozen=True)
class BpeSuffix:
    """A space for the suffix of a word, but for the last."""

    suffix: str

    def __call__(self, tokens: list[str]) -> list[str]:
        last = len(tokens) - 1
        return [token.replace(self.suffix, "" if at == last else " ") for at, token in enumerate(tokens)]


@dataclass(frozen=True)
class Ctc:
    """Repeated tokens once, padding left out, words at their delimiter."""

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


@dataclass(frozen=True)
class Spaced:
    """Tokens with spaces between: what is done where a file names no decoder."""

    def __call__(self, tokens: list[str]) -> list[str]:
        return [" ".join(tokens)]
