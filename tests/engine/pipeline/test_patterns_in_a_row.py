"""Several patterns in a row split as the one pattern that stands for them, on any text."""

from __future__ import annotations

import os
import random
import re

import pytest
from hypothesis import given
from support import HARD_ATOMS, examples, hard_text, rounds

from tokcli.engine.llama_cpp.characters import changed_ranges
from tokcli.engine.llama_cpp.cutter import Cutter
from tokcli.engine.llama_cpp.patterns import KNOWN, PRE_TYPES
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.cut_pattern import newer_numbers
from tokcli.engine.pipeline.pretokenizers import pieces_of
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.spec.patterns import Characters, OnigPattern
from tokcli.engine.spec.splitters import Split, Splitter
from tokcli.engine.unicode.ranges import class_members

pytestmark = pytest.mark.no_cover

CODER = next(patterns for patterns, one in known.IN_A_ROW.items() if one == known.DEEPSEEK_CODER)
((BLOOM,),) = (patterns for patterns, one in known.IN_A_ROW.items() if one == known.BLOOM)
DIGITS = Split(Characters("NUMERIC"), "Isolated")
LIBRARY: dict[str, list[Splitter]] = {
    known.DEEPSEEK: [
        Split(OnigPattern(pattern), "Isolated")
        for patterns, one in known.IN_A_ROW.items()
        if one == known.DEEPSEEK
        for pattern in patterns
    ],
    known.DEEPSEEK_CODER: [*(Split(OnigPattern(p), "Isolated") for p in CODER[:-1]), DIGITS],
    known.BLOOM: [Split(OnigPattern(BLOOM), "Isolated")],
    known.STARCODER: [DIGITS, Split(OnigPattern(known.GPT2), "Isolated")],
}
LLAMA_CPP = {
    name: Cutter(PRE_TYPES[name].splitter.patterns)
    for name in (
        "deepseek-v3",
        "starcoder",
        "command-r",
        "falcon",
        "default",
        "qwen35",
        "gpt-2",
        "qwen2",
        "llama-bpe",
        "gpt-4o",
        "granite-embed-multi-97m",
        "tekken",
        "deepseek-coder",
        "bloom",
    )
}
ATOMS = [*HARD_ATOMS, "\u30fc", "\u3099", "\u309b", "\u30fb", "\u3042", "\u9fa5", "\u9fa6", "\x00", "\x1c", "\u200b",
         "12", "345", "\uff11", "$", "`", "+", "<", "^", "~", "|", "?a", "'s", "\u20ac", "\u0e01", "\u0e34",
         "\u3000", "\u2003", "\xa0", "(", "\u3002", "\u0964", "\u060c", "\uabff", "\uac00", "\ud7b0", "\u07ff", "\u0800"]  # fmt: skip

# ranks of texts are not for text with these
MOVED = re.compile(f"[\u017f{class_members(changed_ranges())}]")
NEWER = re.compile(f"[{class_members(newer_numbers())}]")


def library_pieces(pat_str: str, text: str) -> list[str]:
    return [piece.text for piece in pieces_of(LIBRARY[pat_str], Aligned(text))]


@examples(1500)
@given(hard_text(10))
def test_one_pattern_cuts_as_the_library_does(text: str) -> None:
    for pat_str in LIBRARY:
        assert PreTokenizer(pat_str).split(text) == library_pieces(pat_str, text)


@pytest.mark.parametrize("pat_str", LIBRARY, ids=["deepseek", "coder", "bloom", "starcoder"])
def test_one_pattern_cuts_hard_text_as_the_library_does(pat_str: str) -> None:
    rnd, splitter = random.Random(7), PreTokenizer(pat_str)
    for _ in range(rounds(4000)):
        text = "".join(rnd.choices(rnd.sample(ATOMS, 12), k=rnd.randrange(1, 16)))
        assert splitter.split(text) == library_pieces(pat_str, text)


@pytest.mark.parametrize("name", LLAMA_CPP)
def test_one_pattern_cuts_hard_text_as_llama_cpp_does(name: str) -> None:
    pat_str = KNOWN.get(PRE_TYPES[name].splitter.patterns)
    assert pat_str is not None
    rnd, splitter = random.Random(8), PreTokenizer(pat_str)
    for _ in range(rounds(4000)):
        text = MOVED.sub("", "".join(rnd.choices(rnd.sample(ATOMS, 12), k=rnd.randrange(1, 16))))
        assert splitter.split(text) == LLAMA_CPP[name].cut(text)


CONTEXT = "a{c}b {c}the{c}{c} 1{c}2 {c}\n'{c}s A{c}B.{c} {c} \n\u3042{c}\u3042 {c}1234{c}.{c}\x00{c}\x00\x00a  {c}"


# All of them, a minute for each pattern, with HYPOTHESIS_PROFILE=long; else all of the scripts in daily use, and samples.
DENSE, STEP = 0x600, 1 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 37


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DEEPSEEK", "STARCODER", "DEEPSEEK_CODER", "BLOOM", *LLAMA_CPP])
def test_one_pattern_knows_each_code_point(name: str) -> None:
    in_llama_cpp = name in LLAMA_CPP
    pat_str = KNOWN[PRE_TYPES[name].splitter.patterns] if in_llama_cpp else getattr(known, name)
    assert pat_str is not None
    splitter, unsafe = PreTokenizer(pat_str), MOVED if in_llama_cpp else NEWER
    for plane in (range(0xD800), range(0xE000, 0x32000), range(0xE0000, 0xE0200), range(0x10FFF0, 0x110000)):
        for start in range(plane.start, plane.stop, 256):
            points = map(chr, range(start, min(start + 256, plane.stop), 1 if start < DENSE else STEP))
            text = "".join(CONTEXT.replace("{c}", p) for p in points if not unsafe.match(p))
            pieces = LLAMA_CPP[name].cut(text) if in_llama_cpp else library_pieces(pat_str, text)
            assert splitter.split(text) == pieces, f"U+{start:04X}"
