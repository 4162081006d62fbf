"""The Python way of the native functions: the same names and parameters as theirs, and the same answers."""

from __future__ import annotations

import ast
import functools
import inspect
import json
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_tree import PACKAGE
from support import hard_text

from tokcli.engine import backend, reference
from tokcli.engine.tokens import spans_of

needs_native = pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
native: Any = backend.native()
uint32 = st.integers(0, 2**32 - 1)
some_ids = st.lists(uint32, max_size=12)
id_text = st.text(st.sampled_from("0123456789 ,\n\t\r\v\fx-+_.\xe9\u0663"), max_size=30).map(str.encode)
json_parts = st.sampled_from(
    [
        '"a"',
        '"b"',
        '"c"',
        ":",
        ",",
        "{",
        "}",
        "[",
        "]",
        '"\\u00e9"',
        '"\\ud800"',
        "\xe9",
        "1",
        "null",
        "NaN",
        " ",
        "\n",
        "x",
    ]
)
json_line = st.one_of(
    st.lists(json_parts, max_size=8).map("".join),
    st.builds(json.dumps, st.dictionaries(st.sampled_from("abc"), st.text(max_size=3) | st.integers())),
)
any_bytes = st.one_of(hard_text(8).map(str.encode), st.binary(max_size=12))


NATIVE_ALONE = {"PieceTable.count", "KnownTokens.spans"}  # by what only native code splits by, and `tokens.spans_of`


def functions_in(found: ast.Module | ast.ClassDef, prefix: str = "") -> dict[str, ast.arguments]:
    functions = [node for node in found.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    return {prefix + node.name: node.args for node in functions}


def declared() -> dict[str, ast.arguments]:
    """Return the parameters of each native function, and of each method as CLASS.METHOD."""
    stub = ast.parse((PACKAGE / "engine" / "_native.pyi").read_text("utf-8"))
    classes = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    return functools.reduce(dict.__or__, [functions_in(one, f"{one.name}.") for one in classes], functions_in(stub))


def written() -> dict[str, Any]:
    """Return the functions and methods of the reference under the names of `declared`."""
    found = {name: getattr(reference, name) for name in reference.__all__}
    methods = [name.split(".") for name in declared().keys() - NATIVE_ALONE if "." in name]
    return {name: one for name, one in found.items() if inspect.isfunction(one)} | {
        f"{owner}.{name}": inspect.getattr_static(found[owner], name) for owner, name in methods if owner in found
    }


def offsets_in(ids: list[int], places: list[int]) -> array[int]:
    return array("Q", sorted(min(place, len(ids)) for place in places))


@pytest.mark.parametrize("name", sorted(written()))
def test_each_function_has_a_native_one_with_the_same_parameters(name: str) -> None:
    theirs, ours = declared()[name], inspect.signature(written()[name]).parameters.values()
    assert not theirs.kwonlyargs
    assert [one.name for one in ours] == [one.arg for one in theirs.posonlyargs + theirs.args]
    assert [one.name for one in ours if one.kind is one.POSITIONAL_ONLY] == [one.arg for one in theirs.posonlyargs]
    defaults = [one.default for one in ours if one.default is not one.empty]
    assert len(defaults) == len(theirs.defaults)
    for default, said in zip(defaults, map(ast.literal_eval, theirs.defaults), strict=True):
        assert said in (default, ...)


def test_the_backend_is_native_code_or_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backend.code() is (native or reference)
    monkeypatch.setattr(backend, "native", lambda: None)
    assert backend.code() is reference


@needs_native
@given(st.one_of(id_text, st.lists(st.integers(0, 2**33)).map(lambda ids: str(ids)[1:-1].encode())))
def test_ids_are_read_alike(text: bytes) -> None:
    found = native.parse_ids(text)
    assert reference.parse_ids(text) == (None if found is None else bytes(found))


@needs_native
@given(some_ids, st.binary(max_size=3))
def test_ids_are_written_alike(ids: list[int], between: bytes) -> None:
    buffer = memoryview(array("I", ids))
    assert reference.format_ids(buffer, between) == native.format_ids(buffer, between)
    assert reference.narrow_ids(buffer) == native.narrow_ids(buffer)


@needs_native
@given(some_ids, st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 2**64 - 1) | st.integers(0, 4))
def test_records_are_written_alike(ids: list[int], places: list[int], limit: int) -> None:
    given = (memoryview(array("I", ids)), memoryview(offsets_in(ids, places)), b" ", b"]\n[", limit)
    assert reference.format_records(*given) == native.format_records(*given)


@needs_native
@given(some_ids, st.lists(st.integers(0, 12), min_size=1, max_size=6), st.none() | uint32, st.booleans())
def test_records_are_packed_alike(ids: list[int], places: list[int], extra: int | None, is_narrow: bool) -> None:
    given = (memoryview(array("I", ids)), memoryview(offsets_in(ids, places)), 2**40, extra, is_narrow)
    assert reference.pack_records(*given) == native.pack_records(*given)


@needs_native
@given(
    st.lists(st.dictionaries(uint32 | st.integers(0, 9), st.binary(max_size=20), max_size=5), max_size=3),
    st.lists(uint32 | st.integers(0, 9), max_size=8),
    st.integers(-2, 9),
    st.booleans(),
)
def test_known_tokens_are_joined_alike(
    told: list[dict[int, bytes]], others: list[int], start: int, in_chars: bool
) -> None:
    ours, theirs = reference.KnownTokens(), native.KnownTokens()
    for tokens in told:
        for known in (ours, theirs):
            known.add(list(tokens), list(tokens.values()))
        for ids in ([*tokens], [*tokens, *others], others):
            given = array("I", ids)
            assert ours.joined(given) == theirs.joined(given)
            assert ours.unknown(given) == theirs.unknown(given)
            if ours.joined(given) is not None:
                each = [ours.joined(array("I", [id])) for id in ids]
                expected = spans_of(map(bytes, each), start, in_chars=in_chars)
                assert array("Q", theirs.spans(given, start, in_chars)) == expected


@needs_native
@given(st.lists(st.tuples(some_ids, st.booleans()), max_size=3), st.integers(1, 5))
def test_tables_are_written_alike(columns: list[tuple[list[int], bool]], size: int) -> None:
    lines = b"".join(b"%d\n" % number**3 for number in range(size))
    rows = min((len(ids) for ids, _ in columns), default=0)
    given = [
        (array("I", [number % size for number in ids[:rows]]), lines) if has_lines else (array("I", ids[:rows]), None)
        for ids, has_lines in columns
    ]
    assert reference.format_rows(given) == native.format_rows(given)


@needs_native
@given(any_bytes)
def test_characters_are_counted_alike(data: bytes) -> None:
    assert reference.valid_utf8(data) == native.valid_utf8(data)
    assert reference.count_chars(memoryview(data)) == native.count_chars(data)


@needs_native
@given(any_bytes, st.none() | st.integers(0, 20))
def test_what_is_not_utf8_is_replaced_alike(data: bytes, limit: int | None) -> None:
    given = (data,) if limit is None else (data, limit)
    assert reference.replace_invalid(*given) == native.replace_invalid(*given)


@needs_native
@given(any_bytes, st.integers(0, 255))
def test_records_are_cut_alike(data: bytes, separator: int) -> None:
    for text in (data, data + bytes([separator])):
        assert reference.record_ends(text, separator) == native.record_ends(text, separator)


@needs_native
@given(st.lists(json_line, min_size=1, max_size=3))
def test_texts_that_native_code_finds_in_json_are_those_of_the_reference(lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    found = native.json_texts(data, b"a", b"b")
    assert found in (None, reference.json_texts(data, b"a", b"b"))
    assert found is None or json.loads(lines[0])["a"] == found[0][: array("Q", found[1])[0]].decode()


@pytest.mark.parametrize("data", [b"", b"{}", b'{"a": 1}\n', b'{"a": "x"}', b'{"a": "x", "b": null}\n', b'{"a": "\\ud800"}\n',
                                  b'{"a": "\xff"}\n', b'{"a": "x", "c": NaN}\n', b"[" * 10**5 + b"\n"])  # fmt: skip
def test_lines_that_are_not_plain_have_no_texts(data: bytes) -> None:
    for code in filter(None, (native, reference)):
        assert code.json_texts(data, b"a", b"b") is None


@needs_native
@given(st.lists(st.binary(max_size=3), unique=True, max_size=5), st.binary(max_size=12), st.integers(0, 12))
def test_texts_are_found_alike(texts: list[bytes], data: bytes, most: int) -> None:
    data = data.join(texts) or data
    ours, theirs, numbers = (
        reference.LongestMatch(texts),
        native.LongestMatch(texts),
        array("Q", range(7, 7 + len(texts))),
    )
    for size in (len(data), len(data) // 2):
        assert ours.find(data, size, most) == theirs.find(data, size, most)
    assert ours.find_numbered(data, numbers) == theirs.find_numbered(data, numbers)
