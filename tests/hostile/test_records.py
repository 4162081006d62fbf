"""Records that say what is no text."""

from __future__ import annotations

import pytest
from support import ok, refused

LONE = [b"\\ud800", b"\\udfff", b"a\\ud83d", b"\\ude00\\ud83d", b"\\uD800x\\uDC00"]


@pytest.mark.parametrize(
    ("record", "name"),
    [("null", "null"), ("[1]", "an array"), ('"a"', "a string"), ("true", "true or false"), ("1", "a number"),
     ("1.5", "a number")],
)  # fmt: skip
def test_what_is_no_object_is_named_in_the_words_of_json(record: str, name: str) -> None:
    for command in ("count", "encode", "decode"):
        said = refused(command, "--records", "jsonl", "--json", data=f"{record}\n".encode())
        assert said.startswith(f"Error: standard input: record 1: not a JSON object but {name}\n")


@pytest.mark.parametrize("text", LONE)
@pytest.mark.parametrize("command", [["count"], ["encode"], ["split"], ["encode", "--json", "--offsets", "byte"]])
def test_half_of_a_surrogate_pair_is_refused_naming_the_record(command: list[str], text: bytes) -> None:
    data = b'{"text": "one"}\n{"text": "' + text + b'"}\n'
    said = refused(*command, "--records", "jsonl", data=data)
    assert "record 2" in said
    assert "surrogate" in said


@pytest.mark.parametrize("text", LONE)
def test_with_errors_replace_it_is_the_replacement_character(text: bytes) -> None:
    data = b'{"text": "' + text + b'"}\n'
    ids = ok("encode", "--records", "jsonl", "--errors", "replace", data=data)
    assert "\ufffd" in ok("decode", data=ids).decode()


def test_a_whole_pair_is_one_character() -> None:
    data = b'{"text": "\\ud83d\\ude00"}\n'
    assert ok("encode", "--records", "jsonl", data=data) == ok("encode", "-t", "\U0001f600")


def test_a_second_text_is_checked_too() -> None:
    from support import ROOT

    path = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
    data = b'{"text": "one", "text_pair": "\\ud800"}\n'
    assert "text_pair" in refused(
        "encode", "-e", path, "--add-special-tokens", "--records", "jsonl", "--json", data=data
    )
