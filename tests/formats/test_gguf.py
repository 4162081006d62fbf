"""GGUF vocabularies made here: the ids that llama.cpp v0.5.0 gives for them, and what it would crash on."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from gguf_files import BOOL, BYTES, FLOAT32, INT32, UINT8, UINT32, bert, gguf, llama, string, t5
from support import read_vocabulary

from tokcli.engine import backend
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.spec.templates import Around
from tokcli.errors import VocabularyError
from tokcli.registry.encodings import load_encoding


def plamo2(path: Path, byte_tokens: list[str]) -> Path:
    tokens = ["<unk>", "<s>", "</s>", *byte_tokens, "a", "b", "ab", "abc", "bc", " the", "東京", "京", "<mask>", "d"]
    scores = [0.0] * (3 + len(byte_tokens)) + [-1.5, -2.25, -3.75, -9.5, -3.0, -4.0, -6.0, -5.0, 0.0, -1000.0]
    types = [2, 3, 3] + [6] * len(byte_tokens) + [1] * 8 + [4, 1]
    return gguf(path, model="plamo2", tokens=tokens, scores=(scores, FLOAT32), token_type=(types, INT32))


def read(path: Path) -> LlamaCpp:
    model = read_vocabulary(path)
    assert isinstance(model, LlamaCpp)
    return model


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("abc", [259, 263]),
        ("abab", [261, 261]),
        ("東京 the", [265, 264]),
        ("é<mask>\ufeffd", [198, 172, 267, 268]),
        ("\ufeff\ufeffx", [242, 190, 194, 123]),
    ],
)
def test_plamo2_takes_the_best_way_from_the_end(text: str, ids: list[int], tmp_path: Path) -> None:
    model = read(plamo2(tmp_path / "x.gguf", BYTES))
    assert model.encode(text, frozenset()) == ids
    assert model.decode(ids) == text.removeprefix("\ufeff").replace(">\ufeff", ">").encode()


@pytest.mark.parametrize("wrong", ["<0x-1>", "<0xZZ>", "<0x 1>", "<0x01>x"])
def test_a_plamo2_byte_that_is_none_is_refused(wrong: str, tmp_path: Path) -> None:
    """llama.cpp #25969 wrote before its table."""
    with pytest.raises(VocabularyError, match=r"x\.gguf: token 258, .* is not a token for a byte"):
        read(plamo2(tmp_path / "x.gguf", [*BYTES[:-1], wrong]))


def test_a_plamo2_vocabulary_without_some_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="no token for the byte <0xff>"):
        read(plamo2(tmp_path / "x.gguf", BYTES[:-1]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scores", ([0] * 262, UINT8)),
        ("token_type", ([1] * 262, UINT8)),
        ("token_type", ([1.0] * 262, FLOAT32)),
        ("scores", ([0.0] * 261, FLOAT32)),
        ("scores", ([float("nan")] * 262, FLOAT32)),
        ("scores", ["0"] * 262),
        ("precompiled_charsmap", ([1] * 8, UINT32)),
    ],
)
def test_a_list_of_another_kind_or_size_is_refused(name: str, value: object, tmp_path: Path) -> None:
    """llama.cpp #26690 read past the end of narrower numbers."""
    with pytest.raises(VocabularyError, match=rf"x\.gguf: .*tokenizer\.ggml\.{name}"):
        read(llama(tmp_path / "x.gguf", **{name: value}))


@pytest.mark.parametrize("number", [262, 2**31, 2**32 - 1])
def test_a_special_id_out_of_range_is_none(number: int, tmp_path: Path) -> None:
    """llama.cpp #25475 looked it up; now it warns, and takes its default."""
    model = read(llama(tmp_path / "x.gguf", bos_token_id=(number, UINT32), unknown_token_id=(number, UINT32)))
    assert model.spec.template == Around((1,))
    assert model.encode("a", frozenset()) == [261]


def test_scores_may_be_whole_numbers(tmp_path: Path) -> None:
    model = read(llama(tmp_path / "x.gguf", scores=([0] * 260 + [-2, -1], INT32)))
    assert model.encode("a", frozenset()) == [261]


def test_a_text_of_two_gigabytes_is_no_overflow(tmp_path: Path) -> None:
    """CVE-2025-49847: sizes of tokens as numbers with a sign."""
    path = tmp_path / "x.gguf"
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("tokenizer.ggml.tokens")
        + struct.pack("<IIQQ", 9, 8, 1, 2**31 + 5)
    )  # fmt: skip
    with pytest.raises(VocabularyError, match=r"x\.gguf: .* at byte \d+"):
        read(path)


def test_a_token_ends_at_a_nul(tmp_path: Path) -> None:
    model = read(llama(tmp_path / "x.gguf", tokens=["<unk>", "<s>", "</s>", *BYTES, "\u2581", "a\0b", "\0"]))
    assert model.spec.model.texts[-2:] == ["a", "[EMPTY_261]"]


@pytest.mark.parametrize(("lowercase", "ids"), [(False, [65, 257, 258]), (True, [258, 258])])
def test_white_space_between_words_is_dropped(lowercase: bool, ids: list[int], tmp_path: Path) -> None:
    path = gguf(
        tmp_path / "x.gguf",
        model="whitespace",
        pre="whitespace",
        tokens=[*BYTES, "a", "b", "ab"],
        merges=["a b"],
        **{"normalizer.lowercase": (lowercase, BOOL)},
    )
    model = read(path)
    assert model.encode("Ab \n\u3000ab ", frozenset()) == ids


@pytest.mark.parametrize("make", [llama, bert, t5])
def test_a_file_is_read_as_data_that_is_equal_and_pickled_alike(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "x.gguf")
    model, again = read(path), read(path)
    ids = model.encode(" hello a", frozenset())  # what the rules find out is theirs
    assert model.spec == again.spec == pickle.loads(pickle.dumps(model.spec))
    assert ids == pickle.loads(pickle.dumps(model)).encode(" hello a", frozenset())


def test_rwkv_takes_the_longest_token_at_each_byte_natively_too(tmp_path: Path) -> None:
    tokens = ["<s>", *(f"\\x{byte:02x}" for byte in range(256)), "ab", "abc", "\\xe4\\xb8", "\u4e2d", "\\x20ab"]
    path = gguf(tmp_path / "x.gguf", model="rwkv", tokens=tokens)
    for _ in range(2):  # the second time from the cache
        encoding = load_encoding(path)
        assert encoding.encode_ordinary("abcab ab\u4e2d\u4e01x") == [258, 257, 261, 260, 259, 130, 121]
        assert encoding.tokenizer.is_native == (backend.native() is not None)
