"""Patterns mean what they mean in Rust with Unicode 16.0, whatever release of `regex` is installed."""

from __future__ import annotations

import pytest
import regex
import unicodedata2
from hypothesis import given
from hypothesis import strategies as st

from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers import compiling, release, rewrite
from tokcli.engine.pretokenizers.compiling import CompiledPattern
from tokcli.engine.pretokenizers.known_patterns import CL100K, KNOWN_PATTERNS, O200K
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.unicode import tables_16 as unicode16
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, minus
from tokcli.errors import PatternError

CATEGORIES = [*unicode16.CATEGORIES, "Cn", "L", "M", "N", "P", "S", "Z", "C"]


def code_points(ranges: Ranges | None) -> set[int]:
    assert ranges is not None
    return {point for first, last in ranges for point in range(first, last + 1)}


@pytest.mark.slow
def test_the_categories_are_those_of_another_source_of_unicode_16() -> None:
    assert unicodedata2.unidata_version == "16.0.0"
    by_category: dict[str, set[int]] = {}
    for point in range(0x110000):
        by_category.setdefault(unicodedata2.category(chr(point)), set()).add(point)
    assert {name: code_points(unicode16_ranges(name)) for name in by_category} == by_category


def test_the_installed_release_has_nothing_in_the_planes_that_are_not_scanned() -> None:
    unassigned = "".join(map(chr, range(0x40000, 0xE0000)))
    assert regex.fullmatch(r"\p{Cn}++", unassigned)


@pytest.mark.slow
@pytest.mark.parametrize("name", CATEGORIES)
def test_a_class_holds_exactly_unicode_16(name: str) -> None:
    ours = code_points(unicode16_ranges(name))
    for written, expected in ((rf"\p{{{name}}}", True), (rf"[\p{{{name}}}]", True), (rf"[^\p{{{name}}}]", False),
                              (rf"\P{{{name}}}", False), (rf"[\P{{{name}}}]", False)):  # fmt: skip
        compiled = CompiledPattern(f"{written}|(?s:.)").exact
        for first, text in release.scanned_planes():
            text = text.replace("\n", "\r")
            single = regex.compile(f"(?P<in>{rewrite.rewrite(written, release.exact_class)})", regex.V1)
            matched = {first + m.start() for m in single.finditer(text)}
            points = range(first, first + len(text))
            assert matched == ({p for p in points if (p in ours) == expected} - ({10} if first == 0 else set())) | (
                {10} & matched
            )
        assert compiled is not None


def test_white_space_is_not_what_python_says() -> None:
    splitter = PreTokenizer(r"\s+|\S")
    assert splitter.split("\x1c\x1f \x85\u2028") == ["\x1c", "\x1f", " \x85\u2028"]


@pytest.mark.parametrize(
    ("pat_str", "text", "pieces"),
    [
        (r"a$|a|\n", "a\n", ["a", "\n"]),  # `$` is the end of the text, not before a last newline
        (r"\x{1F600}|\u{61}|.", "😀ab", ["😀", "a", "b"]),
        (r"[\w--\d]+|\d+", "ab1", ["ab", "1"]),
        (r"[[a-c]&&[^b]]+|.", "acb", ["ac", "b"]),
        (r"[|]+|.", "||a", ["||", "a"]),
        (r"(?i:ss)|.", "ßSS", ["ß", "SS"]),  # simple case folding, not full
        (r"(?i:s)+|.", "sSſx", ["sSſ", "x"]),
        (r"\p{Han}+|\P{Han}", "中文a", ["中文", "a"]),
        (r"\p{Script=Hiragana}+|.", "のa", ["の", "a"]),
        (r"\pL+|\PL", "ab1", ["ab", "1"]),
        (r"\w+|\W", "a\u200db_1\u0301 ", ["a\u200db_1\u0301", " "]),
        (r"[[:alpha:]]+|.", "ab1", ["ab", "1"]),
        (r"a(?#b|c)|.", "ab", ["a", "b"]),
        (r"(a)(b)?|c", "abc", ["ab", "c"]),
    ],
)
def test_a_pattern_is_read_as_rust_reads_it(pat_str: str, text: str, pieces: list[str]) -> None:
    assert PreTokenizer(pat_str).split(text) == pieces


@pytest.mark.parametrize("pat_str", sorted(KNOWN_PATTERNS))
def test_the_alternatives_joined_are_the_pattern(pat_str: str) -> None:
    assert "|".join(rewrite.alternatives(pat_str)) == pat_str
    assert "".join(atom.text for atom in rewrite.atoms(pat_str)) == pat_str


@given(st.text(r"()[]{}|\^$?*+-:pPL#a ", max_size=20))
def test_the_atoms_of_any_pattern_are_the_pattern(pat_str: str) -> None:
    assert "".join(atom.text for atom in rewrite.atoms(pat_str)) == pat_str


def test_the_alternative_that_matched_is_known() -> None:
    found = list(PreTokenizer(CL100K).split_with_alternatives("it's 12 a!\n  "))
    assert found == [("it", 2), ("'s", 1), (" ", 8), ("12", 3), (" a", 2), ("!\n", 4), ("  ", 5)]


def test_naming_the_alternatives_changes_no_piece() -> None:
    text = "It's 2024 — “中文” naïve\r\n\tx  y\n"
    for pat_str in (CL100K, O200K, r"(a)(?:b|c)|[|]|."):
        splitter = PreTokenizer(pat_str + r"|\s")
        assert [piece for piece, _ in splitter.split_with_alternatives(text)] == splitter.split(text)


def test_a_pattern_with_numbered_references_keeps_its_meaning() -> None:
    assert list(PreTokenizer(r"(.)\1|.").split_with_alternatives("aab")) == [("aa", None), ("b", None)]


@pytest.mark.parametrize("pat_str", ["(", "[a", "a{2,1}", r"\p{NoSuchProperty}", "(?P<a>x)(?P<a>y)(", "*"])
def test_a_pattern_that_does_not_compile_is_refused(pat_str: str) -> None:
    with pytest.raises(PatternError, match="pattern"):
        PreTokenizer(pat_str)


@pytest.mark.parametrize(
    ("pat_str", "text", "at"), [("a", "aab", 2), ("a|", "ab", 1), ("b", "ab", 0), ("(?=a)", "a", 0)]
)
def test_a_pattern_that_leaves_text_out_is_refused(pat_str: str, text: str, at: int) -> None:
    with pytest.raises(PatternError, match=f"at character {at}"):
        PreTokenizer(pat_str).split(text)


@pytest.mark.clock
@pytest.mark.slow
def test_a_pattern_that_backtracks_for_ever_is_stopped() -> None:
    with time_limit(0.2), pytest.raises(PatternError, match=r"more than 0\.2 s"):
        PreTokenizer(r"(?:a|aa)+b|.").split("a" * 80)


def test_ranges_are_subtracted() -> None:
    assert minus(((0, 10), (20, 30)), ((5, 25),)) == ((0, 4), (26, 30))
    assert minus(((0, 10),), ()) == ((0, 10),)
    assert minus(((0, 10),), ((0, 10),)) == ()


def test_what_a_release_adds_and_lacks_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this release took U+0378 for a letter and knew nothing of U+4E2D."""
    real = release.class_deltas

    def other(name: str) -> tuple[Ranges, Ranges]:
        return (((0x62, 0x62),), ((0x0378, 0x0378),)) if name == "L" else real(name)

    monkeypatch.setattr(release, "class_deltas", other)
    compiled = CompiledPattern(r"\p{L}+|[^\p{L}]+|\P{L}").exact  # here 'b' is no letter, and U+0378 is one
    assert compiled.findall("ab\u0378c") == ["a", "b", "\u0378c"]


def test_a_thread_that_cannot_be_made_is_not_blamed_on_the_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise MemoryError("can't start new thread")

    monkeypatch.setattr(compiling, "run_within", no_thread)
    with pytest.raises(MemoryError):
        compiling.compiled(r"\w+|\W|no thread", r"\w+|\W|no thread", exact=False)  # no other test has compiled it
