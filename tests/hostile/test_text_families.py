"""Texts that are one thing over and over: round trip, time that grows with size, and ids that do not depend on blocks."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, NAMES, ROOT, examples, first_in_gate, hard_text, rounds

import tokcli
from tokcli.engine import backend
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.errors import DisallowedSpecialTokenError

FORMATS = ROOT / "tests" / "data" / "formats"
FILES = ("byte-level.tokenizer.json", "plain.tokenizer.json", "unigram.tokenizer.json", "unigram.model", "bpe.model")
UNITS = {
    "a": "a",
    "space": " ",
    "newline": "\n",
    "CJK": "\u4e2d",
    "digits": "7",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "marks": "e\u0301\u0302",
    "only marks": "\u0301",
    "brackets": "([{",
    "line ends": "\r\n",
    "NUL": "\0",
    "apostrophes": "'",
    "contractions": "'s",
    "Jamo": "\u1100\u1161",
    "no-break spaces": "\xa0",
    "other digits": "\u0663",
    "fractions": "\xbd",
    "a beginning of a special token": "<|endoftext|",
    "special tokens": "<|endoftext|>",
}
METHODS = ("encode_ordinary", "count", "encode_array", "count_file", "split")
MOST = 15  # times the time of a tenth of the text
NOISE = 0.05  # seconds of processor time, in which a measurement on a busy machine says nothing


def text_of(family: str, size: int) -> str:
    if family == "spaces then x":
        return " " * (size - 1) + "x"
    unit = UNITS[family]
    return unit * (size // len(unit.encode()))


def opened(name: str) -> tokcli.Encoding:
    return tokcli.load_encoding(FORMATS / name) if (FORMATS / name).exists() else tokcli.get_encoding(name)


# --- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*UNITS, "spaces then x"])
@pytest.mark.parametrize("name", first_in_gate(reversed(FAMILIES)))
def test_a_megabyte_of_one_thing_is_what_comes_back(name: str, family: str) -> None:
    """In Python it is a thirtieth of that, which takes as long."""
    enc, text = tokcli.get_encoding(name), text_of(family, rounds(10**6) if backend.native() else 30_000)
    ids = enc.encode_ordinary(text)
    assert enc.decode(ids) == text
    assert enc.count(text) == len(ids)
    assert enc.encode_array(text).tolist() == ids
    assert "".join(enc.split(text)) == text


@pytest.mark.clock
@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("family", [*UNITS, "spaces then x"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FAMILIES)
def test_ten_times_the_text_takes_little_more_than_ten_times_as_long(
    name: str, method: str, family: str, tmp_path: Path
) -> None:
    enc = tokcli.get_encoding(name)
    short, long = (_seconds(enc, method, text_of(family, size), tmp_path) for size in (10**6, 10**7))
    assert long < MOST * max(short, NOISE)


@pytest.mark.clock
@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("family", [*UNITS, "spaces then x"])
@pytest.mark.parametrize("name", FILES)
def test_tokenizers_of_other_files_take_time_by_size_too(name: str, family: str, tmp_path: Path) -> None:
    enc = opened(name)
    enc.count("warm")
    short, long = (_seconds(enc, "count", text_of(family, size), tmp_path) for size in (10**5, 10**6))
    assert long < MOST * max(short, NOISE)


def _seconds(enc: tokcli.Encoding, method: str, text: str, folder: Path) -> float:
    """The least processor time of three calls."""
    argument: str | Path = text
    if method == "count_file":
        argument = folder / "text"
        argument.write_bytes(text.encode())
    least = float("inf")
    for _ in range(3):
        begin = time.process_time()
        getattr(enc, method)(argument)
        least = min(least, time.process_time() - begin)
    return least


def test_digits_that_never_end_are_cut_by_their_beginning() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    text = "x1" + "1234567890" * 400_000 + " 12"
    blocks = [text.encode()[at : at + 70_001] for at in range(0, len(text), 70_001)]
    parts = list(enc.tokenizer.read_parts(blocks))
    assert [number for part in parts for number in enc.tokenizer.encode_part(part)] == enc.encode_ordinary(text)
    assert max(map(len, parts)) < 10**6


@pytest.mark.parametrize(
    "before", ["", "x", "\u4e2d", "12 ", "\xb2", "\u0663\u0663", "\xbd", "'", " ", "\n", "a1b22c", "#", "-"]
)
def test_a_cut_in_digits_changes_no_piece(before: str) -> None:
    found = 0
    for pattern in KNOWN_PATTERNS:
        splitter = PreTokenizer(pattern)
        for count in range(8, 90, 5):
            text = before + ("1234567890" * 9)[:count]
            cut = splitter.cut_in_digits(text)
            found += bool(cut)
            assert splitter.split(text[:cut]) + splitter.split(text[cut:]) == splitter.split(text)
            assert not cut or len(text) - cut >= 4
    assert found > 100


# --- blocks ----------------------------------------------------------------------------------------------------------

PIPED = (
    "Hello, w\xf6rld!\r\n\t\u65e5\u672c\u8a9e \U0001f469\u200d\U0001f469 e\u0301 1234567\0  don't\n\n \ufeff<|endoftext|>\xa0x"
    * 3
)


def blocks_of(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return (data[begin:end] for begin, end in itertools.pairwise(bounds))


@pytest.mark.parametrize("name", [*NAMES, *FILES])
def test_bytes_that_come_one_by_one_give_the_same_ids(name: str) -> None:
    enc = opened(name)
    expected = enc.encode_ordinary(PIPED)
    data = PIPED.encode()
    for size in (1, 2, 3, 7, len(data)):
        blocks = [data[at : at + size] for at in range(0, len(data), size)]
        for read in (enc.tokenizer.read_parts, enc.tokenizer.read_chunks):
            assert [i for part in read(blocks) for i in enc.tokenizer.encode_part(part)] == expected
            assert sum(map(enc.tokenizer.count_part, read(blocks))) == len(expected)


@examples(300)
@given(st.sampled_from([*FAMILIES, *FILES]), hard_text(30), st.lists(st.integers(0, 10**6), max_size=20))
def test_bytes_that_come_in_any_blocks_give_the_same_ids(name: str, text: str, cuts: list[int]) -> None:
    enc = opened(name)
    blocks = blocks_of(text.encode(), cuts)
    assert [
        i for part in enc.tokenizer.read_parts(blocks) for i in enc.tokenizer.encode_part(part)
    ] == enc.encode_ordinary(text)


# --- special tokens --------------------------------------------------------------------------------------------------


def special_of(enc: tokcli.Encoding) -> dict[str, int]:
    """The special tokens of an encoding, without the one that stands for unknown text."""
    unknown = set(enc.encode_ordinary("\u2603"))
    return {name: number for name, number in enc.tokenizer.special_tokens.items() if name and number not in unknown}


@pytest.mark.parametrize(
    "name", [*NAMES, *FILES, "wordpiece.tokenizer.json", "suffix.tokenizer.json", "word.model", "char.model"]
)
def test_no_text_becomes_a_special_token_unasked(name: str) -> None:
    enc = opened(name)
    special = special_of(enc)
    some = sorted(special, key=special.__getitem__)[:8]  # o200k_harmony has a thousand
    texts = [f"{before}{token}{after}" for token in some for before in ("", "a", " ", "\n") for after in ("", "b", " ")]
    texts += ["".join(some), "<|endoftext|>", "</s>", "[CLS]"]
    for text in texts:
        found = {
            "encode_ordinary": enc.encode_ordinary(text),
            "nothing disallowed": enc.encode(text, disallowed_special=()),
            "encode_array": enc.encode_array(text).tolist(),
            "as bytes": enc.encode_array(text.encode()).tolist(),
            "batch": enc.encode_ordinary_batch([text, text])[1],
            "batch, nothing disallowed": enc.encode_batch([text], disallowed_special=())[0],
            "array of a batch": enc.encode_array_batch([text, text])[0].tolist(),
            "to numpy": enc.encode_to_numpy(text, disallowed_special=()).tolist(),
            "stream": stream_ids(enc, text, ReadOptions()),
        }
        for way, ids in found.items():
            taken = {token for token, number in special.items() if number in ids}
            assert not {token for token in taken if token in text}, (way, text)
        if text in special:
            with pytest.raises(DisallowedSpecialTokenError):
                enc.encode(text)
            with pytest.raises(DisallowedSpecialTokenError):
                enc.encode_batch(["a", text])


def stream_ids(enc: tokcli.Encoding, text: str, options: ReadOptions, size: int = 1) -> list[int]:
    data = text.encode()
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    return [i for part in enc.tokenizer.read_parts(blocks, options) for i in enc.tokenizer.encode_part(part)]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_special_token_is_found_across_any_blocks_where_it_is_allowed_and_nowhere_else(name: str) -> None:
    enc = tokcli.get_encoding(name)
    token, names = "<|endoftext|>", frozenset(enc.special_tokens_set)
    text = f"a{token}{token[:-1]} {token[1:]}{token[:3]}{token}b{token}"
    expected = enc.encode(text, allowed_special="all")
    for size in range(1, 20):
        assert stream_ids(enc, text, ReadOptions(allowed=names), size) == expected
        assert stream_ids(enc, text, ReadOptions(), size) == enc.encode_ordinary(text)
        with pytest.raises(DisallowedSpecialTokenError, match="at byte 1"):
            stream_ids(enc, text, ReadOptions(refused=names), size)


@pytest.mark.parametrize("name", FAMILIES)
def test_pieces_that_only_a_border_brings_together_are_no_special_token(name: str) -> None:
    """The halves of a special token in two texts of a batch, or on both sides of a chunk, stay text."""
    enc = tokcli.get_encoding(name)
    number = enc._special_tokens["<|endoftext|>"]
    for cut in range(1, 13):
        halves = ["<|endoftext|>"[:cut], "<|endoftext|>"[cut:]]
        assert all(number not in ids for ids in enc.encode_batch(halves, allowed_special="all"))
        assert number not in enc.encode_array_batch(halves)[0].tolist()
    filler = "word " * random.Random(cut).randrange(13_000, 14_000)  # some 65,536 bytes: where chunks end
    for shift in range(14):
        text = filler[: (1 << 16) - shift] + "<|endoftext|> and more text " * 3
        assert number not in stream_ids(enc, text, ReadOptions(), 4096)
        assert stream_ids(enc, text, ReadOptions(), 4096) == enc.encode_ordinary(text)


NORMALIZERS = {
    "NFKC": ({"type": "NFKC"}, "\uff1cend\uff1e"),
    "lower case": ({"type": "Lowercase"}, "<END>"),
    "replaced": ({"type": "Replace", "pattern": {"String": "~"}, "content": "<"}, "~end>"),
    "removed": ({"type": "Replace", "pattern": {"String": "~"}, "content": ""}, "<e~nd>"),
    "stripped": ({"type": "Strip", "strip_left": True, "strip_right": True}, "  <end>  "),
}


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("kind", NORMALIZERS)
def test_no_text_is_normalized_into_a_special_token_unasked(kind: str, normalized: bool, tmp_path: Path) -> None:
    normalizer, text = NORMALIZERS[kind]
    table = json.loads((FORMATS / "byte-level.tokenizer.json").read_bytes())
    table["normalizer"] = normalizer
    table["added_tokens"] = [{"id": 901, "content": "<end>", "special": True, "normalized": normalized}]
    (tmp_path / "tokenizer.json").write_text(json.dumps(table), "utf-8")
    enc = tokcli.load_encoding(tmp_path / "tokenizer.json")
    number = enc._special_tokens["<end>"]
    for one in (text, f"a {text} b", f"{text}<end>{text}"):
        assert number not in enc.encode_ordinary(one)
        assert number not in enc.encode(one, disallowed_special=())
        assert number not in enc.encode_array(one).tolist()
        assert number not in enc.encode_array_batch([one])[0].tolist()
        assert number not in stream_ids(enc, one, ReadOptions())
    assert number in enc.encode("a<end>", allowed_special="all")
