"""Native code cuts any text as the pre-tokenizers of llama.cpp do, in Python or not, for every name in GGUF files."""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from support import HARD_ATOMS, examples, first_in_gate, hard_text, rounds, took_less

from tokcli.engine import backend
from tokcli.engine.llama_cpp import characters
from tokcli.engine.llama_cpp.cutter import Cutter, steps_of
from tokcli.engine.llama_cpp.native_cuts import native_cuts
from tokcli.engine.llama_cpp.patterns import PRE_TYPES, THOUSANDS
from tokcli.engine.pretokenizers.program import Program, seen_as
from tokcli.engine.pretokenizers.program_compiler import compile_program
from tokcli.engine.pretokenizers.row_image import row_in

pytestmark = pytest.mark.no_cover
needs_native = pytest.mark.skipif(backend.native() is None, reason="no native backend")

NAMES = {pre.splitter.patterns: name for name, pre in reversed(PRE_TYPES.items())}  # the first of those that cut alike
LETTERS = ["a", "B", "xyz", "Word", "THE", "\xe9", "\xc9", "\u01c5", "\u02b0", "\u03a9", "\u017f", "\u0e01", "\u0915",
           "\u4e2d", "\u3042\u306a", "\u30fc", "\u3105", "\uac00", "\u314f", "\U00020000", "\u9fa6", "\uf900", "\u13a0",
           "\u10a0", "\u1c90", "\ua640", "\U00010400", "\U000118a0", "\U0001e900"]  # fmt: skip
MARKS = ["\u0301", "\u0e34", "\u093c", "\u3099", "\u0488", "\ufe0f", "\u200d"]
NUMBERS = ["1", "23", "456", "7890", "0" * 11, "\u0661", "\xb2", "\uff11\uff12", "\u2167", "\U0001d7ce"]
STOPS = ["'", "'s", "'S", "'re", "'Ve", "'LL", "'d", "'\u017f", "''m", ".", "!?", "-", "_", "/", "//", "$", "+", "<", "=", "|",
         "`", "~", "^", "(", "\u3002", "\uff0c", "\u060c", "\u0964", "\u2026", "\u201c", "\u2019", "\u20ac", "\u3001",
         "\uff01", "\ufe30", "\u309b", "\u30fb", "\U0001f600", "<sentinel:", "12>", "IMGIMG", "ABCD", "Z"]  # fmt: skip
SPACES = [" ", "  ", "   ", "    ", " " * 17, "\n", "\n\n", "\r\n", " \n ", "\t", "\v", "\f", "\x1c", "\x85", "\xa0", "\u2003",
          "\u2028", "\u3000", "\u200b"]  # fmt: skip
NEWER = ["\u1c89", "\ua7cb", "\U00010d40", "\U00010d4a", "\U00010d69", "\U0001c8a0", "\U0001cc00", "\U00016d70", "\U000105c0",
         "\u0897", "\U0001ccf0", "\u2427"]  # fmt: skip
ODD = ["\0", "\x7f", "\ufffd", "\u0378", "\ud7b0", "\ue000", "\U0001fffe", "\U000e0001", "\U0010ffff"]
ATOMS = [*LETTERS, *MARKS, *NUMBERS, *STOPS, *SPACES, *NEWER, *ODD, *HARD_ATOMS]


@cache
def row_of(patterns: tuple[str, ...]) -> Any:
    return row_in(native_cuts(PRE_TYPES[NAMES[patterns]].splitter))


@cache
def cutter_of(patterns: tuple[str, ...]) -> Cutter:
    return Cutter(patterns)


def cut_natively(patterns: tuple[str, ...], text: str) -> list[str]:
    row, data = row_of(patterns), text.encode()
    ends, _, is_split = row.split(data)
    assert is_split
    return [data[a:b].decode() for a, b in pairwise([0, *memoryview(ends).cast("Q")])]


@needs_native
@pytest.mark.parametrize("patterns", NAMES, ids=NAMES.values())
def test_hard_text_is_cut_natively_as_in_python(patterns: tuple[str, ...]) -> None:
    rnd, cutter = random.Random(11), Cutter(patterns)
    for _ in range(rounds(400)):
        text = "".join(rnd.choices(rnd.sample(ATOMS, 14), k=rnd.randrange(1, 40)))
        assert cut_natively(patterns, text) == cutter.cut(text), ascii(text)


@needs_native
@examples(150)
@given(hard_text(30))
def test_any_text_is_cut_natively_as_in_python(text: str) -> None:
    for patterns in NAMES:
        assert cut_natively(patterns, text) == cutter_of(patterns).cut(text), NAMES[patterns]


SEEN = {
    "classes": characters.collapsed,
    "Han": characters.collapsed_with_han,
    "white space": characters.white_collapsed,
}
PLANES = range(0, 0x110000, 0x10000)


@pytest.mark.parametrize("plane", first_in_gate(PLANES))
@pytest.mark.parametrize("sees", SEEN.values(), ids=SEEN)
def test_each_character_is_replaced_by_the_one_for_its_class(sees: Callable[[str], str], plane: int) -> None:
    every = "".join(map(chr, range(plane, plane + 0x10000)))
    seen = list(every)
    for ranges, char in characters.replaced_by(sees):
        for first, last in ranges:
            first, last = max(first - plane, 0), min(last - plane, 0xFFFF)
            if first <= last:
                assert seen[first : last + 1] == list(every[first : last + 1]), "a character is replaced once"
                seen[first : last + 1] = char * (last + 1 - first)
    assert "".join(seen) == sees(every)
    assert sees in {step.sees for patterns in NAMES for step in steps_of(patterns)}


def test_a_program_sees_characters_as_those_that_replace_them() -> None:
    """So it is right for all text if it is right for text whose characters are replaced."""
    program = compile_program("[a-c]+|\xd2x|[\u4e00-\u9fff]|.")
    seen = seen_as(program, [(((0x80, 0x8F), (0x4E10, 0x9F00)), "b"), (((0, 0), (0x10FFFF, 0x10FFFF)), "\xd2")])
    codes = [*range(0x100), *range(0x4E00, 0xA001), *range(0x10FFF0, 0x110000)]
    instead = {**dict.fromkeys([*range(0x80, 0x90), *range(0x4E10, 0x9F01)], "b"), 0: "\xd2", 0x10FFFF: "\xd2"}
    assert [class_of(seen, code) for code in codes] == [class_of(program, ord(instead.get(c, chr(c)))) for c in codes]


def class_of(program: Program, code: int) -> int:
    return program.classes[bisect_right(program.firsts, code) - 1]


@pytest.mark.parametrize("patterns", NAMES, ids=NAMES.values())
def test_words_end_where_long_texts_are_cut(patterns: tuple[str, ...]) -> None:
    """A part of a long text stands behind a letter or a digit, in the place of the text before it."""
    rnd, cutter, splitter = random.Random(12), cutter_of(patterns), PRE_TYPES[NAMES[patterns]].splitter
    ends, tried = re.compile(f"(?={splitter.word_ends})"), 0
    for _ in range(rounds(400)):
        text = "".join(rnd.choices([*rnd.sample(ATOMS, 10), "a", "1", " ", "\n", "12"], k=rnd.randrange(1, 30)))
        for at in [match.start() + 1 for match in ends.finditer(text)]:
            behind = next(letter for letter in "a0" if ends.match(letter + text[at]))
            letter, *after = cutter.cut(behind + text[at:])
            assert letter == behind
            assert cutter.cut(text[:at]) + after == cutter.cut(text), ascii(text)
            assert cutter.cut(text[at:]) == after
            tried += 1
    assert tried > 20


def test_thousands_are_cut_as_the_pattern_of_llama_cpp_cuts_them() -> None:
    rnd, pattern, cutter = random.Random(2), re.compile(r"(?=(\d{3})+(?!\d))", re.ASCII), Cutter([THOUSANDS])
    for _ in range(3000):
        text = "".join(rnd.choices(["1", "23", "456", "a", " ", "\u0661", "\xe9"], k=rnd.randrange(1, 12)))
        places = [0, *(match.start() for match in pattern.finditer(text)), len(text)]
        assert cutter.cut(text) == [text[a:b] for a, b in pairwise(places) if a < b]


@needs_native
@pytest.mark.clock
@pytest.mark.parametrize("patterns", NAMES, ids=NAMES.values())
def test_long_runs_are_cut_in_linear_time(patterns: tuple[str, ...]) -> None:
    began = time.process_time()
    for atom in ("1", " ", "\n", "a", "\u0301", "\u4e2d", "a ", " \n", "'", "\U00010d40", "aB", "\u0661", "1 ", "  a"):
        text = atom * 100_000
        assert "".join(cut_natively(patterns, text)) == text
    assert took_less(began, 12)


@needs_native
def test_a_damaged_image_is_refused() -> None:
    rnd, image = random.Random(1), native_cuts(PRE_TYPES["tiny_aya"].splitter)
    for size in (*range(1, 60), *(rnd.randrange(60, len(image)) for _ in range(60))):
        with pytest.raises(ValueError, match=r"program|pattern|unpack"):
            row_in(image[:size])
    for _ in range(300):
        damaged = bytearray(image)
        damaged[rnd.randrange(rnd.choice([24, len(image)]))] ^= 1 << rnd.randrange(8)
        try:
            row = row_in(bytes(damaged))
        except ValueError:
            continue
        assert row is not None
        row.split("It's 1234567 \u4e2d\U00010d40\n".encode())
    assert row_in(b"") is None
