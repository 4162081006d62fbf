"""The .tiktoken form: what is taken, and what each mistake is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcli.errors import VocabularyError
from tokcli.formats import limits
from tokcli.formats import tiktoken as form
from tokcli.formats.tiktoken import format_tiktoken, parse_tiktoken

BYTES = {bytes([b]): b for b in range(256)}
TEXT = format_tiktoken(BYTES)


@given(st.dictionaries(st.binary(max_size=12), st.integers(256, 2**31 - 1), max_size=20))
def test_reading_what_was_written_gives_the_ranks(more: dict[bytes, int]) -> None:
    by_rank = {rank: token for token, rank in more.items() if token not in BYTES}
    ranks = BYTES | {token: rank for rank, token in by_rank.items()}
    assert parse_tiktoken(format_tiktoken(ranks), "f") == ranks


@pytest.mark.parametrize("text", [TEXT.replace(b"\n", b"\r\n"), b"\n" + TEXT + b"\n\n", TEXT[:-1]])
def test_blank_lines_crlf_and_no_last_newline_are_taken(text: bytes) -> None:
    assert parse_tiktoken(text, "f") == BYTES


def test_an_empty_token_is_taken_as_tiktoken_reads_it() -> None:
    assert parse_tiktoken(TEXT + b"= 50256", "f") == BYTES | {b"": 50256}


@pytest.mark.parametrize("line", [b" 50256", b"\t50256", b"== 50256", b"  50256"])
def test_a_line_that_begins_with_a_space_is_no_empty_token(line: bytes) -> None:
    with pytest.raises(VocabularyError, match="f:257: "):
        parse_tiktoken(TEXT + line, "f")


def test_ranks_may_have_gaps_and_start_anywhere() -> None:
    ranks = {token: 5 + 3 * rank for token, rank in BYTES.items()}
    assert parse_tiktoken(format_tiktoken(ranks), "f") == ranks


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"YWI= 17", "rank 17 repeats line 18"),
        (b"YQ== 300", "token YQ== repeats line 98"),
        (b"YWI=", "expected a token in base64, one space and a rank"),
        (b"YWI=\t300", "expected a token in base64"),
        (b"YWI= ", "rank '' is not 1 to 10 ASCII digits"),
        (b"YWI=  300", "rank  300 is not"),
        (b"YWI= 300 ", "rank 300  is not"),
        (b"YWI= +300", "rank \\+300 is not"),
        (b"YWI= 3_00", "rank 3_00 is not"),
        (b"YWI= -1", "rank -1 is not"),
        (b"YWI= 0x12c", "is not 1 to 10 ASCII digits"),
        ("YWI= ٣٠٠".encode(), "is not 1 to 10 ASCII digits"),
        (b"YWI= 00000000300", "is not 1 to 10 ASCII digits"),
        (b"YWI= 2147483648", "rank 2147483648 is above 2147483647"),
        (b"YWI 300", "YWI is not base64"),
        (b"YWJ= 300", "YWJ= is not base64"),  # bits left over: it would decode as YWI= does
        (b"YW*I= 300", "is not base64"),
        (b"YWI== 300", "is not base64"),
        (b"== 300", "== is not base64"),
        (b"YW_- 300", "is not base64"),
        (b"\xff\xfe 300", "is not base64"),
        (b"\x00", "expected a token"),
        (b"A" * 400_000 + b" 300", "a token of 300000 bytes"),
    ],
)
def test_a_mistake_is_named_with_its_line(line: bytes, what: str) -> None:
    with pytest.raises(VocabularyError, match=rf"^ranks\.tiktoken:257: .*{what}") as caught:
        parse_tiktoken(TEXT + line + b"\n", "ranks.tiktoken")
    assert len(str(caught.value)) < 200


def test_a_byte_that_is_missing_is_named() -> None:
    with pytest.raises(VocabularyError, match="f: no token for the byte 0xe9"):
        parse_tiktoken(format_tiktoken({t: r for t, r in BYTES.items() if t != b"\xe9"}), "f")


def test_the_number_of_tokens_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "MAX_TOKENS", 255)
    with pytest.raises(VocabularyError, match="f:256: more than the 255 tokens"):
        parse_tiktoken(TEXT, "f")


@given(st.binary(max_size=200))
def test_any_bytes_are_ranks_or_a_vocabulary_error(data: bytes) -> None:
    with pytest.raises(VocabularyError):
        parse_tiktoken(data, "f")


def test_limits_leave_room_for_every_vocabulary_in_use() -> None:
    assert limits.MAX_TOKENS >= 10 * 262_144
    assert limits.MAX_FILE_BYTES >= 5 * 36_000_000
