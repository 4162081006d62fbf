"""Claims about why a piece is what it is, and about where two ways of cutting a text differ."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, hard_text

import tokcli
from tokcli.analysis.pattern.trace import Attempt, trace
from tokcli.analysis.pieces import piece_stats
from tokcli.analysis.pieces.diff import SHOWN_PIECES, Totals, regions
from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.analysis.pieces.pieces import ChunkPieces
from tokcli.analysis.pieces.places import find_place
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers.known_patterns import CL100K, KNOWN_PATTERNS, LLAMA3
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import InputError, PatternError


def attempt(pattern: str, text: str, name: str, at: int = 0) -> Attempt:
    return next(a for a in trace(pattern, text, at).attempts if a.name == name)


@given(hard_text(), st.sampled_from(sorted(KNOWN_PATTERNS)))
def test_the_winner_at_the_start_of_a_piece_is_what_made_it(text: str, pattern: str) -> None:
    at = 0
    for piece, number in list(PreTokenizer(pattern).split_with_alternatives(text))[:3]:
        won = trace(pattern, text, at).winner
        assert won is not None
        assert (won.name, won.end) == (f"a{number}", at + len(piece))
        at += len(piece)


def test_the_first_that_matches_wins_and_not_the_longest() -> None:
    tried = trace("a|ab|abc", "abc", 0)
    assert tried.winner is not None
    assert (tried.winner.name, [a.name for a in tried.longer]) == ("a1", ["a2", "a3"])


def test_what_the_parts_of_a_match_took_is_the_match() -> None:
    parts = attempt(CL100K, "$ab 1", "a2").items
    assert [(part.source, part.start, part.end) for part in parts] == [
        (r"[^\r\n\p{L}\p{N}]?+", 0, 1), (r"\p{L}++", 1, 3),
    ]  # fmt: skip


def test_what_a_look_ahead_takes_away_is_known() -> None:
    spaces = attempt(LLAMA3, "   x", "a6")
    assert (spaces.end, spaces.end_without_lookarounds, spaces.lookarounds) == (2, 3, (r"(?!\S)",))


@pytest.mark.parametrize(
    ("pattern", "text", "failed", "at"),
    [
        ("'(?:s|ll)", "x", "'", 0),
        ("'(?:s|ll)", "'x", "(?:s|ll)", 1),
        (r" ?\p{L}+", " 1", r"\p{L}+", 1),
        (r"\s+(?!\S)", " 1", r"(?!\S)", 1),
        (r"\s*[\r\n]", "   x", r"[\r\n]", 3),
        ("abc", "abx", "c", 2),
        (r"a\z", "ab", r"\z", 1),
    ],
)
def test_what_stopped_an_alternative_is_named_with_its_place(pattern: str, text: str, failed: str, at: int) -> None:
    missed = attempt(pattern, text, "a1")
    assert (missed.end, missed.failed, missed.failed_at) == (None, failed, at)


def test_flags_and_look_behind_hold_for_parts_too() -> None:
    assert attempt("(?i)x|'S", "'s", "a2").end == 2
    assert attempt("a|(?<=a)b", "ab", "a2", 1).end == 2
    assert attempt("a(?i)B", "ab", "a1").end == 2


def test_a_reference_to_another_alternative_is_said_and_no_error() -> None:
    assert attempt(r"(a)|\1b", "ab", "a2").not_tried


@pytest.mark.clock
def test_an_alternative_that_takes_too_long_is_an_error_with_its_place() -> None:
    with time_limit(0.2), pytest.raises(PatternError, match="character 1"):
        trace("(a|a)*b|.", "x" + "a" * 40 + "xb", 1)


# --- places ----------------------------------------------------------------------------------------------------------


@given(hard_text(), st.data())
def test_the_place_of_a_byte_is_in_the_piece_that_holds_it(text: str, data: st.DataObject) -> None:
    if not text:
        return
    encoding = tokcli.get_encoding("cl100k_base")
    asked = data.draw(st.integers(0, len(text.encode()) - 1))
    place = find_place(
        encoding, encoding.tokenizer.pretokenizer, encoding.tokenizer.read_chunks([text.encode()]), asked
    )
    pieces = [piece.encode() for piece in encoding.split(text)]
    before = b"".join(pieces[: place.number])
    assert (place.piece.offset, place.piece.data) == (len(before), pieces[place.number])
    assert place.offset <= asked < place.offset + len(place.text[place.at].encode())
    head = text.encode()[: place.offset].decode()
    assert (place.line, place.column) == (head.count("\n") + 1, len(head) - head.rfind("\n"))
    assert place.text[place.at] == text[len(head)]


def test_a_place_far_in_a_stream_is_found_with_the_text_around_it() -> None:
    encoding = tokcli.get_encoding("o200k_base")
    blocks = [b"word and more of it \n" * 10_000] * 4 + [b"here!"]
    place = find_place(encoding, encoding.tokenizer.pretokenizer, encoding.tokenizer.read_chunks(blocks), 840_000)
    assert (place.line, place.column, place.text[place.at : place.at + 5]) == (40_001, 1, "here!")
    assert place.piece.data == b"here"


@pytest.mark.parametrize("asked", [3, 99])
def test_a_place_behind_the_end_is_refused(asked: int) -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    with pytest.raises(InputError, match=f"byte {asked}"):
        find_place(encoding, None, encoding.tokenizer.read_chunks([b"abc"]), asked)


# --- differences -----------------------------------------------------------------------------------------------------


def chunked(pattern: str, *texts: str) -> list[ChunkPieces]:
    encoding = tokcli.Encoding("t", pat_str=pattern, mergeable_ranks={b"a": 0}, special_tokens={})
    out, at = [], 0
    for text in texts:
        out.append(ChunkPieces(encoding, encoding.tokenizer.pretokenizer, Chunk(text, at)))
        at += len(text.encode())
    return out


@given(hard_text(), st.sampled_from(FAMILIES), st.sampled_from(FAMILIES))
def test_the_regions_are_where_the_pieces_differ_and_nothing_else(text: str, left: str, right: str) -> None:
    ours, theirs = (tokcli.get_encoding(name) for name in (left, right))
    totals = Totals()
    found = list(
        regions(
            (ChunkPieces(ours, ours.tokenizer.pretokenizer, c) for c in ours.tokenizer.read_chunks([text.encode()])),
            (
                ChunkPieces(theirs, theirs.tokenizer.pretokenizer, c)
                for c in theirs.tokenizer.read_chunks([text.encode()])
            ),
            totals,
        )
    )
    assert bool(found) == (ours.split(text) != theirs.split(text))
    for region in found:
        left_data, right_data = (b"".join(p.data for p in pieces) for pieces in (region.left, region.right))
        assert left_data == right_data == text.encode()[region.offset : region.offset + region.size]
        assert {p.offset for p in region.left} & {p.offset for p in region.right} == {region.offset}
    assert totals.bytes == len(text.encode())
    assert (totals.left_pieces, totals.right_pieces) == (len(ours.split(text)), len(theirs.split(text)))


def test_chunks_that_end_elsewhere_make_no_difference() -> None:
    found = list(regions(chunked(r"\w|\W", "ab", "cd e"), chunked(r"\w+|\W", "abcd", " e"), Totals()))
    assert [(r.offset, r.size, r.left_count, r.right_count) for r in found] == [(0, 4, 4, 1)]


def test_a_region_of_many_pieces_is_not_held_in_memory() -> None:
    (region,) = regions(chunked("(?s:.)", "a" * 5000), chunked("(?s:.+)", "a" * 5000), Totals())
    assert (region.left_count, len(region.left), region.right_count) == (5000, SHOWN_PIECES, 1)


def test_alternatives_of_a_region_are_named() -> None:
    (region,) = regions(chunked(r"\w+'\w+|\W", "I'm"), chunked(r"x|\w|'\w", "I'm"), Totals())
    assert ([p.alternative for p in region.left], [p.alternative for p in region.right]) == (["a1"], ["a2", "a3"])


# --- numbers ---------------------------------------------------------------------------------------------------------


@given(hard_text())
def test_the_numbers_are_those_of_counting_by_hand(text: str) -> None:
    encoding = tokcli.get_encoding("o200k_base")
    stats = PieceStats()
    for chunk in encoding.tokenizer.read_chunks([text.encode()]):
        stats.add(encoding, ChunkPieces(encoding, encoding.tokenizer.pretokenizer, chunk))
    pieces = encoding.split(text)
    assert (stats.size, stats.pieces, stats.tokens) == (len(text.encode()), len(pieces), encoding.count(text))
    numbers = [number for _, number in encoding.tokenizer.pretokenizer.split_with_alternatives(text)]
    assert stats.hits == Counter(f"a{number}" for number in numbers)
    several = [piece for piece in pieces if len(encoding._encode_single_piece(piece)) > 1]
    assert stats.split_pieces == len(several) == sum(stats.split.values())
    longest = sorted({len(piece.encode()) for piece in pieces}, reverse=True)
    assert [size for size, _ in stats.longest][:1] == longest[:1]


def test_rare_pieces_are_forgotten_and_frequent_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_stats, "KEPT_PIECES", 50)
    encoding = tokcli.get_encoding("o200k_base")
    stats = PieceStats()
    for number in range(40):
        text = "qwzx " * 20 + " ".join(f"zzq{'xyzw'[i % 4]}{'q' * (number * 20 + i)}" for i in range(20))
        for chunk in encoding.tokenizer.read_chunks([text.encode()]):
            stats.add(encoding, ChunkPieces(encoding, encoding.tokenizer.pretokenizer, chunk))
    assert len(stats.split) <= 50
    assert stats.is_approximate
    (piece, _), times = stats.split.most_common(1)[0]
    assert piece == b" qwzx"
    assert 19 * 40 - stats.lost <= times <= 19 * 40
