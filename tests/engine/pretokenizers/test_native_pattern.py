"""Any pattern splits natively as `regex` splits by it: pieces, alternatives, what is left out, and wherever text is cut."""

from __future__ import annotations

import random
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, hard_text

from tokcli.engine import backend
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers import known_patterns
from tokcli.engine.pretokenizers.class_ranges import NotCompiledError, ranges_of
from tokcli.engine.pretokenizers.compiling import CompiledPattern, every_match
from tokcli.engine.pretokenizers.native_pattern import native_pattern
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.program_compiler import compile_program, program_of
from tokcli.engine.stream import chunks
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.stream.parts import read_parts
from tokcli.engine.stream.utf8 import SplitText
from tokcli.engine.unicode.ranges import merged, minus
from tokcli.errors import PatternError, PatternTimeoutError, TokcliError

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native code here"),
]

OWN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
SIMPLE = r"\w+|[^\w\s]+|\s+"
FAR = r"(?:a*b)|[\s\S]"  # each piece looks at all of a text of many `a`
NEEDS_REGEX = {  # why each of these is left to `regex`
    r"(a)\1|.": "a reference",
    r"(?<=ab*)b|[\s\S]": "a look-behind without a width",
    r"(?=ab)[\s\S]|[\s\S]": "a look-ahead of two characters",
    r"(?>a|ab)c|[\s\S]": "an atomic group that gives up a match",
    r"(?:a|aa)+b|.": "exponential time",
    r"(?if)strasse|[\s\S]": "two characters that fold to one",
    r"(?i)\p{Lu}|[\s\S]": "the cases of a property",
    r"[[:alpha:]]|[\s\S]": "a class of POSIX",
    r"(?:abc){e<=1}|[\s\S]": "a fuzzy match",
    r"a*|.": "a match of the empty string",
    r"a\K|[\s\S]": "a match that begins elsewhere",
    r"(?x)a b|[\s\S]": "verbose syntax",
    r"\p{Block=Arrows}|[\s\S]": "a property that the tables lack",
}

CHARACTERS = [*"abcst'", " ", r"\n", "1", "é", "中", r"\-", "İ", "ſ", r"\x41", r"\u{1d7d8}"]
CLASSES = [
    r"\p{L}", r"\p{N}", r"\s", r"\S", r"\w", r"\W", r"\d", r"\D", ".", r"\p{Lu}", r"\p{M}", r"[^\r\n\p{L}\p{N}]",
    r"[^\s\p{L}\p{N}]", r"[\r\n]", "[abc]", "[^ab]", "[a-c1-9]", r"[\p{L}--[ab]]", r"[\w&&[a-z1]]", r"\P{P}",
    r"[sdmt]", r"[\s\S]", r"[\w~~[a-f]]", r"[a\-]", r"[^\P{L}a-z]", r"\p{Han}", r"\pL", r"\p{^L}", r"[^\w\s]",
    "[a-z&&[^aeiou]]", "[^[^a]]", r"\p{Nd}", r"\p{Cn}", r"[\w-]", r"[a|b]",
]  # fmt: skip
FOLDED = ["(?i:'s|'t|'re)", "(?i:a|b)", "(?i:[st])", "(?i:k)", "(?i:'[sdmt]|'ll)", "(?i:ſ)", "(?i:i)", "(?i:[^a-i])"]
TEXT_ATOMS = [*"abcst' \n1é中-\rASTßKſİı\u0301²𝐀９\u3000_.!\u212a", "  ", "aa", "abab", "'s", "'S", "'ll", "\n\n", "ss"]


class Writer:
    """Writes patterns of what the compiler takes, and of some that it leaves to `regex`; and texts for them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pattern(self) -> str:
        last = ["", r"|\s+|.", "|(?s:.)", r"|\s+(?!\S)|\s+|\S", f"|{SIMPLE}"]
        flags = ["", "", "", "", "", "", "(?s)", "(?m)"]
        return self.random.choice(flags) + self._branches(3) + self.random.choice(last)

    def text(self) -> str:
        atoms = self.random.sample(TEXT_ATOMS, self.random.choice([2, 4, 8, len(TEXT_ATOMS)]))
        return "".join(self.random.choices(atoms, k=self.random.choice([0, 1, 2, 3, 6, 12, 30])))

    def _branches(self, depth: int) -> str:
        return "|".join(self._sequence(depth) for _ in range(self.random.choice([1, 1, 2, 2, 3])))

    def _sequence(self, depth: int) -> str:
        return "".join(self._repeated(self._item(depth)) for _ in range(self.random.choice([1, 1, 2, 2, 3, 4])))

    def _repeated(self, item: str) -> str:
        if self.random.random() < 0.5:
            return item
        counts = ["?", "*", "+", "+", "{2}", "{1,3}", "{2,}", "{0,2}", "{,2}"]
        return item + self.random.choice(counts) + self.random.choice(["", "", "", "?", "+"])

    def _single(self) -> str:
        return self.random.choice([*CHARACTERS, *CLASSES])

    def _item(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.55 or not depth:
            return self._single()
        if kind < 0.7:
            return f"({self.random.choice(['?:', '?:', ''])}{self._branches(depth - 1)})"
        if kind < 0.76:
            return self.random.choice(FOLDED)
        if kind < 0.8:
            return f"(?>{self._single()}{self.random.choice(['+', '*', '{1,2}', ''])})"
        if kind < 0.9:
            behind, sign = self.random.choice(["", "<"]), self.random.choice("=!")
            more = self.random.choice(["", "", f"|{self._single()}", "|^" if behind else "|$"])
            return f"(?{behind}{sign}{self._single()}{more})"
        return self.random.choice([r"\b", r"\B", "$", "^", r"\A", r"\z"]) if kind < 0.95 else self._single()


texts = st.one_of(hard_text(10), st.integers(0, 2**32).map(lambda seed: Writer(seed).text()))


def by_regex(pattern: str, text: str) -> list[tuple[str, int | None]] | str:
    """Return what `regex` says: pieces with the numbers of their alternatives, or the words of its error."""
    splitter = PreTokenizer(pattern)
    splitter.__dict__["native_pattern"] = None
    try:
        return list(splitter.split_with_alternatives(text))
    except PatternError as error:
        return str(error)


def natively(pattern: str, text: str) -> list[tuple[str, int | None]] | str:
    assert native_pattern(pattern) is not None
    try:
        return list(PreTokenizer(pattern).split_with_alternatives(text))
    except PatternError as error:
        return str(error)


def same(pattern: str, text: str) -> bool:
    found, expected = natively(pattern, text), by_regex(pattern, text)
    if isinstance(expected, str) or isinstance(found, str):
        return found == expected
    numbers = [number for _, number in expected]
    return [piece for piece, _ in found] == [piece for piece, _ in expected] and (
        numbers == [number for _, number in found] or None in numbers
    )


@given(st.integers(0, 2**64))
def test_any_pattern_splits_as_regex_does(seed: int) -> None:
    writer = Writer(seed)
    for pattern in [writer.pattern() for _ in range(8)]:
        if program_of(pattern) is None:
            continue
        with time_limit(2), suppress(PatternTimeoutError):
            for text in [writer.text() for _ in range(4)]:
                assert same(pattern, text), (pattern, text, by_regex(pattern, text), natively(pattern, text))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\p{M}++(?<!a|^)|\s+(?!\S)|\s+|\S", "\n\n\u0301\u0301"),
        (r"(?m)^\w+$|[\s\S]", "a\nb c\n\nd"),
        (r"\s+(?!\S)|\s+|\S+", "a  b \n\n c   "),
        (r"(?:ab|a)(?:bc|c)?|[\s\S]", "abcabac"),
        (r"a|b", "abcab"),
        (r"a|b\b", "ab ba"),
        (OWN, ""),
        (r"\b\w|\B\W|[\s\S]", "a\u0558 \u1c89\u088f1 \U0001e6c0"),  # letters since Unicode 16 and 17
        (r"(?i)\bs|[\s\S]", "\u088fs Sſ"),
        (r"(?i)strasse|s+|[\s\S]", "STRASSE straße ſtraſſe ẞß"),
    ],
)
def test_a_pattern_splits_as_regex_does(pattern: str, text: str) -> None:
    assert same(pattern, text)


@pytest.mark.parametrize("pattern", sorted(known_patterns.KNOWN_PATTERNS))
def test_the_program_of_a_known_pattern_has_the_pieces_of_regex(pattern: str) -> None:
    if program_of(pattern) is None:
        pytest.skip("it looks further than one character")

    @examples(300)
    @given(texts)
    def check(text: str) -> None:
        assert same(pattern, text)

    check()


@pytest.mark.parametrize("pattern", NEEDS_REGEX)
def test_what_has_no_program_is_left_to_regex(pattern: str) -> None:
    with pytest.raises(NotCompiledError):
        compile_program(pattern)
    assert native_pattern(pattern) is None


@pytest.mark.parametrize("source", sorted({*CLASSES} - {r"\p{Cn}"}))  # of which `every_match` tells only the most
def test_a_class_has_the_code_points_that_regex_finds(source: str) -> None:
    surrogates = ((0xD800, 0xDFFF),)
    assert minus(ranges_of(source), surrogates) == minus(merged(every_match(source)), surrogates)


@pytest.mark.parametrize("letter", "aAiIkKsStTzZ'9-")
@pytest.mark.parametrize("form", ["{}", "[{}]", "[^{}]", "[{}x]"])
def test_a_character_has_the_cases_that_regex_finds(letter: str, form: str) -> None:
    source = form.format("\\" + letter if letter == "-" else letter)
    surrogates = ((0xD800, 0xDFFF),)
    found = minus(ranges_of(source, True), surrogates)
    assert found == minus(merged(every_match(f"(?i:{source})")), surrogates)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [OWN, r"\b\w+\b|[\s\S]"])
def test_every_code_point_is_split_as_regex_does(pattern: str) -> None:
    splitter, compiled = PreTokenizer(pattern), CompiledPattern(pattern)
    points = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    for begin in range(0, len(points), 4096):
        text = "".join(f"a{point}1 {point}{point}\n" for point in points[begin : begin + 4096])
        assert splitter.split(text) == [match[0] for match in compiled.exact.finditer(text)]


# --- streams ---------------------------------------------------------------------------------------------------------


def pieces_of_stream(pattern: str, data: bytes, sizes: list[int], options: ReadOptions) -> list[bytes] | str:
    splitter = PreTokenizer(pattern)
    found: list[bytes] = []

    def blocks() -> Iterator[bytes]:
        at = 0
        for size in [*sizes, len(data)]:
            yield data[at : at + size]
            at += size

    try:
        for part in read_parts(blocks(), splitter, splitter.native_pattern, options):
            if isinstance(part, SplitText):
                ends = memoryview(part.ends).cast("Q").tolist()
                found += [bytes(part.data[begin:end]) for begin, end in pairwise([0, *ends])]
            else:
                found += chunks.split_chunk(part, splitter)
    except TokcliError as error:
        return str(error)
    return found


@examples(400)
@given(
    st.sampled_from([OWN, SIMPLE, FAR, r"(?<=a)b+|\b\w|[\s\S]", r"^a|[\s\S]+?(?=b)|[\s\S]"]),
    st.lists(st.one_of(texts.map(str.encode), st.sampled_from([b"<e>", b"<end>", b"\xff", b"\xe4\xb8"])), max_size=8),
    st.lists(st.integers(0, 9), max_size=12),
    st.sampled_from(["strict", "replace", "bytes"]),
    st.booleans(),
)
def test_pieces_do_not_depend_on_blocks(
    pattern: str, parts: list[bytes], sizes: list[int], errors: chunks.Utf8Errors, is_refused: bool
) -> None:
    data, tokens = b"".join(parts), frozenset({"<e>", "<end>"})
    options = ReadOptions(errors, frozenset() if is_refused else tokens, tokens if is_refused else frozenset())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcli.engine.stream.utf8.FIRST_CHUNK_BYTES", 4)
        patch.setattr("tokcli.engine.stream.utf8.MAX_CHUNK_BYTES", 8)
        found = pieces_of_stream(pattern, data, sizes, options)
    splitter = PreTokenizer(pattern)
    splitter.__dict__["native_pattern"] = None
    try:
        expected: list[bytes] | str = [
            piece
            for chunk in chunks.read_chunks([data], splitter, options)
            for piece in chunks.split_chunk(chunk, splitter)
        ]
    except TokcliError as error:
        expected = str(error)
    if isinstance(found, str) and isinstance(expected, str):
        return  # with small blocks another error may come first
    assert found == expected


@pytest.mark.clock
def test_a_piece_of_many_blocks_is_read_a_few_times_only() -> None:
    data = b"a" * 3_000_000 + b" b"
    began = time.process_time()
    assert pieces_of_stream(SIMPLE, data, [65536] * 40, ReadOptions()) == [data[:-2], b" ", b"b"]
    assert time.process_time() - began < 2


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.clock
@pytest.mark.parametrize("pattern", [FAR, r"(?:\w*\.)|\w|[\s\S]", r"(?:(?s:.)*b)|[\s\S]"])
def test_time_is_linear_where_every_piece_looks_at_the_rest_of_the_text(pattern: str) -> None:
    began = time.process_time()
    assert len(PreTokenizer(pattern).split("a" * 300_000)) == 300_000
    assert time.process_time() - began < 5


def test_a_pattern_with_ever_new_states_takes_bounded_memory_and_is_right() -> None:
    pattern = r"(?:[ab]*a[ab]{15}c)|[\s\S]"  # a state says where an a was in the last 16 characters
    text = "".join(random.Random(7).choices("ab", k=30_000)) + "c"
    native = native_pattern(pattern)
    assert native is not None
    ends, _, is_split = native.split(text.encode())
    sizes = array("Q", ends)
    assert is_split
    assert sizes[-1] == len(text)
    assert (text[-17] == "a") == (len(sizes) == 1)


def test_native_arrays_are_checked() -> None:
    native = backend.native()
    assert native is not None
    program = compile_program(OWN)
    arrays = [program.firsts, program.classes, program.sets, program.steps, program.start]
    count, sets = len(program.steps) // 4, len(program.sets) // 32
    take, fork, check, match = range(4)
    wrong = [
        (0, array("I", [1])),
        (0, array("I")),
        (0, array("I", [1, *program.firsts[1:]])),
        (0, array("I", [*program.firsts[:-1], 0x110000])),
        (0, array("I", [*program.firsts[:-1], program.firsts[-2]])),
        (1, program.classes[:-1]),
        (1, b"\xff" * len(program.classes)),
        (2, program.sets[:-1]),
        (2, program.sets[:32]),
        (2, b""),
        (3, program.steps[:-1]),
        (3, array("I")),
        (3, array("I", [match, 1, 0, 0]) * (1 << 17)),
        (4, len(program.steps)),
        *((3, array("I", step) + program.steps[4:]) for step in (
            [9, 0, 0, 0], [take, sets, 0, 0], [take, 0, 0, count], [fork, count, 0, 0], [fork, 0, count, 0],
            [check, sets, 0, 0], [check, 0, sets, 0], [check, 0, 0, count], [match, 0, 0, 0], [match, 1 << 16, 0, 0])),
    ]  # fmt: skip
    for place, value in wrong:
        with pytest.raises(ValueError, match="not the program"):
            native.Pattern(*arrays[:place], value, *arrays[place + 1 :])
