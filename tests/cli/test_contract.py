"""What the commands promise, clause by clause, seen from outside: arguments and bytes in, bytes and a status out."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from support import NAMES, failed, noted, ok, refused, run_tokcli

from tokcli.cli import options
from tokcli.engine.base import time_limit


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files, which is the current one."""
    (tmp_path / "a.txt").write_bytes(b"hello world\n")
    (tmp_path / "b.txt").write_bytes("it's 2024 \U0001f642\n".encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "data", "expected"),
    [
        (["count"], b"hello world", b"2\n"),
        (["encode", "-t", "hello world"], b"", b"24912 2375\n"),
        (["encode", "-e", "cl100k_base", "-t", "hello world"], b"", b"15339 1917\n"),
        (["encode", "-m", "gpt-4", "-t", "hello world"], b"", b"15339 1917\n"),
        (["encode"], b"a\r\nb\r\n", b"64 370 65 370\n"),
        (["encode", "--special", "allow", "-t", "<|endoftext|>"], b"", b"199999\n"),
        (["encode", "--allow-special", "<|endoftext|>", "-t", "<|endoftext|>"], b"", b"199999\n"),
        (["encode"], b"", b"\n"),
        (["encode", "-"], b"hello world", b"24912 2375\n"),
        (["encode", "-t", ""], b"", b"\n"),
        (["decode", "-t", "24912 2375"], b"", b"hello world"),
        (["decode"], b"[24912, 2375]\n", b"hello world"),
        (["split", "-t", "it's 2024"], b"", b"it's\n \n202\n4\n"),
        (["count", "--special", "allow"], b"<|endoftext|>", b"1\n"),
        (["count", "--special", "text"], b"<|endoftext|>", b"7\n"),
    ],
)
def test_the_answer_is_exactly_this(arguments: list[str], data: bytes, expected: bytes) -> None:
    assert ok(*arguments, data=data) == expected


def test_a_file_gives_the_ids_of_standard_input(tmp_path: Path) -> None:
    (tmp_path / "crlf").write_bytes(b"a\r\nb\r\n")
    assert ok("encode", tmp_path / "crlf") == b"64 370 65 370\n"


def test_an_environment_variable_names_the_encoding_and_an_option_wins() -> None:
    env = {"TOKCLI_ENCODING": "cl100k_base"}
    assert ok("encode", "-t", "hello", env=env) == b"15339\n"
    assert ok("encode", "-t", "hello", "-e", "o200k_base", env=env) == b"24912\n"
    assert ok("encode", "-t", "hello", "-m", "gpt-4o", env=env) == b"24912\n"


def test_a_special_token_in_the_text_is_refused_with_its_place_and_the_options() -> None:
    message = refused("encode", "-t", "é<|endoftext|>")
    assert "'<|endoftext|>'" in message
    assert "at byte 2" in message
    assert "--special text" in message
    assert "--special allow" in message


def test_a_pattern_replaces_the_encoding_s() -> None:
    assert ok("split", "--pattern", "[a-z]|.", "-t", "ab c") == b"a\nb\n \nc\n"
    assert ok("split", "--pattern", "cl100k_base", "-t", "it's") == b"it\n's\n"


@pytest.mark.parametrize("name", NAMES)
def test_encode_keeping_bytes_then_decode_is_the_identity(name: str) -> None:
    data = bytes(range(256)) * 3 + "中文 \u0301é\U0001f642".encode() + b"\xf0\x9f\xff\xc3(\xed\xa0\x80 tail\xe4\xb8"
    ids = ok("encode", "-e", name, "--errors", "bytes", data=data)
    assert ok("decode", "-e", name, data=ids) == data


# --- several inputs, lists of names, records --------------------------------------------------------------------------


def test_several_files_are_counted_like_wc(folder: Path) -> None:
    assert ok("count", "a.txt", "b.txt") == b"3 a.txt\n5 b.txt\n8 total\n"
    assert ok("count", "a.txt") == b"3\n"
    assert ok("count", "--sort", "a.txt", "b.txt") == b"5 b.txt\n3 a.txt\n8 total\n"
    assert ok("count", "--top", "1", "a.txt", "b.txt") == b"5 b.txt\n8 total (1 of 2 files)\n"
    assert ok("count", "--total", "a.txt", "b.txt") == b"8\n"
    assert ok("encode", "a.txt", "b.txt") == b"24912 2375 198\n64190 220 1323 19 171593\n"


def test_a_file_that_cannot_be_read_does_not_stop_the_count_of_the_others(folder: Path) -> None:
    ran = run_tokcli("count", "a.txt", "nope", "b.txt")
    assert (ran.status, ran.out) == (2, b"3 a.txt\n5 b.txt\n8 total\n")
    assert ran.err == "Error: nope: no such file or directory\nIf this is text, give it with -t 'nope'.\n"


def test_names_are_read_from_a_list(folder: Path) -> None:
    assert ok("count", "--files0-from", "-", data=b"a.txt\0b.txt\0") == b"3 a.txt\n5 b.txt\n8 total\n"
    (folder / "list").write_bytes(b"a.txt")
    assert ok("count", "--files0-from", "list") == b"3\n"
    assert "name 2 is empty" in refused("count", "--files0-from", "-", data=b"a.txt\0\0b.txt\0")
    assert "cannot be one of them" in refused("count", "--files0-from", "-", data=b"-\0")


def test_counts_as_json(folder: Path) -> None:
    both = json.loads(ok("count", "--json", "a.txt", "b.txt"))
    first, second = {"tokens": 3, "bytes": 12, "path": "a.txt"}, {"tokens": 5, "bytes": 15, "path": "b.txt"}
    assert json.loads(ok("count", "--json", "a.txt")) == {"files": [first], "total": 3, "count": 3}
    assert both == {"files": [first, second], "total": 8}
    lines = ok("count", "--jsonl", "a.txt", "b.txt").splitlines()
    assert list(map(json.loads, lines)) == both["files"]


def test_a_count_as_json_has_the_same_members_for_one_input_of_any_kind(folder: Path) -> None:
    def row(size: int, path: str) -> dict[str, object]:
        return {"files": [{"tokens": 2, "bytes": size, "path": path}], "total": 2, "count": 2}

    assert json.loads(ok("count", "--json", "-t", "hello world")) == row(11, "--text")
    assert json.loads(ok("count", "--json", data=b"hello world")) == row(11, "-")
    assert json.loads(ok("count", "--json", "-r", "a.txt")) == json.loads(ok("count", "--json", "a.txt"))
    assert json.loads(ok("count", "--json", "--total", "a.txt")) == {"count": 3}
    assert refused("count", "--json", "nope.txt") == "Error: nope.txt: no such file or directory\n"
    assert run_tokcli("count", "--json", "nope.txt").out == b""


def test_with_filename_names_a_single_file_and_changes_nothing_for_two(folder: Path) -> None:
    assert ok("count", "-H", "a.txt") == ok("count", "--with-filename", "a.txt") == b"3 a.txt\n"
    assert ok("count", "-H", data=b"hello world") == b"2 -\n"
    assert ok("count", "-H", "a.txt", "b.txt") == ok("count", "a.txt", "b.txt")
    assert ok("count", "-H", "--json", "a.txt") == ok("count", "--json", "a.txt")
    assert run_tokcli("count", "-H", "--max", "1", "a.txt").status == 1
    assert "-H cannot be combined with --total" in refused("count", "-H", "--total", "a.txt")


def test_more_than_max_is_status_1_and_the_count_is_printed() -> None:
    ran = run_tokcli("count", "--max", "1", "-t", "hello world")
    assert (ran.status, ran.out) == (1, b"2\n")
    assert ran.err == "Error: 2 tokens, more than --max 1\n"
    assert ok("count", "--max", "2", "-t", "hello world") == b"2\n"


@pytest.mark.parametrize(
    ("arguments", "data", "expected"),
    [
        (["count", "--records", "lines"], b"a b\nc\n\nd", b"2\n1\n0\n1\n"),
        (["encode", "--records", "lines"], b"a b\nc\n\nd", b"64 287\n66\n\n67\n"),
        (["encode", "--records", "nul"], b"a\nb\0c\0", b"64 198 65\x0066\0"),
        (["decode", "--records", "lines"], b"64 287\n\n66\n", b"a b\n\nc\n"),
        (["decode", "--records", "nul"], b"64\x0065", b"a\0b\0"),
        (["split", "--records", "lines"], b"a b\nc\n", b"a\t b\nc\n"),
        (["encode", "--records", "jsonl"], b'{"text": "a b"}\n\n{"text": "c"}', b"64 287\n66\n"),
        (["encode", "--records", "jsonl", "--json"], b'{"text": "a b"}\n', b'{"ids": [64, 287]}\n'),
        (["encode", "--records", "jsonl", "--field", "t"], b'{"t": "a b"}\n', b"64 287\n"),
        (["count", "--records", "jsonl", "--json"], b'{"text": "a b"}\n', b'{"count": 2}\n'),
        (["count", "--records", "lines", "--total"], b"a b\nc\n", b"3\n"),
        (["decode", "--records", "jsonl", "--json"], b'{"ids": [64, 287]}\n', b'{"text": "a b"}\n'),
        (["decode", "--records", "jsonl", "--json"], b'{"ids": [187]}\n', b'{"bytes_hex": "ff"}\n'),
        (["decode", "--json"], b'{"ids": [199999]}\n', b'{"text": "<|endoftext|>"}\n'),
        (["decode", "--json"], b"64 287", b'{"text": "a b"}\n'),
        (["split", "--json"], b"a b\n", b'{"pieces": ["a", " b", "\\n"]}\n'),
        (["encode", "--json", "--offsets", "char"], "é b".encode(), b'{"ids": [377, 287], "offsets": [[0, 1], [1, 3]]}\n'),
        (["encode", "--offsets", "byte"], "é b".encode(), b"377\t0\t2\n287\t2\t4\n"),
        (["encode", "--format", "json"], b"a b", b"[64, 287]\n"),
    ],
)  # fmt: skip
def test_records_and_json(arguments: list[str], data: bytes, expected: bytes) -> None:
    assert ok(*arguments, data=data) == expected


# --- binary ids -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["u32", "npy"])
def test_binary_ids_are_read_back(form: str, tmp_path: Path) -> None:
    ids = ok("encode", "--format", form, "-t", "hello world")
    assert ids.endswith(struct.pack("<2I", 24912, 2375))
    assert ok("decode", "--format", form, data=ids) == b"hello world"
    ok("encode", "--format", form, "-t", "hello world", "-o", tmp_path / "ids")
    assert (tmp_path / "ids").read_bytes() == ids


def test_ids_of_16_bits_only_where_they_fit() -> None:
    assert ok("encode", "-e", "gpt2", "--format", "u16", "-t", "hello") == struct.pack("<H", 31373)
    assert "u32" in refused("encode", "--format", "u16", "-t", "hello")


def test_n_stops_after_n_tokens() -> None:
    assert ok("encode", "-n", "1", "-t", "hello world") == b"24912\n"
    assert ok("encode", "-n", "0", "-t", "hello world") == b"\n"
    assert ok("encode", "-n", "2", "--fail-if-truncated", "-t", "hello world") == b"24912 2375\n"
    ran = run_tokcli("encode", "-n", "1", "--fail-if-truncated", "-t", "hello world")
    assert (ran.status, ran.out) == (1, b"24912\n")


# --- input that is not UTF-8, ids that are none -----------------------------------------------------------------------


def test_input_that_is_not_utf_8_names_file_and_byte(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"bad \xff")
    message = refused("count", tmp_path / "bad")
    assert f"{tmp_path / 'bad'}: not UTF-8 at byte 4" in message
    assert "--errors" in message
    assert ok("split", "--errors", "replace", tmp_path / "bad") == "bad\n \ufffd\n".encode()
    assert ok("split", "--errors", "bytes", tmp_path / "bad") == b"bad\n \\xff\n"


@pytest.mark.parametrize("item", ["x", "1e3", "+1", "-1", "0x1", "1_0", "1.0", "٣", "12345678901", "9" * 10_000, "[1"])
def test_what_is_no_id_is_named_and_cut(item: str) -> None:
    message = refused("decode", data=b"64 " + item.encode())
    assert len(message) < 300
    assert "at byte 3" in message


@pytest.mark.parametrize("ids", [b"64 200019", b"4294967295", b"4294967296", b"[[64]]", b"[64] 65", b"{}"])
def test_an_id_that_the_vocabulary_lacks_or_a_list_in_a_list_is_refused(ids: bytes) -> None:
    refused("decode", data=ids)


@pytest.mark.parametrize("members", ['{"ids": [1.0]}', '{"ids": [true]}', '{"ids": "1"}', '{"ids": [-1]}', "[1]", "{}"])
def test_json_without_ids_is_refused(members: str) -> None:
    assert "record 1" in refused("decode", "--records", "jsonl", data=members.encode())


# --- mistakes on the command line -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["cuont"], "count"),
        (["encode", "--fromat", "u32"], "--format"),
        (["count", "-e", "o200k"], "o200k_base"),
        (["count", "-m", "gtp-4o"], "gpt-4o"),
        (["count", "--allow-special", "<|endoftex|>"], "<|endoftext|>"),
        (["count", "--records", "line"], "lines"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(arguments: list[str], suggested: str) -> None:
    assert suggested in refused(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "-e", "gpt2", "-m", "gpt-4"],
        ["count", "-t", "x", "file"],
        ["count", "--files0-from", "x", "file"],
        ["count", "--field", "x"],
        ["count", "--records", "lines", "--sort"],
        ["encode", "-t"],
        ["encode", "-n", "-1", "-t", "x"],
        ["encode", "--format", "u32", "--json", "-t", "x"],
        ["encode", "--format", "npy", "--records", "lines", "-t", "x"],
        ["encode", "--offsets", "byte", "--records", "lines", "-t", "x"],
        ["encode", "--visualise", "--ids", "--json", "-t", "x"],
        ["encode", "--visualise=merges", "--step", "--json", "-t", "x"],
        ["encode", "--ids", "-t", "x"],
        ["encode", "--fail-if-truncated", "-t", "x"],
        ["decode", "--format", "u32", "--records", "lines"],
        ["split", "--table", "--records", "lines"],
        ["split", "--table", "--stats", "-t", "x"],
        ["split", "--lint", "-t", "x"],
        ["split", "--why", "1", "a", "b"],
        ["split", "--why", "1", "-t", "x"],
        ["split", "--why", "0", "-t", ""],
        ["split", "--diff", "cl100k_bas", "-t", "x"],
        ["split", "--diff", "a(", "-t", "x"],
        ["split", "--diff", "a", "-t", "ab"],
        ["split", "--watch", "-t", "x"],
        ["split", "--watch", "--stats"],
        ["split", "--pattern", "a", "--pattern-file", "a"],
        ["split", "--pattern-file", "none"],
        ["split", "--pattern", "(", "-t", "x"],
        ["split", "--pattern", "a", "-t", "ab"],
        ["split", "--pattern", "a*", "-t", "b"],
        ["split", "--timeout", "0", "-t", "b"],
        ["train", "--vocab-size", "255", "-o", "x", "-t", "x"],
        ["train", "-t", "x"],
        ["inspect-ranks", "--id", "999999"],
        ["inspect-ranks", "--hex", "xyz"],
        ["inspect-ranks", "hello world"],
        ["inspect-ranks", "\\q"],
        ["--nope"],
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_refused(arguments: list[str], tmp_path: Path) -> None:
    refused(*arguments, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_mistake_in_the_options_is_not_blamed_on_an_input(folder: Path) -> None:
    for arguments in (["-e", "nope"], ["-m", "nope"], ["--pattern", "("], ["--allow-special", "nope"]):
        assert "a.txt" not in refused("count", *arguments, "a.txt")


def test_an_option_with_an_optional_value_leaves_the_next_word_alone(folder: Path) -> None:
    (folder / "merges").write_bytes(b"hello")
    assert ok("encode", "--visualise", "merges") == b"hello\n"
    assert ok("encode", "--visualize", "merges") == b"hello\n"
    assert ok("encode", "--", "merges") == b"24912\n"


@pytest.mark.parametrize("option", ["--color", "--colour"])
def test_the_option_for_colour_needs_its_value(option: str, folder: Path) -> None:
    (folder / "hello").write_bytes(b"hello")
    assert ok("count", option, "never", "hello") == ok("count", f"{option}=never", "hello") == b"1\n"
    assert "--color" in refused("count", option, "hello")
    assert "--color" in refused("count", "hello", option)


# --- help ---------------------------------------------------------------------------------------------------------------


def test_help_fits_a_screen_of_24_lines_of_80_columns() -> None:
    lines = ok("--help").decode().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert ok("-h").decode().splitlines() == lines


def test_no_command_is_the_help_and_an_error() -> None:
    ran = run_tokcli()
    assert (ran.status, ran.out) == (2, b"")
    assert ran.err.encode() == ok("--help")


@pytest.mark.parametrize("name", ["count", "encode", "decode", "split", "train", "inspect-ranks"])
def test_every_command_has_help(name: str) -> None:
    text = ok(name, "--help").decode()
    assert text.startswith(f"Usage: tokcli {name} ")
    assert max(map(len, text.splitlines())) <= 80


def test_the_version_names_the_backend() -> None:
    assert ok("--version").decode().rstrip().endswith(("(python)", "(native)"))


# --- train and inspect-ranks --------------------------------------------------------------------------------------------


def test_what_was_trained_loads(tmp_path: Path) -> None:
    out = tmp_path / "my.tiktoken"
    ran = noted("train", "--vocab-size", "258", "--special", "<end>", "-o", out, data=b"ab ab ab<end>ab")
    assert ran.out == b""
    assert ran.err.startswith("258 tokens, 2 merges\nmy.tiktoken sha256 ")
    assert json.loads((tmp_path / "my.tiktoken.json").read_bytes())["special_tokens"] == {"<end>": 258}
    assert ok("encode", "-e", out, "--special", "allow", data=b"ab ab<end>") == b"256 257 258\n"
    assert ok("decode", "-e", out, data=b"256 257 258") == b"ab ab<end>"


def test_training_into_a_device_leaves_nothing_beside_it() -> None:
    ok("train", "-q", "--vocab-size", "257", "-o", "/dev/null", data=b"ab ab")
    assert not Path("/dev/null.json").exists()


def test_training_on_nothing_leaves_no_file(tmp_path: Path) -> None:
    assert "empty" in refused("train", "--vocab-size", "257", "-o", tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_tokens_are_looked_up_by_text_id_and_bytes() -> None:
    lines = ok("inspect-ranks", " world", r"\n", "<|endoftext|>", b"\xff", "--id", "24912", "--hex", "f09f")
    rows = [line.split("\t") for line in lines.decode().splitlines()]
    assert rows[0] == ["id", "bytes", "text", "special", "parents"]
    assert [row[0] for row in rows[1:]] == ["2375", "198", "199999", "187", "4103", "24912"]
    assert rows[1] == ["2375", "20 77 6f 72 6c 64", " world", "no", "286 1733"]
    (token,) = json.loads(ok("inspect-ranks", "--json", "--id", "24912"))["tokens"]
    assert token == {"id": 24912, "bytes_hex": "68656c6c6f", "text": "hello", "special": False, "parents": [10844, 78]}


def test_the_encodings_are_listed() -> None:
    rows = [line.split("\t") for line in ok("inspect-ranks").decode().splitlines()]
    assert [row[0] for row in rows[1:]] == list(NAMES)
    assert [row["name"] for row in json.loads(ok("inspect-ranks", "--json"))["encodings"]] == list(NAMES)


def test_what_is_no_token_is_shown_as_its_ids() -> None:
    assert "24912 2375" in refused("inspect-ranks", "hello world")


def test_the_table_of_pieces_is_tab_separated_in_a_pipe() -> None:
    lines = ok("split", "--table", "-t", "it's 4").decode().splitlines()
    assert lines[0] == "#\tbytes\tchars\talternative\ttext\ttokens"
    assert lines[1] == "0\t4\t4\ta1\tit's\t64190"


def test_notes_are_silenced_by_q() -> None:
    ran = noted("count", "--add-special-tokens", "-t", "x")
    assert (ran.out, ran.err.startswith("Note: ")) == (b"1\n", True)
    assert ok("count", "-q", "--add-special-tokens", "-t", "x") == b"1\n"


def test_the_time_limit_of_the_command_line_is_that_of_the_library() -> None:
    assert options.DEFAULT_SECONDS == time_limit.DEFAULT_SECONDS


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "-e", "gpt2", "--encoding", "gpt2"],
        ["encode", "-n", "1", "-n2"],
        ["encode", "-t", "y"],
        ["count", "--tree", "--tree=2"],
        ["split", "--why", "0", "--why", "1"],
        ["encode", "--color", "always", "--colour=never"],
    ],
)
def test_an_option_that_holds_one_value_is_given_once(arguments: list[str]) -> None:
    assert "is given twice" in refused(*arguments, "-t", "x")


def test_flags_and_options_of_several_values_may_be_repeated() -> None:
    ok("count", "-q", "-q", "-e", "gpt2", "-e", "o200k_base", "-t", "x")
    ok("encode", "--allow-special", "<|endoftext|>", "--allow-special", "<|endofprompt|>", "-t", "x")


@pytest.mark.parametrize("command", [("encode",), ("encode", "--offsets", "byte"), ("split", "--pattern", "a")])
def test_json_that_an_error_ends_before_its_first_value_is_not_begun(command: tuple[str, ...]) -> None:
    assert failed(*command, "--json", "-t", "<|endoftext|> b").out == b""
