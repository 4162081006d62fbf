"""Tokens of GGUF files that are no good bytes: they decode to what llama.cpp makes of them, or the file is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gguf_files import FLOAT32, INT32, gguf, llama

from tokcli.engine.encoding import Encoding
from tokcli.errors import InputError, VocabularyError
from tokcli.registry.encodings import load_encoding


def with_token(path: Path, token: str, kind: int) -> Encoding:
    tokens = ["<unk>", token, "a"]
    types = ([2, kind, 1], INT32)
    return load_encoding(llama(path / "x.gguf", tokens=tokens, scores=([0.0] * 3, FLOAT32), token_type=types))


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("<0x41>", b"A"), ("<0x4G>", b"\4"), ("<0xZZ>", b"\0"), ("<0x+A>", b"\n"), ("<0x-1>", b"\xff"),
        ("<0x A>", b"\n"), ("<0x", b"\0"), ("abc", b"\0"), ("abc7", b"\7"), ("\u00e9\u00e941", b"\0"), ("<0x410>", b"A"),
    ],
)  # fmt: skip
def test_a_byte_token_that_is_broken_decodes_as_c_reads_its_number(tmp_path: Path, token: str, expected: bytes) -> None:
    assert with_token(tmp_path, token, 6).decode_bytes([2, 1]) == b"a" + expected


@pytest.mark.parametrize("token", ["x", "<0"])
def test_a_byte_token_without_a_number_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(VocabularyError, match=re.escape(f"x.gguf: token 1, {token!r}, is too short to name a byte")):
        with_token(tmp_path, token, 6)


def byte_level(path: Path, token: str, kind: int = 1, pre: str = "gpt-2") -> Encoding:
    tokens = ["a", "\u0120", token]
    file = gguf(path / "x.gguf", model="gpt2", pre=pre, tokens=tokens, merges=[], token_type=([1, 1, kind], INT32))
    return load_encoding(file)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("a b", b"a[UNK_BYTE_0x20a b]b"),
        ("\u2581x", b"[UNK_BYTE_0xe29681\xe2\x96\x81x]x"),
        ("\u0120x", b" x"),
        ("\u00e9", b"\xe9"),
    ],
)
def test_a_character_outside_the_alphabet_of_bytes_decodes_to_words(
    tmp_path: Path, token: str, expected: bytes
) -> None:
    encoding = byte_level(tmp_path, token)
    assert encoding.decode_bytes([1, 2, 0]) == b" " + expected + b"a"
    assert encoding.decode_single_token_bytes(2) == expected
    assert byte_level(tmp_path, token, kind=4).decode_bytes([2]) == token.encode()


def test_words_about_each_character_of_a_long_token_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vocabulary"):
        byte_level(tmp_path, "\u2581" * 20_000).decode_bytes([2])
