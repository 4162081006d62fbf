"""Threads that share a long text give the ids that one thread gives, for every kind of model, also for new characters."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support import HARD_ATOMS, ROOT

from tokcli.engine import backend
from tokcli.engine.stream.parallel import with_threads_inside
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
        ids = with_threads_inside(shared.encode_array, threads)(text)
        assert bytes(ids) == bytes(alone.encode_array(text))
        assert with_threads_inside(shared.count, threads)(text) == len(ids)


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
        assert with_threads_inside(encoding.count, 3)(text) == count
        assert encoding.count(text) == count
