"""What `count` writes of many inputs: every form holds the same numbers, and they are those of the files alone."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from pathlib import Path

import pytest
from support import ROOT, failed, first_in_gate, ok, on_terminal, refused, run_tokcli

ENCODINGS = ("-e", "gpt2", "-e", "o200k_base")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files on three levels, which is the current one."""
    monkeypatch.chdir(tmp_path)
    files = {
        "a.txt": "hello world\n",
        "src/b.py": "foo bar baz\n" * 9,
        "src/in/c.py": "it's 2024",
        "_p/d.md": "q",
        "Makefile": "",
        'src/comma, and "quote"': "x y",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def alone(root: str = ".") -> dict[str, int]:
    """Return the count of each file, one run each."""
    paths = sorted(str(path) for path in Path(root).rglob("*") if path.is_file())
    return {path: int(ok("count", path)) for path in paths}


def test_every_form_holds_the_counts_of_the_files_alone(tree: Path) -> None:
    expected = alone()
    total = sum(expected.values())
    sizes = {path: Path(path).stat().st_size for path in expected}
    table = [line.split(None, 1) for line in ok("count", "-r").decode().splitlines()]
    assert {path: int(tokens) for tokens, path in table} == {**expected, "total": total}
    whole = json.loads(ok("count", "-r", "--json"))
    assert whole["total"] == total
    assert {row["path"]: (row["tokens"], row["bytes"]) for row in whole["files"]} == {
        path: (expected[path], sizes[path]) for path in expected
    }
    assert [list(row) for row in whole["files"]] == [["tokens", "bytes", "path"]] * len(expected)
    assert [json.loads(line) for line in ok("count", "-r", "--jsonl").splitlines()] == whole["files"]
    header, *rows = csv.reader(io.StringIO(ok("count", "-r", "--csv").decode()))
    assert header == ["tokens", "bytes", "path"]
    assert [[int(row[0]), int(row[1]), row[2]] for row in rows] == [list(row.values()) for row in whole["files"]]
    assert ok("count", "-r", "--total") == b"%d\n" % total
    assert [row["path"] for row in whole["files"]] == sorted(expected)


def test_several_encodings_have_a_column_or_a_member_each(tree: Path) -> None:
    one = {name: json.loads(ok("count", "-r", "--json", "-e", name)) for name in ENCODINGS[1::2]}
    both = json.loads(ok("count", "-r", "--json", *ENCODINGS))
    assert both["total"] == {name: one[name]["total"] for name in one}
    assert [row["gpt2"] for row in both["files"]] == [row["tokens"] for row in one["gpt2"]["files"]]
    assert list(both["files"][0]) == ["gpt2", "o200k_base", "bytes", "path"]
    assert ok("count", "-r", "--csv", *ENCODINGS).splitlines()[0] == b"gpt2,o200k_base,bytes,path"
    lines = ok("count", "-r", *ENCODINGS).decode().splitlines()
    assert lines[0].split() == ["gpt2", "o200k_base", "path"]
    assert lines[-1].split() == [*map(str, both["total"].values()), "total"]
    assert ok("count", *ENCODINGS, "--total", "a.txt", "src/b.py") == b"48 39\n"
    assert (
        ok("count", *ENCODINGS, data=b"hello world")
        == b"gpt2 o200k_base path\n   2          2 -\n   2          2 total\n"
    )
    assert "twice" in refused("count", "-e", "gpt2", "-e", "gpt2", "a.txt")
    assert refused("count", "-e", "gpt2", "-e", "gpt", "a.txt")


def test_the_encoding_of_the_environment_may_have_spaces_in_its_path(tree: Path) -> None:
    ok("train", "-q", "src/b.py", "--vocab-size", "257", "-o", "my own.tiktoken")
    assert ok("count", "a.txt", env={"TOKCLI_ENCODING": "./my own.tiktoken"}) == b"12\n"


def test_sort_top_and_by(tree: Path) -> None:
    expected = alone()
    by_size = [line.split(None, 1)[1] for line in ok("count", "-r", "--sort").decode().splitlines()[:-1]]
    assert by_size == sorted(sorted(expected), key=lambda path: -expected[path])
    for same in (["--sort", "tokens"], ["--sort=tokens"]):
        assert ok("count", "-r", *same) == ok("count", "-r", "--sort")
    assert ok("count", "--sort", "name", "src/b.py", "a.txt").split() == b"3 a.txt 36 src/b.py 39 total".split()
    lines = ok("count", "-r", "--top", "2").decode().splitlines()
    assert [line.split()[1] for line in lines[:2]] == by_size[:2]
    assert lines[2] == f"{sum(expected.values())} total (2 of 6 files)"
    assert [row["path"] for row in json.loads(ok("count", "-r", "--top", "2", "--json"))["files"]] == by_size[:2]
    groups = {
        "ext": lambda path: Path(path).suffix or "(none)",
        "dir": lambda path: str(Path(path).parent),
        "root": lambda path: path[:0] + ".",
    }
    for by, group in groups.items():
        sums: dict[str, int] = {}
        for path, tokens in expected.items():
            sums[group(path)] = sums.get(group(path), 0) + tokens
        made = json.loads(ok("count", "-r", "--by", by, "--json"))
        assert {row["path"]: row["tokens"] for row in made["files"]} == sums
        assert made["total"] == sum(expected.values())
    roots = ok("count", "-r", "--by", "root", "src", "_p", "a.txt").decode().splitlines()
    assert [line.split()[1] for line in roots] == ["src", "_p", "a.txt", "total"]


def test_a_value_that_is_left_out_leaves_the_next_word_alone(tree: Path) -> None:
    assert ok("count", "--sort", "a.txt", "_p/d.md") == b"3 a.txt\n1 _p/d.md\n4 total\n"
    assert ok("count", "--tree", "a.txt") == b"3 a.txt\n"
    assert "--sort" in refused("count", "--sort=size", "a.txt")
    assert "--tree" in refused("count", "--tree=0", "a.txt")


def sums_of(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return the number, the level and the name of each line of a tree."""
    found = []
    for line in lines:
        tokens, _, rest = line.strip().partition(" ")
        name = rest.lstrip("│ ├└─")
        found.append((int(tokens), (len(rest) - len(name)) // 4, name))
    return found


def test_the_sums_of_a_tree_add_up(tree: Path) -> None:
    rows = sums_of(ok("count", "-r", "--tree").decode().splitlines())
    total = int(ok("count", "-r", "--total"))
    assert rows[0] == (total, 0, ".")
    assert {name for _, _, name in rows} >= {"src/", "in/", "_p/", "d.md", "Makefile"}
    for at, (tokens, level, name) in enumerate(rows):
        if not name.endswith("/") and name != ".":
            continue
        below = []
        for other in rows[at + 1 :]:
            if other[1] <= level:
                break
            below += [other[0]] if other[1] == level + 1 else []
        assert sum(below) == tokens, name
        assert below == sorted(below, reverse=True)
    assert sums_of(ok("count", "-r", "--tree=1").decode().splitlines()) == [row for row in rows if row[1] <= 1]
    names = [row[2] for row in sums_of(ok("count", "-r", "--tree=1", "--sort=name").decode().splitlines()[1:])]
    assert names == sorted(names)
    assert len(ok("count", "-r", "--tree=1", "--top", "2").splitlines()) == 3


def test_a_tree_of_several_inputs_has_a_root(tree: Path) -> None:
    lines = ok("count", "-r", "--tree=1", "src", "a.txt").decode().splitlines()
    assert lines[0].endswith(" total")
    assert lines[1].split()[-1] == "src"
    assert sum(int(line.split()[0]) for line in (lines[0],)) == int(ok("count", "-r", "--total", "src", "a.txt"))


def test_a_terminal_gets_bars_and_names_that_it_cannot_act_on(tree: Path) -> None:
    (tree / "evil\x1b[31m").write_text("hello")
    status, shown = on_terminal("count", "-r", "--tree")
    text = shown.decode()
    assert status == 0
    assert "█" in text.splitlines()[0] and "100%" in text.splitlines()[0]
    for arguments in (["--tree"], [], ["--csv"], ["--jsonl"], ["--by", "dir"]):
        assert b"\x1b[31m" not in on_terminal("count", "-r", *arguments)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tree", "--json"],
        ["--tree", "--by", "ext"],
        ["--csv", "--json"],
        ["--records", "lines", "--csv"],
        ["--records", "lines", "-e", "gpt2", "-e", "o200k_base"],
        ["--total", "--csv"],
        ["--total", "--jsonl"],
        ["--total", "--top", "1"],
        ["--total", "--by", "ext"],
        ["--by", "x"],
    ],
)
def test_forms_that_do_not_go_together_are_refused(arguments: list[str]) -> None:
    refused("count", *arguments, "-t", "x")


def test_max_is_about_all_inputs_and_an_error_matters_more(tree: Path) -> None:
    ran = failed("count", "-r", "--max", "5", status=1)
    assert "more than --max 5" in ran.err
    (tree / "bad").write_bytes(b"\xff")
    assert run_tokcli("count", "-r", "--max", "5").status == 2


# --- many files, and large ones -----------------------------------------------------------------------------------------


def test_characters_cut_between_two_files_are_errors_in_both(tree: Path) -> None:
    (tree / "z1").write_bytes("é".encode()[:1])
    (tree / "z2").write_bytes("é".encode()[1:])
    ran = run_tokcli("count", "z1", "z2", "a.txt")
    assert (ran.status, ran.out) == (2, b"3 a.txt\n3 total\n")
    assert ran.err.count("not UTF-8 at byte 0") == 2


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize("errors", first_in_gate(["bytes", "strict", "replace"]))
def test_files_of_every_size_are_counted_as_they_are_alone(jobs: str, errors: str, tmp_path: Path) -> None:
    text = "héllo wörld <|endoftext|> 日本語 🫠\r\n it's 1234567\n\n\n  "
    expected = []
    for number in range(150):
        size = (0, 1, 7, 1000, 70_000, 262_143, 262_144, 262_145, 900_000)[number % 9] if number < 9 else number
        data = (text * (size // len(text) + 1)).encode()[:size]
        data = data.decode("utf-8", "ignore").encode() + (b"" if errors == "strict" else b"\xff x \xf0\x9f")
        (tmp_path / f"{number:03}").write_bytes(data)
        if number % 9 == number or number > 140:
            expected.append((f"{number:03}", int(ok("count", "-q", "--errors", errors, data=data)), len(data)))
    made = json.loads(ok("count", "-q", "-r", "-j", jobs, "--errors", errors, "--json", tmp_path))
    assert len(made["files"]) == 150
    found = {Path(row["path"]).name: (row["tokens"], row["bytes"]) for row in made["files"]}
    assert [(name, *found[name]) for name, _, _ in expected] == expected
    both = json.loads(ok("count", "-q", "-r", "-j", jobs, "--errors", errors, "--json", *ENCODINGS, tmp_path))
    assert both["total"]["o200k_base"] == made["total"]


def test_files_among_which_only_python_encodes_one_have_their_counts(tmp_path: Path) -> None:
    rules = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_text("utf-8"))
    (tmp_path / "nfc.json").write_text(json.dumps(rules | {"normalizer": {"type": "NFC"}}))
    texts = {"a": "the cat", "b": "cafe\u0301 e\u0301", "c": "", "d": "\u00e9t\u00e9 " * 99, "e": "\u0301"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    encode = ("count", "-e", tmp_path / "nfc.json")
    expected = {name: int(ok(*encode, tmp_path / name)) for name in texts}
    rows = json.loads(ok(*encode, "--json", *(tmp_path / name for name in texts)))["files"]
    assert {Path(row["path"]).name: row["tokens"] for row in rows} == expected


@pytest.mark.parametrize("special", [["--special", "allow"], ["--allow-special", "<|endoftext|>"], []])
def test_special_tokens_count_as_asked(special: list[str], tree: Path) -> None:
    (tree / "s1").write_text("a<|endoftext|>")
    (tree / "s2").write_text("b")
    one = int(ok("count", "-q", *special, "s1"))
    assert ok("count", "-q", *special, "s1", "s2").split()[::2][:2] == [b"%d" % one, b"1"]
    ran = run_tokcli("count", "--special", "error", "s1", "s2")
    assert (ran.status, ran.out) == (2, b"1 s2\n1 total\n")
    assert "s1: special token" in ran.err


def test_a_pipe_among_the_files_is_read_once(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    for encodings in ((), ENCODINGS):
        feeder = threading.Thread(target=lambda: (tree / "pipe").write_bytes(b"hello world\n" * 30_000))
        feeder.start()
        made = json.loads(ok("count", "--json", *encodings, "pipe", "a.txt"))
        feeder.join()
        assert made["files"][0]["bytes"] == 360_000
        assert (made["total"]["gpt2"] if encodings else made["total"]) == 90_003


def test_names_of_one_letter_options_still_take_their_values(tree: Path) -> None:
    assert ok("count", "-rg", "*.py", "--total") == ok("count", "-r", "-g", "*.py", "--total")
    assert ok("count", "-egpt2", "a.txt") == b"3\n"
