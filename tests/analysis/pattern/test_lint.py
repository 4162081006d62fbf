"""Claims about reading patterns, about what is wrong with them, and about who else reads them."""

from __future__ import annotations

import re
import sys
import warnings
from importlib.metadata import version

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tiktoken._tiktoken import CoreBPE
from tokenizers import Regex

from tokcli.analysis.pattern.character_sets import category, members, partition
from tokcli.analysis.pattern.flavours import Reading, features, readings
from tokcli.analysis.pattern.lint import Finding, lint
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers.known_patterns import CL100K, KNOWN_PATTERNS, LLAMA3
from tokcli.engine.pretokenizers.nodes import Quantified
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.rewrite import alternatives
from tokcli.errors import PatternError

REST = r"|(?s:.)"  # takes what is left


def found(pattern: str, check: str) -> list[Finding]:
    return [finding for finding in lint(pattern).findings if finding.check == check]


# --- reading ---------------------------------------------------------------------------------------------------------

PATTERNS = [
    *sorted(KNOWN_PATTERNS),
    r"(?i)a|[[:alpha:]a[b]&&c]+?x|$|(?P=n)d",
    r"(?P<a>x)(?P=a)|y{,3}z{3}q{2,}+|(?(1)a|b)|(?#c|d)e",
    r"\u0041+|\x41++|\U00000041|\N{SPACE}?|(?R)?",
    r"[]|]|[^]|]|\||(?<!a|b)c",
    "(?x) a | b # c | d\n | e",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_alternatives_read_are_the_pattern(pattern: str) -> None:
    read = parse(pattern)
    assert read.head + "|".join(a.source for a in read.alternatives) == pattern
    assert [a.source for a in read.alternatives] == alternatives(pattern[len(read.head) :]) or "(?x)" in pattern
    assert all(pattern[a.start :].startswith(a.source) for a in read.alternatives)


@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS))
def test_each_part_lies_inside_its_parent(pattern: str) -> None:
    for node in parse(pattern).nodes:
        assert all(node.start <= child.start <= child.end <= node.end for child in node.children)


@pytest.mark.parametrize(
    ("pattern", "place"), [("(", 0), ("a)", 1), ("ab[c", 2), ("a|*", 2), ("a(b|c", 1), ("(?P<n>a", 0)]
)
def test_what_cannot_be_read_is_refused_with_its_place(pattern: str, place: int) -> None:
    with pytest.raises(PatternError, match=f"at position {place}$") as caught:
        parse(pattern)
    assert "▶" in caught.value.hint


def test_the_deepest_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(PatternError):
        parse("(" * 5000 + ")" * 5000)


def test_modes_of_repeats_are_told_apart() -> None:
    read = parse("a+b+?c++d{2}e{2,3}+f?+g*?")
    modes = [(node.least, node.most, node.mode) for node in read.nodes if isinstance(node, Quantified)]
    assert modes == [
        (1, None, "greedy"), (1, None, "lazy"), (1, None, "possessive"), (2, 2, "greedy"),
        (2, 3, "possessive"), (0, 1, "possessive"), (0, None, "lazy"),
    ]  # fmt: skip


# --- sets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [r"\s", r"[^\s\p{L}\p{N}]", r"\p{Han}", r"[a-f&&[^b]]", "."])
def test_the_members_of_a_set_are_what_the_engine_matches(source: str) -> None:
    matcher = PreTokenizer(source)
    inside = members(source)
    for char in "ab \n\r\t\x1c\x85\u2028é中1²_￿\U00040000\U0010ffff":
        assert any(first <= ord(char) <= last for first, last in inside) == bool(matcher.match_at(char, 0))


def test_the_classes_of_a_partition_are_all_text_and_do_not_overlap() -> None:
    cells = partition([members(r"\p{L}"), members(r"\s"), members("[a-z]")])
    assert sum(cell.size for cell in cells) == 0x110000 - 0x800
    assert len({cell.example for cell in cells}) == len(cells) == 4


def test_categories_are_those_of_unicode_16() -> None:
    assert [category(char) for char in "aA1 \n\U0001fae9"] == ["Ll", "Lu", "Nd", "Zs", "Cc", "So"]


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS))
def test_nothing_is_wrong_with_the_patterns_of_the_field(pattern: str) -> None:
    assert lint(pattern).findings == ()


def test_classes_that_no_alternative_takes_are_named() -> None:
    (only,) = found(r"\p{L}+|\p{N}+|\s+|[^\s\p{L}\p{N}\n,]+", "left out")
    assert (only.severity, only.example) == ("error", ",")
    assert "U+002C" in only.what


def test_text_that_only_two_characters_show_to_be_left_out_is_found() -> None:
    texts = [finding.example for finding in found(r"\p{L}+|\s+(?!\S)|[^\s\p{L}]+", "left out")]
    assert texts
    assert all(text is not None and len(text) > 1 for text in texts)
    assert texts[0] == " 0"


def test_an_alternative_that_can_be_empty_is_an_error_where_it_comes_to_that() -> None:
    assert [(f.alternative, f.severity) for f in found("a*|b", "empty")] == [("a1", "error")]
    assert [(f.alternative, f.severity) for f in found("(?s:.)|b*", "empty")] == [("a2", "warning")]
    assert not found(r"a+|(?s:.)", "empty")


@pytest.mark.parametrize(
    ("pattern", "dead"),
    [
        ("foo|food" + REST, ["a2"]),
        (r"\w+|function" + REST, ["a2"]),
        (r"function|\w+" + REST, []),
        ("a(?!.)b" + REST, ["a1"]),
        (r"x|(?<=x)\p{Han}" + REST, []),
        (r"(?s:.)|a", ["a2"]),
    ],
)
def test_alternatives_that_never_win_are_named(pattern: str, dead: list[str]) -> None:
    assert [finding.alternative for finding in found(pattern, "never")] == dead


def test_the_one_that_comes_first_is_named() -> None:
    assert "a1 comes first" in found("foo|food" + REST, "never")[0].what


def test_groups_that_capture_are_named_with_their_place() -> None:
    pattern = r"(?:a)|(b)|(?P<n>c)|(?i:d)|\(e\)|[(f)]" + REST
    assert [pattern[f.start : f.end] for f in found(pattern, "group")] == ["(b)", "(?P<n>c)"]


@pytest.mark.parametrize(
    ("pattern", "growth"),
    [
        ("(?:a+)+b", "exponential"),
        ("(?:a*)*b", "exponential"),
        ("(?:a|a)*b", "exponential"),
        ("(?:a|aa)+b", "exponential"),
        (r"(?:\w|\d)+b", "exponential"),
        (r"(?:x+x+)+y", "exponential"),
        (r"\s*\s*x", "polynomial"),
        (r"\d+\w+;", "polynomial"),
        ("(?:a++)+b", None),
        ("(?>a+)+b", None),
        ("(?:a+)+", None),  # the first way out succeeds
        ("(?:ab|ac)+d", None),
        (r"\s+(?!\S)", None),
        (r"a+b+c", None),
        ("'(?:s|t|re)", None),
    ],
)
def test_repeats_that_backtrack_are_found_with_their_growth(pattern: str, growth: str | None) -> None:
    whats = [finding.what for finding in found(pattern + REST, "backtracking")]
    assert [growth in what for what in whats if growth] == [True] * bool(growth)
    assert growth is not None or not whats


@pytest.mark.clock
def test_the_text_that_is_said_to_backtrack_exponentially_does() -> None:
    pattern = "(?:a|aa)+b" + REST
    (finding,) = found(pattern, "backtracking")
    attack = (finding.example or "") * 60 + "xb"
    with time_limit(0.2), pytest.raises(PatternError, match=r"more than 0\.2 s at character 0"):
        PreTokenizer(pattern).split(attack)


def test_a_look_behind_at_the_start_is_said() -> None:
    assert [f.alternative for f in found(r"(?<=a)b|\bc|a(?<=a)b" + REST, "look-behind")] == ["a1", "a2"]


def test_a_large_pattern_is_looked_into_within_bounds() -> None:
    report = lint("|".join(f"(?:{'|'.join(chr(0x4E00 + i * 40 + j) for j in range(40))})+x" for i in range(10)) + REST)
    assert report.texts <= 20_000


@given(
    st.lists(st.sampled_from(["a", "b+", "[ab]", "(?:ab)", r"\s", "c?", "(?!a)", "(?:a|b)*", "b++", "."]), min_size=1)
)
def test_any_pattern_that_compiles_has_a_report(parts: list[str]) -> None:
    try:
        PreTokenizer("".join(parts))
    except PatternError:
        return
    lint("".join(parts) + REST)
    readings("".join(parts))


# --- flavours --------------------------------------------------------------------------------------------------------


def reading(pattern: str, flavour: str) -> Reading:
    return next(reading for reading in readings(pattern) if reading.flavour == flavour)


def test_the_possessive_cl100k_pattern_is_fancy_regex_s_and_the_original_three_s() -> None:
    assert [r.flavour for r in readings(CL100K) if r.verdict == "alike"] == ["fancy"]
    assert [r.flavour for r in readings(LLAMA3) if r.verdict == "alike"] == ["fancy", "regex", "onig"]
    assert {r.flavour for r in readings(LLAMA3) if r.verdict == "refuses"} == {"re", "rust", "re2", "js"}


def test_oniguruma_repeats_a_possessive_count() -> None:
    from tokenizers.pre_tokenizers import Split

    assert reading(r"\p{N}{1,3}+", "onig").verdict == "differs"
    assert reading(r"\p{N}{1,3}", "onig").verdict == "alike"
    assert [text for text, _ in Split(Regex(r"\p{N}{1,3}+"), "isolated").pre_tokenize_str("1234567")] == ["1234567"]


def core(pattern: str) -> object:
    return CoreBPE({bytes([byte]): byte for byte in range(256)}, {}, pattern)


def python_re(pattern: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sets of sets, which it will know one day
        return re.compile(pattern)


SYNTAX = [
    r"a++", r"a?+", r"a{2,3}+", r"(?>a)", r"(?=a)", r"(?<=a)b", r"(?<=a+)b", r"(?<!a|bc)d", r"\p{L}", r"\pL", r"\P{L}",
    r"\p{Han}", r"\p{Script=Han}", r"\p{Alphabetic}", r"(?i)a", r"a(?i)b", r"(?i:a)", r"(?s:.)", r"(?m)^a$", r"(?x)a b",
    r"(?P<n>a)", r"(?<n>a)", r"(a)\1", r"\h", r"\R", r"\X", r"\K", r"\Ga", r"\A", r"a\z", r"a\Z", r"[[a]b]", r"[a&&b]",
    r"[a--b]", r"[a~~b]", r"[[:alpha:]]", r"\x{41}", r"\u{41}", r"\u0041", r"(?#c)a", r"\d\s\w\b", "a.b", "^a$",
    r"^*a", r"\b?a", r"(?:^)*a", r"(^)*a", r"(?:a|^)+b", r"(?>a|^)+b", r"(?:a|(?:^|b))*c", r"(?=a)*b", r"(?:(?=a))*b",
    r"(?:(?=a)|b)*c", r"(?:(?=a)b|c)*d", r"a{2}?", r"(?<=\z)a", r"(?<=a(?=b))b", r"(?<=(?<=a))b", r"(?<=\A)b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SYNTAX)
@pytest.mark.parametrize(
    ("flavour", "compiles"), [("re", python_re), ("regex", regex.compile), ("fancy", core), ("onig", Regex)]
)
def test_what_is_said_to_be_refused_is_refused(pattern: str, flavour: str, compiles: object) -> None:
    if flavour == "re" and pattern in (r"\Ga", r"\K"):
        pytest.skip("the same in every release of re")
    if flavour == "re" and sys.version_info < (3, 11):
        pytest.skip("the flavour is that of Python 3.11, whose re learnt possessive repeats and atomic groups")
    if flavour == "regex" and r"\z" in pattern and tuple(map(int, version("regex").split("."))) < (2025, 10):
        pytest.skip(r"older releases of regex do not know \z")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiles(pattern)  # type: ignore[operator]
        refused = False
    except BaseException as error:  # a panic of Rust is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        refused = True
    assert (reading(pattern, flavour).verdict == "refuses") == refused


def test_features_are_named_with_their_place() -> None:
    assert [(f.kind, f.start, f.text) for f in features(r"a|\p{L}++|(?!b)")] == [
        ("category", 2, r"\p{L}"), ("possessive", 7, "++"), ("look-ahead", 10, "(?!b)"),
    ]  # fmt: skip


def test_a_comment_at_the_end_of_an_alternative_hides_nothing() -> None:
    found = PreTokenizer("(?x) a # one\n | \\s # two").split_with_alternatives("a a")
    assert list(found) == [("a", 1), (" ", 2), ("a", 1)]


def test_escapes_of_several_characters_are_one_character() -> None:
    assert [len(a.items) for a in parse(r"\u0041+|\x41++|\U00000041b|\N{SPACE}").alternatives] == [1, 1, 2, 1]


def test_texts_made_for_nested_counts_stay_short() -> None:
    assert lint("(?:(?:a{40}){40}){40}b" + REST).texts
