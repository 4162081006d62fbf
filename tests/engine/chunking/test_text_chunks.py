"""Chunks of a text: each fits by itself, joined they are the text, for every format and wherever the text is hard."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import get_args

import pytest
from gguf_files import INT32, bert, gguf
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, ROOT, hard_text, reference

import tokcli
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.engine.chunking.boundaries import Boundary, ends_of, is_between_characters
from tokcli.engine.chunking.cutter import PassageCutter, locate, located_parts
from tokcli.engine.chunking.window import Located
from tokcli.engine.pretokenizers.cuts import cut_finder, is_stop
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.errors import InputError

FORMATS = ROOT / "tests" / "data" / "formats"
FILES = sorted(path.name for path in FORMATS.iterdir() if path.name != "golden.json")
KINDS: tuple[Boundary, ...] = get_args(Boundary)


@cache
def encoding_of(name: str) -> tokcli.Encoding:
    return tokcli.load_encoding(FORMATS / name) if name in FILES else tokcli.get_encoding(name)


def own_pattern() -> tokcli.Encoding:
    """Return an encoding whose pattern looks around, and whose digits depend on where a text begins."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in (b"12", b"345", b"3456", b"  ", b"   ", b"ab", b"abc", "é".encode()):
        ranks[token] = len(ranks)
    pattern = r"\p{N}{1,5}|(?<=a)b|[a-z]+|\s+(?!\S)|[\s\S]"
    return tokcli.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


texts = st.lists(
    st.one_of(hard_text(), st.sampled_from(["One. ", "two\n", "\n\n", "abcabc", "  12345678"])), max_size=12
)


def check(encoding: tokcli.Encoding, text: str, size: int, overlap: int, boundary: Boundary) -> None:
    done = 0
    for chunk in tokcli.chunks(encoding, text, size, overlap=overlap, boundary=boundary):
        assert chunk.text == text[chunk.start : chunk.end] != ""
        assert chunk.ids == encoding.encode_ordinary(chunk.text)
        assert len(chunk.ids) <= size
        assert chunk.start <= done < chunk.end
        assert encoding.count(text[chunk.start : done]) <= overlap
        done = chunk.end
    assert done == len(text)


@pytest.mark.parametrize("name", [*FAMILIES, *FILES, "own"])
@given(texts.map("".join), st.integers(1, 40), st.integers(0, 40), st.sampled_from(KINDS))
def test_each_chunk_fits_by_itself_and_joined_they_are_the_text(
    name: str, text: str, size: int, overlap: int, boundary: Boundary
) -> None:
    encoding = own_pattern() if name == "own" else encoding_of(name)
    try:
        check(encoding, text, size, min(overlap, size - 1), boundary)
    except InputError as error:
        found = error.detail and next(char for char in text if encoding.count(char) > size)
        assert found, error


@pytest.mark.parametrize("name", FAMILIES)
def test_ids_are_those_of_the_reference_library(name: str) -> None:
    text = "It's 2024, naïve 日本語 🫠!  Twelve  spaces\n\n" * 30
    for boundary in KINDS:
        for chunk in tokcli.chunks(encoding_of(name), text, 9, overlap=2, boundary=boundary):
            assert chunk.ids == reference(name).encode_ordinary(chunk.text)


@pytest.mark.parametrize("name", ["cl100k_base", "byte-level.tokenizer.json", "bpe.model"])
@pytest.mark.parametrize("text", ["x" * 50_000, "a b" * 20_000, "é🫠" * 5_000, "\n" * 5_000, "1234567890" * 4_000])
def test_one_long_word_line_or_run_is_no_exception(name: str, text: str) -> None:
    encoding = encoding_of(name)
    try:
        made = list(tokcli.chunks(encoding, text, 128, boundary="sentence"))
    except InputError:  # this vocabulary has no token for a character
        pytest.fail(f"{name}: 128 tokens are too few for a character")
    assert "".join(chunk.text for chunk in made) == text
    assert all(len(chunk.ids) <= 128 and chunk.ids == encoding.encode_ordinary(chunk.text) for chunk in made)


def test_bytes_without_a_token_change_no_ids_of_chunks(tmp_path: Path) -> None:
    """A byte-level vocabulary may lack bytes: they get no id, so tokens do not tell where they are."""
    alphabet = [CHAR_OF[byte] for byte in range(256) if byte != 0x0B]
    kinds = ([1] * (len(alphabet) + 1), INT32)
    path = gguf(
        tmp_path / "x.gguf", model="gpt2", pre="falcon", tokens=[*alphabet, "ab"], token_type=kinds, merges=["a b"]
    )
    encoding = tokcli.load_encoding(path)
    assert encoding.encode("\x0b") == []
    for boundary in KINDS:
        check(encoding, "ab\x0b ab a\x0b\x0b b ab aab\n ab. ab" * 20, 5, 2, boundary)


def test_chunks_of_ordinary_text_are_full_and_cut_at_tokens() -> None:
    encoding = encoding_of("o200k_base")
    text = "The quick brown fox jumps over the lazy dog, twice a day. " * 400
    ids = encoding.encode_ordinary(text)
    made = [chunk.ids for chunk in tokcli.chunks(encoding, text, 100)]
    assert made == [ids[at : at + 100] for at in range(0, len(ids), 100)]
    repeated = [chunk.ids for chunk in tokcli.chunks(encoding, text, 100, overlap=10)]
    assert all(after[:10] == before[-10:] for before, after in pairwise(repeated))


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("token", ["one two three.\nFour five. Six", "\nseven eight\n\nnine. Ten"]),
        ("sentence", ["one two three.\nFour five.", " Six\nseven eight\n\nnine. Ten"]),
        ("line", ["one two three.\n", "Four five. Six\nseven eight\n\n", "nine. Ten"]),
        ("paragraph", ["one two three.\n", "Four five. Six\nseven eight\n\n", "nine. Ten"]),
    ],
)
def test_chunks_end_at_boundaries(boundary: Boundary, expected: list[str]) -> None:
    text = "one two three.\nFour five. Six\nseven eight\n\nnine. Ten"
    made = [chunk.text for chunk in tokcli.chunks(encoding_of("o200k_base"), text, 8, boundary=boundary)]
    assert made == expected


LINES = st.lists(
    st.sampled_from(["hello", "world", "a", "of.", "é", "東京", "x1", "(go)", "don't"]), min_size=1, max_size=6
).map(" ".join)
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\t\r\n", "\n\n", "\r\n\r\n"])


@pytest.fixture(scope="module")
def guessing(tmp_path_factory: pytest.TempPathFactory) -> tokcli.Encoding:
    """A vocabulary of llama.cpp that does not say where its tokens are."""
    return tokcli.load_encoding(bert(tmp_path_factory.mktemp("guesses") / "bert.gguf"))


@pytest.mark.parametrize("name", [*FAMILIES, *FILES, "guesses"])
@given(st.lists(st.tuples(LINES, ENDS).map("".join), min_size=2, max_size=7), st.data())
def test_no_line_is_cut_that_fits_by_itself(
    name: str, guessing: tokcli.Encoding, lines: list[str], data: st.DataObject
) -> None:
    encoding = guessing if name == "guesses" else encoding_of(name)
    size = max(1, encoding.count(data.draw(st.sampled_from(lines))))
    text = "".join(lines)
    starts = dict(pairwise([0, *(at for at, char in enumerate(text, 1) if char == "\n")]))
    try:
        made = list(tokcli.chunks(encoding, text, size, boundary="line"))
    except InputError:
        return  # a character has more tokens
    for chunk in made:
        end = starts.get(chunk.start, 0)
        assert end <= chunk.end or encoding.count(text[chunk.start : end]) > size, (chunk, size)


@pytest.mark.parametrize("name", ["five", "wordpiece.tokenizer.json", "byte-level.tokenizer.json"])
def test_large_chunks_end_with_pieces_of_the_text(name: str) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    five = tokcli.Encoding("five", pat_str="(?s).{1,5}", mergeable_ranks=ranks, special_tokens={})
    encoding = five if name == "five" else encoding_of(name)
    text = "Das höchste Gebirge, naïve слова и числа 2024; 日本語 " * 200
    ends = set(accumulate(map(len, encoding.split(text))))
    for size in range(700, 1600, 100):
        made = list(tokcli.chunks(encoding, text, size, boundary="piece"))
        assert len(made) > 3
        assert {chunk.end for chunk in made} <= ends


def test_bytes_that_are_not_utf_8_hide_no_piece() -> None:
    data, options = b"words and more words " * 40 + b"\xff" + b" words and more words" * 40, ReadOptions("bytes")
    tokenizer = encoding_of("cl100k_base").tokenizer
    parts = (locate(tokenizer, part, start) for part, start in located_parts(tokenizer, [data], options))
    made = list(PassageCutter(tokenizer, 7, boundary="piece", options=options).passages(parts))
    pieces = (piece for chunk in tokenizer.read_chunks([data], options) for piece in tokenizer.split_chunk(chunk))
    assert {passage.end for passage in made} <= set(accumulate(map(len, pieces)))


def test_what_is_too_long_for_its_boundary_ends_at_a_finer_one() -> None:
    text = "A sentence of some words, which goes on. " + "Word " * 30 + "\n\nShort."
    made = [chunk.text for chunk in tokcli.chunks(encoding_of("o200k_base"), text, 12, boundary="paragraph")]
    assert made[0] == "A sentence of some words, which goes on."
    assert made[-1].endswith("Short.")
    assert "".join(made) == text


@given(
    texts.map("".join), st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(4, 30), st.sampled_from(KINDS)
)
def test_chunks_do_not_depend_on_the_blocks_that_are_read(
    text: str, sizes: list[int], size: int, boundary: Boundary
) -> None:
    text = text * 40
    tokenizer, data = encoding_of("o200k_base").tokenizer, text.encode()

    def blocks() -> Iterator[bytes]:
        at = 0
        for number in range(len(data)):
            if at >= len(data):
                return
            yield data[at : at + sizes[number % len(sizes)] * 97]
            at += sizes[number % len(sizes)] * 97

    parts = [locate(tokenizer, part, start) for part, start in located_parts(tokenizer, blocks(), ReadOptions())]
    made = [passage[2:4] for passage in PassageCutter(tokenizer, size, boundary=boundary).passages(parts)]
    whole = [locate(tokenizer, part, start) for part, start in located_parts(tokenizer, [data], ReadOptions())]
    assert made == [passage[2:4] for passage in PassageCutter(tokenizer, size, boundary=boundary).passages(whole)]


@given(st.lists(st.one_of(st.binary(max_size=6), hard_text().map(str.encode)), max_size=12), st.integers(4, 20))
def test_bytes_that_are_not_utf_8_stay_as_they_are(stretches: list[bytes], size: int) -> None:
    data, options = b"".join(stretches), ReadOptions("bytes")
    tokenizer = encoding_of("cl100k_base").tokenizer
    parts = (locate(tokenizer, part, start) for part, start in located_parts(tokenizer, [data], options))
    made = list(PassageCutter(tokenizer, size, options=options).passages(parts))
    assert b"".join(passage.data for passage in made) == data
    for passage in made:
        ids = [i for part in tokenizer.read_parts([passage.data], options) for i in tokenizer.encode_part(part)]
        assert list(passage.ids) == ids
        assert 0 < len(ids) <= size


@given(texts.map("".join), st.integers(0, 30))
def test_both_ends_of_a_text_fit_and_say_whether_they_are_all(text: str, size: int) -> None:
    encoding, data = encoding_of("cl100k_base"), text.encode()
    for at_end in (False, True):
        parts = (locate(encoding.tokenizer, *item) for item in located_parts(encoding.tokenizer, [data], ReadOptions()))
        cutter = PassageCutter(encoding.tokenizer, size)
        kept = cutter.last(parts) if at_end else cutter.first(parts)
        assert data.endswith(kept.data) if at_end else data.startswith(kept.data)
        assert encoding.count(kept.data.decode()) <= size
        assert kept.is_last == (kept.data == data)
        if encoding.count(text) <= size:
            assert kept.data == data


@pytest.mark.clock
def test_to_keep_many_last_tokens_takes_no_time_for_each_part_that_is_read() -> None:
    tokenizer, data = encoding_of("cl100k_base").tokenizer, b" word" * 10
    ids = tokenizer.encode_bytes(data)
    starts = range(0, 40_000 * len(data), len(data))
    parts = (Located(data, ids, tokenizer.token_spans(ids, start, in_chars=False), is_covered=True) for start in starts)
    started = time.process_time()
    kept = PassageCutter(tokenizer, 200_000).last(parts)
    assert time.process_time() - started < 2
    assert (kept.data, kept.end, kept.is_last) == (data * 20_000, 40_000 * len(data), False)


def test_sizes_that_hold_nothing_are_refused() -> None:
    encoding = encoding_of("gpt2")
    for size, overlap in ((0, 0), (-1, 0), (3, 3), (3, -1)):
        with pytest.raises(InputError):
            tokcli.chunks(encoding, "x", size, overlap=overlap)
    with pytest.raises(InputError, match="boundary"):
        tokcli.chunks(encoding, "x", 1, boundary="page")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_tokens: expected an int"):
        tokcli.chunks(encoding, "x", 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="encoding: expected an Encoding"):
        tokcli.chunks("gpt2", "x", 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="does not fit"):
        list(tokcli.chunks(encoding, "a 🫠", 1))
    assert list(tokcli.chunks(encoding, "", 1)) == []


@given(st.binary(max_size=12))
def test_characters_are_torn_only_within_them(data: bytes) -> None:
    starts, at = {0}, 0
    for char in data.decode("utf-8", "surrogateescape"):
        at += len(char.encode("utf-8", "surrogateescape"))
        starts.add(at)
    assert {at for at in range(len(data) + 1) if is_between_characters(data, at)} == starts


def test_sentences_end_with_their_signs_and_what_closes_them() -> None:
    text = 'He said "No." Then 3.5 e.g. more! Yes? 日本。「です。」終\n\nHead\n \nEnd'
    data = text.encode()
    ends = [0, *ends_of("sentence", data, 0, len(data)), len(data)]
    assert [data[a:b].decode() for a, b in pairwise(ends)] == [
        'He said "No."', " Then 3.5 e.g. more!", " Yes?", " 日本。", "「です。」", "終\n\n", "Head\n \n", "End",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["line", "sentence", "paragraph"])
def test_boundaries_are_found_in_linear_time(kind: Boundary) -> None:
    for data in (b"." * 300_000, b"\n" * 300_000, b"\n" + b" " * 300_000, b". " * 150_000, b".)" * 150_000):
        assert ends_of(kind, data, 0, len(data)) is not None


@pytest.mark.parametrize("pat_str", sorted(KNOWN_PATTERNS))
@given(texts.map("".join))
def test_streams_are_cut_at_a_byte_where_the_same_characters_let_text_be_cut(pat_str: str, text: str) -> None:
    data, places = text.encode(), {match.start() for match in cut_finder(pat_str).finditer(text)}
    for at in range(len(text) + 1):
        assert is_stop(pat_str, data, len(text[:at].encode())) == (at in places)
