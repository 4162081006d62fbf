"""The .tiktoken form: what is taken, and what each mistake is called."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tokcli.errors import VocabularyError
from tokcli.formats import limits, read
from tokcli.formats import tiktoken as form
from tokcli.formats.tiktoken import KIMI_PATTERN, format_tiktoken, parse_tiktoken
from tokcli.registry.encodings import resolve_encoding

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


# --- Kimi's tiktoken.model ---------------------------------------------------------------------------------------------

TEXTS = [
    "Hello world, it's 你好世界abc 한국어 日本ひらがな",
    "Don'T STOP\n\n 12345 ok  \t x",
    "ΑΒγ ÀÉé中文Aa中a",
    "ǅǆ'll 々〆ヶ",
]


def kimi(folder: Path, monkeypatch: pytest.MonkeyPatch, configuration: str | None) -> str:
    """Return a folder with a tiktoken.model whose ranks are taken for Kimi's."""
    monkeypatch.setattr(read, "KIMI_SHA256", hashlib.sha256(TEXT).hexdigest())
    (folder / "tiktoken.model").write_bytes(TEXT)
    if configuration is not None:
        (folder / "tokenizer_config.json").write_text(configuration)
    return str(folder)


def test_kimis_pattern_splits_as_tiktoken_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = resolve_encoding(kimi(tmp_path, monkeypatch, None))
    words = {text[a:b].encode() for text in TEXTS for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    ranks = BYTES | {
        word: 256 + n for n, word in enumerate(sorted(words - BYTES.keys(), key=lambda word: (len(word), word)))
    }
    theirs = tiktoken.Encoding("kimi", pat_str=KIMI_PATTERN, mergeable_ranks=ranks, special_tokens={})
    for text in TEXTS:
        pieces = [theirs.decode_single_token_bytes(number) for number in theirs.encode_ordinary(text)]
        assert [piece.encode() for piece in ours.split(text)] == pieces


def test_kimis_special_tokens_follow_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {str(256 + n): {"content": name} for n, name in ((0, "[BOS]"), (255, "[PAD]"))}
    ours = resolve_encoding(
        kimi(tmp_path, monkeypatch, json.dumps({"added_tokens_decoder": named, "chat_template": ""}))
    )
    assert ours.n_vocab == 512
    assert ours.encode("[BOS]a<|reserved_token_300|>[PAD]", allowed_special="all") == [256, 97, 300, 511]


@pytest.mark.parametrize(
    ("configuration", "what"),
    [
        ('{"added_tokens_decoder": {"255": {"content": "x"}}}', r"added_tokens_decoder\.255: expected an id from 256"),
        ('{"added_tokens_decoder": {"512": {"content": "x"}}}', "expected an id from 256 to 511"),
        ('{"added_tokens_decoder": {"٣": {"content": "x"}}}', "expected an id"),
        ('{"added_tokens_decoder": {"256": {}}}', "expected text"),
        ("{}", "expected an object"),
        ("[]", "expected an object"),
    ],
)
def test_a_configuration_that_names_no_ids_of_kimi_is_refused(
    configuration: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(VocabularyError, match=rf"tokenizer_config\.json: .*{what}"):
        resolve_encoding(kimi(tmp_path, monkeypatch, configuration))


def test_a_configuration_says_nothing_about_other_ranks(tmp_path: Path) -> None:
    (tmp_path / "tiktoken.model").write_bytes(TEXT)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(VocabularyError, match="no pattern"):
        resolve_encoding(str(tmp_path))
