"""Threads that share a long text give the ids that one thread gives, for every kind of model, also for new characters."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from support import HARD_ATOMS, ROOT

import tokcli
from tokcli.engine import backend
from tokcli.engine.executor import LEAST_FOR_THREADS
from tokcli.engine.pretokenizers.known_patterns import CL100K
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.errors import UnknownTokenError
from tokcli.registry.encodings import load_encoding

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native code here"),
]

FORMATS = ROOT / "tests/data/formats"
FILES = ["bpe.model", "char.model", "unigram.model", "word.model", "plain.tokenizer.json",
         "unigram.tokenizer.json", "wordpiece.tokenizer.json"]  # fmt: skip
LEAST = 1 << 18  # bytes for a thread: TextModel::in_parts
WORDS = ["the", "Ab", "abc.", "x", "12", "'s", "\n", "  ", " ", " ", " ", "\t", "\u4e2d\u6587", "caf\xe9", "e\u0301"]


def long_texts() -> dict[str, str]:
    rnd = random.Random(11)
    hard = [*HARD_ATOMS, *WORDS]
    return {
        "words": "".join(rnd.choices([*WORDS, " "], k=250_000)),
        "hard text": "".join(rnd.choices(hard, k=250_000)),
        "unknown text": "\U0001f9ff\u07ff" * (LEAST // 2),
        "no place for a cut": "a" * (2 * LEAST + 9),
        "spaces": " " * (2 * LEAST + 9),
        "one place": "a" * (2 * LEAST) + " " + "a" * LEAST,
    }


TEXTS = long_texts()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", TEXTS)
def test_ids_do_not_depend_on_the_number_of_threads(file: str, name: str) -> None:
    text = TEXTS[name]
    assert len(text.encode()) > 2 * LEAST
    alone, shared = load_encoding(FORMATS / file), load_encoding(FORMATS / file)
    for threads in (2, 7):  # the first call meets all characters for the first time
        ids = allow_inner_threads(shared.encode_array, threads)(text)
        assert bytes(ids) == bytes(alone.encode_array(text))
        assert allow_inner_threads(shared.count, threads)(text) == len(ids)


@pytest.mark.parametrize("file", ["unigram.tokenizer.json", "wordpiece.tokenizer.json"])
@pytest.mark.parametrize("ask", ["encode", "encode_array", "count", "encode_spans"])
def test_parts_of_a_text_may_each_have_new_characters(file: str, ask: str, tmp_path: Path) -> None:
    parts = json.loads((FORMATS / file).read_text("utf-8"))
    lower = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**parts, "normalizer": lower, "added_tokens": []}))
    text = "".join(chr(0x2010 + 97 * part) + "some words and more " * (LEAST // 40) for part in range(12))
    native = load_encoding(path).tokenizer.inner.native
    assert native is not None
    assert getattr(native, ask)(text, frozenset()) is not None


def test_unknown_text_on_both_sides_of_a_cut_is_one_id(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "a": 1, "b": 2}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [],
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": False,
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    encoding = load_encoding(path)
    for text, count in (("?" * (3 * LEAST), 1), ("a?" * LEAST + "?" * LEAST, 2 * LEAST)):
        assert allow_inner_threads(encoding.count, 3)(text) == count
        assert encoding.count(text) == count


SHARES = [words * 300 for words in WORDS] * 250  # some 40 MB, in 32 shares


@pytest.mark.parametrize("name", ["o200k_base", FORMATS / "plain.tokenizer.json"], ids=["ranks", "tokenizer.json"])
@pytest.mark.parametrize("threads", [2, 7])
def test_the_lists_of_a_batch_are_in_order_whichever_thread_made_the_ids(name: str | Path, threads: int) -> None:
    encoding = load_encoding(name) if isinstance(name, Path) else tokcli.get_encoding(name)
    expected = [encoding.encode_ordinary(text) for text in SHARES[: len(WORDS)]] * 250
    assert encoding.encode_ordinary_batch(SHARES, num_threads=threads) == expected


def test_the_first_text_of_a_batch_that_fails_is_named_whichever_thread_met_it() -> None:
    letters = {bytes([byte]): byte for byte in b"abcdef \n"}
    encoding = tokcli.Encoding("x", pat_str=CL100K, mergeable_ranks=letters, special_tokens={})
    texts = ["abc def\n" * 2000] * 200  # 3 MB, in 13 shares
    assert encoding.encode_ordinary_batch(texts, num_threads=3) == [encoding.encode_ordinary(texts[0])] * 200
    for wrong in ([3], [0, 199], [100, 101], [199], [60, 150]):
        given = list(texts)
        for place, number in enumerate(wrong):
            given[number] = "WXYZ"[place]
        with pytest.raises(UnknownTokenError, match="for the byte 0x57"):  # W
            encoding.encode_ordinary_batch(given, num_threads=3)


def test_a_text_that_python_has_to_encode_is_one_in_a_batch_like_the_others(tmp_path: Path) -> None:
    encoding = tokcli.get_encoding("o200k_base")
    texts = ["some words \n" * 1000] * 200
    for number in (0, 77, 199):
        texts[number] = f"half a pair \ud800 {number}"
    assert encoding.encode_ordinary_batch(texts, num_threads=3) == [encoding.encode_ordinary(text) for text in texts]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("threads", [2, 7])
def test_texts_of_a_batch_have_the_ids_of_each_alone_whichever_thread_encodes_them(file: str, threads: int) -> None:
    rnd = random.Random(threads)
    texts = ["".join(rnd.choices([*HARD_ATOMS, *WORDS, "the "], k=rnd.randrange(900))) for _ in range(700)]
    texts[3], texts[500] = "", "x" * 100_000
    assert sum(map(len, texts)) > LEAST_FOR_THREADS
    alone, shared = load_encoding(FORMATS / file), load_encoding(FORMATS / file)
    expected = [alone.encode_ordinary(text) for text in texts]
    assert shared.encode_ordinary_batch(texts, num_threads=threads) == expected
    ids, offsets = shared.encode_array_batch(texts, num_threads=threads)
    assert [ids[begin:end].tolist() for begin, end in pairwise(offsets)] == expected
