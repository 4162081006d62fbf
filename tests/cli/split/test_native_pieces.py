"""The pieces that native code prints and adds up are those of the Python code, character for character."""

from __future__ import annotations

import json
from array import array
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, examples, hard_text

from tokcli import Encoding, get_encoding
from tokcli.analysis.pieces import piece_stats
from tokcli.analysis.pieces.piece_arrays import PieceArrays, read_pieces
from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.analysis.pieces.pieces import ChunkPieces
from tokcli.cli.json_stream import dump, safe
from tokcli.cli.split.native_pieces import printed_pieces, printed_rows
from tokcli.cli.split.table import json_row, rows_of
from tokcli.engine import backend
from tokcli.engine.stream.chunks import PLAIN
from tokcli.engine.stream.utf8 import SplitText
from tokcli.render.tables import SPLIT_COLUMNS, escaped_table
from tokcli.render.visible import escape

pytestmark = pytest.mark.skipif(backend.native() is None, reason="it is about native code")

ENCODINGS = ("o200k_base", "gpt2")


def own_encoding() -> Encoding:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"  ": 257, "é".encode(): 258}
    return Encoding("own", pat_str=r"\w+|\s|[^\w\s]", mergeable_ranks=ranks, special_tokens={})


def arrays_and_chunks(
    encoding: Encoding, text: str, block: int = 1 << 15
) -> tuple[list[PieceArrays], list[ChunkPieces]]:
    """Return the pieces of a text as native code finds them, and as the Python code does."""
    data, tokenizer = text.encode(), encoding.tokenizer
    blocks = [data[at : at + block] for at in range(0, len(data), block)]
    native = [pieces for pieces in read_pieces(encoding, blocks, PLAIN) if isinstance(pieces, PieceArrays)]
    chunks = [ChunkPieces(encoding, tokenizer.pretokenizer, c) for c in tokenizer.read_chunks(blocks, PLAIN)]
    return native, chunks


def texts(max_size: int = 30) -> st.SearchStrategy[str]:
    return st.lists(
        st.sampled_from([*HARD_ATOMS, "\\", '"', "\x7f", "\x00", "🙂", "\U000e0001", "ab"]), max_size=max_size
    ).map("".join)


@examples(300)
@given(st.sampled_from([*map(get_encoding, ENCODINGS), own_encoding()]), hard_text(12) | texts())
def test_arrays_have_the_pieces_alternatives_and_ids_that_the_python_code_finds(encoding: Encoding, text: str) -> None:
    arrays, chunks = arrays_and_chunks(encoding, text, block=16)
    made = [row for pieces in arrays for row in pieces.with_ids()]
    assert made == [row for pieces in chunks for row in pieces.with_ids()]
    assert made == [(pieces[index], ids) for pieces in arrays for index, (_, ids) in enumerate(pieces.with_ids())]


@examples(300)
@given(st.sampled_from(ENCODINGS), texts(), st.sampled_from([0, 7, 2**32, 2**64 - 100_000]))
def test_rows_are_printed_as_the_python_code_prints_them(name: str, text: str, first: int) -> None:
    arrays, _ = arrays_and_chunks(get_encoding(name), text)
    for pieces in arrays:
        rows = list(rows_of(first, pieces))
        lines = islice(escaped_table(SPLIT_COLUMNS, rows), 1, None)
        assert printed_rows(first, pieces, is_json=False).decode() == "".join(
            "\t".join(cells) + "\n" for block in lines for cells in block
        )
        assert printed_rows(first, pieces, is_json=True).decode() == ", ".join(dump(json_row(row)) for row in rows)


def test_a_long_piece_is_escaped_whole_wherever_its_characters_lie() -> None:
    for text in ("é", "中\u202e", "🙂\U000e0001x", "\\"):
        for before in range(4):
            piece = "a" * before + text * 5000
            assert printed_pieces(SplitText.of([piece.encode()]), b"", is_json=False).decode() == escape(piece)
            assert json.loads(printed_pieces(SplitText.of([piece.encode()]), b"", is_json=True)) == piece


def sums(stats: PieceStats) -> dict[str, object]:
    found = {name: value for name, value in vars(stats).items() if not name.startswith("_")}
    found["hits"], found["hit_bytes"] = +stats.hits, +stats.hit_bytes  # without those of no piece
    return found | {"longest": stats.longest, "in order": list(stats.split)}


@examples(100)
@given(st.sampled_from(ENCODINGS), st.lists(texts(60), max_size=4), st.integers(1, 12))
def test_totals_are_those_of_the_python_code(name: str, parts: list[str], longest: int) -> None:
    encoding, made = get_encoding(name), (PieceStats(), PieceStats())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_stats, "LONGEST", longest)
        patch.setattr(piece_stats, "KEPT_BYTES", 6)
        for part in parts:
            for stats, found in zip(made, arrays_and_chunks(encoding, part), strict=True):
                for pieces in found:
                    stats.add(encoding, pieces)
        assert sums(made[0]) == sums(made[1])


def test_arrays_that_do_not_fit_are_refused() -> None:
    native = backend.native()
    assert native is not None
    ends = array("Q", [1, 2]).tobytes()
    fits = (b"ab", ends, bytes(4), bytes(8), array("I", [1, 1]).tobytes())
    assert native.piece_rows(*fits, 0, 0, False) == b"0\t1\t1\t-\ta\t0\n1\t1\t1\t-\tb\t0\n"
    for place, wrong in ((0, b"abc"), (1, ends[8:]), (2, bytes(2)), (3, bytes(4)), (4, bytes(4)), (4, b"\xff" * 8)):
        given_ = [*fits]
        given_[place] = wrong
        with pytest.raises(ValueError, match=r"the |each "):
            native.piece_rows(*given_, 0, 0, False)
    with pytest.raises(ValueError, match="the "):
        native.piece_totals(b"ab", ends[:8], bytes(4), bytes(8), 0, 10, 10)


@given(st.binary(max_size=40))
def test_bytes_that_are_not_utf8_are_printed_without_harm(data: bytes) -> None:
    native = backend.native()
    assert native is not None
    ends = array("Q", [len(data)] if data else []).tobytes()
    for is_json in (False, True):
        made = native.escape_pieces(data, ends, b"", is_json).decode()
        assert all(char >= " " and safe(char) == char for char in made)
        assert is_json or all(char == "\\" or escape(char) == char for char in made)
