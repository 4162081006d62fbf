"""The decoders of a tokenizer.json, which turn the texts of tokens into the text that they encode.

In the decoded text, bytes that are not UTF-8 are surrogates (PEP 383): nothing is lost where the library has U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.engine.pipeline.finders import matches
from tokcli.engine.spec import decoders as spec
from tokcli.engine.spec.decoders import Decoder
from tokcli.engine.tokens import check_growth, most_made_of
from tokcli.errors import UnknownTokenError


def decoded(ids: Iterable[int], texts: Mapping[int, str], steps: Sequence[Decoder]) -> bytes:
    """Return the bytes of ids by the texts of their tokens; UnknownTokenError for an id without a text."""
    tokens = texts_of(ids, texts)
    most = most_made_of(sum(map(len, tokens)))
    for step in steps:
        tokens = apply(step, tokens)
        if len(steps) > 1:
            check_growth(sum(map(len, tokens)), most, "decoder")
    return "".join(tokens).encode("utf-8", "surrogateescape")


def texts_of(ids: Iterable[int], texts: Mapping[int, str]) -> list[str]:
    """Return the text of each id; UnknownTokenError for an id without one."""
    try:
        return [texts[id] for id in ids]
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


def apply(step: Decoder, tokens: list[str]) -> list[str]:
    """Return the texts that one decoder makes of those of tokens."""
    return _RULES[type(step)](step, tokens)


def _byte_level(_: spec.ByteLevelDecoder, tokens: list[str]) -> list[str]:
    data = bytearray()
    for token in tokens:
        try:
            data += bytes([BYTE_OF[char] for char in token])
        except KeyError:
            data += token.encode("utf-8", "surrogateescape")
    return [data.decode("utf-8", "surrogateescape")]


def _byte_fallback(_: spec.ByteFallback, tokens: list[str]) -> list[str]:
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


def _strip(step: spec.StripDecoder, tokens: list[str]) -> list[str]:
    out = []
    for token in tokens:
        begin, end = 0, len(token)
        while begin < min(step.start, len(token)) and token[begin] == step.content:
            begin += 1
        while end > max(len(token) - step.stop, begin) and token[end - 1] == step.content:
            end -= 1
        out.append(token[begin:end])
    return out


def _replace(step: spec.ReplaceDecoder, tokens: list[str]) -> list[str]:
    size = sum(map(len, tokens))
    most, out = most_made_of(size), []
    for token in tokens:
        parts = []
        for begin, end, is_match in matches(step.pattern, token):
            if is_match:
                size += len(step.content) - (end - begin)
                check_growth(size, most, "decoder")
            parts.append(step.content if is_match else token[begin:end])
        out.append("".join(parts))
    return out


def _word_piece(step: spec.WordPieceDecoder, tokens: list[str]) -> list[str]:
    out = []
    for at, token in enumerate(tokens):
        if at:
            token = token[len(step.prefix) :] if token.startswith(step.prefix) else f" {token}"
        out.append(cleaned(token) if step.cleanup else token)
    return out


def cleaned(text: str) -> str:
    """Return a text without the spaces before English punctuation and contractions."""
    for old, new in _CLEANUP:
        text = text.replace(old, new)
    return text


def _metaspace(step: spec.MetaspaceDecoder, tokens: list[str]) -> list[str]:
    return [
        token.replace(step.replacement, "" if at == 0 and step.is_prepended else " ") for at, token in enumerate(tokens)
    ]


def _suffix(step: spec.BpeSuffix, tokens: list[str]) -> list[str]:
    last = len(tokens) - 1
    return [token.replace(step.suffix, "" if at == last else " ") for at, token in enumerate(tokens)]


def _ctc(step: spec.Ctc, tokens: list[str]) -> list[str]:
    out = []
    for at, token in enumerate(tokens):
        if at and token == tokens[at - 1]:
            continue
        text = token.replace(step.pad_token, "")
        if step.cleanup:
            text = cleaned(text).replace(step.word_delimiter_token, " ")
        if text:
            out.append(text)
    return out


_RULES: dict[type, Callable[[Any, list[str]], list[str]]] = {
    spec.ByteLevelDecoder: _byte_level,
    spec.ByteFallback: _byte_fallback,
    spec.Fuse: lambda _, tokens: ["".join(tokens)],
    spec.StripDecoder: _strip,
    spec.ReplaceDecoder: _replace,
    spec.WordPieceDecoder: _word_piece,
    spec.MetaspaceDecoder: _metaspace,
    spec.BpeSuffix: _suffix,
    spec.Ctc: _ctc,
    spec.Spaced: lambda _, tokens: [" ".join(tokens)],
}
