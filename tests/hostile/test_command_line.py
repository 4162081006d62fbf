"""Inputs made to break the program: it answers, or refuses in one or two lines; never a traceback, a hang, or a byte
that acts on a terminal."""

from __future__ import annotations

import json
import random
import resource
import struct
import subprocess
from pathlib import Path

import pytest
from support import ROOT, failed, ok, program, refused, run_tokcli, without_coverage

UNIGRAM = ROOT / "tests" / "data" / "formats" / "unigram.model"
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
    ids = ok("encode", "--errors", "bytes", data=data)
    assert ok("decode", data=ids) == data
    if len(data) < 200_000:  # seconds otherwise
        assert int(ok("count", "--errors", "bytes", data=data)) == len(ids.split())


@pytest.mark.parametrize("arguments", [["split"], ["split", "--json"], ["split", "--table"], ["encode", "--visualise"]])
def test_what_is_shown_of_a_text_cannot_act_on_a_terminal(arguments: list[str]) -> None:
    shown = ok(*arguments, data=ESCAPES.encode()).decode()
    assert all(char.isprintable() or char in "\n\t" for char in shown)


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "bidi\u202etxt.exe", "line\nbreak", "x" * 300, "-" * 3, "[bold]x[/bold]"]
)
@pytest.mark.parametrize("option", ["FILE", "--encoding", "--model", "--files0-from", "--allow-special", "--output"])
def test_hostile_names_are_harmless_in_messages(option: str, name: str, tmp_path: Path) -> None:
    arguments = ["--", name] if option == "FILE" else [f"{option}={name}", "--", "missing"]
    assert refused("count", *arguments, cwd=tmp_path).startswith("Error: ")


JSON_LINES = {
    "surrogate pair": rb'{"text": "\ud83d\ude42"}',
    "NUL": rb'{"text": "\u0000"}',
    "duplicate keys": b'{"text": "a", "text": "b"}',
}


RECORDS = ("--records", "jsonl", "--json")
of_records = pytest.mark.parametrize("command", ["count", "encode", "split"])


@pytest.mark.parametrize("line", JSON_LINES.values(), ids=JSON_LINES.keys())
@of_records
def test_odd_json_lines_are_answered(command: str, line: bytes) -> None:
    out = ok(command, *RECORDS, data=b'{"text": "ok"}\n' + line + b"\n")
    assert [type(json.loads(answer)) for answer in out.splitlines()] == [dict, dict]


BROKEN_JSON_LINES = {
    "deep nesting": b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "a huge number": b'{"n": ' + b"9" * 100_000 + b', "text": ""}',
    "NaN": b'{"n": NaN, "text": ""}',
    "not UTF-8": b'{"text": "\xff"}',
    "half of a surrogate pair": rb'{"text": "\ud800"}',
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"text": "a"}',
    "a number for a text": b'{"text": 1}',
    "a list": b'["text"]',
    "half an object": b'{"text": "a"',
    "hostile names": b'{"\\u001b[31m\\u202e": 1}',
}


@pytest.mark.parametrize("line", BROKEN_JSON_LINES.values(), ids=BROKEN_JSON_LINES.keys())
@of_records
def test_broken_json_lines_are_refused_by_number_after_the_answers_before_them(command: str, line: bytes) -> None:
    ran = failed(command, *RECORDS, data=b'{"text": "ok"}\n' + line + b"\n")
    assert "record 2" in ran.err
    (answer,) = ran.out.splitlines()
    assert isinstance(json.loads(answer), dict)


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
    assert b"hacked" not in failed("decode", "--format", "npy", data=data).out


@pytest.mark.parametrize("form", ["u16", "u32"])
def test_binary_ids_that_are_cut_or_unknown_are_refused(form: str) -> None:
    for data in (b"\1", b"\xff" * 8):
        refused("decode", "-e", "gpt2", "--format", form, data=data)


@pytest.mark.parametrize("pattern", ["(", "[", "a{1,99999999999}", "(" * 5000, "\\", "(?R)", "\ud800"])
@pytest.mark.parametrize("view", [[], ["--table"]])
def test_hostile_patterns_are_refused(view: list[str], pattern: str) -> None:
    refused("split", *view, "--timeout", "1", "--pattern", pattern.encode("utf-8", "surrogatepass"), "-t", "ab")


@pytest.mark.parametrize("view", [[], ["--table"]])
def test_a_pattern_may_have_groups_named_as_ours_are(view: list[str]) -> None:
    assert len(ok("split", *view, "--pattern", "(?P<a1>a)|(?P<a1>b)", "-t", "ab").splitlines()) == 2 + bool(view)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [b"x", b"\n", "中".encode()])
def test_a_piece_without_end_is_refused_where_it_begins(unit: bytes) -> None:
    """It once took a minute to say so: what was pending was copied and searched again with every block."""
    ran = failed("count", data=b"hello," + unit * (70_000_000 // len(unit)))
    assert ran.out == b""
    assert "a piece above 64 MiB begins at byte 6\n" in ran.err or "begins at byte 5\n" in ran.err


@pytest.mark.slow
def test_many_pieces_without_a_place_to_cut_are_no_piece_without_end() -> None:
    assert ok("count", data=b"a'" * 34_000_000) == b"34000001\n"


LISTS = {
    "nothing but NULs, without end": ("cat /dev/zero", "name 1 is empty"),
    "names without end": ("yes a | tr '\\n' '\\0'", "more than 1000000 names"),
    "one name without end": ("yes", "name 1 has more than 4096 bytes"),
    "a name too long after others": ("printf 'a\\0b\\0'; yes", "name 3 has more than 4096 bytes"),
}


@pytest.mark.memory
@pytest.mark.parametrize(("made_by", "said"), LISTS.values(), ids=LISTS.keys())
def test_a_list_of_names_is_bounded(made_by: str, said: str) -> None:
    line = f'ulimit -v 1000000; ({made_by}) 2>/dev/null | "$@" count --files0-from -'
    ran = subprocess.run(["bash", "-c", line, "bash", *program()], capture_output=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr.decode().startswith(f"Error: standard input: {said}\n")
    assert ran.stderr.count(b"\n") == 2


def test_a_device_that_never_ends_is_no_list_of_names() -> None:
    assert "/dev/zero: name 1 is empty" in refused("count", "--files0-from", "/dev/zero")


@pytest.mark.parametrize(
    "option", ["--special", "--pattern", "--seed-vocab", "--counts", "--field", "--output", "--checkpoint", "--dask"]
)
def test_training_with_a_name_that_is_not_utf8_is_answered_or_refused(option: str, tmp_path: Path) -> None:
    """`--special $'\\xff'` once ended in an internal error."""
    given = ["--counts", b"\xff"] if option == "--counts" else ["-t", "abc", option, b"\xff"]
    more = ["--records", "jsonl"] if option == "--field" else []
    ran = run_tokcli(
        "train", *given, *more, "--vocab-size", "257", *(["-o", "out"] * (option != "--output")), cwd=tmp_path
    )
    assert ran.status == (0 if option in ("--output", "--checkpoint") else 2)
    assert "internal error" not in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize(
    "option", ["FILE", "--encoding", "--model", "--files0-from", "--allow-special", "--output", "--errors"]
)
def test_a_message_is_short_however_long_the_name(option: str) -> None:
    name = "a/" * 50_000
    refused(
        "count", *([name] if option == "FILE" else ["-t", "a", f"{option}={name}"][2 * (option == "--files0-from") :])
    )


ENDLESS = {
    "ids as one JSON object": ["decode", "--json", "/dev/zero"],
    "a pattern": ["split", "--pattern-file", "/dev/zero", "-t", "a"],
    "a text that is seen whole": ["encode", "--visualise", "-e", str(UNIGRAM), "/dev/zero"],
    "a text that is compared": ["encode", "--compare", "gpt2,r50k_base", "/dev/zero"],
    "a record": ["count", "--records", "lines", "/dev/zero"],
    "an object": ["count", "--records", "jsonl", "/dev/zero"],
    "counts": ["train", "--counts", "/dev/zero", "--vocab-size", "300", "-o", "out"],
    "a vocabulary": ["count", "-e", "/dev/zero", "-t", "a"],
    "an array of ids": ["decode", "--format", "npy", "/dev/zero"],
}


@pytest.mark.memory
@pytest.mark.parametrize("command", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_has_to_be_held_is_bounded(command: list[str], tmp_path: Path) -> None:
    """An input without end once filled the memory."""
    said = refused(
        *command, cwd=tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    )
    assert "/dev/zero: " in said and "out of memory" not in said


@pytest.mark.parametrize("number", [10**5, 2**64, 10**30])
def test_numbers_of_any_size_are_taken(number: int) -> None:
    data = b"hello world\n" * 40_000  # enough for several threads
    most = ["-n", str(number)]
    expected = ok("encode", "--records", "lines", data=data)
    assert ok("encode", "--records", "lines", *most, data=data) == expected
    assert ok("encode", "--records", "lines", *most, "-j", str(number), data=data) == expected
    assert ok("count", "-j", str(number), data=data) == b"120000\n"


@pytest.mark.parametrize("instruction", ["x", "bash_complete", "zsh_complete", "fish_complete", "x_source", "\udcff"])
@pytest.mark.parametrize("number", [None, "abc", ""])
def test_a_question_for_completions_that_no_shell_asks_is_refused(instruction: str, number: str | None) -> None:
    """`_TOKCLI_COMPLETE=bash_complete` alone once was an internal error, and another value status 1."""
    env = {"_TOKCLI_COMPLETE": instruction} | (
        {} if number is None else {"COMP_WORDS": "tokcli 'x", "COMP_CWORD": number}
    )
    if instruction == "fish_complete" and number is not None:
        return  # fish's COMP_CWORD is the word itself
    assert refused("count", "-t", "a", env=env).startswith("Error: _TOKCLI_COMPLETE is set")


ODD_NUMBERS = {
    "split -t a --timeout": ("nan", "inf", "1e308", "1e10", "-0.0", "-nan"),
    "train -t abab -o out --vocab-size 257 --hold-back": ("nan", "inf", "-nan"),
    "train -t abab -o out --vocab-size 257 --checkpoint kept --checkpoint-every": ("nan", "-inf"),
    "count -t a --price": ("nan", "inf", "-nan"),
}


@pytest.mark.parametrize(("command", "number"), [(command, n) for command in ODD_NUMBERS for n in ODD_NUMBERS[command]])
def test_what_is_no_finite_number_is_refused(command: str, number: str, tmp_path: Path) -> None:
    """`--hold-back nan` was an internal error, `--timeout nan` no limit, and `--timeout inf` none that was kept."""
    assert "Invalid value for" in refused(*command.split(), number, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_price_of_nothing_has_no_sign() -> None:
    assert b'"price": 0.0}' in ok("count", "-t", "a", "--price", "-0", "--json")


def test_a_long_time_limit_is_one() -> None:
    assert ok("split", "--timeout", "1e9", "--pattern", r"(a)\1|\w|\W", "-t", "aab") == b"aa\nb\n"


def test_a_package_that_does_not_load_is_not_called_missing(tmp_path: Path) -> None:
    """With little memory pyarrow's libraries could not be mapped, and the advice was to install it."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text('raise ImportError("libarrow.so: failed to map segment")')
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" + bytes(8) + b"PAR1")
    command = ["count", "--records", "jsonl", str(tmp_path / "rows.parquet")]
    ran = subprocess.run(
        [*program(), *command], capture_output=True, text=True, check=False,
        env={**without_coverage(), "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stderr == "Error: parquet needs pyarrow, which cannot be loaded: libarrow.so: failed to map segment\n"
