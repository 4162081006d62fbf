"""`encode --visualise`: ids, the legend, JSON, and the texts that tokens of other tokenizers stand for."""

from __future__ import annotations

import json
import re
import sys

import pytest
from support import ROOT, ok, on_terminal

from tokcli import get_encoding

MODELS = ROOT / "tests" / "data" / "formats"
TEXT = "I'll pay $12345 你好 👨\u200d👩 مرحبا\n"
LEGEND = "3 tokens · 12 bytes · 4.00 bytes per token · o200k_base"


def shown(*arguments: object, env: dict[str, str] | None = None) -> str:
    return ok("encode", "--visualise", *arguments, env=env).decode()


def test_ids_in_a_pipe_wrap_at_80_or_at_columns() -> None:
    wide, narrow = shown("--ids", "-t", TEXT * 9).splitlines(), shown("--ids", "-t", TEXT, env={"COLUMNS": "20"})
    assert 60 < max(map(len, wide)) <= 80
    assert narrow.splitlines()[:2] == ["I'll │·pay│·$ │123 │", "67504│2777│548│7633│"]


def test_the_ids_under_the_tokens_are_those_of_encode() -> None:
    rows = shown("--ids", "-t", TEXT).splitlines()
    assert [int(id) for row in rows[1::2] for id in re.findall(r"\d+", row)] == get_encoding("o200k_base").encode(TEXT)


@pytest.mark.parametrize("options", [[], ["--ids"], ["--color", "always"]])
def test_boundaries_in_a_pipe_are_ascii_where_the_locale_is_not_utf_8(options: list[str]) -> None:
    text = shown(*options, "-t", "a b — c\n", env={"LC_ALL": "C.UTF-8"})
    assert shown(*options, "-t", "a b — c\n", env={"LC_ALL": "C"}) == text.replace("│", "|")


def test_the_legend_ends_the_view_on_a_terminal_and_is_not_in_a_pipe() -> None:
    status, seen = on_terminal("encode", "--visualise", "-t", "hello world\n")
    assert (status, LEGEND in seen.decode()) == (0, True)
    assert LEGEND not in on_terminal("encode", "--visualise", "-q", "-t", "hello world\n")[1].decode()
    assert shown("-t", "hello world\n") == "hello│·world│⏎\n"
    assert LEGEND in shown("--color=always", "-t", "hello world\n")


def test_json_has_each_token_and_where_it_stands() -> None:
    made = json.loads(shown("--json", "-t", "I'll 🫠"))
    assert made == {
        "tokens": [
            {"id": 67504, "text": "I'll", "start": 0, "end": 4},
            {"id": 9552, "bytes_hex": "20f09f", "start": 4, "end": 7},
            {"id": 104, "bytes_hex": "ab", "start": 7, "end": 8},
            {"id": 254, "bytes_hex": "a0", "start": 8, "end": 9},
        ],
        "count": 4,
        "bytes": 9,
    }
    assert json.loads(shown("--json", "-t", "")) == {"tokens": [], "count": 0, "bytes": 0}


def test_json_is_an_object_a_line_for_each_input() -> None:
    names = [str(MODELS / "plain.tokenizer.json")] * 2
    lines = shown("--json", "-n", "2", *names).splitlines()
    assert [json.loads(line)["count"] for line in lines] == [2, 2]


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="U+1FAE0 is newer than the Unicode of Python 3.10, which escapes it"
)
@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("wordpiece.tokenizer.json", "Hello│wörld│日│🫠│n│e│x│t"),
        ("byte-level.tokenizer.json", "Hello│·│·w│ö│r│ld│·│日│⟨f0⟩│⟨9f⟩│⟨ab⟩│⟨a0⟩│⏎│\nne│x│t"),
        ("unigram.tokenizer.json", "Hello│·w│ö│r│l│d│·│日│🫠│·│n│e│x│t"),
        ("bpe.model", "·Hello│·│·w│ö│r│ld│·│日│⟨f0⟩│⟨9f⟩│⟨ab⟩│⟨a0⟩│⏎│\nne│x│t"),
        ("unigram.model", "·Hello│·w│ö│r│l│d│·│日│⟨f0⟩│⟨9f⟩│⟨ab⟩│⟨a0⟩│⏎│\nne│x│t"),
    ],
)
def test_tokens_show_the_text_that_they_stand_for(model: str, wanted: str) -> None:
    assert shown("-e", MODELS / model, "-t", "Hello  wörld 日🫠\nnext") == f"{wanted}\n"


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="U+1FAE0 is newer than the Unicode of Python 3.10, which escapes it"
)
def test_a_template_and_places_of_a_tokenizer_that_changes_its_text() -> None:
    arguments = ("-e", MODELS / "wordpiece.tokenizer.json", "--add-special-tokens", "-t", "Hello 🫠")
    assert shown(*arguments) == "[CLS]│Hello│🫠│[SEP]\n"
    tokens = json.loads(shown("--json", *arguments))["tokens"]
    assert [(token["text"], token["start"], token["end"]) for token in tokens] == [
        ("[CLS]", 0, 0), ("Hello", 0, 5), ("🫠", 6, 10), ("[SEP]", 0, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--ids"], ["--color=never"], ["--color=never", "--ids"]], ids=str)
def test_right_to_left_is_isolated_on_a_terminal_and_never_in_a_pipe(options: list[str]) -> None:
    _, seen = on_terminal("encode", "--visualise", *options, "-t", "مرحبا \u2069\u2068\u202e")
    assert seen.decode().count("\u2068") == seen.decode().count("\u2069") == 2
    in_a_pipe = [*(option for option in options if "color" not in option), "--color=always"]
    assert not set("\u2068\u2069\u202e") & set(shown(*in_a_pipe, "-t", "مرحبا \u2069\u2068\u202e"))
