"""Inputs made to break the program: it answers, or refuses in one or two lines; never a traceback, a hang, or a byte
that acts on a terminal."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest
from support import Ran, run_tokcli


def calm(ran: Ran) -> Ran:
    """A run that ended as runs may end, and whose messages are short and harmless."""
    assert ran.status in (0, 2), ran
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    assert ran.err.count("\n") <= 2
    assert len(ran.err) < 1000
    assert all(char.isprintable() or char == "\n" for char in ran.err)
    return ran


ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202ereversed\u2066\u200b\x7f\r\n\ttext"
TEXTS = {
    "a million spaces, then a letter": b" " * 1_000_000 + b"x",
    "a megabyte of one letter": b"a" * 1_000_000,
    "a megabyte of one digit": b"7" * 1_000_000,
    "a megabyte of newlines": b"\n" * 1_000_000,
    "a hundred thousand apostrophes": b"'s" * 100_000,
    "nothing but NUL": b"\0" * 100_000,
    "escape sequences and bidi": ESCAPES.encode() * 100,
    "a letter under ten thousand marks": b"a" + "\u0301".encode() * 10_000,
    "special tokens cut short": b"<|endoftext" * 1000 + b"|",
    "random bytes": random.Random(7).randbytes(50_000),
    "overlong and surrogate bytes": b"\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80\xef\xbf\xbe\xfe\xff",
    "a character cut at the end": "\U0001f642".encode()[:3],
}


@pytest.mark.slow
@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS.keys())
def test_hostile_text_comes_back_to_the_byte(data: bytes) -> None:
    ids = calm(run_tokcli("encode", "--errors", "bytes", data=data))
    assert ids.status == 0
    assert calm(run_tokcli("decode", data=ids.out)).out == data
    if len(data) < 200_000:  # seconds otherwise
        count = calm(run_tokcli("count", "--errors", "bytes", data=data))
        assert int(count.out) == len(ids.out.split())


@pytest.mark.parametrize("arguments", [["split"], ["split", "--json"], ["split", "--table"], ["encode", "--visualise"]])
def test_what_is_shown_of_a_text_cannot_act_on_a_terminal(arguments: list[str]) -> None:
    ran = calm(run_tokcli(*arguments, data=ESCAPES.encode()))
    assert ran.status == 0
    assert all(char.isprintable() or char in "\n\t" for char in ran.out.decode())


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "bidi\u202etxt.exe", "line\nbreak", "x" * 300, "-" * 3, "[bold]x[/bold]"]
)
@pytest.mark.parametrize("option", ["FILE", "--encoding", "--model", "--files0-from", "--allow-special", "--output"])
def test_hostile_names_are_harmless_in_messages(option: str, name: str, tmp_path: Path) -> None:
    arguments = ["--", name] if option == "FILE" else [f"{option}={name}", "--", "missing"]
    ran = calm(run_tokcli("count", *arguments, cwd=tmp_path))
    assert ran.status == 2
    assert ran.err.startswith("Error: ")


JSON_LINES = {
    "lone surrogate": (rb'{"text": "\ud800"}', 0),
    "surrogate pair": (rb'{"text": "\ud83d\ude42"}', 0),
    "NUL": (rb'{"text": "\u0000"}', 0),
    "duplicate keys": (b'{"text": "a", "text": "b"}', 0),
    "deep nesting": (b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", 2),
    "a huge number": (b'{"n": ' + b"9" * 100_000 + b', "text": ""}', 2),
    "NaN": (b'{"n": NaN, "text": ""}', 2),
    "not UTF-8": (b'{"text": "\xff"}', 2),
    "UTF-16": ('{"text": "a"}'.encode("utf-16"), 2),
    "byte order mark": (b'\xef\xbb\xbf{"text": "a"}', 2),
    "a number for a text": (b'{"text": 1}', 2),
    "a list": (b'["text"]', 2),
    "half an object": (b'{"text": "a"', 2),
    "hostile names": (b'{"\\u001b[31m\\u202e": 1}', 2),
}


@pytest.mark.parametrize(("line", "status"), JSON_LINES.values(), ids=JSON_LINES.keys())
def test_hostile_json_lines(line: bytes, status: int) -> None:
    for command in ("count", "encode", "split"):
        ran = calm(run_tokcli(command, "--records", "jsonl", "--json", data=b'{"text": "ok"}\n' + line + b"\n"))
        assert ran.status == status
        lines = ran.out.splitlines()
        assert len(lines) == (2 if status == 0 else 1)  # what was right before the mistake was written
        assert all(isinstance(json.loads(out), dict) for out in lines)
        assert status == 0 or "record 2" in ran.err


def npy(shape: str, descr: str = "<u4", data: bytes = b"") -> bytes:
    """A .npy file whose header says what it likes."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


LIES = {
    "nothing": b"",
    "no header": b"\x93NUMPY\x01\x00",
    "a header longer than the file": b"\x93NUMPY\x01\x00\xff\xff{}",
    "a header of four gigabytes": b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
    "an unknown version": b"\x93NUMPY\x09\x00" + npy("(1,)")[8:],
    "more ids than there are": npy("(1000000000000,)", data=b"\0\0\0\0"),
    "fewer ids than there are": npy("(1,)", data=b"\0" * 8),
    "half an id": npy("(1,)", data=b"\0\0\0"),
    "two dimensions": npy("(1, 1)", data=b"\0\0\0\0"),
    "a negative length": npy("(-1,)"),
    "floats": npy("(1,)", "<f4", b"\0\0\0\0"),
    "objects, as pickles": npy("(1,)", "|O", b"\x80\x04."),
    "code for a header": npy("(__import__('os').system('echo hacked'),)"),
}


@pytest.mark.parametrize("data", LIES.values(), ids=LIES.keys())
def test_npy_files_that_lie_are_refused(data: bytes) -> None:
    ran = calm(run_tokcli("decode", "--format", "npy", data=data))
    assert ran.status == 2
    assert b"hacked" not in ran.out


@pytest.mark.parametrize("form", ["u16", "u32"])
def test_binary_ids_that_are_cut_or_unknown_are_refused(form: str) -> None:
    for data in (b"\1", b"\xff" * 8):
        assert calm(run_tokcli("decode", "-e", "gpt2", "--format", form, data=data)).status == 2


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a{1,99999999999}", "(" * 5000, "\\", "(?P<a1>a)|(?P<a1>b)", "(?R)", "\ud800"]
)
def test_hostile_patterns_are_refused_or_applied(pattern: str) -> None:
    for table in ([], ["--table"]):
        calm(
            run_tokcli(
                "split", *table, "--timeout", "1", "--pattern", pattern.encode("utf-8", "surrogatepass"), "-t", "ab"
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize("unit", [b"x", b"\n", "中".encode()])
def test_a_piece_without_end_is_refused_where_it_begins(unit: bytes) -> None:
    """It once took a minute to say so: what was pending was copied and searched again with every block."""
    ran = run_tokcli("count", data=b"hello," + unit * (70_000_000 // len(unit)))
    assert (ran.status, ran.out) == (2, b"")
    assert "a piece above 64 MiB begins at byte 6\n" in ran.err or "begins at byte 5\n" in ran.err


@pytest.mark.slow
def test_many_pieces_without_a_place_to_cut_are_no_piece_without_end() -> None:
    ran = run_tokcli("count", data=b"a'" * 34_000_000)
    assert ran.status == 0
    assert ran.out == b"34000001\n"
