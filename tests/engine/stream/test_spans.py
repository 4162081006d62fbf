"""Spans of tokens: native code gives what the Python code gives, and offsets are those of tiktoken, however long a text is."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, examples, hard_text, ok, reference, took_less

import tokcli
from tokcli.engine import backend
from tokcli.engine.stream import spans as printing
from tokcli.engine.tokens import mapped_spans, pairs_of, spans_of, trimmed_spans

pytestmark = pytest.mark.skipif(backend.native() is None, reason="needs the native backend")
LARGE = 2**63


def in_python(call: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """Return what a function gives without native code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "native", lambda: None)
        return call(*arguments, **more)


def any_spans(largest: int) -> st.SearchStrategy[array[int]]:
    return st.lists(st.integers(0, largest), max_size=12).map(lambda n: array("Q", n[: len(n) // 2 * 2]))


@examples(200)
@given(st.sampled_from(FAMILIES), hard_text())
def test_starts_are_those_of_tiktoken_and_ends_are_where_the_last_byte_is(name: str, text: str) -> None:
    ids, offsets = tokcli.get_encoding(name).encode_with_offsets(text, allowed_special="all")
    theirs = reference(name)
    assert ids == theirs.encode(text, allowed_special="all")
    assert [start for start, _ in offsets] == theirs.decode_with_offsets(ids)[1]
    at = 0
    for token, (_, end) in zip(theirs.decode_tokens_bytes(ids), offsets, strict=True):
        at += len(token)
        assert end == len(text.encode()[:at].decode("utf-8", "ignore")) + (not is_whole(text.encode()[:at]))


def is_whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@examples(200)
@given(st.sampled_from(FAMILIES), st.lists(st.integers(0, 50_000), max_size=20), st.integers(0, 9), st.booleans())
def test_spans_of_any_ids_are_those_of_their_bytes(name: str, numbers: list[int], start: int, in_chars: bool) -> None:
    tokenizer = tokcli.get_encoding(name).tokenizer
    data_of = tokenizer.token_bytes()
    ids = array("I", [n for n in numbers if n in data_of] + [*tokenizer.special_tokens.values()][:1])
    expected = spans_of([data_of[n] for n in ids], start, in_chars=in_chars)
    assert tokenizer.token_spans(memoryview(ids), start, in_chars=in_chars) == expected


def test_a_start_beyond_any_text_is_refused() -> None:
    native: Any = backend.native()
    image = native.build_image(b"ab", b"\1\1", array("I", [0, 1]), bytes(32))
    decoder, ids = native.Decoder(native.Vocabulary(image), {}), array("I", [0, 1])
    assert memoryview(decoder.spans(ids, 2**62, False)).cast("Q")[3] == 2**62 + 2
    with pytest.raises(ValueError, match="so long"):
        decoder.spans(ids, 2**63 - 1, False)


@given(any_spans(LARGE), st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6))
def test_numbers_of_any_size_are_printed_as_python_prints_them(spans: array[int], numbers: list[int]) -> None:
    ids = memoryview(array("I", numbers[: len(spans) // 2]))
    assert printing.format_lines(ids, spans) == in_python(printing.format_lines, ids, spans)
    assert json.loads(b"[" + printing.format_json(spans) + b"]") == [list(pair) for pair in pairs_of(spans)]


@given(st.one_of(hard_text().map(str.encode), st.binary(max_size=12)), any_spans(15))
def test_characters_become_bytes_as_in_python(data: bytes, spans: array[int]) -> None:
    assert printing.byte_spans(data, spans) == in_python(printing.byte_spans, data, spans)


@pytest.mark.clock
def test_spans_that_go_back_take_no_longer() -> None:
    text = ("\u00e9" * 200_000).encode()
    spans = array("Q", [place for at in range(0, 200_000, 2) for place in (at + 1, at + 2, at, at + 1)])
    began = time.process_time()
    assert list(printing.byte_spans(text, spans)) == [2 * place for place in spans]
    assert took_less(began, 4)


@given(any_spans(20), st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_spans_of_changed_text_go_back_as_in_python(spans: array[int], places: list[int], origins: list[int]) -> None:
    pairs = [(0, 0), *zip(sorted(places), sorted(origins), strict=False)]
    breaks = array("Q", [number for pair in pairs for number in pair])
    assert mapped_spans(spans, breaks, 3) == in_python(mapped_spans, spans, breaks, 3)


@given(any_spans(9), st.lists(st.integers(0, 3), min_size=12, max_size=12), st.booleans())
def test_blanks_are_trimmed_as_in_python(spans: array[int], counts: list[int], keeps_first: bool) -> None:
    blanks = array("I", counts[: len(spans)])
    trimmed = trimmed_spans(spans, blanks, keeps_first=keeps_first)
    assert trimmed == in_python(trimmed_spans, spans, blanks, keeps_first=keeps_first)


@examples(200)
@given(st.sampled_from(FAMILIES), hard_text(), st.integers(0, 9), st.integers(0, 1 << 62))
def test_spans_are_printed_as_python_prints_them(name: str, text: str, start: int, shift: int) -> None:
    tokenizer = tokcli.get_encoding(name).tokenizer
    ids = tokenizer.encode_array(text)
    tokens = [tokenizer.decode([number]) for number in ids]
    for write in (printing.format_json, lambda *given: printing.format_lines(ids, *given)):
        assert write(spans_of(tokens, start), shift) == in_python(write, spans_of(tokens, start), shift)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("format_spans", (array("I", [1]), array("Q", [0]))),
        ("format_spans", (array("I", [1, 2]), array("Q", [0, 1]))),
        ("format_spans", (None, b"123")),
        ("byte_spans", (b"", b"1")),
        ("mapped_spans", (array("Q", [0, 1]), array("Q", [0]), 0)),
        ("trimmed_spans", (array("Q", [0, 1]), array("I", [0]), True)),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(call: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError):
        getattr(backend.native(), call)(*arguments)


@pytest.mark.parametrize("unit", ["byte", "char"])
def test_offsets_go_on_over_the_chunks_of_a_long_text(unit: str) -> None:
    text = "Zwölf Boxkämpfer 🥊 jagen Viktor über den Deich.\n中文 text, " * 9000  # some 800 kB: several blocks
    ids, offsets = tokcli.get_encoding("o200k_base").encode_with_offsets(text)
    if unit == "byte":
        offsets = pairs_of(spans_of(tokcli.get_encoding("o200k_base").decode_tokens_bytes(ids), in_chars=False))
    lines = ok("encode", "--offsets", unit, data=text.encode()).decode().splitlines()
    assert lines == [f"{number}\t{start}\t{end}" for number, (start, end) in zip(ids, offsets, strict=True)]
    found = json.loads(ok("encode", "--json", "--offsets", unit, data=text.encode()))
    assert found == {"ids": ids, "offsets": [list(pair) for pair in offsets]}
