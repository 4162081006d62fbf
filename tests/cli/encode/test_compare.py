"""`encode --compare`: one text under several encodings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT, failed, ok, on_terminal, refused

import tokcli

FORMATS = ROOT / "tests" / "data" / "formats"
TWO = ("encode", "--compare", "o200k_base,r50k_base")


def test_a_pipe_gets_the_lines_and_a_table() -> None:
    assert ok(*TWO, "-t", "I'll pay").decode() == (
        "o200k_base  I 'll│·pay\n"
        "r50k_base   I│'ll│·pay\n"
        "\n"
        "encoding\ttokens\tbytes\tbytes_per_token\tdifference\tpercent\n"
        "o200k_base\t2\t8\t4.00\t0\t0\n"
        "r50k_base\t3\t8\t2.67\t+1\t+50.0\n"
    )


def test_json_says_where_each_token_stands() -> None:
    made = json.loads(ok(*TWO, "--json", "-t", "Hi 日"))
    assert (made["text"], made["bytes"]) == ("Hi 日", 6)
    assert [(e["encoding"], e["count"], e["difference"]) for e in made["encodings"]] == [
        ("o200k_base", 2, 0), ("r50k_base", 4, 2),
    ]  # fmt: skip
    assert [(t["start"], t["end"]) for t in made["encodings"][1]["tokens"]] == [(0, 2), (2, 4), (4, 5), (5, 6)]


def test_it_counts_what_encode_counts(tmp_path: Path) -> None:
    text = "Ein Satz, 日本語, 🫠 und I'll pay $12345.\n" * 2000  # several blocks
    (tmp_path / "text").write_text(text, "utf-8")
    lines = ok(*TWO, tmp_path / "text").decode().splitlines()
    assert [int(line.split("\t")[1]) for line in lines[-2:]] == [
        tokcli.get_encoding(name).count(text) for name in ("o200k_base", "r50k_base")
    ]


@pytest.mark.parametrize(
    "name",
    ["wordpiece.tokenizer.json", "unigram.model", "bpe.model", "unigram.tokenizer.json", "suffix.tokenizer.json"],
)
def test_tokenizers_of_all_kinds_stand_beside_it(name: str) -> None:
    text = "Hello  Wörld 日本"
    made = ok("encode", "--compare", f"{FORMATS / name},o200k_base", "--json", "-t", text)
    tokens = json.loads(made)["encodings"][0]["tokens"]
    alone = ok("encode", "-e", FORMATS / name, "-t", text).split()
    assert [token["id"] for token in tokens] == list(map(int, alone))
    assert all(0 <= token["start"] <= token["end"] <= len(text.encode()) for token in tokens)


def test_several_inputs_have_their_names_above(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    assert ok(*TWO, "a", "b", cwd=tmp_path).decode().count("==> ") == 2


def test_an_empty_text_has_no_lines() -> None:
    assert ok(*TWO, "-t", "").decode().splitlines()[2] == "o200k_base\t0\t0\t-\t0\t-"


@pytest.mark.parametrize("width", ["20", "60", "200"])
def test_only_our_colours_reach_a_terminal(width: str) -> None:
    text = "\x1b[31mred\x9b2J \u202eabc [bold]日本[/] " * 5
    made = ok(*TWO, "--color=always", "-t", text, env={"COLUMNS": width}).decode()
    assert "\u202e" not in made and "\x9b" not in made
    assert all(rest.lstrip("0123456789;").startswith("m") for rest in made.split("\x1b[")[1:])
    assert "bold" in made  # no markup


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--compare", "o200k_base"], "at least two"),
        (["--compare", "o200k_base,"], "at least two"),
        (["--compare", "o200k_base,nope"], "nope"),
        (["--compare", "o200k_base,r50k_base", "-n", "3"], "with -n"),
        (["--compare", "o200k_base,r50k_base", "-e", "r50k_base"], "--encoding"),
        (["--compare", "o200k_base,r50k_base", "--visualise"], "--visualise"),
        (["--compare", "o200k_base,r50k_base", "--allow-special", "<x>"], "<x>"),
    ],
)
def test_what_does_not_go_together_is_refused(options: list[str], said: str) -> None:
    ran = failed("encode", "-t", "x", *options)
    assert ran.out == b""
    assert said in ran.err


def test_what_is_not_utf_8_is_named() -> None:
    assert "not UTF-8 at byte 2" in refused(*TWO, data=b"ab\xff")
    assert ok(*TWO, "--errors", "bytes", data=b"ab\xff").startswith("o200k_base  ab│⟨ff⟩\n".encode())


def test_a_special_token_that_only_one_has_is_one_there() -> None:
    made = ok("encode", "--compare", "o200k_base,r50k_base", "--json", "--special", "text",
                      "--allow-special", "<|endofprompt|>", "-t", "a<|endofprompt|>")  # fmt: skip
    first, second = json.loads(made)["encodings"]
    assert first["count"] == 2 < second["count"]


def test_an_encoding_that_cannot_be_read_is_its_own_fault(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\3\0\0\0")
    ran = failed("encode", "--compare", f"o200k_base,{tmp_path / 'cut.gguf'}", "-t", "x")
    assert ran.out == b""
    assert ran.err.startswith("Error: cut.gguf:")


@pytest.mark.parametrize("colour", ["--color=always", "--color=never"])
def test_a_terminal_keeps_right_to_left_text_in_its_column_and_a_pipe_does_not_see_how(colour: str) -> None:
    status, shown = on_terminal(*TWO, colour, "-t", "abc \u0645\u0631\u062d\u0628\u0627")
    assert status == 0
    assert 0 < shown.decode().count("\u2068") == shown.decode().count("\u2069")
    assert "\u2068" not in ok(*TWO, colour, "-t", "abc \u0645").decode()
