"""GPT-2's pair of files, and how files are recognised and opened."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import parse_vocabulary, read_vocabulary

from tokcli.engine.bpe.bpe import merge_steps
from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatStr
from tokcli.engine.text_tokenizer import special_tokens_of
from tokcli.errors import VocabularyError
from tokcli.formats.gpt2 import parse_gpt2
from tokcli.formats.limits import read_regular_file
from tokcli.formats.read import format_of
from tokcli.registry.encodings import load_encoding
from tokcli.registry.registered import get_encoding

CHARS = list(byte_alphabet())
VOCAB = {char: i for i, char in enumerate(CHARS)} | {"he": 256, "ll": 257, "<|endoftext|>": 258}
MERGES = "#version: 0.2\nh e\nl l\n"


def parse(vocab: object, merges: str) -> tuple[dict[bytes, int], dict[str, int]]:
    data = vocab if isinstance(vocab, bytes) else json.dumps(vocab).encode()
    return parse_gpt2(data, merges.encode(), "vocab.json", "merges.txt")


def write_pair(folder: Path, vocab: str = "encoder.json", merges: str = "vocab.bpe") -> None:
    (folder / vocab).write_text(json.dumps(VOCAB))
    (folder / merges).write_text(MERGES, encoding="utf-8")


def test_a_pair_becomes_ranks_and_special_tokens() -> None:
    ranks, special_tokens = parse(VOCAB, MERGES)
    assert (ranks[b"!"], ranks[b" "], ranks[b"he"], ranks[b"ll"], len(ranks)) == (0, 220, 256, 257, 258)
    assert special_tokens == {"<|endoftext|>": 258}


@pytest.mark.parametrize("merges", ["h e\nl l", "#version: 0.2\r\nh e\r\nl l\r\n", "\nh e\n\nl l\n"])
def test_merges_need_no_version_and_no_last_newline(merges: str) -> None:
    assert parse(VOCAB, merges) == parse(VOCAB, MERGES)


def test_gpt2s_own_pair_made_again_gives_the_ranks_of_the_catalog() -> None:
    ranks = get_encoding("gpt2")._mergeable_ranks
    shown = {byte: char for char, byte in byte_alphabet().items()}
    vocab, merges = {"<|endoftext|>": 50256}, ["#version: 0.2"]
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        vocab["".join(map(shown.__getitem__, token))] = rank
        if len(token) > 1:
            *_, last = list(merge_steps({t: r for t, r in _parts(ranks, token).items() if r < rank}, token))
            merges.append(" ".join("".join(map(shown.__getitem__, part)) for part in last.parts))
        if rank == 2000:  # enough to show the order; all 50,000 take half a minute
            break
    found, special_tokens = parse(vocab, "\n".join(merges) + "\n")
    assert found == {token: rank for token, rank in ranks.items() if rank <= 2000}
    assert special_tokens == {"<|endoftext|>": 50256}


def _parts(ranks: dict[bytes, int], token: bytes) -> dict[bytes, int]:
    spans = ((i, j) for i in range(len(token)) for j in range(i + 1, len(token) + 1))
    return {token[i:j]: ranks[token[i:j]] for i, j in spans if token[i:j] in ranks}


@pytest.mark.parametrize(
    ("vocab", "merges", "what"),
    [
        (VOCAB, "h e\nl l\nh e\n", r"merges\.txt:3: token 'he' is made a second time"),
        (VOCAB, "l l\nh e\n", r"merges\.txt:2: token 'he' has the id 256, not above 257"),
        (VOCAB, "h e\nl l\nx y\n", r"merges\.txt:3: token 'xy' is not in vocab\.json"),
        (VOCAB, "he l\n", r"merges\.txt:1: 'he' is neither a byte nor made by an earlier merge"),
        (VOCAB, "h e\n", r"vocab\.json: no merge in merges\.txt makes the token 'll'"),
        (VOCAB, "h  e\n", r"merges\.txt:1: expected two tokens"),
        (VOCAB, "h e l\n", r"merges\.txt:1: expected two tokens"),
        (VOCAB, "he\n", r"merges\.txt:1: expected two tokens"),
        ({k: v for k, v in VOCAB.items() if k != "Ġ"}, MERGES, r"no token for the byte 0x20"),
        (VOCAB | {"he": 257}, MERGES, r"'ll' has the id 257, which 'he' has already"),
        (VOCAB | {"he": -1}, MERGES, r"the id of 'he' is not a whole number"),
        (VOCAB | {"he": 256.0}, MERGES, r"the id of 'he' is not a whole number"),
        (VOCAB | {"he": True}, MERGES, r"the id of 'he' is not a whole number"),
        (VOCAB | {"<\ud800>": 300}, MERGES, r"half of a surrogate pair"),
        ([1], MERGES, r"expected an object"),
        (b'{"a": 1, "a": 2}', MERGES, r"'a' occurs twice"),
        (b'{"a": 1', MERGES, r"vocab\.json:1: not JSON"),
        (b'{"a": "\xff"}', MERGES, r"not UTF-8 at byte 7"),
        (b"[" * 100_000, MERGES, r"nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", MERGES, r"nested too deeply|not a whole number"),
    ],
)
def test_a_mistake_in_a_pair_is_named(vocab: object, merges: str, what: str) -> None:
    with pytest.raises(VocabularyError, match=what):
        parse(vocab, merges)


@pytest.mark.parametrize("names", [("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt")])
def test_a_pair_is_named_by_either_file_or_its_folder(names: tuple[str, str], tmp_path: Path) -> None:
    write_pair(tmp_path, *names)
    for path in (tmp_path, *(tmp_path / name for name in names)):
        vocabulary = read_vocabulary(path)
        assert isinstance(vocabulary, TokenizerSpec)
        assert special_tokens_of(vocabulary) == {"<|endoftext|>": 258}
        assert vocabulary.splitter == (PatStr(get_encoding("gpt2")._pat_str),)
    assert load_encoding(tmp_path).encode("hell") == [256, 257]


def test_half_a_pair_is_an_error_that_names_the_other_half(tmp_path: Path) -> None:
    write_pair(tmp_path)
    (tmp_path / "vocab.bpe").unlink()
    with pytest.raises(VocabularyError, match=r"neither vocab\.bpe nor merges\.txt beside it"):
        read_vocabulary(tmp_path / "encoder.json")
    with pytest.raises(VocabularyError, match="a folder without"):
        read_vocabulary(tmp_path)
    with pytest.raises(VocabularyError, match="one file of two"):
        parse_vocabulary(json.dumps(VOCAB).encode(), "f")


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"IQ== 0\n", ".tiktoken ranks"),
        (b"\n\nIQ== 0\r\nIg== 1\r\n", ".tiktoken ranks"),
        (b"IQ== zero\nIg== 1\nIw", ".tiktoken ranks"),
        (b"TOKRANKS\x01", "packed ranks"),
        (b'{"!": 0, "model": 1}', "a GPT-2 vocabulary"),
        (b"#version: 0.2\n", "GPT-2 merges"),
        ("Ġ t\nh e\ni n".encode(), "GPT-2 merges"),
        (b'{\n  "version": "1.0",\n  "truncation": null', "a Hugging Face tokenizer.json"),
        (b'{"model": {"type": "BPE"', "a Hugging Face tokenizer.json"),
        (b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02", "a SentencePiece model"),
        (b"GGUF\x03\x00\x00\x00", "a GGUF file"),
        (b"minbpe v1\n", "a minbpe model"),
    ],
)
def test_a_format_is_recognised_by_content(head: bytes, form: str) -> None:
    assert format_of(head).name == form


@pytest.mark.parametrize("head", [b"", b" \n\n", b"\x00\x01\x02", b"<html>", b"hello\n", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_vocabulary_is_an_error(head: bytes) -> None:
    with pytest.raises(VocabularyError, match="f: "):
        format_of(head, "f")


@given(st.binary(max_size=100))
def test_recognising_any_bytes_ends_in_a_name_or_a_vocabulary_error(head: bytes) -> None:
    with suppress(VocabularyError):
        assert format_of(head)


def test_only_regular_files_are_opened_and_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null", "/dev/zero", tmp_path):
        with pytest.raises(VocabularyError, match="not a regular file"):
            read_regular_file(path)
    with pytest.raises(VocabularyError, match="no such file"):
        read_regular_file(tmp_path / "none")
    with pytest.raises(VocabularyError):
        read_regular_file("a\0b")


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(100))
    assert read_regular_file(tmp_path / "f", 100) == bytes(100)
    with pytest.raises(VocabularyError, match="100 bytes; at most 99 are read"):
        read_regular_file(tmp_path / "f", 99)
    with pytest.raises(VocabularyError, match="more than the 10 bytes"):
        read_regular_file("/proc/self/maps", 10)  # says that it has 0 bytes
