"""Lines of tokens and rows of stacks that native code lays out are those of the Python code, byte for byte."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.style import Style
from rich.text import Text
from support import HARD_ATOMS, examples, hard_text, took_less

from tokcli.engine import backend
from tokcli.render import native_lines, palette
from tokcli.render.colours import STYLES
from tokcli.render.glyphs import cell_len
from tokcli.render.native_lines import TokenLines, TokenRows
from tokcli.render.stacks.comparison import labels, stack_lines, stack_rows
from tokcli.render.stacks.grid import ENDLESS, placed_tokens, segments
from tokcli.render.tokens import coloured_boundaries, coloured_rows, plain_boundaries, plain_rows

needs_native = pytest.mark.skipif(backend.native() is None, reason="it is about native code")
SYSTEMS = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
ATOMS = [
    *HARD_ATOMS,
    "\n",
    "\n\n",
    " \n",
    "日本",
    "é",
    "e\u0301",
    "\u0301" * 10,
    "שלום",
    "مر",
    "🙂",
    "\ufe0f",
    "\u1161",
    "\u2800",
    "x" * 25,
]
texts = hard_text(20) | st.lists(st.sampled_from(ATOMS), max_size=30).map("".join)
data = texts.map(str.encode) | st.lists(st.sampled_from([b"\xff", b"\xe6\x97", b"a", b"\n", "日".encode()])).map(
    b"".join
)


def ends_of(tokens: Sequence[bytes]) -> array[int]:
    return array("Q", accumulate(map(len, tokens)))


def in_pieces(text: bytes, sizes: list[int]) -> list[bytes]:
    """Return a text cut into tokens of some sizes, the last one up to its end."""
    places = [0, *(place for place in accumulate(sizes) if place < len(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]


def as_spans(tokens: Sequence[bytes]) -> array[int]:
    return array("Q", [place for pair in pairwise([0, *ends_of(tokens)]) for place in pair])


def lines_of_parts(parts: Sequence[Sequence[bytes]], codes: Sequence[str], *, spaces: bool = True) -> str:
    lines = TokenLines(codes, spaces=spaces)
    made = [lines.add(b"".join(tokens), ends_of(tokens)) for tokens in parts]
    return b"".join([*made, lines.end()]).decode()


def plain(tokens: Sequence[bytes], *, spaces: bool = True) -> str:
    return "".join(f"{line}\n" for line in plain_boundaries([(token, 0) for token in tokens], spaces=spaces))


def painted(line: Text, codes: Sequence[str]) -> str:
    """Return a line as rich writes it, which keeps a style's code for one kind of terminal as long as a process runs."""
    assert line.plain == "".join(line.plain[span.start : span.end] for span in line.spans)
    return (
        "".join(
            f"{codes[STYLES.index(span.style)]}{line.plain[span.start : span.end]}{palette.END}"  # type: ignore[arg-type]
            for span in line.spans
        )
        + "\n"
    )


@needs_native
@examples(200)
@given(
    st.lists(data, max_size=4),
    st.lists(st.integers(0, 5), max_size=40),
    st.booleans(),
    st.sampled_from(sorted(SYSTEMS)),
)
def test_lines_are_those_of_the_python_code(parts: list[bytes], sizes: list[int], spaces: bool, system: str) -> None:
    cut = [in_pieces(part, sizes) for part in parts]
    tokens = [token for part in cut for token in part]
    assert lines_of_parts(cut, (), spaces=spaces) == plain(tokens, spaces=spaces)
    coloured = coloured_boundaries([(token, 0) for token in tokens], spaces=spaces)
    codes = palette.CODES[system]  # type: ignore[index]
    assert lines_of_parts(cut, codes, spaces=spaces) == "".join(painted(line, codes) for line in coloured)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_codes_are_those_that_rich_writes(name: str) -> None:
    codes = palette.CODES[name]  # type: ignore[index]
    fresh = [Style(color=style.color, bgcolor=style.bgcolor) for style in STYLES]
    assert [f"{code}x{palette.END}" for code in codes] == [s.render("x", color_system=SYSTEMS[name]) for s in fresh]


@needs_native
@examples(200)
@given(
    st.lists(data, max_size=3), st.lists(st.integers(0, 40), max_size=40), st.sampled_from([1, 20, 33, 80]),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_rows_of_tokens_are_those_of_the_python_code(
    parts: list[bytes], sizes: list[int], width: int, ids: bool, isolate: bool
) -> None:
    cut = [in_pieces(part, sizes) for part in parts]
    numbered = [[(token, 7 ** (place % 12)) for place, token in enumerate(tokens)] for tokens in cut]
    tokens = [token for some in numbered for token in some]

    def made(codes: Sequence[str]) -> str:
        rows = TokenRows(width, codes, ids=ids or not codes, isolate=isolate and bool(codes))
        found = [
            rows.add(b"".join(some), ends_of(some), array("I", [id for _, id in with_ids]))
            for some, with_ids in zip(cut, numbered, strict=True)
        ]
        return b"".join([*found, rows.end()]).decode()

    assert made(()) == "".join(f"{line}\n" for line in plain_rows(tokens, width))
    codes = palette.CODES["256"]
    assert made(codes) == "".join(
        painted_row(line, codes) for line in coloured_rows(tokens, width, ids=ids, isolate=isolate)
    )


def painted_row(line: Text, codes: Sequence[str]) -> str:
    """Return a row of tokens, or of their ids, as rich writes it."""
    shown, at = "", 0
    for span in line.spans:
        code = codes[STYLES.index(span.style)]  # type: ignore[arg-type]
        shown += f"{line.plain[at : span.start]}{code}{line.plain[span.start : span.end]}{palette.END}"
        at = span.end
    return f"{shown}{line.plain[at:]}\n"


Cut = list[int]


def python_rows(
    text: bytes, tracks: list[tuple[str, array[int]]], width: int | None, codes: Sequence[str], isolate: bool
) -> str:
    names = labels([name for name, _ in tracks], width or ENDLESS)
    room = width and max(width - cell_len(names[0]) - 2, 8)
    placed = [
        (f"{name}  ", segments(placed_tokens(spans), len(text))) for name, (_, spans) in zip(names, tracks, strict=True)
    ]
    return "".join(f"{line}\n" for line in stack_lines(text, placed, room, codes, isolate=isolate))


@needs_native
@examples(200)
@given(
    data, st.lists(st.lists(st.integers(1, 9), max_size=30), min_size=1, max_size=3),
    st.sampled_from([None, 10, 13, 20, 60]), st.booleans(), st.booleans(), st.sampled_from([1, 100, 1 << 16]),
)  # fmt: skip
def test_rows_are_those_of_the_python_code(
    text: bytes, cuts: list[Cut], width: int | None, coloured: bool, isolate: bool, enough: int
) -> None:
    tracks = [(f"name {n}"[: 3 + n], as_spans(in_pieces(text, cut))) for n, cut in enumerate(cuts)]
    codes = palette.CODES["standard"] if coloured else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_lines, "ENOUGH_BYTES", enough)
        rows = b"".join(stack_rows(text, tracks, width, codes, isolate=isolate))
    assert rows.decode() == python_rows(text, tracks, width, codes, isolate)


@needs_native
@pytest.mark.parametrize("width", [None, 20, 60])
def test_rows_of_very_long_tokens_are_those_of_the_python_code(width: int | None) -> None:
    chosen = random.Random(width)
    text = b"".join(chosen.choice([*map(str.encode, ATOMS[:-1]), b"\xff", b"\xe6\x97", b"x" * 9]) for _ in range(1500))
    for whole in (text, text.replace(b"\n", b"")):
        tracks = [("one", array("Q", [0, len(whole)])), ("two", array("Q", [0, 1000, 1000, len(whole)]))]
        assert b"".join(stack_rows(whole, tracks, width)).decode() == python_rows(whole, tracks, width, (), False)


@pytest.mark.clock
@needs_native
def test_one_token_of_megabytes_is_shown_in_time() -> None:
    size = 4_000_000
    began = time.process_time()
    rows = b"".join(stack_rows(b"x" * size, [("one", array("Q", [0, size])), ("two", array("Q", [0, size]))], 80))
    assert rows.count(b"x") == 2 * size
    assert took_less(began, 4)


@needs_native
@examples(200)
@given(texts, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=10), st.sampled_from([None, 12]))
def test_tokens_with_gaps_and_in_one_place_are_those_of_the_python_code(
    text: str, places: list[tuple[int, int]], width: int | None
) -> None:
    encoded = text.encode()
    whole = [len(char[0].encode()) for char in text]
    bounds = [0, *accumulate(whole)]
    spans = array("Q")
    for begin, size in sorted(places):
        spans.extend((bounds[min(begin, len(text))], bounds[min(begin + size, len(text))]))
    tracks = [("a", spans), ("b", as_spans(in_pieces(encoded, [])))]
    assert b"".join(stack_rows(encoded, tracks, width)).decode() == python_rows(encoded, tracks, width, (), False)


@needs_native
@pytest.mark.parametrize("codes", [(), palette.CODES["256"]])
def test_rows_may_be_wider_than_any_screen(codes: Sequence[str]) -> None:
    made = []
    for width in (2**30, 2**60, 2**64 - 1):
        rows = TokenRows(width, codes, ids=True)
        made.append(rows.add(b"a word", array("Q", [1, 6]), array("I", [1, 2])) + rows.end())
    assert made[0] == made[1] == made[2] != b""


@needs_native
def test_arrays_that_do_not_fit_are_refused() -> None:
    native = backend.native()
    assert native is not None
    for ends in ([1], [3], [2, 1]):
        with pytest.raises(ValueError, match="do not ascend"):
            native.token_lines(b"ab", array("Q", ends), [], True, 0, False)
    for spans in ([0, 3], [2, 1], [0]):
        with pytest.raises(ValueError, match="span"):
            native.Stacks(b"ab", [(b"", array("Q", spans))], None, b"", [], False)
    with pytest.raises(ValueError, match="one id"):
        native.TokenRows(80, True, False, []).add(b"ab", array("Q", [2]), array("I", [1, 2]))
    made = native.Stacks(b"ab", [(b"", array("Q", [0, 2]))], None, b"", [], False)
    assert made.rows(0, 1) == (b"ab\n", 2)
    with pytest.raises(ValueError, match="ends before"):
        made.rows(3, 1)
    assert native.Stacks(b"ab", [], None, b"", [], False).rows(0, 1)[1] == 2
