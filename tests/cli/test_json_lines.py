"""JSON objects that are parsed many at once are those that each line is by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcli.cli.inputs.records import read_batches
from tokcli.cli.json_stream import dump, parse, parse_objects, safe
from tokcli.cli.record import PAIR
from tokcli.cli.streams import Input
from tokcli.engine import backend
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


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text()
        | st.sampled_from(["a b", '"', "\\", "\x7f"]),
        lambda inner: (
            st.lists(inner, max_size=20) | st.dictionaries(st.text() | st.sampled_from(["a", "1"]), inner, max_size=20)
        ),
    )
)
def test_what_is_written_without_json_is_what_json_writes(value: Any) -> None:
    assert dump(value) == safe(json.dumps(value, ensure_ascii=False))


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
        patch.setattr("tokcli.cli.inputs.records.parse_objects", lambda _: None)
        made.append(seen_in(data))
    assert made[0] == made[1]


def seen_in(data: bytes, field: str = "text") -> list[object]:
    """Return the records of JSON Lines, and what is wrong after them."""
    seen: list[object] = []
    try:
        for batch in read_batches(Input(name="name", data=data), "jsonl", field):
            seen += [*((record.data, record.shown) for record in batch.records()), *batch.objects, *batch.numbers]
            batch.raise_error()
    except TokcliError as error:
        seen += [str(error), error.hint]
    return seen


def seen_line_by_line(data: bytes, field: str) -> list[object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcli.cli.inputs.records._plain_texts", lambda *_: None)
        return seen_in(data, field)


TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["a" * 7, "b" * 15 + '"', "\\" + "c" * 33, '"', "\\", "\x7f", "\0\b\f\n\r\t/", "\U0001f600", "\xe9 \u4e2d" * 9]
    ),
)
NAMES = st.sampled_from(["text", "a", "a.b", "", PAIR, "te", "texts", "caf\xe9", 'a"b', "a\\b"])
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["text", "a", "a.b", "te", "texts", "caf\xe9"]), VALUES, max_size=4)


@st.composite
def json_lines(draw: st.DrawFn) -> tuple[bytes, str]:
    """Return JSON Lines as programs write them, and the name of their texts; some lack a text or a byte of JSON."""
    field = draw(st.sampled_from(["text", "a", "a.b", "caf\xe9"]))
    lines = []
    for members in draw(st.lists(OBJECTS, min_size=1, max_size=5)):
        if draw(st.integers(0, 19)) != 19:
            members[field] = draw(TEXTS)
        items = draw(st.permutations(list(members.items())))
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r ")]))
        line = json.dumps(dict(items), ensure_ascii=draw(st.booleans()), separators=separators)
        lines.append(draw(st.sampled_from(["", "", " ", "\t\r"])) + line + draw(st.sampled_from(["", "", "\r", " "])))
    data = bytearray("\n".join(lines).encode("utf-8", "replace"))
    if draw(st.integers(0, 2)) == 2:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.sampled_from(b'"\\{}[]:,0-.eEu1t\n\xff\x1f '))
    return bytes(data), field


@given(json_lines())
def test_lines_read_together_have_the_same_texts_as_one_by_one(given: tuple[bytes, str]) -> None:
    data, field = given
    assert seen_in(data, field) == seen_line_by_line(data, field)


NATIVE = pytest.mark.skipif(backend.native() is None, reason="there is no native code here")
PLAIN = [b'{"text": "x"}', b' {"a": [1, {"b": []}, "]"], "text":"\\u00e9\\ud83d\\ude00\\/"\t} \r', b'{"text": "", "a": -0.5e+9}',
         b'{"b": {"c": 1E5, "d": [{}, {"e": "\\u00e9\\ud800"}]}, "text": "x"}',
         '{"é": {"text": 1}, "text": "é"}'.encode()]  # fmt: skip
NOT_PLAIN = [b"\n", b" ", b"{}", b'{"text": 1}', b'{"text": "a", "text_pair": "b"}', b'{"te\\u0078t": "a"}', b'{"text": "\\ud800"}',
             b'{"text": "\\ude00\\ud83d"}', b'{"text": "a", "text": "b"}', b'{"text": "a"} x', b'{"text": "a"}{}', b'["text"]',
             b'{"text": "a", "b": 01}', b'{"text": "a", "b": 1.}', b'{"text": "a", "b": .5}', b'{"text": "a", "b": NaN}',
             b'{"text": "a", "b": [1,]}', b'{"text": "a",}', b'{"text": "a", "b": tru}', b'{"text": "a\x1f"}', b'{"text": "\xff"}',
             b'{"text": "\\u12"}', b'{"text": "\\x"}', b'{"text": "', b'{"text": "a", "b": ' + b"[" * 65 + b"]" * 65 + b"}",
             b'{"text": "a", "b": ' + b"1" * 300 + b"}", b'{"text" "a"}', b'{"text": "a" "b": 1}', b'{"text": "a", "b": {"c" 1}}',
             b'{"text": "\\u1', b'{"text": "\\ud83d\\ue000"}', b'{"b": "\\u00", "text": "a"}', b'{"b": "\\x", "text": "a"}',
             b'{"b": 1e, "text": "a"}', b'{"b": {1}, "text": "a"}', b'{"b": {"c": 1, 2}, "text": "a"}',
             b'{"b": {"c": 1, "d\x01": 2}, "text": "a"}', b'{"b": {"c\x01": 1}, "text": "a"}']  # fmt: skip


@NATIVE
def test_plain_lines_are_read_natively() -> None:
    native = backend.native()
    assert native is not None
    found = native.json_texts(b"".join(line + b"\n" for line in PLAIN), b"text", PAIR.encode())
    assert found is not None
    assert found[0].decode() == "x\xe9\U0001f600/x\xe9"
    assert list(memoryview(found[1]).cast("Q")) == [1, 8, 8, 9, 11]


@NATIVE
@pytest.mark.parametrize("line", NOT_PLAIN)
def test_a_line_that_is_not_plain_is_read_by_itself(line: bytes) -> None:
    native = backend.native()
    assert native is not None
    for data in (line + b"\n", b"\n".join([*PLAIN, line, *PLAIN, b""]), line, b'{"text": "a"}\n' + line):
        assert native.json_texts(data, b"text", PAIR.encode()) is None
    assert seen_in(line) == seen_line_by_line(line, "text")
