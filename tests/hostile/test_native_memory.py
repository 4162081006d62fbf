"""What once broke the native module's memory or ended its process; `tests/fuzz/sanitize` runs these under ASan, too."""

from __future__ import annotations

import os
import random
import resource
import struct
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from support import Ranks, without_coverage

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

TOKENS = [bytes([i]) for i in range(256)] + [b"ab", b"abc", b" the", b"xx"]
WORD = 2**64 - 1
NO_PART = 2**21 - 1  # what an image's tables have room for, and no id has


def image() -> bytes:
    made: bytes = native.build_image(
        b"".join(TOKENS), array("I", map(len, TOKENS)), array("I", range(len(TOKENS))), bytes(32)
    )
    return made


def in_threads(*calls: Callable[[], object]) -> None:
    together = threading.Barrier(len(calls))
    threads = [threading.Thread(target=lambda call=call: (together.wait(), call())) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- an image whose checksum fits, and whose table of merges has pairs that no text can have ---------------------------


def mix(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & WORD


def hash_lanes(data: bytes) -> int:
    lanes = [mix(len(data) + i, 0x9E3779B97F4A7C15) for i in range(8)]
    whole = len(data) // 64 * 64
    for at in range(0, whole, 64):
        for i, word in enumerate(struct.unpack_from("<8Q", data, at)):
            lanes[i] = mix(lanes[i] ^ word, 0xE7037ED1A0B428DB)
    hashed = len(data)
    for byte in data[whole:]:
        hashed = mix(hashed ^ byte, 0xA0761D6478BD642F)
    for lane in lanes:
        hashed = mix(hashed ^ lane, 0xBF58476D1CE4E5B9)
    return hashed


SECTIONS = 12
HEADER = 64 + SECTIONS * 16 + 32  # bytes


def with_merges(pairs: list[tuple[int, int]]) -> bytes:
    """The image with these pairs, each of which becomes the token 5; its checksum fits."""
    made = bytearray(image())
    merge_bits, bucket_bits = struct.unpack_from("<2I", made, 24 + 4 * 6)
    offsets = struct.unpack_from(f"<{SECTIONS}Q", made, 64)
    for left, right in pairs:
        pair = left << 21 | right
        hashed = mix(pair, 0x9E3779B97F4A7C15)
        at = offsets[6] + 4 * (hashed >> (64 - bucket_bits))
        bucket = struct.unpack_from("<I", made, at)[0] | 1 << (16 + (hashed & 15))
        struct.pack_into("<I", made, at, bucket)
        slot = ((hashed ^ (bucket & 0xFFFF)) * 0xD6E8FEB86659FD93 & WORD) >> (64 - merge_bits)
        struct.pack_into("<Q", made, offsets[5] + 8 * slot, pair << 21 | 5)
    struct.pack_into("<Q", made, 16, 0)
    struct.pack_into("<Q", made, 16, mix(hash_lanes(bytes(made[:HEADER])), hash_lanes(bytes(made[HEADER:]))))
    return bytes(made)


@pytest.mark.skipif(sys.byteorder == "big", reason="the image is written as on a little-endian machine")
@pytest.mark.parametrize(
    "pairs", [[(NO_PART, NO_PART)], [(c, NO_PART) for c in b"qwertz"], [(NO_PART, c) for c in b"w1"]]
)
def test_merges_with_what_is_before_and_after_a_piece_are_never_made(pairs: list[tuple[int, int]]) -> None:
    vocabulary = native.Vocabulary(with_merges(pairs))
    assert vocabulary.verify()
    text = " ".join(f"w{i}q" for i in range(300))
    assert Ranks(vocabulary).count(text) == Ranks(native.Vocabulary(image())).count(text)


# --- threads -----------------------------------------------------------------------------------------------------------

STARVED = """
import resource
from array import array
from tokcli.engine import backend
native = backend.native()
tokens = [bytes([i]) for i in range(256)]
image = native.build_image(b"".join(tokens), array("I", map(len, tokens)), array("I", range(256)), bytes(32))
vocabulary = native.Vocabulary(image)
text = "ab cd\\n" * (1 << 20)
model = native.TextModel(b"", array("I"), array("I"))
model.use_ranks(vocabulary, 1, None, b"", False)
expected = model.count(text, b"", b"")
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (3 << 30)
resource.setrlimit(resource.RLIMIT_AS, (size, size))
assert model.count(text, b"", b"", 24) == expected == len(text)
"""


@pytest.mark.memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan needs more memory than that")
def test_a_system_that_gives_no_more_threads_only_costs_time() -> None:
    def stacks_of_a_gigabyte() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    ran = subprocess.run(
        [sys.executable, "-c", STARVED], preexec_fn=stacks_of_a_gigabyte, capture_output=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


LARGE_TEXT = """
import resource
from array import array
from pathlib import Path
from tokcli.engine import backend

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

model = backend.native().TextModel(b"ab", array("I", [1, 1]), array("I", [0, 1]))
model.add_step(1, b"b", b"a", False, False)
model.use_whole(True)
text = "ab" * (16 << 20)
before = resident()
assert model.count(text, b"", b"") == len(text)
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan keeps what was freed for a while")
def test_a_text_model_gives_back_what_a_large_text_took() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LARGE_TEXT], capture_output=True, timeout=60, env=without_coverage(), check=True
    )
    assert int(ran.stdout) < 8 << 20


NO_OBJECTS = """
import _testcapi
from array import array
from tokcli.engine import backend
native = backend.native()
tokens = [bytes([i]) for i in range(256)]
image = native.build_image(b"".join(tokens), array("I", map(len, tokens)), array("I", range(256)), bytes(32))
vocabulary = native.Vocabulary(image)
model = native.TextModel(b"", array("I"), array("I"))
model.use_ranks(vocabulary, 1, None, b"", False)

class Id:
    def __index__(self):
        return 97

ends, ids, given = array("Q", [1, 2]), array("I", [97, 98]), [97, Id(), 98]
calls = [
    lambda: native.LongestMatch([b"a", b"b"]).find(b"ab", 2, 9),
    lambda: vocabulary.encode_pieces(b"".join(tokens[:3]), array("Q", [sum(map(len, tokens[:3]))]), False, True, True)[1:],
    lambda: bytes(model.encode_batch(["ab", "c"], b"", b"", 1, False)[0]),
    lambda: model.encode_batch(["ab", "c"], b"", b"", 1, True),
    lambda: vocabulary.decode(given),
    lambda: native.format_rows([(ids, None)]),
    lambda: native.Stacks(b"ab", [(b"a", ends)], None, b"", [b"x"], False).rows(0, 9),
    lambda: native.TokenRows(80, True, False, [b"x"]).add(b"ab", ends, ids),
]
for call in calls:
    expected = call()
    for first in range(30):
        for stop in (first + 1, 0):
            found = expected
            _testcapi.set_nomemory(first, stop)
            try:
                found = call()
            except MemoryError:
                pass
            finally:
                _testcapi.remove_mem_hooks()
            assert found == expected
"""


def test_python_without_memory_for_an_object_is_a_memory_error() -> None:
    pytest.importorskip("_testcapi", reason="this Python comes without its own tests")
    ran = subprocess.run([sys.executable, "-c", NO_OBJECTS], capture_output=True, timeout=60, env=without_coverage())
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("call", ["count", "add", "len"])
def test_threads_may_count_into_one_table(call: str) -> None:
    rnd = random.Random(1)
    letters = bytes.maketrans(b"0123456789", b"ghijklmnop")  # a word is a piece
    words = [rnd.randbytes(1_000_000).hex(" ", 5).encode().translate(letters) for _ in range(2)]
    table = native.PieceTable()
    other = {
        "count": lambda: table.count(words[1], 1),
        "add": lambda: [table.add(word, 1) for word in words[1].split()],
        "len": lambda: [len(table) + table.memory for _ in range(40000)],
    }[call]
    in_threads(lambda: table.count(words[0], 1), other)
    expected = native.PieceTable()
    expected.count(words[0], 1)
    if call != "len":
        assert len(table) > len(expected)
    assert sum(table.item(i)[1] for i in range(len(table))) >= sum(expected.item(i)[1] for i in range(len(expected)))


@pytest.mark.clock
def test_ids_that_change_while_they_are_printed_are_those_of_one_moment_each() -> None:
    count = 2_000_000
    large = array("I", [4_000_000_000]) * count
    for milliseconds in range(0, 12, 2):
        ids = array("I", bytes(4 * count))
        printed: list[bytes] = []

        def change(ids: array[int] = ids, seconds: float = milliseconds / 1000) -> None:
            time.sleep(seconds)
            memoryview(ids)[:] = memoryview(large)

        def format_ids(ids: array[int] = ids, printed: list[bytes] = printed) -> None:
            printed.append(native.format_ids(ids, b" "))

        in_threads(format_ids, change)
        assert printed[0].count(b" ") == count - 1
        assert printed[0].count(b"0") >= count


# --- objects and tables ------------------------------------------------------------------------------------------------


def test_ids_that_nothing_has_made_have_no_buffer() -> None:
    with pytest.raises(BufferError, match="not made by"):
        memoryview(native.Ids.__new__(native.Ids))


def test_a_trainer_whose_lists_are_full_at_the_last_merge_stops_there() -> None:
    trainer = native.Trainer(257, 1, 0, False, 4, array("I", [1] * 256), array("I", range(256)))
    for _ in range(70_000):
        trainer.add(array("I", [97, 98, 99, 100]), 1)
    merges, may_go_on = trainer.run(100_000, 1000)
    assert memoryview(merges).cast("Q").tolist() == [97, 98, 70_000]
    assert not may_go_on
