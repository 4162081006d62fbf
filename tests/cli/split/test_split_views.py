"""What people and pipes get from the views of `split`: the table, why, differences, numbers, what is wrong, watching."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len
from support import ROOT, failed, noted, ok, on_terminal, program, refused, without_coverage

from tokcli.cli.split.split import watched
from tokcli.engine import backend
from tokcli.errors import InputError

OUR_CODES = re.compile(rb"\x1b\[[0-9;]*m")
TEXT = "I'll pay  $12345"
FORMATS = ROOT / "tests" / "data" / "formats"
HOSTILE = "a\x1b[31mb\x1b]0;x\x07 [red]c[/red] \u202e\u0085\x9bd \U000e0001 é\u0301\n"
VIEWS = [["--table"], ["--why", "3"], ["--diff", "gpt2"], ["--stats"]]


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_table_as_json_has_the_pattern_its_alternatives_and_the_rows() -> None:
    made = json.loads(ok("split", "--table", "--json", "-e", "cl100k_base", "-t", TEXT))
    assert "|".join(a["pattern"] for a in made["alternatives"]) == made["pattern"]
    assert [a["name"] for a in made["alternatives"]] == [f"a{number}" for number in range(1, 9)]
    assert "".join(row["text"] for row in made["rows"]) == TEXT
    assert made["rows"][1] == {
        "number": 1, "offset": 1, "bytes": 3, "chars": 3, "alternative": "a1", "text": "'ll", "tokens": [3358],
    }  # fmt: skip


def test_a_row_that_is_not_utf8_has_its_bytes_in_json(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"bad \xff")
    made = json.loads(ok("split", "--table", "--json", "--errors", "bytes", tmp_path / "bad"))
    assert made["rows"][-1]["bytes_hex"] == "20ff"


def test_rows_before_bytes_that_are_not_utf8_have_their_own_tokens(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"one two  three\xff four\xe6\x97\n five")
    made = json.loads(ok("split", "--table", "--json", "--errors", "bytes", tmp_path / "bad"))
    assert made["rows"][0]["tokens"] == [690]
    tokens = [token for row in made["rows"] for token in row["tokens"]]
    assert tokens == list(map(int, ok("encode", "--errors", "bytes", tmp_path / "bad").split()))


def test_on_a_terminal_the_pattern_stands_above_in_the_colours_of_the_rows() -> None:
    status, shown = on_terminal("split", "--table", "-e", "cl100k_base", "-t", TEXT)
    assert status == 0
    codes = dict(re.findall(rb"(\x1b\[[0-9;]+m)(a\d)\x1b", shown))
    assert shown.count(next(code for code, name in codes.items() if name == b"a2")) == 6  # name and text, thrice
    lines = OUR_CODES.sub(b"", shown).decode().splitlines()
    assert lines[0] == "a1  '(?i:[sdmt]|ll|ve|re)"
    assert lines[9].split() == ["#", "bytes", "chars", "alternative", "text", "tokens"]


@pytest.mark.parametrize("columns", ["60", "200"])
@pytest.mark.parametrize("view", [*VIEWS, ["--lint"]], ids=str)
def test_a_view_fits_the_screen(view: list[str], columns: str) -> None:
    text = ["-t", "I'll pay  12345 你好世界 " * 30] if view != ["--lint"] else []
    status, shown = on_terminal("split", *view, *text, env={"NO_COLOR": "1", "COLUMNS": columns})
    assert status == 0
    is_source = re.compile(r"^(▶ |  )?a\d+ ")  # a pattern is broken by the terminal itself
    lines = [line for line in shown.decode().splitlines() if not is_source.match(line)]
    assert max(map(cell_len, lines)) <= int(columns)
    assert b"\x1b" not in shown


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_nothing_of_a_hostile_text_acts_on_a_terminal(view: list[str]) -> None:
    _, shown = on_terminal("split", *view, "-t", HOSTILE)
    plain = OUR_CODES.sub(b"", shown).decode().replace("\n", "")
    assert not {"Cc", "Cf", "Cs", "Co", "Cn"} & {unicodedata.category(char) for char in plain}
    assert "[red]" in plain or "[" in plain


@pytest.mark.parametrize("view", [*VIEWS, ["--lint"]], ids=str)
def test_nothing_of_a_hostile_pattern_acts_on_a_terminal(view: list[str]) -> None:
    pattern = "[\x1b\u202e]|\\[red\\]|[\\s\\S]"
    _, shown = on_terminal("split", *view, *(["-t", HOSTILE] if view != ["--lint"] else []), "--pattern", pattern)
    plain = OUR_CODES.sub(b"", shown).decode().replace("\n", "")
    assert not {"Cc", "Cf"} & {unicodedata.category(char) for char in plain}


# --- why -------------------------------------------------------------------------------------------------------------


def test_why_says_what_each_alternative_did_and_why_the_winner_won() -> None:
    lines = ok("split", "--why", "8", "-e", "cl100k_base", "-t", TEXT).decode().splitlines()
    assert lines[0] == "byte 8: · U+0020 Zs, line 1, column 9"
    assert lines[2] == "in piece #3: ·, byte 8, matched by a7"
    text = "\n".join(lines)
    assert r"without (?!\S) it would take “··”, 2 characters; $ U+0024 Sc follows, so it gives back “·”" in text
    assert r"\s* takes “··”; then [\r\n] fails at byte 10 ($ U+0024 Sc)" in text
    assert lines[-1] == "a7 wins: of the 2 alternatives that match here, it comes first in the pattern."


def test_why_inside_a_piece_shows_its_beginning_too() -> None:
    made = json.loads(ok("split", "--why", "2", "--json", "-e", "cl100k_base", "-t", TEXT))
    assert made["piece"] == {"number": 1, "offset": 1, "alternative": "a1", "text": "'ll"}
    assert [(tried["offset"], tried["winner"]) for tried in made["tried"]] == [(1, "a1"), (2, "a2")]
    second = made["tried"][0]["alternatives"][1]
    assert (second["match"], [part["text"] for part in second["parts"]]) == ("'ll", ["'", "ll"])
    missed = made["tried"][0]["alternatives"][2]
    assert (missed["match"], missed["failed"], missed["reached"]) == (None, r"\p{N}{1,3}+", "")


def test_why_takes_a_text_and_explains_each_piece_that_it_is_in() -> None:
    shown = ok("split", "--why", "don't", "-e", "cl100k_base", "-t", "I don't, I don't").decode().splitlines()
    assert shown[0] == "“don't” at byte 2, the first of 2 (others at byte 11), in 2 pieces: ·don│'t"
    assert [line for line in shown if line.startswith("in piece")] == [
        "in piece #1: ·don, bytes 1 to 4, matched by a2",
        "in piece #2: 't, bytes 5 to 6, matched by a1",
    ]
    made = json.loads(ok("split", "--why", "don't", "--json", "-e", "cl100k_base", "-t", "I don't, I don't"))
    assert (made["text"], made["occurrences"], made["offsets"]) == ("don't", 2, [2, 11])
    assert [place["piece"]["text"] for place in made["places"]] == [" don", "'t"]
    assert [len(place["tried"]) for place in made["places"]] == [1, 1]


@pytest.mark.parametrize(
    ("why", "text", "offset"),
    [
        ("'s", "it's", 2),
        ("text:20", "it's 2024", 5),
        ("\\n", "a\nb", 1),
        ("\\n", "\\n\n", 0),
        ("é", "aéé", 1),
        ("-1", "a-1", 1),
    ],
)
def test_why_finds_a_text_as_it_is_typed_or_with_escapes(why: str, text: str, offset: int) -> None:
    assert json.loads(ok("split", "--why", why, "--json", "-t", text))["offsets"][0] == offset
    assert json.loads(ok("split", "--why", why, "--json", data=text.encode()))["offsets"][0] == offset


def test_why_a_text_that_is_not_there_gets_a_hint() -> None:
    assert refused("split", "--why", "Don't", "-t", "I don't") == (
        'Error: --text: no "Don\'t" in the text\nDid you mean "don\'t", at byte 2?\n'
    )
    assert "To look for a text, type --why text:2024." in refused("split", "--why", "2024", "-t", "it's 2024")
    assert "nothing to look for" in refused("split", "--why", "", "-t", "x")


def test_why_a_byte_inside_a_character_names_where_it_begins() -> None:
    assert ok("split", "--why", "2", "-t", "aé").startswith(b"byte 2, inside the character at byte 1: ")


def test_why_longer_matches_do_not_win() -> None:
    shown = ok("split", "--why", "0", "--pattern", "a|ab|.", "-t", "ab").decode()
    assert "a2 would take 2 characters, but length does not count" in shown


def test_why_a_special_token_or_bytes_say_so(tmp_path: Path) -> None:
    assert b"special token" in ok("split", "--why", "3", "--special", "allow", "-t", "a<|endoftext|>")
    (tmp_path / "bad").write_bytes(b"ab\xff")
    assert ok("split", "--why", "2", "--errors", "bytes", tmp_path / "bad").startswith(b"byte 2: not UTF-8")


def test_why_names_the_place_where_the_pattern_takes_too_long() -> None:
    text = "é" + "a" * 40 + "xb"
    said = refused("split", "--why", "5", "--timeout", "0.2", "--pattern", "é|(?:a|aa)+b|(?s:.)", "-t", text)
    assert "at byte 2" in said


# --- differences -----------------------------------------------------------------------------------------------------


def test_diff_is_only_where_the_pieces_differ() -> None:
    ran = noted("split", "--diff", "cl100k_base", "-t", TEXT)
    assert ran.out.decode().splitlines() == [
        "region\toffset\tbytes\tside\talternative\ttext\ttokens",
        "1\t0\t4\tleft\ta2\tI'll\t1",
        "1\t0\t1\tright\ta2\tI\t1",
        "1\t1\t3\tright\ta1\t'll\t1",
    ]
    assert ran.err == "Note: --text: 1 region differs: 4 of 16 bytes (25.0%); 6 pieces on the left, 7 on the right\n"


def test_diff_with_a_pattern_and_the_totals_as_json() -> None:
    made = json.loads(ok("split", "--diff", r"\p{L}+|\P{L}", "-e", "cl100k_base", "--json", "-t", "ab 1"))
    assert made["regions"] == []
    assert (made["bytes"], made["left_pieces"], made["right_pieces"], made["differing_regions"]) == (4, 3, 3, 0)


def test_no_difference_is_said() -> None:
    assert "No difference: 6 pieces on both sides." in noted("split", "--diff", "o200k_base", "-t", TEXT).err


def test_diff_shows_both_sides_beside_each_other() -> None:
    _, shown = on_terminal("split", "--diff", "cl100k_base", "-t", TEXT, env={"NO_COLOR": "1"})
    lines = shown.decode().splitlines()
    assert lines[0].split() == ["byte", "o200k_base", "cl100k_base"]
    assert lines[2].split() == ["a2", "I'll", "1", "token", "a2", "I", "│", "a1", "'ll", "2", "tokens"]


def test_diff_reads_standard_input_once_and_a_large_one_in_little_memory() -> None:
    data = b"I'll word and more of it 12345\n" * 10_000
    assert ok("split", "-q", "--diff", "gpt2", data=data).count(b"\n") > 10_000


def test_the_side_whose_pattern_fails_is_named() -> None:
    assert "--diff (?:a): pattern does not match at byte 1" in refused("split", "--diff", "(?:a)", "-t", "ab")


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_stats_name_hits_dead_alternatives_and_pieces_of_several_tokens() -> None:
    made = json.loads(ok("split", "--stats", "--json", "-e", "cl100k_base", "-t", TEXT))
    assert (made["bytes"], made["pieces"], made["tokens"]) == (16, 7, 7)
    assert made["never_hit"] == ["a5", "a6", "a8"]
    assert sum(a["hits"] for a in made["alternatives"]) == 7
    assert made["longest"][0]["text"] == " pay"


def test_stats_of_several_inputs_are_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"hello 12")
    lines = ok("split", "--stats", tmp_path / "a", tmp_path / "b").decode().splitlines()
    assert lines[1] == "total\t16\t6\t6"


def test_stats_on_a_terminal_say_what_was_never_hit() -> None:
    _, shown = on_terminal("split", "--stats", "-e", "cl100k_base", "-t", TEXT, env={"NO_COLOR": "1"})
    assert "never hit in this text: a5, a6, a8" in shown.decode()


# --- what is wrong ---------------------------------------------------------------------------------------------------


def test_lint_of_a_good_pattern_says_so_and_who_reads_it() -> None:
    shown = ok("split", "--lint", "-e", "cl100k_base").decode()
    assert "No problem was found" in shown
    assert "The same in: fancy-regex (tiktoken).\n" in shown
    assert "    {1,3}+ at position 54 (possessive count): repeats it without limit, as if it were `(?:...)+`\n" in shown


def test_lint_notes_that_a_pattern_is_left_to_regex() -> None:
    left = noted("split", "--lint", "--pattern", r"(?=ab)[\s\S]|[\s\S]")
    assert ("look-around that is wider than one character" in left.err) == (backend.native() is not None)
    assert not noted("split", "--lint", "--pattern", r"\w+|\W+").err


def test_lint_of_a_bad_pattern_ends_with_status_1() -> None:
    ran = failed("split", "--lint", "--json", "--pattern", "(a+)+b|c*", status=1)
    assert ran.err == "Error: the pattern has 2 errors\n"
    found = {finding["check"]: finding for finding in json.loads(ran.out)["findings"]}
    assert set(found) == {"empty", "backtracking", "group"}
    assert (found["backtracking"]["start"], found["backtracking"]["example"]) == (1, "a")


def test_a_pattern_that_does_not_compile_points_at_the_place() -> None:
    said = refused("split", "--lint", "--pattern", r"\p{L}+|(a|b").splitlines()
    assert said[0].endswith("at position 11")
    assert said[1] == r"There: \p{L}+|(a|b▶"


# --- other vocabularies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "unigram.model", "byte-level.tokenizer.json"])
def test_every_kind_of_tokenizer_has_its_views(name: str) -> None:
    path, text = FORMATS / name, "Hello the 123 world"
    rows = json.loads(ok("split", "--table", "--json", "-e", path, "-t", text))["rows"]
    assert "".join(row["text"] for row in rows) == text
    noted("split", "--diff", "cl100k_base", "-e", path, "-t", text)
    noted("split", "--diff", path, "-t", text)
    assert json.loads(ok("split", "--stats", "--json", "-e", path, "-t", text))["bytes"] == 19
    assert ok("split", "--why", "8", "-e", path, "-t", text)


@pytest.mark.parametrize("name", ["bpe.model", "word.model", "unigram.model", "wordpiece.tokenizer.json"])
def test_the_tokens_of_the_pieces_are_those_of_the_text(name: str) -> None:
    asked = ("-q", "--json", "-e", FORMATS / name, "-t", "Hello the  123 world")
    ids = json.loads(ok("encode", *asked))["ids"]
    rows = json.loads(ok("split", "--table", *asked))["rows"]
    assert [id for row in rows for id in row["tokens"]] == ids
    several = json.loads(ok("split", "--stats", *asked))["several_tokens"]
    assert {one["text"]: one["tokens"] for one in several} == {
        row["text"]: len(row["tokens"]) for row in rows if len(row["tokens"]) > 1
    }


def test_where_no_single_pattern_cuts_the_parts_are_named() -> None:
    path = FORMATS / "wordpiece.tokenizer.json"
    assert b"pre-tokenizer: Sequence(Split(" in ok("split", "--why", "8", "-e", path, "-t", "Hello the 123 world")
    assert "no single pattern" in refused("split", "--lint", "-e", path)


@pytest.mark.parametrize("view", [["--table"], ["--stats"], ["--diff", "gpt2"]], ids=str)
def test_a_pattern_that_backtracks_ends_every_view_naming_the_place(view: list[str]) -> None:
    pattern, text = "(?:a|aa)+b|(?s:.)", "é" + "a" * 60 + "xb"
    said = refused("split", *view, "--timeout", "0.2", "--pattern", pattern, "-t", text)
    assert "--text: pattern: more than 0.2 s at byte 2" in said


# --- patterns in files -----------------------------------------------------------------------------------------------


def test_one_newline_at_the_end_of_a_pattern_file_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"a+|\\n|b\n")
    assert ok("split", "--pattern-file", tmp_path / "p", "-t", "aab\n") == b"aa\nb\n\\n\n"
    (tmp_path / "p").write_bytes(b"a+|\n\n")
    assert ok("split", "--pattern-file", tmp_path / "p", "-t", "aa\n") == b"aa\n\\n\n"


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff"])
def test_a_file_without_a_pattern_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "p").write_bytes(data)
    assert str(tmp_path / "p") in refused("split", "--pattern-file", tmp_path / "p", "-t", "a")


@pytest.mark.parametrize(
    ("pattern", "text", "what"),
    [
        ("(a", "a", "Error: {}: pattern '(a': missing )"),
        ("a{1000000}|.", "a", "Error: {}: pattern: its repeats make more than"),
        ("a+", "ab", "Error: --text: pattern does not match at byte 1: 'b'"),
        ("(?:a|aa)+b|.", "a" * 60, "Error: --text: pattern: more than 0.2 s at byte 0: the pattern of {}\n"),
    ],
)
def test_the_file_of_a_pattern_that_fails_is_named(tmp_path: Path, pattern: str, text: str, what: str) -> None:
    file = tmp_path / "p"
    file.write_text(pattern)
    for view in ([], ["--table"], ["--diff", "x|[^x]"]):
        assert what.format(file) in refused("split", *view, "--pattern-file", file, "--timeout", "0.2", "-t", text)


def test_a_pattern_of_diff_that_fails_is_not_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("a")
    assert refused("split", "--pattern-file", tmp_path / "p", "--diff", "(b", "-t", "a").startswith(
        "Error: pattern '(b'"
    )


@pytest.mark.clock
def test_watch_shows_the_view_again_when_the_pattern_changes_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    path, out = tmp_path / "p", tmp_path / "out"
    path.write_bytes(b"a|b")
    with out.open("wb") as file:
        process = subprocess.Popen(
            [*program(), "split", "--watch", "--pattern-file", str(path), "-t", "ab"],
            stdout=file, stderr=subprocess.PIPE, env=without_coverage(),
        )  # fmt: skip
        try:
            shown_within(out, b"a\nb\n")
            path.write_bytes(b"(")  # is said, and may be mended
            time.sleep(0.5)
            path.write_bytes(b"ab")
            shown_within(out, b"---\nab\n")
        finally:
            process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert message.startswith(b"Error: ")


@pytest.mark.parametrize("view", ["lint", "emit", "find_witness"])
def test_a_view_of_the_pattern_alone_watches_the_file_of_the_pattern(view: str) -> None:
    asked: Any = SimpleNamespace(pattern_file="p", lint=False, emit=None, find_witness=False, text=None, files=[])
    with pytest.raises(InputError, match="standard input cannot be read twice"):
        watched(asked)
    setattr(asked, view, "re2")
    assert watched(asked) == ["p"]


def shown_within(path: Path, wanted: bytes) -> None:
    end = time.monotonic() + 20
    while not path.read_bytes().endswith(wanted):
        assert time.monotonic() < end, path.read_bytes()
        time.sleep(0.05)


def test_a_template_adds_no_pieces_and_a_note_says_so() -> None:
    path = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
    ran = noted("split", "-e", path, "--add-special-tokens", "-t", "hello")
    assert (ran.out, ran.err.count("Note: --add-special-tokens")) == (b"hello\n", 1)
    assert ok("split", "-q", "--add-special-tokens", "-t", "hello") == b"hello\n"
