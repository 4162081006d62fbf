"""JSON objects that are parsed many at once are those that each line is by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcli.cli.json_stream import parse, parse_objects
from tokcli.cli.records import read_batches
from tokcli.cli.streams import Input
from tokcli.errors import TokcliError

# parts of JSON that may join to something else than what each line is
PARTS = ['{"a": 1}', "{}", "{", "}", "[", "]", '"', ",", ":", '{"a": "', '"}', '{"a": [1', "2]}", "1", " ", "\\", '{"text": "x"}',
         '{"text": "é \\u00e9 \\ud83d\\ude00"}', '{"text": "\\ud800"}', '{"a": NaN}', "\ufeff{}", '{"text": {}}', "\x0b"]  # fmt: skip


def each_by_itself(lines: list[bytes]) -> list[Any] | None:
    """Return the objects that lines are, one by one; None where one is none."""
    try:
        found = [parse(line.decode()) for line in lines]
    except ValueError:
        return None
    return found if all(isinstance(each, dict) for each in found) else None


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=4).map("".join), min_size=1, max_size=6))
def test_objects_parsed_at_once_are_those_of_each_line(texts: list[str]) -> None:
    lines = [text.encode() for text in texts]
    assert parse_objects(lines) == each_by_itself(lines)


@pytest.mark.parametrize("lines", [[b'{"a": 1}, {"b": 2}', b'{"c": [', b"]}"], [b'{"a": "', b'"}'], [b"{}", b""], [b"\xff"],
                                   [b"[" * 100_000], [b"{}, {}", b"{}"], [b"{}", b"[]"]])  # fmt: skip
def test_lines_that_are_no_objects_by_themselves_are_none(lines: list[bytes]) -> None:
    assert parse_objects(lines) is None


@given(st.lists(st.sampled_from([*PARTS, "", json.dumps({"text": "a\nb", "b": 1})]), max_size=8))
def test_records_are_the_same_however_they_are_parsed(texts: list[str]) -> None:
    data = "\n".join(texts).encode()
    made = [seen_in(data)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcli.cli.records.parse_objects", lambda _: None)
        made.append(seen_in(data))
    assert made[0] == made[1]


def seen_in(data: bytes) -> list[object]:
    """Return the records of JSON Lines, and what is wrong after them."""
    seen: list[object] = []
    try:
        for batch in read_batches(Input("name", data), "jsonl"):
            seen += [*batch.records(), *batch.objects, *batch.numbers]
            batch.raise_error()
    except TokcliError as error:
        seen += [str(error), error.hint]
    return seen
