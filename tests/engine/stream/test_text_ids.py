"""Ids as text, bytes and records: native code answers as the Python code does, wherever the input is cut."""

from __future__ import annotations

import _thread
import threading
from array import array
from collections.abc import Iterator
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, HARD_ATOMS, examples, hard_text

import tokcli
from tokcli.engine import backend
from tokcli.engine.stream import ids as decoder
from tokcli.engine.stream import utf8 as utf8_stream
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.stream.parallel import AHEAD, ordered
from tokcli.errors import TokcliError

ids_of_any_size = st.lists(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 10**6)), max_size=60)
id_text = st.text(st.sampled_from("0123456789 ,\n\t\r\v\f[]x-+_.\xe9\u0663"), max_size=40).map(str.encode)


@pytest.fixture
def python_backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(backend, "native", lambda: None)
    yield


def in_python(call: object, *arguments: object) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "native", lambda: None)
        return outcome(call, *arguments)


def outcome(call: object, *arguments: object) -> object:
    """What a call gives, or the error it raises."""
    try:
        return call(*arguments)  # type: ignore[operator]
    except TokcliError as error:
        return type(error), error.what, error.hint


def parsed(blocks: list[bytes]) -> list[int]:
    return [i for some in decoder.parse_ids(blocks) for i in some]


@given(ids_of_any_size, st.sampled_from([b" ", b", ", b"\n", b"", b'}\n{"count": ', b"12345678", b"123456789"]))
def test_ids_are_written_as_python_writes_numbers(ids: list[int], between: bytes) -> None:
    buffer = memoryview(array("I", ids))
    assert decoder.format_ids(buffer, between) == between.join(b"%d" % i for i in ids)
    assert in_python(decoder.format_ids, buffer, between) == decoder.format_ids(buffer, between)


@pytest.mark.parametrize("digits", range(1, 11))
def test_numbers_at_each_power_of_ten_are_written(digits: int) -> None:
    edges = [n for n in (10 ** (digits - 1), 10**digits - 1, 10**digits) if n < 2**32] * 20
    assert decoder.format_ids(memoryview(array("I", edges)), b" ").decode().split() == list(map(str, edges))


@examples(500)
@given(id_text, st.lists(st.integers(0, 9), max_size=6))
def test_text_of_ids_means_the_same_in_both_backends_and_wherever_it_is_cut(text: bytes, sizes: list[int]) -> None:
    bounds = [0, *accumulate(sizes), len(text)]
    blocks = [text[a:b] for a, b in pairwise(bounds)]
    assert outcome(parsed, blocks) == in_python(parsed, blocks)
    whole = outcome(parsed, [text])
    if isinstance(whole, list):
        assert outcome(parsed, blocks) == whole


@given(ids_of_any_size, st.integers(1, 12))
def test_ids_cut_anywhere_are_read_back(ids: list[int], size: int) -> None:
    text = b"[" + b", ".join(b"%d" % i for i in ids) + b"]\n"
    assert parsed([text[i : i + size] for i in range(0, len(text), size)]) == ids


@pytest.mark.parametrize("text", ["4294967296", "9999999999", "1 4294967296 2"])
def test_an_id_above_uint32_is_a_number_that_no_vocabulary_has(text: str) -> None:
    assert parsed([text.encode()]) == list(map(int, text.split()))


@given(st.lists(st.one_of(st.binary(max_size=5), st.sampled_from(HARD_ATOMS).map(str.encode)), max_size=40))
def test_the_valid_beginning_of_bytes_is_what_python_decodes(parts: list[bytes]) -> None:
    data = b"".join(parts)
    size = utf8_stream.valid_utf8(data)
    assert size == in_python(utf8_stream.valid_utf8, data)
    data[:size].decode()


@pytest.mark.parametrize("shift", range(70))
@pytest.mark.parametrize(
    "bad", [b"\x80", b"\xc0\xaf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf5", b"\xe4\xb8"]
)
def test_bad_bytes_are_found_at_every_place_of_a_word(shift: int, bad: bytes) -> None:
    for filling in ("a", "é", "中", "😀"):
        text = (filling * shift).encode()
        assert utf8_stream.valid_utf8(text + bad + b"a" * 40) == len(text)
        assert utf8_stream.valid_utf8(text + bad) == len(text)


@given(st.sampled_from(FAMILIES), hard_text(20), st.sampled_from("IH"))
def test_a_buffer_of_ids_decodes_as_a_list(name: str, text: str, code: str) -> None:
    enc = tokcli.get_encoding(name)
    ids = [i for i in enc.encode(text, allowed_special="all") if code == "I" or i < 2**16]
    assert enc.tokenizer.decode_array(memoryview(array(code, ids))) == enc.decode_bytes(ids)


def test_a_buffer_with_an_unknown_id_is_refused_as_a_list_is() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    with pytest.raises(KeyError, match="4294967295"):
        enc.tokenizer.decode_array(memoryview(array("I", [1, 2**32 - 1])))


@examples(300)
@given(st.sampled_from(FAMILIES), hard_text(20), st.lists(st.integers(0, 9), max_size=12), st.booleans(),
       st.sampled_from([b"", b"\xff", b"\xe4\xb8"]), st.sampled_from(["strict", "replace", "bytes"]))  # fmt: skip
def test_parts_of_a_stream_are_its_chunks(
    name: str, text: str, sizes: list[int], allow: bool, bad: bytes, errors: str
) -> None:
    enc = tokcli.get_encoding(name)
    data = text.encode() + bad + text[:3].encode()
    tokens = frozenset(enc.special_tokens_set)
    options = {"errors": errors, "allowed" if allow else "refused": tokens}
    bounds = [0, *accumulate(sizes), len(data)]
    blocks = [data[a:b] for a, b in pairwise(bounds)]

    def by_parts() -> list[int]:
        return [
            i
            for part in enc.tokenizer.read_parts(blocks, ReadOptions(**options))
            for i in enc.tokenizer.encode_part(part)
        ]

    def by_chunks() -> list[int]:
        return [
            i
            for chunk in enc.tokenizer.read_chunks([data], ReadOptions(**options))
            for i in enc.tokenizer.encode_part(chunk)
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utf8_stream, "FIRST_CHUNK_BYTES", 1)
        patch.setattr(utf8_stream, "MAX_CHUNK_BYTES", 1)
        expected, found = outcome(by_chunks), outcome(by_parts)
        if isinstance(expected, list):
            assert found == expected
            assert sum(
                enc.tokenizer.count_part(p) for p in enc.tokenizer.read_parts(blocks, ReadOptions(**options))
            ) == len(expected)
        else:  # which of two mistakes is named depends on the blocks
            assert isinstance(found, tuple)


def test_text_without_a_place_to_cut_goes_on_as_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokcli.engine.stream.parts.MAX_UNCUT_BYTES", 100)
    monkeypatch.setattr(utf8_stream, "FIRST_CHUNK_BYTES", 10)
    monkeypatch.setattr(utf8_stream, "MAX_CHUNK_BYTES", 10)
    enc = tokcli.get_encoding("cl100k_base")
    text = "some words " + "é" * 400 + " and more \xff <|endoftext|>"
    blocks = [text.encode()[i : i + 7] for i in range(0, 1000, 7)]
    ids = [i for part in enc.tokenizer.read_parts(blocks) for i in enc.tokenizer.encode_part(part)]
    assert ids == enc.encode_ordinary(text)
    with pytest.raises(TokcliError, match=f"at byte {text.encode().index(b'<|')}"):
        list(enc.tokenizer.read_parts(blocks, ReadOptions(refused=frozenset(enc.special_tokens_set))))


@pytest.mark.skipif(backend.native() is None, reason="records are taken one by one there")
@given(st.sampled_from(FAMILIES), st.lists(hard_text(6).map(lambda t: t.replace("\n", "")), max_size=8),
       st.one_of(st.none(), st.integers(0, 4)))  # fmt: skip
def test_records_in_one_buffer_are_as_each_alone(name: str, texts: list[str], limit: int | None) -> None:
    enc = tokcli.get_encoding(name)
    expected = [enc.encode_ordinary(text) for text in texts]
    for gap in (0, 1):
        data = b"".join(text.encode() + b"\n" * gap for text in texts)
        ends = array("Q", accumulate(len(text.encode()) + gap for text in texts))
        native = enc.tokenizer.for_records(data)
        assert native.count_records(data, ends, gap).tolist() == list(map(len, expected))
        ids, offsets = native.encode_records(data, ends, gap)
        assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected
        text, was_cut = decoder.format_records(ids, offsets, b" ", b"]\n[", limit)
        assert text == b"]\n[".join(b" ".join(b"%d" % i for i in one[:limit]) for one in expected)
        assert was_cut == any(limit is not None and len(one) > limit for one in expected)


def packed_by_hand(
    ids: list[int], offsets: list[int], begin: int, extra: int | None, form: decoder.BinaryFormat
) -> tuple[list[int], list[int]]:
    """Return the ids of records, each with the extra one, and their ends: the promise in other words."""
    made: list[int] = []
    ends = []
    for first, end in pairwise(offsets):
        made += [*ids[first:end], *([] if extra is None else [extra])]
        ends.append(begin + len(made))
    return [number & (0xFFFF if form == "u16" else 0xFFFFFFFF) for number in made], ends


@pytest.mark.parametrize("is_native", [True, False])
@given(st.lists(st.integers(0, 2**32 - 1), max_size=20), st.lists(st.integers(0, 20), min_size=1, max_size=9),
       st.integers(0, 2**40), st.one_of(st.none(), st.integers(0, 2**32 - 1)), st.sampled_from(["u16", "u32"]))  # fmt: skip
def test_packed_records_are_ids_and_ends(
    is_native: bool, ids: list[int], places: list[int], begin: int, extra: int | None, form: decoder.BinaryFormat
) -> None:
    offsets = sorted(min(place, len(ids)) for place in places)
    given = (memoryview(array("I", ids)), memoryview(array("Q", offsets)))
    with pytest.MonkeyPatch.context() as patch:
        if not is_native:
            patch.setattr(backend, "native", lambda: None)
        packed, ends = decoder.packed_records(*given, begin, extra, form)
    assert (packed.tolist(), ends.tolist()) == packed_by_hand(ids, offsets, begin, extra, form)


@pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
@pytest.mark.parametrize("offsets", [[], [0, 3], [2, 1], [0, 2**63]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        backend.native().pack_records(array("I", [1, 2]), array("Q", offsets), 0, None, False)


@pytest.mark.skipif(backend.native() is None, reason="records are taken one by one there")
def test_records_that_need_care_are_left_to_whoever_names_them() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    special = frozenset(enc.special_tokens_set)
    assert enc.tokenizer.for_records(b"\xff\xff\xff\n") is None
    assert enc.tokenizer.for_records(b"<|endoftext|>\n", ReadOptions(refused=special)) is None
    native = enc.tokenizer.for_records(b"abc\n", ReadOptions(refused=special))
    assert native.count_records(b"abc\n", array("Q", [4]), 1).tolist() == [1]


@pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
@pytest.mark.parametrize("ends", [[5, 3], [2, 99], [0], [1, 1]])
def test_ends_of_records_that_do_not_fit_are_refused(ends: list[int]) -> None:
    enc = tokcli.get_encoding("cl100k_base")
    with pytest.raises(ValueError, match="do not ascend"):
        enc.tokenizer.for_records(b"ab\ncd\n").count_records(b"ab\ncd\n", array("Q", ends), 1)


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_of_threads_are_in_order(threads: int, may_wait: bool) -> None:
    squares = ordered(lambda i: i * i, iter(range(500)), threads, may_wait=may_wait)
    assert list(squares) == [i * i for i in range(500)]
    assert list(ordered(abs, iter([]), threads, may_wait=may_wait)) == []


@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", ["work", "items"])
def test_an_error_is_raised_in_its_place(threads: int, where: str, may_wait: bool) -> None:
    def items() -> Iterator[int]:
        yield from range(7)
        if where == "items":
            raise KeyError("end")
        yield from range(7, 20)

    def work(item: int) -> int:
        if item == 7:
            raise KeyError("seven")
        return item

    results = ordered(work, items(), threads, may_wait=may_wait)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(KeyError):
        next(results)


@pytest.mark.parametrize("may_wait", [True, False])
def test_items_are_taken_only_a_little_ahead(may_wait: bool) -> None:
    items = iter(range(1000))
    results = ordered(abs, items, 4, may_wait=may_wait)
    assert [next(results) for _ in range(100)] == list(range(100))
    results.close()
    assert next(items) <= 100 + 4 * AHEAD


def test_an_item_that_is_waited_for_holds_no_result_back() -> None:
    wanted = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        wanted.wait(60)
        yield 2

    results = ordered(abs, items(), 2)
    assert next(results) == 1
    wanted.set()
    assert list(results) == [2]


def test_the_caller_is_one_of_the_threads_where_no_item_is_waited_for() -> None:
    meets = threading.Barrier(2, timeout=60)

    def work(item: int) -> int:
        meets.wait()  # each item needs two threads at work
        return threading.get_ident()

    assert threading.get_ident() in list(ordered(work, iter(range(8)), 2, may_wait=False))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("may_wait", [True, False])
def test_threads_end_when_nobody_wants_more(may_wait: bool) -> None:
    before = _thread._count()
    results = ordered(abs, iter(range(10**6)), 4, may_wait=may_wait)
    assert next(results) == 0
    assert _thread._count() > before
    results.close()
    while _thread._count() > before:  # for a moment: a thread that has said that it ends is still counted
        pass


def test_small_items_start_no_thread() -> None:
    before = _thread._count()
    results = ordered(abs, iter(range(50)), 4, is_large=lambda item: item > 1000)
    assert {_thread._count() for _ in results} == {before}
