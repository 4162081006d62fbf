"""Patterns in a row that no known pattern stands for cut natively as they do one by one, and as Hugging Face's library."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import HARD_ATOMS, ROOT

from tokcli.engine import backend
from tokcli.engine.bindings.pipelines import rules_of_pipeline
from tokcli.engine.llama_cpp.patterns import PRE_TYPES
from tokcli.engine.pipeline.finders import PatternFinder
from tokcli.engine.pretokenizers.native_pattern import native_pattern, native_row
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.formats.huggingface.reader import parse_huggingface
from tokcli.registry.encodings import load_encoding

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native code here"),
]

TABLE = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_bytes())
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
END = {"id": 900, "content": "<end>", "special": True, **FLAGS}
DIGITS = {"type": "Digits", "individual_digits": True}
ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
LLM = [
    "[\r\n]",
    PRE_TYPES["deepseek-llm"].splitter.patterns[1],
    PRE_TYPES["deepseek-llm"].splitter.patterns[2],
    r"\s+$",
    ASIAN,
]


def split(pattern: str, kind: str = "Regex") -> dict[str, Any]:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": "Isolated", "invert": False}


ROWS: dict[str, list[dict[str, Any]]] = {
    "deepseek llm": [*map(split, LLM), DIGITS],
    "a pattern that leaves text out": [split(r"\p{L}+")],
    "a text": [split("a.", "String"), split(" ", "String")],
    "runs": [{"type": "Punctuation", "behavior": "Contiguous"}, {**DIGITS, "individual_digits": False}],
    "looks around": [split(r"(?<=\s)\w|\b."), split(r"(?<!a)b|^.|.$"), split(r"\S(?=\s)")],
    "gpt2 last": [split(r"\d{2}"), {**BYTES, "use_regex": True}],
    "long matches": [split(r"(?:a|b)*c"), split("ab?")],
}
ATOMS = [
    *HARD_ATOMS,
    "ab",
    "abc",
    "a.b",
    "12",
    "345",
    "\uff01",
    "\u2018",
    "\u3000",
    "\r\n",
    "  \n",
    "\u4e00",
    "\uac00",
    "\U00011de1",
]


def table_of(splitters: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    steps = splitters if splitters[-1]["type"] == "ByteLevel" else [*splitters, BYTES]
    made = TABLE | {"added_tokens": [END], "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
    return made | {"normalizer": None, "post_processor": None} | changes


def hard_texts(seed: int, count: int) -> list[str]:
    rnd = random.Random(seed)
    texts = ["".join(rnd.choices(rnd.sample(ATOMS, 14), k=rnd.randrange(1, 40))) for _ in range(count)]
    return ["", "a", "\n", "\u0301", *texts]


def cut_one_by_one(patterns: list[str], text: str) -> list[str]:
    """The pieces by `regex`: each pattern cuts the pieces of the one before, and leaves what it does not match."""
    pieces = [text] if text else []
    for pattern in patterns:
        compiled = PreTokenizer(pattern).for_text(text)
        places = [[0, *(at for m in compiled.finditer(piece) for at in m.span()), len(piece)] for piece in pieces]
        pieces = [piece[a:b] for piece, ends in zip(pieces, places, strict=True) for a, b in pairwise(ends) if a < b]
    return pieces


def cut_natively(patterns: list[str], text: str) -> list[str]:
    row, data = native_row(tuple(patterns)), text.encode()
    assert row is not None
    ends, _, is_split = row.split(data)
    assert is_split
    return [data[a:b].decode() for a, b in pairwise([0, *memoryview(ends).cast("Q")])]


PARTS = [
    *LLM, r"\p{N}{1,3}", r"\w+", r"[^\w\s]+|\s+", "a", "a.", r"(?:a|b)*c", r"\b.", r"(?<=a)b+", r"\s(?!\S)", r".$", r"^\s*\S",
    r"(?i)'s|b", r"[^\r\n\p{L}\p{N}]?\p{L}+",
]  # fmt: skip


def test_a_row_cuts_as_its_patterns_do_one_by_one() -> None:
    rnd = random.Random(3)
    for text in hard_texts(4, 1500):
        patterns = [PatternFinder(part).pretokenizer.pat_str for part in rnd.sample(PARTS, rnd.randrange(1, 6))]
        assert cut_natively(patterns, text) == cut_one_by_one(patterns, text), patterns


def test_a_row_cuts_long_text_as_its_patterns_do_one_by_one() -> None:
    rnd = random.Random(5)
    text = "".join(rnd.choices(ATOMS, k=20_000)) + "x" * 5000 + "\n" * 3000 + "-" * 700
    for parts in (LLM, [r"\p{N}"], ["z"], [r"\s"], [r"\w+", "a."]):
        patterns = [PatternFinder(part).pretokenizer.pat_str for part in parts]
        assert cut_natively(patterns, text) == cut_one_by_one(patterns, text), parts


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("form", [None, "NFC"])
def test_ids_are_those_of_the_library(name: str, form: str | None, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(table_of(ROWS[name], normalizer=form and {"type": form})))
    library = tokenizers.Tokenizer.from_file(str(path))
    encoding, again = load_encoding(path), load_encoding(path)  # the second one comes from the cache
    for text in hard_texts(6, 400):
        expected = library.encode(text, add_special_tokens=False).ids
        assert encoding.encode(text, disallowed_special=()) == expected
        assert again.encode_array(text).tolist() == expected
        assert again.count(text) == len(expected)
        parts = again.tokenizer.read_parts([text.encode()], ReadOptions(allowed=frozenset({"<end>"})))
        found = [number for part in parts for number in again.tokenizer.encode_part(part).tolist()]
        assert found == library.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("inner", [[], [split(r"\s+")], [{"type": "Sequence", "pretokenizers": [DIGITS]}]])
@pytest.mark.parametrize("cuts", [False, True])
def test_bytes_that_are_written_as_characters_twice_have_the_ids_of_the_library(
    inner: list[dict[str, Any]], cuts: bool, tmp_path: Path
) -> None:
    """The bytes of "Ġ", which the first ByteLevel makes of a space, are characters again after the second."""
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(table_of([BYTES, *inner, {**BYTES, "use_regex": cuts}])))
    library, encoding = tokenizers.Tokenizer.from_file(str(path)), load_encoding(path)
    for text in hard_texts(7, 100):
        assert encoding.encode(text, disallowed_special=()) == library.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_cut_natively(name: str) -> None:
    pipeline = rules_of_pipeline(parse_huggingface(json.dumps(table_of(ROWS[name])).encode(), "tokenizer.json"))
    assert pipeline.text_ranks is None
    assert pipeline.cuts.row
    assert pipeline.native is not None


@pytest.mark.parametrize(
    "steps",
    [
        [{**split("a"), "behavior": "Removed"}],
        [{**split("a"), "behavior": "MergedWithNext"}],
        [split(r"(a)\1")],
        [split("a"), {**BYTES, "add_prefix_space": True}],
        [split("a"), {"type": "WhitespaceSplit"}],
        [split("a"), {"type": "FixedLength", "length": 2}],
    ],
)
def test_what_does_more_than_cut_out_matches_makes_no_row(steps: list[dict[str, Any]]) -> None:
    pipeline = rules_of_pipeline(parse_huggingface(json.dumps(table_of(steps)).encode(), "tokenizer.json"))
    assert pipeline.native is None


def test_a_row_is_made_of_patterns_and_does_no_more_than_split() -> None:
    native, one = backend.native(), native_pattern("a")
    assert native is not None
    assert one is not None
    row = native.Pattern.row([one])
    for wrong in ([], [row], [one, row]):
        with pytest.raises(ValueError, match="row"):
            native.Pattern.row(wrong)
    with pytest.raises(TypeError):
        native.Pattern.row([one, "a"])
    with pytest.raises(ValueError, match="row"):
        row.find("a")
    assert row.split(b"ab", 0, False) == (b"", b"", True)  # no piece is certain
    assert row.split(b"ab", 0, True, True)[1] == bytes(4)
