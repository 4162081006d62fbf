"""Patterns that mean harm to what explains them: `split --lint` and `--why` end in time, with an answer or one line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import first_in_gate, program, refused, run_tokcli, without_coverage

from tokcli.analysis.pattern.bounds import TIMES
from tokcli.analysis.pattern.flavours import readings
from tokcli.analysis.pattern.lint import lint
from tokcli.analysis.pattern.trace import trace
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import PatternError, PatternTimeoutError

# The exception that ends what takes too long may come while coverage holds its lock, which nothing would release then.
pytestmark = pytest.mark.no_cover

DEEP = [
    opening * deep + "a" + closing * deep + r"|.|\n"
    for deep in (190, 60, 120)
    for opening, closing in [
        ("(?:", ")"),
        ("(?:x|", ")?"),
        ("(?=", ")"),
        ("(?<!", ")"),
        ("(?i:b", ")*"),
        ("(?>", "){0,9}"),
    ]
]
LARGE = {
    "many alternatives": "|".join(rf"\p{{L}}{number}" for number in range(3000)) + r"|.|\n",
    "alternatives that never win": "a|" * 3000 + r".|\n",
    "many classes": "|".join(f"[{chr(0x4E00 + 2 * n)}{chr(0x6000 + n)}]" for n in range(3000)) + r"|.|\n",
    "a wide class": "(?i)[" + "".join(chr(0x4E00 + 2 * n) for n in range(9000)) + r"]|.|\n",
    "many items": "(?:a)" * 4000 + r"|.|\n",
    "a wide look-behind": r"(?<=a{60000})b|.|\n",
    "many loops": "a*" * 199 + r"b|.|\n",
}


@pytest.mark.parametrize("pattern", first_in_gate(DEEP, 6))
def test_groups_nested_however_deep_are_explained_or_refused(pattern: str) -> None:
    for explain in (lint, readings, lambda given: trace(given, "ab", 0)):
        try:
            explain(pattern)
        except PatternError as error:
            assert "too deep" in str(error)


@pytest.mark.clock
@pytest.mark.parametrize("pattern", LARGE.values(), ids=LARGE)
def test_a_large_pattern_is_explained_in_time(pattern: str) -> None:
    for explain in (lint, readings, lambda given: trace(given, "aab", 0)):
        began = time.process_time()
        with time_limit(1):
            try:
                explain(pattern)
            except PatternTimeoutError as error:
                assert "more than" in str(error)
        assert time.process_time() - began < TIMES + 2


@pytest.mark.clock
def test_lint_says_that_its_time_was_up() -> None:
    with time_limit(0.3):
        report = lint("a|" * 3000 + r".|\n")
    assert [found.check for found in report.findings if found.severity == "note"] == ["time"]
    assert "time" not in {found.check for found in lint(r"a|.|\n").findings}


@pytest.mark.clock
def test_an_alternative_that_takes_too_long_to_compile_is_no_reference_to_a_group() -> None:
    with time_limit(0.1), pytest.raises(PatternTimeoutError):
        trace("|".join(f"x{number}y" for number in range(60_000)) + "|(?:" + "(?:ab)" * 60_000 + ")", "ab", 0)


def test_the_item_that_fails_is_found_among_thousands() -> None:
    tried = trace("".join(f"[a{n % 10}]" for n in range(2000)) + r"|.|\n", "a" * 1234 + "!", 0)
    assert (tried.attempts[0].failed_at, tried.attempts[0].failed) == (1234, "[a4]")
    assert len(tried.attempts[0].items) == 1234


def test_the_command_line_names_what_is_too_deep() -> None:
    said = refused("split", "--lint", "--pattern", DEEP[1])
    assert "too deep" in said
    assert "internal" not in said


@pytest.mark.clock  # on a busy machine, half a second is not enough to compile the pattern
def test_the_command_line_ends_a_long_lint() -> None:
    done = run_tokcli("split", "--lint", "--timeout", "0.5", "--pattern", LARGE["alternatives that never win"])
    assert b"note: after 0.5 s, not everything had been tried" in done.out


def test_groups_of_the_pattern_itself_do_not_hide_which_alternative_matched() -> None:
    named = PreTokenizer(r"(?P<a2>x)|(y)|(?P<n>z)+|(?<a1>[^(]\()")
    assert list(named.split_with_alternatives("xyzzb(")) == [("x", 1), ("y", 2), ("zz", 3), ("b(", 4)]


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (r"(a)?(?(1)b|c)|(?s:.)", "abcab", ["ab", "c", "ab"]),
        (r"(a|b)(?1)|(?s:.)", "ab", ["ab"]),
        (r"(?<n>a)x(?&n)|(?s:.)", "axa", ["axa"]),
        (r"(?<n>a)x(?P>n)|(?s:.)", "axa", ["axa"]),
    ],
)
def test_what_refers_to_groups_splits_as_it_does_without_names(pattern: str, text: str, pieces: list[str]) -> None:
    assert PreTokenizer(pattern).split(text) == pieces
    assert list(PreTokenizer(pattern).split_with_alternatives(text)) == [(piece, None) for piece in pieces]


def test_a_trace_does_not_shift_the_groups_that_an_alternative_refers_to() -> None:
    tried = trace(r"(a)(?:\1b)|(?s:.)", "aab", 0).attempts
    assert [attempt.end for attempt in tried] == [3, 1]
    others = trace(r"(a)x|(b)(?1)|(?R)?c|(?s:.)", "ba", 0).attempts
    assert [bool(attempt.not_tried) for attempt in others] == [False, True, True, False]


def test_a_call_of_a_group_is_no_flag() -> None:
    nodes = [type(node).__name__ for node in parse(r"(?1)|(?0)|(?R)|(?V1)a|(?i)b").nodes]
    assert nodes == ["UnknownSyntax"] * 3 + ["InlineFlags", "CharacterClass"] * 2


@pytest.mark.clock
def test_a_property_ends_where_its_name_ends() -> None:
    pattern = r"[^\p{L}\p{--z]+[^\P{L}A-Z]*(?i:'s)?|(?s:.)"
    assert [len(alternative.items) for alternative in parse(pattern).alternatives] == [3, 1]
    began = time.process_time()
    lint(pattern)
    assert time.process_time() - began < 5


INTERRUPTED = {
    "compiling": ["split", "--pattern-file", "{long}", "-t", "a"],
    "compiling for lint": ["split", "--lint", "--pattern-file", "{long}"],
    "a match": ["split", "--pattern", r"(?:a|aa)+b|(?s:.)", "-t", "a" * 60],
    "why": ["split", "--why", "0", "--pattern", r"(?:a|aa)+b|(?s:.)", "-t", "a" * 60],
    "lint": ["split", "--lint", "--pattern", LARGE["many classes"]],
    "table": ["split", "--table"],
    "stats": ["split", "--stats"],
    "diff": ["split", "--diff", r"(?s:..?)"],
}


@pytest.mark.clock
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("arguments", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_ends_every_view_of_a_pattern_within_a_second(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "long").write_text("|".join(f"x{number}y" for number in range(110_000)))
    given = [argument.replace("{long}", "long") for argument in arguments]
    with subprocess.Popen(["yes", "word and more, it's 2024"], stdout=subprocess.PIPE) as endless:
        process = subprocess.Popen(
            [*program(), *given, "--timeout", "60"],
            stdin=endless.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path,
            preexec_fn=heeding_ctrl_c, env=without_coverage(),
        )  # fmt: skip
        time.sleep(3)  # until it is at work, on a busy machine too
        running = process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        endless.kill()
    assert running
    assert process.returncode == 130
    assert said == b""
    assert time.monotonic() - began < 1


def heeding_ctrl_c() -> None:
    """Let Ctrl-C end what is started, also where the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
