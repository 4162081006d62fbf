"""A vocabulary image that somebody damaged is refused, or used within its bounds; the process goes on either way.

Images are used here without asking for their checksum, so one whose checksum was made to fit is no worse.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, Ranks, examples

import tokcli
from tokcli.engine import backend
from tokcli.engine.bpe.image import image_of

native = backend.native()
pytestmark = pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python")

TEXT = "".join(HARD_ATOMS) + " ab abc" + "x" * 90 + " the the"
RANKS = {bytes([i]): i for i in range(256)} | {
    token: 256 + i for i, token in enumerate([b"ab", b"abc", b" the", b"xx", b"xxxx", b"x" * 20, "中文".encode() * 3])
}
IMAGE = image_of(RANKS) if native is not None else b""
HEADER_BYTES = 256


def calls(vocabulary: Any, family: int) -> list[Callable[[], Any]]:
    """All that can be asked of an opened image."""
    model = Ranks(vocabulary, family)
    unknown = (*range(0, 300, 7), 2**21 - 257, 2**21 - 1, 2**32 - 1)
    return [
        lambda: model.count(TEXT, 3),
        lambda: model.encode(TEXT, threads=2),
        lambda: model.encode_batch([TEXT, "", "ab"], 2),
        lambda: model.encode_batch(["ab", TEXT], 2, True),
        lambda: vocabulary.encode_pieces(TEXT.encode(), array("Q", [len(TEXT.encode())]), keeps_counts=True),
        lambda: vocabulary.decode(model.encode(TEXT, as_list=True) or []),
        *(lambda i=i: vocabulary.decode_str([i]) for i in unknown),
    ]


def use(image: bytes) -> bool:
    """Whether the image was opened; then everything was done with it that can be done."""
    assert native is not None
    try:
        vocabulary = native.Vocabulary(image)
    except ValueError:
        return False
    assert vocabulary.verify() == (image == IMAGE)
    for family in range(len(native.FAMILIES)):
        for call in calls(vocabulary, family):
            with suppress(KeyError):  # an id that stands nowhere, a byte that has none
                call()
    return True


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Bytes and words set anywhere, above all in the header, and an end that is missing or too much."""
    image = bytearray(IMAGE)
    for _ in range(draw(st.integers(1, 6))):
        form = draw(st.sampled_from("BHIQ"))
        size = struct.calcsize(form)
        limit = draw(st.sampled_from([HEADER_BYTES, len(image)])) // size - 1
        small = st.one_of(st.integers(0, 70), st.integers(0, len(IMAGE) + 64), st.integers(2 ** (8 * size) - 70))
        value = draw(st.one_of(small, st.integers(0))) % 2 ** (8 * size)
        struct.pack_into(form, image, draw(st.integers(0, limit)) * size, value)
    end = draw(st.one_of(st.just(0), st.just(0), st.integers(-len(image), 64)))
    return bytes(image[:end] if end < 0 else image + bytes(end))


def test_the_image_that_was_not_damaged_is_used() -> None:
    assert use(IMAGE)


@examples(400)
@given(damaged())
def test_a_damaged_image_never_ends_the_process(image: bytes) -> None:
    use(image)


def test_no_byte_of_the_header_can_end_the_process() -> None:
    refused = 0
    for at in range(HEADER_BYTES):
        for value in {0, 1, 0x7F, 0xFF, IMAGE[at] ^ 1, IMAGE[at] ^ 0x80, (IMAGE[at] + 1) % 256} - {IMAGE[at]}:
            refused += not use(IMAGE[:at] + bytes([value]) + IMAGE[at + 1 :])
    assert refused > 500


@pytest.mark.parametrize("size", [0, 1, 7, 63, 100, 200, HEADER_BYTES, len(IMAGE) // 2, max(len(IMAGE) - 1, 0)])
def test_an_image_that_ends_too_early_is_refused(size: int) -> None:
    assert not use(IMAGE[:size])


@examples(200)
@given(st.binary(max_size=400))
def test_bytes_of_any_kind_are_refused(data: bytes) -> None:
    assert not use(data)
    assert not use(IMAGE[: len(data)] + data)


@examples(40)
@given(damaged())
def test_a_damaged_file_in_the_cache_is_made_again(image: bytes) -> None:
    from tokcli.registry import lazy_ranks as images
    from tokcli.registry.registered import CATALOG, VOCAB

    if image == IMAGE:
        return
    sha256 = CATALOG["r50k_base"].ranks_sha256
    first = bytes(images.load_image(f"{VOCAB}/r50k_base.ranks", sha256))
    kept = next((Path(os.environ["TOKCLI_CACHE_DIR"]) / images.IMAGES).glob(f"{sha256}.*"))
    kept.unlink()  # a new file: the old one may be mapped in this process
    kept.write_bytes(image)
    assert bytes(images.load_image(f"{VOCAB}/r50k_base.ranks", sha256)) == first
    assert tokcli.get_encoding("r50k_base").count("hello world") == 2
