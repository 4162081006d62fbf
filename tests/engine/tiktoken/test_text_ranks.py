"""Byte-level tokenizer files of all kinds give native code the same ids as their parts one after the other."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support import HARD_ATOMS, ROOT, rounds

from tokcli.engine.bindings.pipelines import rules_of_pipeline
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.pipeline.pretokenizers import pieces_of
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.formats.huggingface.reader import parse_huggingface
from tokcli.registry.encodings import load_encoding

TABLE = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_bytes())
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
END = {"id": 900, "content": "<end>", "special": True, "normalized": False}
LATER = {"id": 901, "content": "<later>", "special": False, "normalized": True}
STRIP = {"id": 902, "content": "<strip>", "special": False, "normalized": False, "lstrip": True}


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


DEEPSEEK = next(patterns for patterns, one in known.IN_A_ROW.items() if one == known.DEEPSEEK)
SPLITTERS = {
    "deepseek": [*map(split, DEEPSEEK), BYTES],
    "line ends": [*(split(part.replace(r"\r\n", "\r\n")) for part in DEEPSEEK), BYTES],
    "starcoder": [{"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}],
    "removed": [split(known.O200K, "Removed", True), BYTES],
    "tekken": [split(known.TEKKEN), BYTES],
    "qwen35": [split(known.QWEN35), BYTES],
    "prefix": [{**BYTES, "use_regex": True, "add_prefix_space": True}],
}


def made(splitters: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return TABLE | {
        "added_tokens": [END, LATER],
        "normalizer": {"type": "Sequence", "normalizers": []},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splitters} if len(splitters) > 1 else splitters[0],
        **changes,
    }


def one_by_one(pipeline: Pipeline, text: str, allowed: frozenset[str]) -> list[int]:
    """The ids by the parts of the pipeline, in Python."""
    ids: list[int] = []
    for segment, number in pipeline.segments(text, allowed, spans=False):
        if number is not None:
            ids.append(number)
            continue
        for piece in pieces_of(pipeline.spec.splitter, Aligned(segment.text)):
            ids += pipeline.model.tokenize(piece.text)
    return ids


ATOMS = [
    *HARD_ATOMS,
    "<end>",
    "<later>",
    "<strip>",
    "  <strip>",
    "the",
    "123",
    "4567",
    "\u3042\u30fc",
    "\U00011de1",
    "\x00",
]


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("changes", [{}, {"normalizer": {"type": "NFC"}, "added_tokens": [END]},
                                     {"added_tokens": [END, LATER, STRIP]}], ids=["plain", "NFC", "strip"])  # fmt: skip
@pytest.mark.parametrize("ignore_merges", [False, True])
def test_ids_are_those_of_the_parts(name: str, changes: dict[str, Any], ignore_merges: bool, tmp_path: Path) -> None:
    table = made(SPLITTERS[name], **changes)
    table["model"] = table["model"] | {"ignore_merges": ignore_merges}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(table))
    pipeline = rules_of_pipeline(parse_huggingface(path.read_bytes(), "tokenizer.json"))
    encoding = load_encoding(path)
    rnd = random.Random(9)
    for _ in range(rounds(150)):
        text = "".join(rnd.choices(rnd.sample(ATOMS, 14), k=rnd.randrange(1, 30)))
        for allowed in (frozenset[str](), frozenset({"<end>"})):
            expected = one_by_one(pipeline, text, allowed)
            assert encoding.encode(text, allowed_special=allowed, disallowed_special=()) == expected
            parts = encoding.tokenizer.read_parts([text.encode()], ReadOptions(allowed=allowed))
            assert [number for part in parts for number in encoding.tokenizer.encode_part(part).tolist()] == expected
        assert encoding.encode_array(text).tolist() == encoding.encode_ordinary(text)
        assert encoding.count(text) == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("name", SPLITTERS)
def test_these_go_the_fast_way(name: str) -> None:
    pipeline = rules_of_pipeline(parse_huggingface(json.dumps(made(SPLITTERS[name])).encode(), "tokenizer.json"))
    assert pipeline.text_ranks is not None


def test_tokens_that_overlap_are_looked_for_one_kind_after_the_other() -> None:
    table = made(SPLITTERS["tekken"], added_tokens=[END, LATER | {"content": "d><"}])
    pipeline = rules_of_pipeline(parse_huggingface(json.dumps(table).encode(), "tokenizer.json"))
    assert pipeline.text_ranks is None


def test_text_with_bytes_that_are_no_tokens_goes_the_slow_way(tmp_path: Path) -> None:
    table = made(SPLITTERS["tekken"])
    lead = "\u00f0"  # the first byte of what lies beyond U+FFFF
    table["model"] = table["model"] | {"vocab": {k: v for k, v in table["model"]["vocab"].items() if lead not in k}}
    table["model"]["merges"] = [m for m in table["model"]["merges"] if lead not in str(m)]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(table))
    pipeline = rules_of_pipeline(parse_huggingface(path.read_bytes(), "tokenizer.json"))
    assert pipeline.text_ranks is not None
    encoding = load_encoding(path)
    for text in ("abc", "a\U0001f600b", "\U0001f600"):
        assert encoding.encode_ordinary(text) == one_by_one(pipeline, text, frozenset())
