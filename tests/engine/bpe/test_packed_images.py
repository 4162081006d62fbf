"""The image of a packed vocabulary is that of its ranks, and what does not fit is refused."""

from __future__ import annotations

from array import array
from itertools import chain
from pathlib import Path

import pytest
from support import first_in_gate

from tokcli.engine import backend
from tokcli.engine.tiktoken.native_encoder import NativePieces
from tokcli.formats.packed_ranks import read_tables, unpack
from tokcli.registry.registered import VOCAB

native = backend.native()
if native is None:
    pytest.skip("native code only", allow_module_level=True)

PACKED = sorted(Path(VOCAB).glob("*.ranks"), key=lambda path: path.stat().st_size)
SOURCE = bytes(range(32))
IDS_BELOW = 2**21 - 257  # kMaxId in vocabulary.h


@pytest.mark.parametrize("path", first_in_gate(PACKED, 2), ids=lambda path: path.stem)
def test_the_merges_that_a_packed_file_names_are_those_of_its_ranks(path: Path) -> None:
    data = path.read_bytes()
    tables, ranks = read_tables(data), unpack(data)
    sizes, ids = array("I", map(len, ranks)), array("I", ranks.values())
    found = native.build_image(b"".join(ranks), sizes, ids, tables.sha256)
    for lefts in {tables.lefts, None}:
        runs = array("I", chain.from_iterable(tables.runs))
        assert native.build_packed_image(tables.body, tables.lengths, runs, lefts, tables.sha256) == found


def test_ids_are_those_of_the_runs() -> None:
    runs = array("I", [2, 5, 1, 9])
    vocabulary = native.Vocabulary(native.build_packed_image(b"abab", b"\1\1\2", runs, b"\0\0\1", SOURCE))
    assert [vocabulary.decode(array("I", [number])) for number in (5, 6, 9)] == [b"a", b"b", b"ab"]
    assert (NativePieces(vocabulary).merge_piece(b"abb"), vocabulary.source()) == ([9, 6], SOURCE)


def test_a_token_that_nothing_merges_into_is_never_made() -> None:
    image = native.build_packed_image(b"abab", b"\1\1\2", array("I", [3, 0]), b"\0\0\0", SOURCE)
    assert NativePieces(native.Vocabulary(image)).merge_piece(b"abb") == [0, 1, 1]
    assert native.build_image(b"abab", b"\1\1\2", array("I", range(3)), SOURCE, b"") == image


@pytest.mark.parametrize(
    ("body", "sizes", "runs", "lefts", "what"),
    [
        (b"abab", b"\1\1\2", [(3, 0)], b"\0\0", "not every token"),
        (b"abab", b"\1\1\2", [(3, 0)], b"\0\0\2", "shorter than the first"),
        (b"abab", b"\1\1\2", [(3, 0)], b"\1\0\1", "shorter than the first"),
        (b"abac", b"\1\1\2", [(3, 0)], b"\0\0\1", "not merged from two others"),
        (b"acab", b"\1\1\2", [(3, 0)], b"\0\0\1", "not merged from two others"),
        (b"ab" + b"a" * 13 + b"b", b"\1\1\16", [(3, 0)], b"\0\0\15", "not merged from two others"),
        (b"", b"", [], None, "no tokens"),
        (b"", b"", [(0, 0)], None, "no tokens"),
        (b"ab", b"\1\1", [(1, 0)], None, "more tokens than ids"),
        (b"ab", b"\1\1", [(3, 0)], None, "more ids than tokens"),
        (b"ab", b"\1\1", [(2**32 - 1, 0)], None, "an id is too large"),
        (b"ab", b"\1\1", [(2, IDS_BELOW - 1)], None, "an id is too large"),
        (b"ab", b"\1\1", [(1, 2**32 - 1), (1, 0)], None, "an id is too large"),
        (b"ab", b"\1\1", [(1, 5), (1, 5)], None, "an id is too large"),
        (b"ab", b"\1\2", [(2, 0)], None, "ends after the last byte"),
        (b"abc", b"\1\1", [(2, 0)], None, "do not add up"),
    ],
)
def test_sections_that_do_not_fit_are_refused(
    body: bytes, sizes: bytes, runs: list[tuple[int, int]], lefts: bytes | None, what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        native.build_packed_image(body, sizes, array("I", chain.from_iterable(runs)), lefts, SOURCE)


def test_a_source_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        native.build_packed_image(b"a", b"\1", array("I", [1, 0]), None, b"x")
