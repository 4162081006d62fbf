"""Files with very many tokens that are found in text: what each text costs hardly depends on their number."""

from __future__ import annotations

import gc
import json
import re
import struct
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import gguf_files
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import took_less

from tokcli.engine import backend
from tokcli.engine.base import longest_match
from tokcli.engine.base.longest_match import LongestMatch
from tokcli.registry.encodings import load_encoding

TEXT = "hello <tok_5> and <tok_<tok_19> <"


def tokenizer_json(path: Path, tokens: list[str], model: object, splitter: object, **flags: bool) -> Path:
    added = [{"id": 0, "content": token, "special": False, "normalized": False} | flags for token in tokens]
    path.write_text(json.dumps({"version": "1.0", "added_tokens": added, "pre_tokenizer": splitter, "model": model}))
    return path


def byte_level(path: Path, tokens: list[str], **flags: bool) -> Path:
    model = {"type": "BPE", "vocab": {chr(code): code - 33 for code in range(33, 127)}, "merges": []}
    splitter = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return tokenizer_json(path / "tokenizer.json", tokens, model, splitter, **flags)


def unigram(path: Path, tokens: list[str]) -> Path:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    return tokenizer_json(path / "tokenizer.json", tokens, model, {"type": "Whitespace"}, single_word=True)


def normalized(path: Path, tokens: list[str]) -> Path:
    return byte_level(path, tokens, normalized=True)


def special(path: Path, tokens: list[str]) -> Path:
    return byte_level(path, tokens, special=True)


def gguf(path: Path, tokens: list[str]) -> Path:
    texts = ["<unk>", "<s>", "</s>", *gguf_files.BYTES, "\u2581", "a", *tokens]
    kinds = [2, 3, 3, *[6] * 256, 1, 1] + [4] * len(tokens)
    scores = ([0.0] * len(texts), gguf_files.FLOAT32)
    return gguf_files.llama(path / "x.gguf", tokens=texts, scores=scores, token_type=(kinds, gguf_files.INT32))


def sentencepiece(path: Path, tokens: list[str]) -> Path:
    out = b""
    for text, kind in [("<unk>", 2), ("a", 1), *((token, 4) for token in tokens)]:
        piece = b"\n" + bytes([len(text)]) + text.encode() + b"\x15" + struct.pack("<f", -1.0) + b"\x18" + bytes([kind])
        out += b"\n" + bytes([len(piece)]) + piece
    file = path / "x.model"
    file.write_bytes(out + b"\x12\x02\x18\x02")
    return file


FORMATS = [byte_level, normalized, special, unigram, gguf, sentencepiece]


@pytest.mark.clock
@pytest.mark.parametrize("write", FORMATS)
def test_a_text_costs_the_same_with_a_hundred_times_the_tokens(
    tmp_path: Path, write: Callable[[Path, list[str]], Path]
) -> None:
    seconds = []
    for number in (200, 20_000):
        folder = tmp_path / str(number)
        folder.mkdir()
        encoding = load_encoding(write(folder, [f"<tok_{at}>" for at in range(number)]))
        allowed = set(encoding.special_tokens_set)
        encoding.encode(TEXT, allowed_special="all")
        gc.disable()  # it would look through whatever other tests have left
        began = time.process_time()
        for at in range(100):
            encoding.encode(f"{TEXT} {at}", allowed_special="all")
            encoding.encode_ordinary(f"{TEXT} {at}")
        seconds.append(time.process_time() - began)
        gc.enable()
        assert encoding.encode(TEXT, allowed_special=allowed) == encoding.encode(TEXT, allowed_special="all")
    assert seconds[1] < 4 * seconds[0] + 0.2


@pytest.mark.clock
@pytest.mark.parametrize("write", FORMATS)
def test_many_tokens_are_loaded_in_time(tmp_path: Path, write: Callable[[Path, list[str]], Path]) -> None:
    path = write(tmp_path, [f"<tok_{at}>" for at in range(40_000)])
    began = time.process_time()
    load_encoding(path).encode(TEXT, allowed_special="all")
    assert time.process_time() - began < 6


@pytest.mark.clock
@pytest.mark.parametrize("text", ["<" * 20_000, "<<<x" * 5000], ids=["run", "short runs"])
def test_tokens_that_begin_each_other_are_found_in_time(tmp_path: Path, text: str) -> None:
    tokens = ["<" * size for size in range(1, 1000)]
    encoding = load_encoding(gguf(tmp_path, tokens))
    match = LongestMatch(tokens)
    began = time.process_time()
    assert "".join(text[begin:end] for begin, end in match.find(text)) == text.replace("x", "")
    assert encoding.decode(encoding.encode_ordinary(text)).replace(" ", "") == text
    assert time.process_time() - began < 5


def test_many_texts_are_found_as_few_are() -> None:
    tokens = ["ab", "abc", "b", "<a>", "<a><b>", "bc]", "\u00e9", "\u00e9b", *(f"{at}#" for at in range(1000))]
    few, many = LongestMatch(tokens[:8]), LongestMatch(tokens)
    text = "abcab<a><b><a>x\u00e9b\u00e9<a bc]abc]"
    assert list(few.find(text)) == list(many.find(text))
    assert [text[begin:end] for begin, end in many.find(text)] == [
        "abc", "ab", "<a><b>", "<a>", "\u00e9b", "\u00e9", "bc]", "abc",
    ]  # fmt: skip
    assert list(few.everywhere(text)) == list(many.everywhere(text))


@pytest.mark.clock
def test_few_long_texts_that_share_their_beginnings_are_found_in_time() -> None:
    """A regular expression compared each of them with the text at each place: minutes for 100 kB."""
    match = LongestMatch(["a" * (20 * size) + "bq" for size in range(1, 251)])
    began = time.process_time()
    assert list(match.find("a" * 50_000 + "bq")) == [(45_000, 50_002)]
    assert took_less(began, 4)


def ranks(path: Path, tokens: list[str]) -> Path:
    file = path / "x.tiktoken"
    file.write_bytes(b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256)))
    special = {token: 300 + at for at, token in enumerate(tokens)}
    file.with_suffix(".tiktoken.json").write_text(json.dumps({"pat_str": "[a-z]{1,9}|.", "special_tokens": special}))
    return file


LONG_TOKENS = {
    "one": ["a" * 65_000],
    "two letters": ["ab" * 32_500],
    "two": ["a" * 65_000, "aaa"],
    "ends": ["a" * (60_000 - at) + "b" for at in range(8)],
}


@pytest.mark.clock
@pytest.mark.parametrize("name", LONG_TOKENS)
@pytest.mark.parametrize("write", [byte_level, normalized, special, ranks, gguf])
def test_the_beginning_of_a_long_token_is_searched_in_linear_time(
    tmp_path: Path, write: Callable[[Path, list[str]], Path], name: str
) -> None:
    """A token of 65,000 letters was compared with the text at each place: 13 s for 100 kB."""
    tokens = LONG_TOKENS[name]
    encoding = load_encoding(write(tmp_path, tokens))
    text = f"{tokens[0][:-1]}c{tokens[0][:40_000]}"
    encoding.encode_ordinary("a")
    began = time.process_time()
    for call in (
        lambda: encoding.encode(text, allowed_special="all"),
        lambda: encoding.encode(text, disallowed_special=set(encoding.special_tokens_set) - {"aaa"}),
        lambda: encoding.encode_ordinary(text),
        lambda: list(encoding.tokenizer.read_chunks([text.encode()])),
    ):
        call()
    assert took_less(began, 8)
    found = encoding.encode(f"{tokens[0]}c{text}c{tokens[-1]}", allowed_special="all")
    numbers = [encoding.encode(token, allowed_special="all") for token in (tokens[0], tokens[-1])]
    assert [found[:1], found[-1:]] == numbers


SMALL = st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=10)


@given(SMALL, st.lists(st.sampled_from(["a", "aa", "aaaaaa", "ab", "ba", "b"]), max_size=20).map("".join))
def test_texts_that_are_long_are_found_as_short_ones_are(tokens: list[str], text: str) -> None:
    """Here all are long that have more than three characters."""
    long = LongestMatch(tokens)
    long._are_few, long.begin = False, re.compile("[ab]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest_match, "_NEAR", 3)
        sizes = [max((len(one) for one in tokens if text.startswith(one, at)), default=0) for at in range(len(text))]
        assert list(long.everywhere(text)) == [(at, at + size) for at, size in enumerate(sizes) if size]
        assert [long.end(text, at) for at in reversed(range(len(text)))] == [
            at + size for at, size in enumerate(sizes)
        ][::-1]
        shorter = [
            max((len(one) for one in tokens if text[:-1].startswith(one, at)), default=0) for at in range(len(text))
        ]
        assert [long.end(text, at, len(text) - 1) for at in range(len(text))] == [
            at + size for at, size in enumerate(shorter)
        ]
        assert list(long.find(text)) == list(LongestMatch(tokens).find(text))


@pytest.mark.skipif(backend.native() is None, reason="compares the native backend with Python")
@pytest.mark.parametrize("period", [b"a", b"ab", b"aab"])
def test_a_text_that_is_read_backwards_has_the_tokens_of_one_that_is_not(period: bytes) -> None:
    tokens = [(period * 400)[at : 900 - 3 * at] + end for at in range(4) for end in (b"", b"c", b"cb")] + [b"cb", b"bc"]
    begin = (period * 400)[1:1000] + b"d"
    text = begin * 4000 + b"".join(tokens) * 3 + begin * 90 + b"".join(tokens)
    found = memoryview(backend.native().LongestMatch(tokens).find(text, len(text), len(text))).cast("Q").tolist()
    assert list(zip(found[::2], found[1::2], strict=True)) == list(LongestMatch(tokens).find(text))
