"""`split --emit`: a pattern written for another engine cuts the same pieces there, or is refused by name and place."""

from __future__ import annotations

import json
import random
import re
import sys
import unicodedata
from functools import lru_cache
from itertools import product

import pytest
import regex
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from regex_engines import BY_ENGINE
from support import hard_text, ok, refused, rounds

from tokcli.analysis.pattern.emit import ENGINES, Obstacle, emit
from tokcli.analysis.pattern.flavours import readings
from tokcli.cli.split import split_options
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer

REST = "|(?s:.)"  # so that no text is left out
PATTERNS = [
    known.R50K, known.GPT2, known.CL100K, known.O200K, known.LLAMA3,
    r"(?i:ß|ſs)|\w+|\s+" + REST, r"\b\w+\b" + REST, r"\B\w" + REST, r"(?>\w+?)\W" + REST,
    r"[^\S\n]+|\p{Greek}++|\P{^L}|(?s:.)", r"\d{2,4}+|\d$|^x|.|\n", r"[\x{41}-\u{5A}\-&&~~]+|[^a]|a",
    r"(?i)straSSe|(?-i:k)|k" + REST, "(?i:ss|a)" + REST,
    r"^{1,3}?x|(?<!\n){0,2}+y|((?=s)){2}\w" + REST, r"(?<=x)[\]\[{}^-]+|[}]" + REST,
]  # fmt: skip
CHARS = [" ", "\n", "\r", "'", "s", "S", "ſ", "ß", "k", "K", "\u212a", "x", "1", "٣", "é", "Ω", "\u0301", "中", "\x1c",
         "\x85", "\ufeff", "😀", "_", "[", "]", "{", "}", "^", "-", "&", "~"]  # fmt: skip
TEXTS = st.one_of(hard_text(12), st.lists(st.sampled_from(CHARS), max_size=8).map("".join))


WRITTEN = [
    (pattern, engine)
    for pattern in PATTERNS
    for engine in sorted({*ENGINES} - {"python", "python-regex"})  # whose \U is no syntax of ours
    if not emit(pattern, engine).obstacles
]


def known_to_python(text: str) -> str:
    """A text without the characters that the Unicode of this Python's `re` lacks, such as the digits of Garay before 16.0."""
    return "".join(c for c in text if unicodedata.category(c) != "Cn")


@lru_cache
def emitted(pattern: str, engine: str) -> str:
    made = emit(pattern, engine)
    assert made.obstacles == ()
    return made.pattern


@pytest.mark.skipif(sys.version_info < (3, 11), reason="re has no possessive quantifiers before Python 3.11")
@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS.map(known_to_python))
def test_python_cuts_the_same(pattern: str, text: str) -> None:
    assert [match[0] for match in re.finditer(emitted(pattern, "python"), text)] == PreTokenizer(pattern).split(text)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_oniguruma_cuts_the_same(pattern: str, text: str) -> None:
    found = tokenizers.Regex(emitted(pattern, "oniguruma"))
    split = tokenizers.pre_tokenizers.Split(found, "removed", invert=True)
    assert [piece for piece, _ in split.pre_tokenize_str(text)] == PreTokenizer(pattern).split(text)


@pytest.mark.parametrize(
    ("pattern", "engine"), [(pattern, engine) for pattern, engine in WRITTEN if engine in BY_ENGINE]
)
def test_other_engines_cut_the_same(pattern: str, engine: str) -> None:
    generator = random.Random(pattern)
    texts = ["".join(generator.choices(CHARS, k=generator.randrange(12))) for _ in range(rounds(300))]
    assert BY_ENGINE[engine](emitted(pattern, engine), texts) == [PreTokenizer(pattern).split(text) for text in texts]


ITEMS = st.sampled_from(["a", "b", "c", "[ab]", "[bc]", "(?:ab|a)", "(?:a|ab)", "(?:ab*)"])
COUNTS = st.sampled_from(["", "?", "*", "+", "{1,2}", "?+", "*+", "++", "{1,2}+", "+?", "{2}", "{2,}"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Patterns of a few letters that would match otherwise if they could go back."""

    def sequence(depth: int) -> str:
        items = [draw(ITEMS) + draw(COUNTS) for _ in range(draw(st.integers(1, 3)))]
        if depth and draw(st.booleans()):
            opening = draw(st.sampled_from(["(?>", "(?:"]))
            items.insert(
                draw(st.integers(0, len(items))), f"{opening}{sequence(depth - 1)}|{sequence(0)}){draw(COUNTS)}"
            )
        return "".join(items) + draw(st.sampled_from(["", "", "$", "(?!b)"]))

    return f"{sequence(1)}|{sequence(1)}"


@given(pattern=patterns(), engine=st.sampled_from(["js", "re2", "rust-regex"]))
def test_nothing_possessive_is_lost(pattern: str, engine: str) -> None:
    made = emit(pattern, engine)
    if engine == "js":
        assert made.obstacles == ()
    if made.obstacles:
        return
    assert [sign for sign in ("?+", "*+", "++", "}+", "(?>") if sign in made.pattern] == []
    ours = regex.compile(pattern.replace("$", r"\Z"))
    theirs = regex.compile(re.sub(r"\\k<(\w+)>", r"(?P=\1)", made.pattern.replace("$", r"\Z").replace(r"\z", r"\Z")))
    for size in range(6):
        for text in map("".join, product("abc", repeat=size)):
            for at in range(size + 1):
                ends = [found and found.end() for found in (ours.match(text, at), theirs.match(text, at))]
                assert ends[0] == ends[1], (text, at)


@pytest.mark.parametrize(("pattern", "engine"), WRITTEN)
def test_what_is_written_is_read_alike_there(pattern: str, engine: str) -> None:
    of_all = {reading.flavour: reading for reading in readings(emitted(pattern, engine))}
    assert [objection.feature.kind for objection in of_all[ENGINES[engine]].objections] == []


def test_most_patterns_can_be_written_for_most_engines() -> None:
    assert len(WRITTEN) > 3 * len(PATTERNS)


def test_a_group_that_is_matched_twice_may_fail_the_second_time() -> None:
    assert [one.name for one in emit("(?>a|ab){2}|b", "re2").obstacles] == ["atomic group"]
    assert emit("(?>a|ab)+|b", "re2").pattern == "(?:a|ab)+|b"


def test_what_stands_in_the_way_is_named_with_its_place() -> None:
    assert emit(r"a|\s+(?!\S)", "re2").obstacles == (Obstacle("look-ahead", 5, r"(?!\S)"),)
    assert [one.name for one in emit(r"(a)\1|a++a", "rust-regex").obstacles] == [
        "reference, condition or recursion",
        "possessive quantifier",
    ]
    assert [one.name for one in emit(r"(?:a|(?=b))+|(?<=a|$)b", "oniguruma").obstacles] == [
        "repeat of a branch that takes no text",
        "look-ahead or end of the text in a look-behind",
    ]
    assert [one.name for one in emit(r"(?m:^a)|b", "oniguruma").obstacles] == ["start or end of a line"]
    said = refused("split", "--emit", "re2", "-e", "cl100k_base")
    assert said.startswith("Error: the pattern cannot be written for RE2 and Go: look-ahead (?!\\S) at position ")


def test_the_command_writes_the_pattern_and_reads_no_text() -> None:
    assert ok("split", "--emit", "rust", "-e", "cl100k_base").decode() == known.CL100K + "\n"
    assert ok("split", "--emit", "re2", "--pattern", r" ?+\p{L}++|(?i:k)") == b" ?\\p{L}+|(?:[Kk\\x{212A}])\n"
    answer = json.loads(ok("split", "--emit", "js", "--json", "--pattern", r"a++\p{L}"))
    assert answer == {"engine": "js", "name": "JavaScript (flag u)", "pattern": r"a++\p{L}",
                      "emitted": r"(?:(?=(?<a1>a+))\k<a1>)\p{L}"}  # fmt: skip
    assert refused("split", "--emit", "js", "-t", "x").startswith("Error: --emit cannot be combined with --text")


def test_the_command_line_names_the_engines_without_loading_them() -> None:
    assert tuple(ENGINES) == split_options.ENGINES
