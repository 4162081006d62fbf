"""The truncation and the padding of a tokenizer.json: a note names them, once, where texts are encoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, noted, ok

BYTE_LEVEL, WORDPIECE = (
    ROOT / "tests" / "data" / "formats" / f"{name}.tokenizer.json" for name in ("byte-level", "wordpiece")
)
TRUNCATION = {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": None,
    "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
}  # fmt: skip
CUTS = "Note: x.tokenizer has a truncation to 512 tokens, which is not applied; encode -n 512 --add-special-tokens truncates so.\n"
PADS = "Note: x.tokenizer has a padding to 128 tokens, which is not applied; ids are never padded.\n"


def file_with(folder: Path, original: Path = WORDPIECE, **more: Any) -> Path:
    made = folder / "x.tokenizer.json"
    made.write_text(json.dumps(json.loads(original.read_text()) | more))
    return made


@pytest.mark.parametrize("original", [BYTE_LEVEL, WORDPIECE])
@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_note_names_them_on_each_run_and_q_silences_it(original: Path, backend: str, tmp_path: Path) -> None:
    path = file_with(tmp_path, original, truncation=TRUNCATION, padding=PADDING)
    env = {"TOKCLI_CACHE_DIR": str(tmp_path / "cache")} | ({} if backend == "native" else {"TOKCLI_BACKEND": backend})
    for command in ("count", "encode", "encode"):  # the second run has the file from the cache
        given = (command, "-e", path, "-t", "hello")
        assert noted(*given, env=env).err == CUTS + PADS
        assert ok(*given, "-q", env=env) == ok(command, "-e", original, "-t", "hello", env=env)
    assert noted("count", "--special", "text", "-e", path, path, path, env=env).err == CUTS + PADS
    assert noted("decode", "-e", path, "-t", "5", env=env).err == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"truncation": TRUNCATION}, CUTS),
        (
            {"truncation": TRUNCATION | {"direction": "Left"}},
            CUTS.replace("-tokens trunc", "-tokens --keep last trunc"),
        ),
        (
            {"truncation": TRUNCATION | {"strategy": "OnlyFirst"}},
            CUTS.replace("so.", "so, but pairs lose tokens of the longer text, not of the first."),
        ),
        (
            {"padding": PADDING | {"strategy": "BatchLongest"}},
            PADS.replace("128 tokens", "the longest text of a batch"),
        ),
        ({"truncation": None, "padding": None}, ""),
    ],
)
def test_the_note_says_what_the_file_does(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert noted("split", "-e", file_with(tmp_path, **more), "-t", "hello").err == said


def test_the_option_that_the_note_names_truncates_as_the_library_does(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    for direction in ("Left", "Right"):
        path = file_with(tmp_path, truncation=TRUNCATION | {"direction": direction, "max_length": 4})
        said = noted("count", "-e", path, "-t", "x").err
        options = said.partition("; encode ")[2].removesuffix(" truncates so.\n").split()
        text = "hello world hello world world"
        library = tokenizers.Tokenizer.from_file(str(path))
        assert list(map(int, ok("encode", "-q", "-e", path, *options, "-t", text).split())) == library.encode(text).ids
