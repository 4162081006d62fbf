"""Streams: the ids do not depend on how the bytes arrive, nothing is lost, and a mistake is named by its byte."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, HARD_ATOMS, examples, hard_text, reference

import tokcli
from tokcli.engine import backend
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import utf8
from tokcli.engine.stream.chunks import Chunk, ReadOptions, read_chunks
from tokcli.errors import DisallowedSpecialTokenError, InputError, PatternError

families = st.sampled_from(FAMILIES)


@pytest.fixture(autouse=True, scope="module")
def _cut_wherever_possible() -> Iterator[None]:
    """Short texts are cut as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "CHUNK_CHARS", 1)
        yield


def cut_up(data: bytes, sizes: list[int]) -> list[bytes]:
    blocks, at = [], 0
    for size in sizes:
        blocks.append(data[at : at + size])
        at += size
    return [*blocks, data[at:]]


def encode(enc: tokcli.Encoding, blocks: list[bytes], **options: object) -> list[int]:
    return [
        i
        for chunk in enc.tokenizer.read_chunks(blocks, ReadOptions(**options))
        for i in enc.tokenizer.encode_part(chunk)
    ]


@examples(400)
@given(families, hard_text(20), st.lists(st.integers(0, 9), max_size=12), st.booleans())
def test_blocks_of_any_size_give_the_ids_of_the_whole(name: str, text: str, sizes: list[int], allow: bool) -> None:
    enc = tokcli.get_encoding(name)
    special = frozenset(enc.special_tokens_set) if allow else frozenset()
    expected = reference(name).encode(text, allowed_special=special, disallowed_special=())
    for errors in ("strict", "replace", "bytes"):
        assert encode(enc, cut_up(text.encode(), sizes), errors=errors, allowed=special) == expected
    chunks = list(enc.tokenizer.read_chunks(cut_up(text.encode(), sizes), ReadOptions(allowed=special)))
    assert sum(map(enc.tokenizer.count_part, chunks)) == len(expected)
    assert b"".join(b"".join(enc.tokenizer.split_chunk(chunk)) for chunk in chunks) == text.encode()


@examples(400)
@given(families, st.lists(st.one_of(st.binary(max_size=6), st.sampled_from(HARD_ATOMS).map(str.encode)), max_size=12),
       st.lists(st.integers(0, 9), max_size=12))  # fmt: skip
def test_any_bytes_come_back_and_do_not_depend_on_blocks(name: str, parts: list[bytes], sizes: list[int]) -> None:
    enc, data = tokcli.get_encoding(name), b"".join(parts)
    ids = encode(enc, [data], errors="bytes")
    assert enc.decode_bytes(ids) == data
    assert encode(enc, cut_up(data, sizes), errors="bytes") == ids


@given(families, hard_text(6), st.binary(min_size=1, max_size=4).map(lambda b: bytes(x | 0x80 for x in b)))
def test_bad_bytes_at_the_end_join_the_last_piece_as_in_tiktoken(name: str, text: str, bad: bytes) -> None:
    data = text.encode() + b"\xff" + bad
    try:
        data[len(text.encode()) + 1 :].decode()
    except UnicodeDecodeError:
        pass
    else:
        return  # there is text after the bad byte: that splits afresh
    if bad.decode("utf-8", "ignore"):
        return
    assert encode(tokcli.get_encoding(name), [data], errors="bytes") == reference(name)._encode_bytes(data)


@given(st.lists(st.one_of(st.binary(max_size=6), hard_text(3).map(str.encode)), max_size=8))
def test_replace_gives_the_ids_of_the_replaced_text(parts: list[bytes]) -> None:
    data = b"".join(parts)
    expected = reference("o200k_base").encode_ordinary(data.decode("utf-8", "replace"))
    assert encode(tokcli.get_encoding("o200k_base"), cut_up(data, [1, 2, 3]), errors="replace") == expected


@pytest.mark.parametrize(
    ("data", "offset"),
    [(b"\xff", 0), (b"abc\xffdef", 3), ("é".encode() * 500_000 + b"\xc3(", 1_000_000), (b"ab\xe4\xb8", 2)],
)
def test_what_is_not_utf8_is_named_by_its_byte(data: bytes, offset: int) -> None:
    blocks = [data[i : i + 1000] for i in range(0, len(data), 1000)]
    with pytest.raises(InputError, match=f"at byte {offset}:"):
        encode(tokcli.get_encoding("o200k_base"), blocks)


def test_a_refused_special_token_is_named_by_its_byte_wherever_the_blocks_end() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    data = "é x ".encode() * 100 + b"<|endoftext|> y"
    for size in (1, 3, 7, 400, 1000):
        blocks = [data[i : i + size] for i in range(0, len(data), size)]
        with pytest.raises(DisallowedSpecialTokenError) as caught:
            encode(enc, blocks, refused=frozenset(enc.special_tokens_set))
        assert caught.value.offset == 500


def test_the_longest_special_token_wins_even_at_the_end_of_a_block() -> None:
    ranks = {bytes([i]): i for i in range(256)}
    enc = tokcli.Encoding("x", pat_str=r".|\n", mergeable_ranks=ranks, special_tokens={"<a>": 300, "<a><b>": 301})
    data, special = b"1<a><b>2<a>3", frozenset({"<a>", "<a><b>"})
    for size in range(1, len(data) + 1):
        blocks = [data[i : i + size] for i in range(0, len(data), size)]
        assert encode(enc, blocks, allowed=special) == [49, 301, 50, 300, 51]


@pytest.mark.memory
def test_memory_does_not_grow_with_the_input() -> None:
    enc = tokcli.get_encoding("o200k_base")
    line = "It's 2024, and the quick brown fox -- 中文，日本語 -- jumps over 13 lazy dogs.\n".encode()
    enc.count(line.decode())

    def peak(megabytes: int) -> int:
        block = line * (stream.BLOCK_BYTES // len(line))
        tracemalloc.start()
        for chunk in enc.tokenizer.read_chunks(block for _ in range(megabytes * 4)):
            enc.tokenizer.count_part(chunk)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(6) < 1.2 * peak(2)


@pytest.mark.slow
def test_a_piece_that_does_not_end_is_refused_with_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_PIECE_BYTES", 1 << 20)
    enc = tokcli.get_encoding("o200k_base")
    blocks = [b"hello ", b"world. "] + [b"x" * 100_000] * 12
    with pytest.raises(InputError, match="begins at byte 12"):
        encode(enc, blocks)


@pytest.mark.parametrize("errors", ["strict", "replace", "bytes"])
def test_a_pattern_of_ones_own_streams_like_the_whole(errors: str) -> None:
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"bc": 257}
    enc = tokcli.Encoding("x", pat_str=r"(?<=!)[a-c]|[a-c]{1,3}|\W+", mergeable_ranks=ranks, special_tokens={})
    data = b"abc!abcabc, bca" * 60_000
    blocks = [data[i : i + 70_000] for i in range(0, len(data), 70_000)]
    assert encode(enc, blocks, errors=errors) == enc.encode_ordinary(data.decode())


def test_a_short_text_is_refused_before_anything_of_it_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK_CHARS", 1 << 16)
    enc = tokcli.get_encoding("o200k_base")
    chunks = enc.tokenizer.read_chunks(
        [b"some text ", b"and <|endoftext|>"], ReadOptions(refused=frozenset(enc.special_tokens_set))
    )
    with pytest.raises(DisallowedSpecialTokenError):
        next(chunks)


def test_a_pattern_that_leaves_text_out_names_the_byte() -> None:
    ranks = {bytes([i]): i for i in range(256)}
    enc = tokcli.Encoding("x", pat_str=r"[a-zé]+|\s", mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(PatternError, match="does not match at byte 200001: '7 a'"):
        encode(enc, ["é".encode() * 100_000 + b" 7 a"])


def test_chunks_know_where_they_begin() -> None:
    enc = tokcli.get_encoding("o200k_base")
    data = "héllo wörld, <|endoftext|> again\n".encode() * 50_000
    blocks = [data[i : i + 12_345] for i in range(0, len(data), 12_345)]
    at = 0
    for chunk in read_chunks(
        blocks, enc.tokenizer.pretokenizer, ReadOptions(allowed=frozenset(enc.special_tokens_set))
    ):
        assert chunk.offset == at
        at += len(chunk.data)
    assert at == len(data)


@pytest.mark.parametrize("is_native", [False, True])
def test_characters_are_counted_in_every_form_of_a_part(monkeypatch: pytest.MonkeyPatch, is_native: bool) -> None:
    if not is_native:
        monkeypatch.setattr(backend, "native", lambda: None)
    text = "a\u00e9\u4e2d\U0001f600" * 50
    assert utf8.char_count(memoryview(text.encode())) == 200
    assert utf8.char_count(utf8.SplitText.of([text.encode()] * 2)) == 400
    assert utf8.char_count(Chunk(text, 0)) == 200
    assert utf8.char_count(memoryview(b"")) == 0
