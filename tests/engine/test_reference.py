"""The Python way of the native functions: the same names and parameters as theirs, and the same answers."""

from __future__ import annotations

import ast
import inspect
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_tree import PACKAGE
from support import hard_text

from tokcli.engine import backend, reference

needs_native = pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
native: Any = backend.native()
uint32 = st.integers(0, 2**32 - 1)
some_ids = st.lists(uint32, max_size=12)
id_text = st.text(st.sampled_from("0123456789 ,\n\t\r\v\fx-+_.\xe9\u0663"), max_size=30).map(str.encode)
any_bytes = st.one_of(hard_text(8).map(str.encode), st.binary(max_size=12))


def declared() -> dict[str, ast.arguments]:
    stub = ast.parse((PACKAGE / "engine" / "_native.pyi").read_text("utf-8"))
    return {node.name: node.args for node in stub.body if isinstance(node, ast.FunctionDef)}


def offsets_in(ids: list[int], places: list[int]) -> array[int]:
    return array("Q", sorted(min(place, len(ids)) for place in places))


@pytest.mark.parametrize("name", reference.__all__)
def test_each_function_has_a_native_one_with_the_same_parameters(name: str) -> None:
    theirs, ours = declared()[name], inspect.signature(getattr(reference, name)).parameters.values()
    assert not theirs.kwonlyargs
    assert [one.name for one in ours] == [one.arg for one in theirs.posonlyargs + theirs.args]
    assert [one.name for one in ours if one.kind is one.POSITIONAL_ONLY] == [one.arg for one in theirs.posonlyargs]
    assert [one.default for one in ours if one.default is not one.empty] == [
        ast.literal_eval(default) for default in theirs.defaults
    ]


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
@given(any_bytes)
def test_characters_are_counted_alike(data: bytes) -> None:
    assert reference.valid_utf8(data) == native.valid_utf8(data)
    assert reference.count_chars(memoryview(data)) == native.count_chars(data)
