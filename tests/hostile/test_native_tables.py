"""Texts, tokens and buffers that somebody chose to make native tables slow, to overrun them, or to change under them."""

from __future__ import annotations

import mmap
import os
import random
import sys
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.clock,
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
CL100K = 1
WORD = 2**64 - 1
HASH_LOW = 0x9E3779B97F4A7C15
INVERSE = pow(HASH_LOW, -1, 2**64)
MOST_SECONDS = 5.0  # of processor time; each of these took minutes


def words(*numbers: int) -> array[int]:
    return array("I", numbers)


def seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def colliding(count: int) -> list[bytes]:
    """Pieces of eight bytes that multiplying by HASH_LOW leads to the same place."""
    return [(i * INVERSE & WORD).to_bytes(8, "little") for i in range(1, count + 1)]


def mix(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & WORD


def equal_hashes(count: int) -> list[bytes]:
    """Pieces of sixteen bytes that have one hash in vocabulary images: the second word takes back what the first did."""
    rnd = random.Random(1)
    begin = 16 * HASH_LOW & WORD
    firsts = [rnd.getrandbits(64) for _ in range(count)]
    return [w.to_bytes(8, "little") + (mix(begin ^ w, 0xE7037ED1A0B428DB) ^ 1).to_bytes(8, "little") for w in firsts]


# --- tables that are filled with what was chosen to collide -------------------------------------------------------------


@pytest.mark.parametrize("pieces", [colliding(60_000), equal_hashes(60_000)], ids=["short", "long"])
def test_pieces_that_once_had_one_hash_are_counted_in_time(pieces: list[bytes]) -> None:
    table = native.PieceTable()
    assert seconds(lambda: [table.add(piece, 1) for piece in pieces]) < MOST_SECONDS
    assert len(table) == len(set(pieces))


def text_model(tokens: list[bytes]) -> Any:
    return native.TextModel(b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))))


def test_a_model_of_tokens_that_once_had_one_hash_is_made_in_time() -> None:
    assert seconds(lambda: text_model(colliding(60_000))) < MOST_SECONDS


def test_merges_that_once_had_one_hash_are_read_in_time() -> None:
    numbers = [i * INVERSE & WORD for i in range(1, 60_001)]
    model = text_model([b"a"])
    made = array("I", bytes(4 * len(numbers)))
    assert (
        seconds(lambda: model.use_pairs(array("Q", numbers), made, made, False, False, False, b"", b"")) < MOST_SECONDS
    )


@pytest.mark.parametrize("tokens", [colliding(100_000), equal_hashes(100_000)], ids=["short", "long"])
def test_tokens_with_one_hash_make_no_image_and_take_no_time(tokens: list[bytes]) -> None:
    def build() -> None:
        with pytest.raises(ValueError, match="the same hash"):
            native.build_image(
                b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))), bytes(32)
            )

    assert seconds(build) < MOST_SECONDS


def test_an_encoding_of_tokens_with_one_hash_still_encodes() -> None:
    import tokcli

    hostile = colliding(30_000)
    ranks = {token: rank for rank, token in enumerate([*(bytes([i]) for i in range(256)), *hostile])}
    encoding = tokcli.Encoding("hostile", pat_str=r"[\s\S]{1,8}", mergeable_ranks=ranks, special_tokens={})
    begin = time.process_time()
    assert encoding.encode("abc") == [97, 98, 99]
    assert encoding.encode_single_token(hostile[7]) == 256 + 7
    assert time.process_time() - begin < 2 * MOST_SECONDS


def test_many_added_tokens_with_one_first_character_are_found_in_time() -> None:
    texts = [f"<{i:06}>".encode() for i in range(100_000)]
    texts += [f"<{i:06}".encode() for i in range(0, 100_000, 1000)]
    found: list[Any] = []

    def look() -> None:
        check = native.TextCheck(b"".join(texts), array("I", map(len, texts)), array("I", range(len(texts))))
        text = "".join(f"<{i:06}>x<{i:06} <" for i in range(0, 100_000, 50))
        found.append(memoryview(check.find(text)).cast("Q").tolist()[2::3])

    assert seconds(look) < MOST_SECONDS
    expected = []
    for i in range(0, 100_000, 50):
        expected += [i, *([100_000 + i // 1000] if i % 1000 == 0 else [])]
    assert found[0] == expected


def test_the_longest_added_token_is_found_in_all_kinds_of_text() -> None:
    texts = ["ab", "abc", "abcé", "abcé中", "abx", "a", "中a", "中ab"]
    data = [text.encode() for text in texts]
    check = native.TextCheck(b"".join(data), array("I", map(len, data)), array("I", range(len(data))))
    for text, expected in [
        ("abcé中abcéabcab abx a aa", [3, 2, 1, 0, 4, 5, 5, 5]),
        ("zab", [0]),
        ("中ab中a中", [7, 6]),
        ("abcé", [2]),
        ("a", [5]),
    ]:
        for given in (text, text.encode()):
            assert memoryview(check.find(given)).cast("Q").tolist()[2::3] == expected


# --- buffers that change while they are read without the GIL ------------------------------------------------------------


def changing(data: bytearray, values: list[bytes], call: Callable[[], object], times: int = 40) -> None:
    """Makes a call again and again while another thread writes over its buffer."""
    stopped = False

    def change() -> None:
        while not stopped:
            for value in values:
                data[:] = value

    thread = threading.Thread(target=change)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for _ in range(times):
            call()
    finally:
        stopped = True
        thread.join()
        sys.setswitchinterval(before)


SIZE = 1 << 20


@pytest.mark.parametrize(
    ("values", "call"),
    [
        ([b"7 " * (SIZE // 2), b" 7" * (SIZE // 2)], lambda data: native.parse_ids(data)),
        ([b"\xbf" * SIZE, "é".encode() * (SIZE // 2), b"a" * SIZE], lambda data: native.valid_utf8(data)),
        ([b"ab " * (SIZE // 3) + b"c", b"a" * SIZE], lambda data: native.PieceTable().count(data, CL100K)),
        ([b"ab " * (SIZE // 3) + b"c", b"a" * SIZE], lambda data: native.record_ends(data, ord(" "))),
        ([b"\x00\x01a\x01" * (SIZE // 4), b"\xff" * SIZE], lambda data: add_block(data)),
    ],
    ids=["parse_ids", "valid_utf8", "count", "record_ends", "add_block"],
)
def test_a_buffer_that_changes_is_read_as_it_was_at_one_moment(
    values: list[bytes], call: Callable[[bytearray], object]
) -> None:
    data = bytearray(values[0])
    changing(data, values, lambda: call(data))


def add_block(data: bytearray) -> None:
    for made in (native.PieceTable(), native.Trainer(300, 1, 0, False, 0, words(*[1] * 256), words(*range(256)))):
        try:
            made.add_block(data)
        except ValueError as error:
            assert "damaged" in str(error)


@pytest.mark.parametrize("call", ["count_buffer", "encode_buffer", "count_records", "encode_records", "Decoder"])
def test_a_vocabulary_reads_a_buffer_that_changes_as_it_was(call: str) -> None:
    image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
    vocabulary = native.Vocabulary(image)
    decoder = native.Decoder(vocabulary, {256: b"long" * 100})
    ends = array("Q", [SIZE // 2, SIZE])
    data = bytearray(SIZE)
    values = [b"a" * SIZE, b"a b\n" * (SIZE // 4)]
    if call == "Decoder":
        values = [array("I", [97] * (SIZE // 4)).tobytes(), array("I", [256] * (SIZE // 4)).tobytes()]
    data[:] = values[0]
    calls: dict[str, Callable[[], object]] = {
        "count_buffer": lambda: vocabulary.count(data, CL100K, 2) == SIZE or pytest.fail("counted twice"),
        "encode_buffer": lambda: vocabulary.encode(data, CL100K, 2),
        "count_records": lambda: vocabulary.encode_records(data, ends, 0, CL100K, keeps_ids=False),
        "encode_records": lambda: vocabulary.encode_records(data, ends, 0, CL100K),
        "Decoder": lambda: decoder.decode(data, 4),
    }
    changing(data, values, calls[call], times=10)


def test_an_image_that_somebody_writes_to_stays_as_it_was_opened() -> None:
    image = bytearray(native.build_image(bytes(range(256)), words(*[1] * 256), words(*range(256)), bytes(32)))
    vocabulary = native.Vocabulary(image)
    image[256:] = b"\xff" * (len(image) - 256)
    assert vocabulary.verify()
    assert vocabulary.encode("abc", CL100K, as_list=True) == [97, 98, 99]


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is mapped cannot be cut off there")
@pytest.mark.parametrize("how", ["cut off", "overwritten"])
def test_a_model_that_was_opened_from_a_file_does_not_need_it_any_more(how: str, tmp_path: Path) -> None:
    tokens = [f"{i:x}".encode() for i in range(60_000)]
    model = text_model(tokens)
    model.set_words(0, b" ", False)
    model.use_whole(False)
    path = tmp_path / "model"
    path.write_bytes(model.image())
    handle = os.open(path, os.O_RDWR)
    with mmap.mmap(handle, 0, access=mmap.ACCESS_READ) as mapped:
        opened = native.TextModel(memoryview(mapped))
        if how == "cut off":
            os.ftruncate(handle, 0)
        else:
            os.pwrite(handle, b"\xff" * (path.stat().st_size - 32), 32)
        assert opened.encode("ea5f", b"", b"", 1, True) == [59_999]
        del opened
    os.close(handle)


def test_a_model_whose_image_is_damaged_is_refused() -> None:
    model = text_model([b"a", b"b"])
    model.set_words(0, b" ", False)
    model.use_whole(False)
    image = bytearray(model.image())
    assert native.TextModel(bytes(image)).encode("b", b"", b"", 1, True) == [1]
    for at in (0, 8, len(image) - 1):
        damaged = bytearray(image)
        damaged[at] ^= 1
        with pytest.raises(ValueError, match="not an image of a text model"):
            native.TextModel(bytes(damaged))


# --- texts that grow -------------------------------------------------------------------------------------------------------


def test_replacements_that_feed_each_other_stop_before_they_fill_the_memory() -> None:
    model = text_model([b"a"])
    model.use_whole(True)
    model.set_words(0, b" ", False)
    for _ in range(8):
        model.add_step(1, b"a", b"a" * 1000, False, False)
    assert model.count("a", b"", b"") is None
    assert seconds(lambda: model.count("a" * 1000, b"", b"")) < MOST_SECONDS
