"""Ids as text and binary: read strictly, in blocks of any size."""

from __future__ import annotations

import io
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcli.engine.stream import npy
from tokcli.engine.stream.ids import parse_binary, parse_ids
from tokcli.errors import InputError

ids_lists = st.lists(st.integers(0, 2**32 - 1), max_size=30)


def blocks_of(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@given(ids_lists, st.sampled_from([" ", "\n", ",", ", ", "\t\r\n", " , "]), st.booleans(), st.integers(1, 20))
def test_ids_are_read_in_blocks_of_any_size(ids: list[int], between: str, brackets: bool, size: int) -> None:
    text = between.join(map(str, ids))
    data = f" [ {text} ]\n".encode() if brackets else f"{text}\n".encode()
    assert [i for some in parse_ids(blocks_of(data, size)) for i in some] == ids


BAD = [
    (b"1 x 2", "at byte 2: 'x'"),
    (b"1 -2", "at byte 2: '-2'"),
    (b"12345678901", "at byte 0: '12345678901'"),
    (b"1 +1", "'\\+1'"),
    (b"0x10", "'0x10'"),
    (b"1_000", "'1_000'"),
    ("١".encode(), "at byte 0"),
    (b"[1, 2", "no closing bracket"),
    (b"[1] 2", "at byte 4: '2'"),
    (b"[[1]]", "at byte 1: '\\["),
    (b"1 2]", "at byte 2: '2\\]'"),
    (b"[1]]", "at byte 3: '\\]'"),
    (b"1.5", "'1.5'"),
    (b"9" * 100, "'9{40}'"),
    (b"5 " * 100 + b"y", "at byte 200: 'y'"),
    (b'{"ids": [1]}', "at byte 0"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_no_id_is_named(data: bytes, message: str, size: int) -> None:
    with pytest.raises(InputError, match=message):
        list(parse_ids(blocks_of(data, size)))


@given(st.lists(st.integers(0, 65535), max_size=30), st.integers(1, 9))
def test_binary_ids_are_read_in_blocks_of_any_size(ids: list[int], size: int) -> None:
    for form, code in (("u16", "<u2"), ("u32", "<u4")):
        data = np.array(ids, dtype=code).tobytes()
        assert [i for some in parse_binary(blocks_of(data, size), form) for i in some] == ids


def test_a_binary_id_that_is_cut_off_is_refused() -> None:
    with pytest.raises(InputError, match="3 of 4 bytes at byte 4"):
        list(parse_binary([b"\0" * 7], "u32"))


@given(ids_lists)
def test_numpy_reads_our_header(ids: list[int]) -> None:
    data = npy.header(len(ids)) + array("I", ids).tobytes()
    assert np.load(io.BytesIO(data)).tolist() == ids


@pytest.mark.parametrize("code", ["<u4", "<i4", "<u2"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_we_read_numpys_header(code: str, version: tuple[int, int]) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.arange(1000, dtype=code), version=version)
    form, count, blocks = npy.read_header(blocks_of(file.getvalue(), 33))
    assert count == 1000
    assert [i for some in parse_binary(blocks, form) for i in some] == list(range(1000))


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
def test_a_negative_id_of_a_npy_file_is_refused_where_it_is(size: int) -> None:
    ids = np.array([5, 2**31 - 1, -1, 7], dtype="<i4")
    form, _, blocks = npy.read_header(blocks_of(saved(ids), size))
    with pytest.raises(InputError, match=r"not an id at byte 8: '?-1"):
        list(parse_binary(blocks, form))


def saved(array_: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array_)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"\x93NUMPY", b"PK\x03\x04" * 10, saved(np.zeros(3)), saved(np.zeros((2, 2), dtype="<u4")),
     saved(np.zeros(3, dtype=">u4")), b"\x93NUMPY\x01\x00\xff\xff" + b"x" * 70000,
     b"\x93NUMPY\x02\x00\xff\xff\xff\xff", b"\x93NUMPY\x01\x00\x04\x00((((", saved(np.zeros(3, dtype="<u4"))[:20]],
)  # fmt: skip
def test_what_is_no_array_of_ids_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="npy"):
        npy.read_header([data])
