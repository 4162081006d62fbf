"""Members of JSON records: names that lead into objects (--field a.b), and members that answers keep (--all-fields)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import noted, ok, refused

from tokcli.cli.all_fields import members_of

JSONL = ("--records", "jsonl", "--json", "--all-fields")
RECORD = '{"id": 1.10, "text": "hello world", "ids": [5], "m": {"a": "x y z", "n": 1e400}}\n'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def answers(command: str, *options: str, records: str = RECORD) -> list[Any]:
    """Return the objects that a command answers to JSON records, with numbers as they are written."""
    out = noted(command, *JSONL, *options, data=records.encode()).out.decode()
    return [json.loads(line, parse_float=str) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "own", "lost"),
    [
        (("encode",), {"ids": [24912, 2375]}, {"ids"}),
        (("encode", "--field", "m.a"), {"ids": [87, 342, 579]}, {"ids"}),
        (("encode", "-n", "1"), {"ids": [24912], "truncated": True}, {"ids"}),
        (("encode", "-n", "1", "--keep", "last"), {"ids": [2375], "truncated": True}, {"ids"}),
        (("encode", "-n", "1", "--as-text"), {"text": "hello", "truncated": True}, {"text"}),
        (("encode", "--offsets", "byte"), {"ids": [24912, 2375], "offsets": [[0, 5], [5, 11]]}, {"ids"}),
        (("count",), {"count": 2}, set()),
        (("split",), {"pieces": ["hello", " world"]}, set()),
        (("decode",), {"text": "&"}, {"text"}),
    ],
)
def test_an_answer_keeps_the_members_that_it_has_not_itself(
    arguments: tuple[str, ...], own: dict[str, Any], lost: set[str]
) -> None:
    record = json.loads(RECORD, parse_float=str)
    expected = {name: value for name, value in record.items() if name not in lost} | own
    assert answers(*arguments, records=RECORD * 3) == [expected] * 3
    assert list(answers(*arguments)[0]) == list(expected), "the members of the record come first"


def test_numbers_and_spaces_stay_as_they_are_written() -> None:
    assert ok("count", *JSONL, data=b' {"text":"a", "n":1.10e2 } \n\n{"text":""}\n') == (
        b'{"text":"a", "n":1.10e2, "count": 1}\n{"text":"", "count": 0}\n'
    )


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    assert ok("count", *JSONL, data='{"text": "", "n": "\u202e"}\n'.encode()) == (
        b'{"text": "", "n": "\\u202e", "count": 0}\n'
    )


def test_a_note_names_once_the_members_that_give_way_to_those_of_the_answer() -> None:
    lines = b'{"text": "a", "count": 7}\n{"text": "b", "count": 8}\n'
    said = "Note: --all-fields leaves out members of the records that answers have themselves: 'count'.\n"
    assert noted("count", *JSONL, data=lines).err == said
    assert ok("count", *JSONL, "-q", data=lines) == noted("count", *JSONL, data=lines).out
    assert ok("encode", *JSONL, "--chunk", "9", data=b'{"text": "a", "meta": {"count": 1}}\n')
    assert "'index', 'start'" in noted("encode", *JSONL, "--chunk", "9", data=b'{"index":1,"text":"a","start":2}\n').err


def test_a_name_that_is_written_with_escapes_is_the_same_name() -> None:
    assert answers("count", records='{"text": "a", "\\u0063ount": 7}\n') == [{"text": "a", "count": 1}]


def test_a_member_of_that_very_name_comes_before_one_inside_an_object() -> None:
    assert answers("count", "--field", "m.a", records='{"m.a": "hello world", "m": {"a": "x"}}\n')[0]["count"] == 2


@pytest.mark.parametrize("record", ['{"m": {}}', '{"m": "a"}', '{"m": [1]}', "{}"])
def test_a_name_that_leads_nowhere_names_the_record(record: str) -> None:
    message = refused("encode", "--records", "jsonl", "--field", "m.a", data=record.encode())
    assert "record 1: no member 'm.a'" in message


@pytest.mark.parametrize("options", [("--json",), ("--records", "jsonl"), ("--records", "lines", "--json")])
def test_only_json_answers_to_json_records_keep_members(options: tuple[str, ...]) -> None:
    assert "--all-fields needs" in refused("encode", "--all-fields", *options)


@pytest.mark.slow
@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 1, " \t"]), st.booleans())
def test_members_are_found_as_they_are_written(made: dict[str, Any], indent: Any, is_ascii: bool) -> None:
    text = json.dumps(made, indent=indent, ensure_ascii=is_ascii)
    found = list(members_of(text[:-1].rstrip()))
    assert [name for name, _ in found] == list(made)
    assert json.loads("{" + ",".join(member for _, member in found) + "}") == made


def test_shards_have_no_members_to_keep(tmp_path: Path) -> None:
    ok("encode", "--records", "jsonl", "-q", "--shards", tmp_path / "shards", data=RECORD.encode())
    assert "--all-fields keeps" in refused("decode", *JSONL, tmp_path / "shards")
