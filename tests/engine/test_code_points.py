"""Every code point, where it could join its neighbours, is encoded as tiktoken encodes it."""

from __future__ import annotations

import pytest
from support import FAMILIES, reference

import tokcli

pytestmark = pytest.mark.no_cover

# X+c X.the: before and after letters, digits, white space, an apostrophe, an upper-case letter, another of its kind
CONTEXT = "a{c}b {c}the{c}{c} 1{c}2 {c}\n'{c}s A{c}B.{c} {c} \n"
BLOCK = 512
PLANES = [range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000), range(0x10FF00, 0x110000)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_code_point_in_context_is_tiktokens(name: str) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    for plane in PLANES:
        for start in range(plane.start, plane.stop, BLOCK):
            points = range(start, min(start + BLOCK, plane.stop))
            text = "".join(CONTEXT.replace("{c}", chr(point)) for point in points)
            if ours.encode_ordinary(text) == theirs.encode_ordinary(text):
                continue
            for point in points:
                one = CONTEXT.replace("{c}", chr(point))
                assert ours.encode_ordinary(one) == theirs.encode_ordinary(one), f"U+{point:04X}"
            pytest.fail(f"U+{start:04X} and the next {BLOCK} differ together, though not one by one")
