"""The packed form gives back what was put in, and notices any damage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.pack_vocab import pack

from tokcli.errors import VocabularyError
from tokcli.formats.packed_ranks import HEADER, read_tables, unpack

RANKS = {b"a": 0, b"b": 1, b"ab": 2, b"": 7, b"ba": 8}
SHA256 = "12" * 32
DATA = pack(RANKS, SHA256)
WITH_LEFTS = pack(RANKS, SHA256, with_lefts=True)

tables = st.dictionaries(st.binary(max_size=255), st.integers(0, 2**31 - 1), max_size=30).map(
    lambda table: {token: rank for rank, token in {rank: token for token, rank in table.items()}.items()}
)


@given(tables, st.booleans())
def test_unpacking_what_was_packed_gives_the_ranks(ranks: dict[bytes, int], with_lefts: bool) -> None:
    packed = pack(ranks, SHA256, with_lefts=with_lefts)
    assert (unpack(packed), read_tables(packed).sha256.hex()) == (ranks, SHA256)


def test_a_packed_file_can_say_how_tokens_are_merged() -> None:
    assert read_tables(DATA).lefts is None
    ranks = {b"a": 0, b"b": 1, b"ab": 2, b"xy": 3, b"aba": 4}
    assert read_tables(pack(ranks, SHA256, with_lefts=True)).lefts == bytes([0, 0, 1, 1, 2])


@pytest.mark.parametrize("data", [DATA, WITH_LEFTS], ids=["without", "with lefts"])
@pytest.mark.parametrize("at", range(len(WITH_LEFTS)))
def test_no_flipped_byte_goes_unnoticed(at: int, data: bytes) -> None:
    damaged = data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :] if at < len(data) else b""
    if HEADER.size - 32 <= at < HEADER.size:  # the sha256 of the source: nothing here can tell, a test compares it
        assert read_tables(damaged).sha256.hex() != SHA256
        return
    with pytest.raises(VocabularyError):
        unpack(damaged, "f")


@pytest.mark.parametrize("size", range(len(WITH_LEFTS)))
def test_no_cut_goes_unnoticed(size: int) -> None:
    for data in (DATA[: min(size, len(DATA) - 1)], WITH_LEFTS[:size]):
        with pytest.raises(VocabularyError):
            unpack(data, "f")


def test_more_bytes_than_announced_are_noticed() -> None:
    with pytest.raises(VocabularyError, match=r"f: .* bytes, but its header announces"):
        unpack(DATA + b"x", "f")


def test_another_version_is_named() -> None:
    with pytest.raises(VocabularyError, match="version 3; this program reads 1 and 2"):
        unpack(DATA[:8] + struct.pack("<H", 3) + DATA[10:], "f")


def _forged(runs: list[tuple[int, int]], lengths: bytes, body: bytes) -> bytes:
    import zlib

    rest = b"".join(struct.pack("<II", *run) for run in runs) + lengths + body
    crc = zlib.crc32(rest)
    return HEADER.pack(b"TOKRANKS", 1, len(runs), len(lengths), len(body), crc, bytes(32)) + rest


@pytest.mark.parametrize(
    ("runs", "lengths", "body", "what"),
    [
        ([(2, 0)], b"\x01\x01", b"aa", "a token occurs twice"),
        ([(1, 0)], b"\x01\x01", b"ab", "do not add up to 2 tokens"),
        ([(2, 0)], b"\x01\x02", b"ab", "lengths of its tokens do not add up"),
        ([(1, 5), (1, 5)], b"\x01\x01", b"ab", "contradict each other"),
        ([(1, 5), (1, 0)], b"\x01\x01", b"ab", "contradict each other"),
        ([(0, 5), (2, 6)], b"\x01\x01", b"ab", "contradict each other"),
        ([(2, 2**31 - 1)], b"\x01\x01", b"ab", "contradict each other"),
        ([(2**32 - 1, 0)], b"\x01\x01", b"ab", "contradict each other"),
    ],
)
def test_a_forged_file_is_refused(runs: list[tuple[int, int]], lengths: bytes, body: bytes, what: str) -> None:
    with pytest.raises(VocabularyError, match=what):
        unpack(_forged(runs, lengths, body), "f")


def test_a_token_too_long_for_the_form_is_refused() -> None:
    with pytest.raises(VocabularyError, match="longer than 255 bytes"):
        pack({bytes(256): 0}, SHA256)
