"""`inspect-ranks` on whole vocabularies, and what hostile tokens do to a terminal: nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import regex
from support import ROOT, first_in_gate, noted, on_terminal, refused

import tokcli
from tokcli.analysis.vocabulary import not_self, stats_of
from tokcli.cli.inspect_ranks import listing
from tokcli.cli.inspect_ranks import search as inspect_search
from tokcli.errors import InputError
from tokcli.formats.tiktoken import format_tiktoken

DATA = ROOT / "tests" / "data" / "formats"
HOSTILE = [b"\x1b[31m", b"\x1b]0;x\x07", "\u202egnp".encode(), b"[red]", b"[/]", b"\x9b1m", "\u2066".encode(), b"\r\n\x00",
           b"=cmd()", b'a"b', b"a,b", b"\xff\xfe", "a" + "\u0301" * 50]  # fmt: skip


def inspect(*arguments: str | Path) -> bytes:
    return noted("inspect-ranks", *arguments).out


def on_a_terminal(*arguments: str | Path) -> str:
    """Return what appears on a terminal without colours, 100 columns wide."""
    env = {"NO_COLOR": "1", "COLUMNS": "100", "PAGER": "cat"}
    status, shown = on_terminal("inspect-ranks", *arguments, env=env)
    assert status == 0
    return shown.decode()


def rows(out: bytes) -> list[list[str]]:
    return [line.split("\t") for line in out.decode().splitlines()]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    ranks = {bytes([value]): value for value in range(256)}
    for token in HOSTILE:
        ranks.setdefault(token if isinstance(token, bytes) else token.encode(), len(ranks))
    path = tmp_path / "hostile.tiktoken"
    path.write_bytes(format_tiktoken(ranks))
    Path(f"{path}.json").write_text('{"pat_str": "[\\\\s\\\\S]+", "special_tokens": {"[bold]\\u001b[5m\\u202e": 400}}')
    return path


def test_a_token_on_a_terminal_shows_its_merge_tree_and_what_it_is_part_of() -> None:
    out = on_a_terminal(" world")
    assert "├─ ·w  286\n│  ├─ ·  220\n│  └─ w  86\n└─ orld  1733\n" in out
    assert "part of 5: ·worldwide" in out


def test_a_token_whose_text_becomes_others_says_so() -> None:
    assert "its own text is encoded as 357 6" in on_a_terminal(" I'")
    (about,) = json.loads(inspect(" I'", "--json"))["details"]
    assert about["gives_itself"] is False
    assert about["tree"][0] == {"id": 3413, "parts": [357, 6]}


@pytest.mark.parametrize(
    ("name", "token"), [("unigram.model", "\u2581the"), ("byte-level.tokenizer.json", "\u0120the")]
)
def test_a_token_may_be_named_as_its_file_has_it(name: str, token: str) -> None:
    file = ROOT / "tests" / "data" / "formats" / name
    plain = token.replace("\u2581", " ").replace("\u0120", " ")
    assert inspect("-e", file, token) == inspect("-e", file, plain)


def test_a_piece_of_sentencepiece_has_its_score_and_gives_itself() -> None:
    encoding = tokcli.load_encoding(DATA / "bpe.model")
    (about, *_) = json.loads(inspect("-e", DATA / "bpe.model", "--id", str(encoding.n_vocab // 2), "--json"))["details"]
    assert about["score"] <= 0


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("bpe.model", {"unknown", "control", "byte"}),
        ("unigram.model", {"unknown", "control"}),
    ],
)
def test_pieces_of_sentencepiece_have_kinds_and_scores(name: str, kinds: set[str]) -> None:
    head, *found = rows(inspect("-e", DATA / name, "--grep", ""))
    assert head == ["id", "bytes", "text", "special", "parents", "kind", "score"]
    assert {row[5] for row in found} >= {"", *kinds}
    assert all(float(row[6]) <= 0 for row in found if not row[5])
    told = json.loads(inspect("-e", DATA / name, "--grep", "", "--json"))["tokens"]
    assert [(token.get("kind", ""), f"{token['score']:g}") for token in told] == [(row[5], row[6]) for row in found]


def test_added_tokens_have_a_kind_whatever_reads_them() -> None:
    found = rows(inspect("-e", DATA / "plain.tokenizer.json", "--longest", "400"))
    assert {row[5] for row in found[1:]} > {""}
    assert "kind" not in inspect("--longest", "3").decode()


def test_searches_combine() -> None:
    found = rows(inspect("--prefix", " worl", "--grep", "wide|s$", "--longest", "1"))
    assert [row[:1] + row[2:3] for row in found] == [["id", "text"], ["17361", " worldwide"]]
    assert [row[2] for row in rows(inspect("--not-utf8", "--longest", "2"))[1:]] != []


def test_not_self_names_what_the_text_becomes() -> None:
    found = {row[0]: row[-1] for row in rows(inspect("--not-self", "--prefix", " I"))[1:]}
    assert found["3413"] == "357 6"


def test_not_self_is_what_encoding_one_by_one_says() -> None:
    encoding = tokcli.get_encoding("r50k_base")
    numbers = range(0, 50256, 11)
    expected = [n for n in numbers if _is_text(encoding.decode_single_token_bytes(n))
                and encoding.encode_ordinary(encoding.decode([n])) != [n]]  # fmt: skip
    found = [n for n, _ in not_self(encoding, numbers) if _is_text(encoding.decode_single_token_bytes(n))]
    assert sorted(found) == expected


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_all_merges_are_listed_in_order() -> None:
    found = rows(inspect("--merges", "-e", "gpt2"))
    assert len(found) == 50001
    assert found[1] == ["256", "220", "83", " ", "t"]
    assert json.loads(inspect("--merges", "-e", "gpt2", "--json"))["merges"][0] == [220, 83, 256]


@pytest.mark.parametrize("name", ["unigram.model", "wordpiece.tokenizer.json"])
def test_a_model_that_does_not_merge_says_so(name: str) -> None:
    ran = noted("inspect-ranks", "--merges", "-e", DATA / name)
    assert (len(ran.out.splitlines()), "does not merge" in ran.err) == (1, True)


def test_the_order_of_the_bytes_is_minbpes_shuffle() -> None:
    order = json.loads(inspect("--bytes", "-e", "cl100k_base", "--json"))["bytes"]
    assert sorted(order) == list(range(256))
    assert (order[33], order[0]) == (0, 188)


def test_a_difference_counts_and_lists() -> None:
    ran = noted("inspect-ranks", "--diff", "gpt2", "p50k_base")
    assert (
        ran.err == "Note: 50,257 tokens are in both (50,257 with the same id), 0 only in gpt2, 24 only in p50k_base.\n"
    )
    found = rows(ran.out)
    assert found[0] == ["text", "gpt2", "p50k_base"]
    assert [row[1] for row in found[1:]] == [""] * 24
    table = json.loads(inspect("--diff", "gpt2", "p50k_base", "--json"))
    assert (table["shared"], table["only_b"], len(table["tokens"])) == (50257, 24, 24)


def test_statistics_add_up() -> None:
    table = json.loads(inspect("--stats", "-e", "gpt2", "--json"))
    assert table["tokens"] == sum(table["lengths"].values()) == sum(table["scripts"].values()) == 50256
    assert (table["special"], table["merges"]) == (1, 50000)
    assert table["bytes"] == sum(int(length) * n for length, n in table["lengths"].items())
    assert "█" in on_a_terminal("--stats", "-e", "gpt2")


def test_statistics_are_those_of_the_tokens_one_by_one() -> None:
    tokens = [
        b" the",
        "Привет".encode(),
        b"12",
        b"\xff\xfe",
        "中a".encode(),
        "ⅷ\u3000".encode(),
        "𐐷".encode(),
        b"\n\n",
        b"",
    ]
    ranks = {token: number for number, token in enumerate(tokens)}
    encoding = tokcli.Encoding("few", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={"<e>": 50, "both": 2})
    stats = stats_of(encoding, 3)
    assert (stats.tokens, stats.special, stats.not_utf8, stats.with_space, stats.merges) == (9, 1, 1, 1, 3)
    assert stats.scripts == {"Latin": 1, "Cyrillic": 1, "Han": 1, "other script": 1, "no letter": 4, "not UTF-8": 1}
    assert stats.kinds == {"letters": 12, "digits": 3, "spaces": 4, "others": 0}


@pytest.mark.parametrize(
    "pattern", first_in_gate(["(a|e)$", r"\d{3}", "\ufffd", "hello", "^ [A-Z]", "(?:a|b)+c", "(?i)QUICK", ".{60}"], 3)
)
def test_a_search_finds_what_its_regex_finds(pattern: str) -> None:
    encoding = tokcli.get_encoding("gpt2")
    expected = [n for n in sorted(encoding.tokenizer.token_bytes())
                if regex.search(pattern, encoding.decode_single_token_bytes(n).decode("utf-8", "replace"))]  # fmt: skip
    assert [int(row[0]) for row in rows(inspect("--grep", pattern, "-e", "gpt2"))[1:]] == expected != []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a|aa)+b", "(?R)", ".*.*.*x", r"(?P<n>a*)*b", "a?" * 30, "(?x) (a+) +", "(a)(?1)*",
                                     "(?:a+){5}", "(?>a*)*"])  # fmt: skip
def test_a_regex_that_may_backtrack_for_ever_has_a_clock(pattern: str) -> None:
    assert not inspect_search.is_quick(pattern)


def test_tables_of_a_whole_vocabulary_are_the_same_as_json_and_csv() -> None:
    table, found = (
        rows(inspect("--merges", "-e", "r50k_base")),
        json.loads(inspect("--merges", "-e", "r50k_base", "--json")),
    )
    assert [[int(row[1]), int(row[2]), int(row[0])] for row in table[1:]] == found["merges"]
    read = list(csv.reader(io.StringIO(inspect("--merges", "-e", "r50k_base", "--csv").decode(), newline="")))
    assert read == table


@pytest.mark.parametrize("name", [path.name for path in sorted(DATA.iterdir()) if path.name != "golden.json"])
def test_every_kind_of_file_can_be_looked_into(name: str) -> None:
    encoding = tokcli.load_encoding(DATA / name)
    stats = stats_of(encoding, 0)
    assert stats.tokens + stats.special == len(sorted(encoding.tokenizer.token_bytes()))
    odd = list(not_self(encoding, sorted(encoding.tokenizer.token_bytes())))
    assert all(ids != [number] for number, ids in odd)
    assert len(odd) < stats.tokens


def test_csv_reads_back(hostile: Path) -> None:
    found = list(csv.reader(io.StringIO(inspect("-e", hostile, "--grep", ".*", "--csv").decode(), newline="")))
    assert len(found) == 1 + 256 + len(HOSTILE) + 1
    assert {len(row) for row in found} == {5}


@pytest.mark.parametrize("view", [("--id", "256", "--id", "258", "--id", "400"), ("--longest", "50"), ("--merges",),
                                  ("--not-self",), ("--stats",), ("--bytes",)])  # fmt: skip
def test_no_token_acts_on_a_terminal(view: tuple[str, ...], hostile: Path) -> None:
    out = on_a_terminal("-e", hostile, *view)
    assert not [char for char in out if (ord(char) < 32 and char != "\n") or char in "\x7f\x9b\u202e\u2066"]
    if view[0] == "--longest":
        assert "[red]" in out
        assert "[/]" in out


def test_a_table_on_a_terminal_is_cut_and_says_so() -> None:
    out = on_a_terminal("--merges", "-e", "gpt2")
    assert out.count("\n") < listing.ROWS_ON_SCREEN + 20
    assert f"and {50000 - listing.ROWS_ON_SCREEN:,} more" in out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--grep", "("), "--grep: not a regex"),
        (("--grep", "[ab]{500000000}|x"), "--grep: its repeats make more than 131,072 states"),
        (("--models=(?:a{65535}){65535}",), "--models: its repeats make more than 131,072 states"),
        (("--grep", "(?:a?){40}(?:a+)+$b", "--timeout", "0.0001"), "--grep takes more than"),
        (("--stats", "--merges"), "--stats cannot be combined with --merges"),
        (("--stats", "hello"), "--stats cannot be combined with TOKEN"),
        (("--diff", "gpt2", "gpt3"), "unknown encoding 'gpt3'"),
        (("--prefix", "\\q"), "\\q"),
        (("--longest", "0"), "--longest"),
        (("--bytes", "-e", str(DATA / "wordpiece.tokenizer.json")), "byte 00 is no token"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments: tuple[str, ...], what: str) -> None:
    assert what in refused("inspect-ranks", *arguments)


@pytest.mark.parametrize("option", ["--grep", "--models"])
def test_a_regex_that_takes_too_long_is_that_of_the_option(option: str) -> None:
    with pytest.raises(InputError, match=f"{option} takes more than"):
        inspect_search.found_in({0: "a" * 60}, "(?:a?){40}(?:a+)+$b", 0.001, option=option)


def test_digits_that_are_no_token_or_one_of_their_own_hint_the_look_up_of_ids() -> None:
    assert refused("inspect-ranks", "24912", "2375").endswith("As ids, look them up with --id 24912 --id 2375.\n")
    found = noted("inspect-ranks", "123")
    assert found.err == "Note: digits are looked up as text; as ids, look them up with --id 123.\n"
    assert found.out.splitlines()[1].startswith(b"7633\t31 32 33\t")
    assert noted("inspect-ranks", "-q", "123").err == noted("inspect-ranks", "hello").err == ""
    assert "As ids" not in refused("inspect-ranks", "24912", "none of them")
