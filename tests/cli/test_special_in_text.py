"""Special tokens in the text: an error to `encode` where it writes ids alone; else text, and a note counts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT, noted, ok, refused

END = "<|endoftext|>"
TEXT = f"a {END} b{END}"
FORMATS = ROOT / "tests/data/formats"
ONE = "Note: 1 special token in the text is taken as text; --special allow takes it as special.\n"
TWO = "Note: 2 special tokens in the text are taken as text; --special allow takes them as special.\n"
TEXT_FORMS = {
    "count": ["count"],
    "count as JSON": ["count", "--json"],
    "several encodings": ["count", "-e", "o200k_base", "-e", "cl100k_base"],
    "records": ["count", "--records", "lines"],
    "pieces": ["split"],
    "pieces as JSON": ["split", "--json"],
    "records of pieces": ["split", "--records", "nul"],
    "table": ["split", "--table"],
    "statistics": ["split", "--stats"],
    "chunks": ["encode", "--chunk", "3"],
    "chunks of records": ["encode", "--chunk", "3", "--records", "lines"],
    "the text of -n": ["encode", "-n", "99", "--as-text"],
    "the last text of -n": ["encode", "-n", "99", "--as-text", "--keep", "last"],
    "colours": ["encode", "--visualise"],
    "merges": ["encode", "--visualise=merges"],
    "colours as JSON": ["encode", "--visualise", "--json"],
    "lines of encodings": ["encode", "--compare", "o200k_base,cl100k_base"],
    "a first token": ["encode", "--prepend-special", END, "--json"],
    "a binary array": ["encode", "--append-special", END, "--records", "lines", "--format", "u32"],
}
IDS_FORMS = [[], ["--json"], ["--format", "u32"], ["--records", "lines"], ["--offsets", "byte"], ["-n", "3"]]


@pytest.mark.parametrize("form", TEXT_FORMS.values(), ids=TEXT_FORMS.keys())
def test_what_is_not_about_ids_alone_takes_them_as_text_and_a_note_counts_them(form: list[str]) -> None:
    ran = noted(*form, data=TEXT.encode())
    assert ran.err == TWO
    assert ok(*form, "-q", data=TEXT.encode()) == ok(*form, "--special", "text", data=TEXT.encode()) == ran.out
    assert f"special token '{END}' found at byte " in refused(*form, "--special", "error", data=TEXT.encode())


@pytest.mark.parametrize("form", IDS_FORMS, ids=" ".join)
def test_ids_alone_refuse_them(form: list[str]) -> None:
    assert f"special token '{END}' found at byte 2" in refused("encode", *form, data=TEXT.encode())


def test_shards_and_pages_take_them_as_text(tmp_path: Path) -> None:
    assert noted("encode", "--shards", tmp_path / "ids", "--records", "lines", data=TEXT.encode()).err == TWO
    assert ok("decode", "--records", "lines", tmp_path / "ids") == f"{TEXT}\n".encode()
    assert noted("encode", "--html", tmp_path / "page.html", "-t", TEXT).err == TWO
    assert noted("encode", "--visualise", "--svg", tmp_path / "tokens.svg", "-t", TEXT).err == TWO


def test_all_inputs_are_counted_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "b").write_text("x" * 70_000 + f" {END}" * 1000)
    (tmp_path / "c").write_text(f" {END}\n" * 30_000)
    for files in (["a", "b", "c"], ["-r", "."], ["--files0-from", "-"]):
        ran = noted("count", *files, cwd=tmp_path, data=b"a\0b\0c\0" if files[0].startswith("--") else b"")
        assert ran.err.startswith("Note: 31,002 special tokens in the text are taken as text; ")
    assert noted("count", "-j", "3", "c", cwd=tmp_path).err.startswith("Note: 30,000 ")


def test_each_encoding_finds_its_own() -> None:
    ran = noted("count", "-e", "r50k_base", "-e", "cl100k_base", "-t", f"{END}<|fim_prefix|>")
    assert ran.err == (
        "Note: 2 special tokens in the text are taken as text (1 of r50k_base, 2 of cl100k_base); "
        "--special allow takes them as special.\n"
    )
    assert ok("count", "-e", "r50k_base", "-t", "<|fim_prefix|>") == b"8\n"
    assert noted("count", "-e", FORMATS / "byte-level.tokenizer.json", "-t", "the <mask>").err == ONE


def test_an_allowed_one_is_not_counted() -> None:
    both = f"{END}<|endofprompt|>"
    assert ok("count", "--special", "allow", "-t", both) == b"2\n"
    assert ok("count", "--allow-special", END, "--allow-special", "<|endofprompt|>", "-t", both) == b"2\n"
    assert noted("count", "--allow-special", END, "-t", both).err == ONE


def test_texts_of_json_lines_are_searched_as_they_are_and_each_by_itself() -> None:
    texts = [f"a {END}", ["a", END], "<|endof", "text|>", f"{END}"]
    lines = "".join(f"{json.dumps({'other': END, 'text': text})}\n" for text in texts).replace("<", "\\u003c")
    ran = noted("count", "--records", "jsonl", data=lines.encode())
    assert "Note: 3 special tokens in the text are taken as text" in ran.err
    whole = "".join(f"{json.dumps({'text': text})}\n" for text in texts if isinstance(text, str))
    assert "Note: 2 special tokens" in noted("count", "--records", "jsonl", data=whole.encode()).err
    assert "Note: 2 special tokens" in noted("encode", "--chunk", "2", "--records", "jsonl", data=whole.encode()).err


def test_one_that_two_blocks_share_is_counted_once(tmp_path: Path) -> None:
    for at in range((1 << 18) - len(END) - 1, (1 << 18) + 2):
        (tmp_path / "long").write_text("x " * (at // 2) + "x" * (at % 2) + END + " y" * 9)
        assert noted("count", "--max", "999999", tmp_path / "long").err == ONE
