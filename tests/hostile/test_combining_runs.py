"""Runs of combining marks, which are normalized together and looked up in tables that a text fills."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest
from support import ROOT, rounds

import tokcli
from tokcli.engine import backend

MARKS = [chr(point) for point in range(0x300, 0x370)]
LETTERS = {chr(point): point for point in [*range(0x20, 0x7F), *range(0xC0, 0x250), *range(0x300, 0x370)]}
needs_native = pytest.mark.skipif(backend.native() is None, reason="about tables of the native backend")


def tokenizer_file(folder: Path, form: str) -> Path:
    """Write a tokenizer whose normalizer is one of Unicode's forms, and whose tokens are words of known characters."""
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    parts = {
        "normalizer": {"type": form},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
    }
    vocab = {**LETTERS, **{f"##{char}": 10_000 + id for char, id in LETTERS.items()}, "[UNK]": 1}
    content = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **parts}
    path = folder / f"{form}.json"
    path.write_text(json.dumps({**content, "model": {**model, "vocab": vocab}}))
    return path


def runs_of(count: int, seed: int = 0) -> str:
    """Return a text of so many different letters with marks, a space between them."""
    chosen, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[chosen.choice("abcdefgh") + "".join(chosen.choices(MARKS, k=chosen.randrange(2, 7)))] = None
    return " ".join(found)


@needs_native
def test_no_table_of_the_native_code_that_texts_or_files_fill_is_hashed_alike_in_every_process() -> None:
    declared = re.compile(r"std::unordered_(?:map|set)<((?:[^<>]|<[^<>]*(?:<[^<>]*>)?[^<>]*>)*)>")
    native = ROOT / "tokcli" / "engine" / "native"
    found = [
        (path.name, table[0])
        for path in sorted(native.rglob("*"))
        if path.suffix in (".h", ".cc")
        for table in declared.finditer(path.read_text())
    ]
    assert found
    assert [place for place in found if "SeededHash" not in place[1]] == []


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_what_a_run_becomes_does_not_depend_on_the_runs_beside_it(form: str, tmp_path: Path) -> None:
    encoding = tokcli.load_encoding(tokenizer_file(tmp_path, form))
    words = runs_of(rounds(300), seed=7).split(" ")
    alone = [id for word in words for id in encoding.encode(word)]
    assert encoding.encode(" ".join(words)) == alone
    assert encoding.encode_with_offsets(" ".join(words))[0] == alone


@pytest.mark.clock
@needs_native
def test_very_many_runs_take_the_native_backend_no_longer_than_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text, seconds = tokenizer_file(tmp_path, "NFC"), runs_of(60_000), dict[str, float]()
    for name in ("native", "python"):
        monkeypatch.setenv("TOKCLI_BACKEND", name)
        encoding = tokcli.load_encoding(path)
        began = time.process_time()
        assert encoding.count(text) >= 60_000
        seconds[name] = time.process_time() - began
    assert seconds["native"] < 2 * seconds["python"] + 0.2
