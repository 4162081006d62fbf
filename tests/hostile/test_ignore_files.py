"""Ignore files of a hostile repository: names are matched in linear time, and what a file may come to is bounded."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, noted, refused, took_less

from tokcli.cli.walk.folder_walk import Choice, FolderWalk
from tokcli.cli.walk.glob_syntax import without_braces
from tokcli.cli.walk.patterns import MAX_SIZE, Patterns, globs
from tokcli.errors import InputError

LETTERS = "{a,b,c,d,e,f,g,h,i,j}"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/nonexistent")
    (tmp_path / ".git").mkdir()
    return tmp_path


def walked(**choice: object) -> tuple[list[str], list[str]]:
    """Return the files in the current folder, and the notes."""
    notes: list[str] = []
    found = FolderWalk(Choice(**choice), print, noted=notes.append)  # type: ignore[arg-type]
    return list(found.files("")), notes


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*(*(*(*(*(*b", "(" * 250),
        ("*(a*(a*(a*(a*b", "(a" * 125),
        ("[(a]*" * 8 + "b", "(" * 250),
        ("*?" * 60 + "b", "a" * 250),
        ("*[!b]" * 40 + "b", "a" * 250),
        ("d/**/" * 7 + "x", "d/" * 60 + "y"),
        ("**/*a*/" * 20 + "x", "ab/" * 60 + "y"),
        ("*/" * 30 + "**/" * 1000 + "x", "d/" * 60 + "y"),
        ("/**" * 300 + "/a*b*c", "a/" * 2000 + "ab"),
    ],
    ids=lambda text: text[:16],
)
def test_a_pattern_that_could_be_tried_in_many_ways_is_matched_at_once(pattern: str, path: str) -> None:
    for rules in (Patterns([pattern]), globs([pattern])):
        assert rules.verdict(path, is_folder=False) is None
        assert rules.verdict(f"{path[:-1]}{pattern[-1]}", is_folder=False) in (True, None)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 300_000,
        "[" + "[:" * 150_000,
        "[" + "[:" * 150_000 + "]",
        "[[:alpha:" * 30_000,
        "{a}" * 100_000,
        "{" * 150_000 + "a" + "}" * 150_000,
        "," * 300_000 + "{a,b}",
        "[" * 200_000 + "{a,b}",
        "}{" * 150_000,
        "**/" * 100_000 + "x",
        "*/" * 150_000 + "x",
        "\\" * 300_001,
        "!" * 300_000,
        "*a" * 150_000,
        "a\0*\0" * 60_000,
    ],
    ids=lambda text: text[:10].replace("\0", "0"),
)
def test_a_line_of_300_000_characters_is_read_at_once(line: str) -> None:
    for has_braces in (False, True):
        assert Patterns([line, "b"], has_braces=has_braces).verdict("a/a", is_folder=False) is None
    with pytest.raises(InputError):
        globs([line, ""])


def test_braces_that_stand_for_too_many_names_are_told_and_the_next_lines_are_heeded(tree: Path) -> None:
    for name in ("abc", "zz"):
        Path(name).touch()
    Path(".ignore").write_text(f"{LETTERS * 4}\nzz\n{LETTERS * 12}\n")
    assert walked() == (["abc"], [".ignore: line 1 is not heeded: too many patterns, or too long ones"])


def test_equal_lines_count_once_and_the_last_of_them_decides(tree: Path) -> None:
    for name in ("abc", "aba", "keep"):
        Path(name).touch()
    Path(".ignore").write_text(f"{LETTERS * 3}\n" * 300 + "keep\n!keep\n" * 50_000)
    assert walked() == (["keep"], [])
    Path(".ignore").write_text("*a*b*c\n" * 100_000)
    assert walked() == (["aba", "keep"], [])


@pytest.mark.parametrize(
    ("name", "lines", "first"),
    [
        (".ignore", [f"{LETTERS * 3}{number}" for number in range(300)], 101),
        (".gitignore", [f"*a*b*c{number}" for number in range(100_000)], 6816),
        (".gitignore", [f"a{number}" for number in range(110_000)], MAX_SIZE + 1),
        (".gitignore", ["x", "*" + "a" * MAX_SIZE], 3),
        (".gitignore", [f"#{number:04000}" for number in range(2000)], 1050),
    ],
    ids=["braces", "stars", "names", "one long line", "a long file"],
)
def test_what_a_file_comes_to_is_bounded_and_a_note_says_so(
    tree: Path, name: str, lines: list[str], first: int
) -> None:
    Path("left").touch()
    Path("kept").touch()
    Path(name).write_text("\n".join(["left", *lines, "kept", ""]))
    files, notes = walked()
    assert files == ["kept"]
    assert notes == [f"{name}: line {first} and those after it are not heeded: too many patterns, or too long ones"]


def test_what_all_files_together_come_to_is_bounded(tree: Path) -> None:
    folder = Path("d")
    for number in range(8):
        folder.mkdir()
        Path(folder, ".gitignore").write_text("".join(f"*{number}a{line}*\n" for line in range(5000)) + f"x{number}\n")
        Path(folder, f"x{number}").touch()
        folder = folder / "d"
    files, notes = walked()
    assert files == [f"{'d/' * number}x{number - 1}" for number in range(8, 3, -1)]
    assert [note.partition(":")[0] for note in notes[:-1]] == [f"{'d/' * number}.gitignore" for number in (4, 5, 6)]
    assert notes[-1] == "more ignore files have patterns that are not heeded, since they are too many or too long"


def test_links_to_one_long_ignore_file_are_read_a_few_times_only(tree: Path) -> None:
    Path("long").write_text("#" * (1 << 22))
    for number in range(50):
        folder = Path(f"d{number:02}")
        folder.mkdir()
        Path(folder, ".gitignore").symlink_to("../long")
    files, notes = walked()
    assert files == ["long"]
    assert notes[-1] == (
        "d04/.gitignore: not heeded, nor any ignore file after it: they are longer than 16,777,216 bytes"
    )


def test_an_ignore_file_in_each_of_a_thousand_folders_takes_no_quadratic_time(tree: Path) -> None:
    folder = os.open(tree, os.O_RDONLY)
    for number in range(1000):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
        with os.fdopen(os.open(".gitignore", os.O_CREAT | os.O_WRONLY, dir_fd=folder), "w") as file:
            file.write(f"**/q/{number}\n")
    os.close(os.open("a", os.O_CREAT, dir_fd=folder))
    os.close(folder)
    files, notes = walked()
    subprocess.run(["rm", "-r", "d"], check=True)  # pytest would clear it away recursively, and fail
    assert files == ["d/" * 1000 + "a"]
    assert len(notes) == 4


def test_lines_may_end_in_any_way_and_hold_any_byte(tree: Path) -> None:
    names = (b"a", b"\xe9", b"c d", b"voil\xc3\xa0", b"x\x85")
    for name in names:
        Path(os.fsdecode(name)).touch()
    Path(".gitignore").write_bytes(b"a\0b\r\n\xe9\r\n\0\r\nc d \nvoil\xc3\xa0\nx\x85\n\xff\xfe*")
    assert walked() == (["a"], [])


def test_the_program_tells_what_it_does_not_heed(tree: Path) -> None:
    Path("a").write_text("hello")
    Path(".gitignore").write_text("".join(f"*a*b*c{number}\n" for number in range(10_000)))
    ran = noted("count", "-r", "--total", env={"HOME": "/nonexistent"})
    assert ran.out == b"1\n"
    assert ran.err.startswith("Note: .gitignore: line 6815 and those after it are not heeded")
    assert noted("count", "-r", "-q", "--total", env={"HOME": "/nonexistent"}).err == ""
    assert "-g" in refused("count", "-r", "-g", "*a" * 60_000)


@pytest.mark.clock
def test_ten_thousand_patterns_and_names_take_a_second(tree: Path) -> None:
    rules = Patterns([f"*a*b*c{number}" for number in range(6000)])
    began = time.process_time()
    for number in range(2000):
        assert rules.verdict(f"{number}{'ab' * 20}", is_folder=False) is None
    assert took_less(began, 2)


# --- the plain reading of patterns as the oracle ----------------------------------------------------------------------

PARTS = ["a", "b", "*", "**", "?", "/", "[ab]", "[!a]", "[a-b]", "\\*", "é", "(", "[^b]", "**/", "/**", "/**/"]
NAMES = st.lists(st.sampled_from(["a", "b", "ab", "é", "(", "*a", "bb"]), min_size=1, max_size=4).map("/".join)


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a text of characters, trying every way, as gitignore(5) says."""
    if not pattern:
        return not path
    if pattern[0] == "*":
        stars = len(pattern) - len(pattern.lstrip("*"))
        rest = pattern[stars:]
        return any("/" not in path[:end] and matches(rest, path[end:]) for end in range(len(path) + 1))
    if pattern[0] == "\0":  # any folders
        ends = [end for end in range(1, len(path)) if path[end - 1] == "/"]
        return any(matches(pattern[1:], path[end:]) for end in (0, *ends))
    if pattern[0] == "\1":  # all that is below
        return bool(path)
    if not path:
        return False
    if pattern[0] == "[":
        end = pattern.index("]", 2)
        inside = pattern[1:end]
        taken = {"ab": "ab", "a-b": "ab"}.get(inside, inside[1:])
        is_taken = (path[0] in taken) != (inside[0] in "!^") and path[0] != "/"
        return is_taken and matches(pattern[end + 1 :], path[1:])
    if pattern[0] == "?":
        return path[0] != "/" and matches(pattern[1:], path[1:])
    at = pattern[0] == "\\"
    return pattern[at] == path[0] and matches(pattern[at + 1 :], path[1:])


def plain_verdict(pattern: str, path: str, is_folder: bool) -> bool | None:
    only_folders, pattern = pattern.endswith("/"), pattern.removesuffix("/")
    if (only_folders and not is_folder) or not pattern or pattern[-1] == "/":
        return None
    if "/" not in pattern:
        return matches(pattern, path.rpartition("/")[2]) or None
    parts = pattern.removeprefix("/").split("/")
    last = len(parts) - 1
    made = [
        "\1" if n == last else "\0" if set(part) == {"*"} and len(part) > 1 else f"{part}/"
        for n, part in enumerate(parts)
    ]
    if not (set(parts[-1]) == {"*"} and len(parts[-1]) > 1):
        made[-1] = parts[-1]
    return ("" not in parts and matches("".join(made), path)) or None


@examples(400)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join), NAMES, st.booleans())
def test_patterns_mean_what_the_plain_reading_says(pattern: str, path: str, is_folder: bool) -> None:
    one_byte = {"é": "e", "(": "("}
    pattern, path = (text.translate(str.maketrans(one_byte)) for text in (pattern, path))
    assert Patterns([pattern]).verdict(path, is_folder=is_folder) == plain_verdict(pattern, path, is_folder)


@examples(100)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "", "*"]), min_size=1, max_size=4), max_size=5))
def test_braces_stand_for_each_choice(choices: list[list[str]]) -> None:
    given = "".join("{" + ",".join(one) + "}" for one in choices)
    assert without_braces(given) == ["".join(one) for one in product(*choices)]
