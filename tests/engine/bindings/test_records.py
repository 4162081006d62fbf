"""Records of tokenizers that are not byte-level, encoded in one call: each has the ids that it has alone."""

from __future__ import annotations

import json
from array import array
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from gguf_files import BOOL, llama, t5
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, examples, hard_text, unless_refused

from tokcli.engine import backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.registry.encodings import load_encoding

pytestmark = pytest.mark.skipif(backend.native() is None, reason="records are taken one by one there")

FORMATS = ROOT / "tests/data/formats"
FILES = ["bpe.model", "word.model", "char.model", "unigram.model", "unigram.tokenizer.json", "wordpiece.tokenizer.json"]


def records_of(texts: list[str], gap: int) -> tuple[bytes, array[int]]:
    """Return texts in a row, each with `gap` newlines after it, and where they end."""
    parts = [text.encode() + b"\n" * gap for text in texts]
    return b"".join(parts), array("Q", accumulate(map(len, parts)))


def assert_as_alone(encoding: Encoding, texts: list[str], options: ReadOptions = PLAIN) -> None:
    tokenizer = encoding.tokenizer
    expected = [tokenizer.inner.whole.encode(text, options.allowed) for text in texts]
    for gap in (0, 1):
        data, ends = records_of(texts, gap)
        native = tokenizer.for_records(data, options)
        assert native is not None
        assert native.count_records(data, ends, gap).tolist() == list(map(len, expected))
        ids, offsets = native.encode_records(data, ends, gap)
        assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected


@pytest.mark.parametrize("name", FILES)
@given(texts=st.lists(hard_text(8), max_size=9))
@examples(60)
def test_records_have_the_ids_of_each_alone(name: str, texts: list[str]) -> None:
    """Empty ones, and such that begin or end with what joins: spaces, unknown characters, combining marks."""
    assert_as_alone(load_encoding(FORMATS / name), ["", *texts, "the \u0301", "\U00012000", "\U00012000 the", ""])


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("make", [llama, t5])
def test_records_of_a_gguf_file_have_the_space_that_it_puts_first(make: Any, prefix: bool, tmp_path: Path) -> None:
    encoding = load_encoding(make(tmp_path / "x.gguf", add_space_prefix=(prefix, BOOL)))
    assert_as_alone(encoding, ["hello", "", " hello", "hello  hello", "h\u00e9llo"])


def test_records_of_a_gguf_file_with_a_token_to_cut_out_go_one_by_one(tmp_path: Path) -> None:
    tokenizer = load_encoding(t5(tmp_path / "x.gguf")).tokenizer
    token = next(iter(tokenizer.special_tokens))
    assert tokenizer.for_records(f"a{token}\n".encode(), ReadOptions(allowed=frozenset([token]))) is None


@pytest.mark.parametrize("special", [True, False])
def test_added_tokens_take_no_space_of_another_record(special: bool, tmp_path: Path) -> None:
    flags = {"lstrip": True, "rstrip": True, "single_word": False, "normalized": False, "special": special}
    model = {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, " ": 2}, "unk_token": "<unk>"}
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps({"version": "1.0", "added_tokens": [{"id": 9, "content": "<m>", **flags}], "model": model})
    )
    encoding = load_encoding(path)
    texts = ["<m>", " <m> ", "a", "", "<m>a", " ", "<m>"]
    assert_as_alone(encoding, texts, ReadOptions(allowed=frozenset(["<m>"]) if special else NONE))
    if special:
        assert_as_alone(encoding, texts)
        assert encoding.tokenizer.for_records(b"<m>\n", ReadOptions(refused=frozenset(["<m>"]))) is None


def test_records_that_are_not_utf8_or_cut_a_character_are_refused() -> None:
    tokenizer = load_encoding(FORMATS / "unigram.model").tokenizer
    assert tokenizer.for_records(b"\xff\n", ReadOptions("bytes")) is None
    native = tokenizer.for_records(b"a\n")
    assert native is not None
    for data, ends in (("\u00e9".encode(), [1, 2]), (b"abc", [2, 1]), (b"abc", [4]), (b"\xff", [1])):
        with pytest.raises(ValueError, match=r"UTF-8|record"):
            native.count_records(data, array("Q", ends), 0)


def test_records_of_characters_that_no_record_before_had() -> None:
    """Runs of them, too, which are normalized together."""
    texts = [chr(c) + "e\u0301\u0323" + chr(c + 1) for c in range(0x1E00, 0x1F00, 3)]
    assert_as_alone(load_encoding(FORMATS / "wordpiece.tokenizer.json"), texts)


def test_a_record_that_only_python_can_answer_leaves_all_to_it(tmp_path: Path) -> None:
    """Here it is an error: a word that is no token, of a vocabulary without an unknown token."""
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "<unk>"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    tokenizer = load_encoding(path).tokenizer
    for texts, counts in ((["a", "b"], [1, 1]), (["a", "zz", "b"], None)):
        data, ends = records_of(texts, 1)
        native = tokenizer.for_records(data)
        assert native is not None
        found = unless_refused(native.count_records, data, ends, 1)
        assert (found and found.tolist()) == counts
        assert (unless_refused(native.encode_records, data, ends, 1) is None) == (counts is None)


def test_what_does_not_fit_a_model_is_refused() -> None:
    twin: Any = load_encoding(FORMATS / "unigram.model").tokenizer.inner.native
    ends = array("Q", [2])
    for last, why in (
        ((b"x", b"", b""), "needs a state"),
        ((b"", b"x", b""), "needs a state"),
        ((b"", b"", b"\xff"), "UTF-8"),
    ):
        with pytest.raises(ValueError, match=why):
            twin.model.encode_records(b"a\n", ends, 1, *last, True, False)
    with pytest.raises(ValueError, match="have a size"):
        twin.model.part_ends("a", b"", b"", 0)
