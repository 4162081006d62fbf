"""`--skip-invalid` leaves out the records that have no text, and nothing else, wherever JSON Lines are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import failed, noted, ok, refused

VALID = ['{"text": "a b", "id": 1}', '{"text": "x", "id": 7}']
INVALID = [
    "not json",
    '{"text": null}',
    '{"other": 1}',
    '{"text": 5}',
    '["text"]',
    r'{"text": "\ud800"}',
    '{"text": ["a", 1]}',
]
MIXED = "\n".join([VALID[0], *INVALID, "", VALID[1], ""]).encode()
WHOLE = "\n".join([*VALID, ""]).encode()
JSONL = ("--records", "jsonl")
NOTE = "Note: left out 7 invalid records, such as: standard input: record 2: not JSON at byte 0: expecting value\n"

COMMANDS: dict[str, tuple[str, ...]] = {
    "count": ("count",),
    "count --total": ("count", "--total"),
    "encode": ("encode",),
    "encode --json": ("encode", "--json", "--all-fields"),
    "encode with a template": ("encode", "--json", "--add-special-tokens", "-e", "wordpiece.tokenizer.json"),
    "encode -n": ("encode", "-n", "1", "--keep", "last", "--json"),
    "split": ("split", "--json"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_answers_are_those_of_the_valid_records(command: tuple[str, ...]) -> None:
    folder = Path(__file__).parents[1] / "data" / "formats"
    found = noted(*command, *JSONL, "--skip-invalid", data=MIXED, cwd=folder)
    assert found.out == noted(*command, *JSONL, data=WHOLE, cwd=folder).out
    assert found.err.endswith(NOTE)


@pytest.mark.parametrize("line", [line for line in INVALID if "ud800" not in line])  # --errors takes that one
def test_without_it_the_record_is_named_and_the_option_told(line: str) -> None:
    error = refused("encode", *JSONL, data=f"{VALID[0]}\n{line}\n".encode())
    assert "standard input: record 2: " in error
    assert "--skip-invalid leaves such records out." in error


def test_a_text_that_is_null_is_called_null() -> None:
    assert "record 1: member 'text' is not a string but null" in refused("count", *JSONL, data=b'{"text": null}\n')


def test_nothing_is_noted_where_nothing_is_left_out_or_notes_are_suppressed() -> None:
    ok("count", *JSONL, "--skip-invalid", data=WHOLE)
    ok("count", "-q", *JSONL, "--skip-invalid", data=MIXED)


def test_records_are_numbered_as_they_are_in_the_input() -> None:
    data = b'{"text": null}\n{"text": "a b c d e"}\n{"text": "<|endoftext|>"}\n'
    assert "record 3: special token" in refused("encode", *JSONL, "--skip-invalid", data=data)
    above = failed("count", *JSONL, "--skip-invalid", "--max", "2", data=data, status=1)
    assert "record 2: 5 tokens, more than --max 2" in above.err


def test_shards_and_trained_ranks_are_those_of_the_valid_records(tmp_path: Path) -> None:
    (tmp_path / "mixed.jsonl").write_bytes(MIXED)
    (tmp_path / "whole.jsonl").write_bytes(WHOLE)
    for name in ("mixed", "whole"):
        noted("encode", *JSONL, "--skip-invalid", "--shards", name, f"{name}.jsonl", cwd=tmp_path)
        noted(
            "train", *JSONL, "--skip-invalid", "--vocab-size", "258", "-o", f"{name}.out", f"{name}.jsonl", cwd=tmp_path
        )
    mixed, whole = ((tmp_path / name / "shard-00000.bin").read_bytes() for name in ("mixed", "whole"))
    assert mixed == whole
    assert (tmp_path / "mixed.out").read_bytes() == (tmp_path / "whole.out").read_bytes()
    indexes = [json.loads((tmp_path / name / "index.json").read_bytes()) for name in ("mixed", "whole")]
    assert indexes[0]["shards"] == indexes[1]["shards"]


def test_of_ids_records_without_ids_are_left_out() -> None:
    lines = b'{"ids": [64]}\n{"ids": null}\n{}\nx\n{"ids": [65]}\n'
    found = noted("decode", *JSONL, "--skip-invalid", data=lines)
    assert found.out == b"a\nb\n"
    assert "left out 3 invalid records" in found.err
    assert "--skip-invalid" in refused("decode", *JSONL, data=lines)


def test_of_ids_records_with_an_id_that_there_is_not_are_left_out() -> None:
    lines = b'{"ids": [64]}\n{"ids": [65, 99999999]}\n{"ids": [-1]}\n{"ids": [65]}\n'
    found = noted("decode", *JSONL, "--skip-invalid", data=lines)
    assert found.out == b"a\nb\n"
    assert "left out 2 invalid records, such as: standard input: record 2: 99999999 is not an id of o200k" in found.err
    hint = refused("decode", *JSONL, data=lines).splitlines()[1]
    assert hint.startswith("Its largest id is 200018") and hint.endswith("--skip-invalid leaves such records out.")
    assert "no record is valid" in noted("decode", *JSONL, "--skip-invalid", data=b'{"ids": [99999999]}\n').err


def test_rows_of_parquet_without_a_text_are_left_out(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    pyarrow: Any = pytest.importorskip("pyarrow")
    texts = ["a b", None, None, "x", *[None if i % 3 else "c" for i in range(5000)]]
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "rows.parquet")
    found = noted("count", *JSONL, "--skip-invalid", "rows.parquet", cwd=tmp_path)
    assert found.out == b"2\n1\n" + b"1\n" * 1667
    assert f"left out {2 + 5000 - 1667:,} invalid records" in found.err
    assert "record 2: member 'text' is not a string but null" in refused("count", *JSONL, "rows.parquet", cwd=tmp_path)


PAIRS = b'{"text": "a", "text_pair": 3}\n{"text": "a", "text_pair": ["b"]}\n{"text": "x"}\n'


@pytest.mark.parametrize("command", [("count",), ("encode", "--json")])
@pytest.mark.parametrize("encoding", ["wordpiece.tokenizer.json", "o200k_base"])
def test_records_whose_second_text_is_none_are_left_out(command: tuple[str, ...], encoding: str) -> None:
    folder = Path(__file__).parents[1] / "data" / "formats"
    given = (*command, *JSONL, "-e", encoding)
    found = noted(*given, "--skip-invalid", data=PAIRS, cwd=folder)
    assert found.out == ok(*given, data=b'{"text": "x"}\n', cwd=folder)
    assert "left out 2 invalid records, such as: standard input: record 1: member 'text_pair'" in found.err


WORDS = b'{"text": ["a", "b"]}\n{"text": "x"}\n'


@pytest.mark.parametrize(
    "command",
    [
        ("split", "--json"),
        ("encode", "--chunk", "4", "--json", "--all-fields"),
        ("encode", "-n", "4", "--as-text"),
        ("encode", "--offsets", "byte", "--json"),
    ],
    ids=" ".join,
)
def test_lists_of_words_are_left_out_where_one_text_is_needed(command: tuple[str, ...]) -> None:
    found = noted(*command, *JSONL, "--skip-invalid", data=WORDS)
    alone = noted(*command, *JSONL, "--skip-invalid", data=b'{}\n{"text": "x"}\n')
    assert found.out == alone.out != b""
    assert "left out 1 invalid record: standard input: record 1: the text is a list of words" in found.err


def test_no_half_line_is_written_before_the_error_of_a_record() -> None:
    folder = Path(__file__).parents[1] / "data" / "formats"
    given = ("encode", "--json", *JSONL, "-e", "wordpiece.tokenizer.json")
    made = failed(*given, data=b'{"text": ["a", "b"]}\n{"text": "a", "text_pair": 3}\n', cwd=folder, status=2)
    assert "record 2: member 'text_pair' is not a string but a number" in made.err
    assert [list(json.loads(line)) for line in made.out.splitlines()] == [["ids"]]


READERS = {
    **{name: command for name, command in COMMANDS.items() if "-e" not in command},
    "encode --chunk": ("encode", "--chunk", "4", "--json"),
    "encode --as-text": ("encode", "-n", "4", "--as-text"),
    "encode --shards": ("encode", "--shards", "made"),
    "train": ("train", "--vocab-size", "258", "-o", "made"),
}


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_an_input_without_any_json_object_is_an_error(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "page.jsonl").write_bytes(b"<!doctype html>\n<p>Sign in\n")
    said = refused(*command, *JSONL, "--skip-invalid", "page.jsonl", cwd=tmp_path)
    assert "no record of the input is a JSON object, such as page.jsonl: record 1: not JSON at byte 0" in said


@pytest.mark.parametrize("skipped", [(), ("--skip-invalid",)])
@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PAR1\x15", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"\xff\xff\xff\xff\x10\0\0\0", "an Arrow stream"),
    ],
)
def test_columns_in_a_pipe_are_an_error_that_names_the_format(head: bytes, name: str, skipped: tuple[str, ...]) -> None:
    said = refused("count", *JSONL, *skipped, data=head + b"\0\n\x01\n")
    assert f"standard input: {name}, not JSON Lines\nWrite it to a file, uncompressed, and name that.\n" in said


def test_ids_are_not_read_from_an_input_without_any_json_object() -> None:
    assert "no record of the input is a JSON object" in refused("decode", *JSONL, "--skip-invalid", data=b"1 2\n[3]\n")
    assert "no record is valid" in noted("decode", *JSONL, "--skip-invalid", data=b'{"x": [64]}\n').err


def test_requests_are_not_read_from_an_input_that_is_no_json() -> None:
    given = ("count", "--chat", *JSONL, "--skip-invalid")
    assert "no record of the input is a JSON object" in refused(*given, data=b"<html>\n")
    assert "no record is valid" in noted(*given, data=b'{"x": 1}\n').err


def test_a_note_says_that_no_object_of_an_input_has_a_text() -> None:
    found = noted("count", *JSONL, "--skip-invalid", data=b'{"a": "b"}\n{"a": "c"}\n')
    assert found.out == b""
    assert "standard input: no record is valid, so that all are left out." in found.err


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_an_empty_input_has_no_invalid_record(data: bytes) -> None:
    assert ok("count", *JSONL, "--skip-invalid", data=data) == b""


def test_it_is_for_json_lines() -> None:
    assert "--skip-invalid needs --records jsonl" in refused("count", "--records", "lines", "--skip-invalid", data=b"x")


def test_a_number_of_thousands_of_digits_is_called_so() -> None:
    said = refused("count", *JSONL, data=b'{"text": "a", "n": %b}\n' % (b"9" * 5000))
    assert "record 1: a number with too many digits" in said
