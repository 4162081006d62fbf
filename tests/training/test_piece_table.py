"""Claims about counting pieces."""

from __future__ import annotations

import tiktoken

from tokcli.training.piece_table import count_pieces


def test_text_and_its_utf8_are_the_same_piece() -> None:
    assert count_pieces(["é", "é".encode(), "e"]) == {"é".encode(): 2, b"e": 1}


def test_no_pieces_have_no_counts() -> None:
    assert count_pieces([]) == {}
    assert count_pieces(["", b""]) == {}


def test_any_iterable_is_counted_once_through() -> None:
    assert count_pieces(piece for piece in ["a", "b", "a"]) == {b"a": 2, b"b": 1}


def test_counts_of_parts_add_up_to_the_counts_of_the_whole() -> None:
    pieces = ["the", " cat", "the", " dog", "é", " cat"]
    assert count_pieces(pieces[:2]) + count_pieces(pieces[2:]) == count_pieces(pieces)


def test_bytes_that_are_not_utf8_are_counted_as_they_are() -> None:
    assert count_pieces([b"\xff\x00", b"\xff\x00"]) == {b"\xff\x00": 2}


def test_surrogates_are_read_as_tiktoken_reads_them() -> None:
    ranks = {bytes([value]): value for value in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    for text in ["\ud800", "a\udc00b", "\ud83d\ude00", "\ude00\ud83d", "\ud83d\ud83d\ude00"]:
        assert list(count_pieces([text])) == [bytes(encoding.encode_ordinary(text))], ascii(text)
