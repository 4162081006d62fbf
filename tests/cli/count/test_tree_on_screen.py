"""`count --tree` for people: bars as wide as the screen, small rows in one line, the N largest in all, the pager."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from support import ok, on_terminal, refused

LARGE = {f"d{n}/large{n}.txt": "hello " * (500 * n) for n in (1, 2, 3)}
SMALL = {f"d1/small{n}": "x y" for n in range(40)} | {"d2/tiny": "z", "one": "a", "two": "b"}
WIDE = {"d3/日本語のとても長い名前のファイル" * 2 + ".md": "hello " * 900, "d3/" + "n" * 90 + ".py": "hello " * 800}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with large files, many small ones, and long names."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**LARGE, **SMALL, **WIDE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def shown(*arguments: str, columns: int = 80, **env: str) -> list[str]:
    """Return the lines of a tree on a terminal of some width."""
    status, out = on_terminal("count", "--tree", *arguments, env={"COLUMNS": str(columns), **env})
    assert status == 0
    return out.decode().splitlines()


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[0].replace(",", "")) for line in lines]


@pytest.mark.parametrize("columns", [200, 100, 80, 60, 59, 40, 20])
def test_no_row_is_wider_than_the_screen_and_bars_take_what_is_left(columns: int, folder: Path) -> None:
    lines = shown(".", columns=columns)
    assert max(map(cell_len, lines)) <= columns
    assert cell_len(lines[0]) == columns or columns < 60
    assert any("█" in line for line in lines) == (columns >= 60)
    assert all(re.search(r"(\d|<1)%$", line) for line in lines) or columns < 30
    assert any("n…" in line for line in lines) == (columns <= 100)
    assert lines[0].split()[:2] == [f"{int(ok('count', '--total', '.')):,}", "."]


def test_small_rows_of_a_folder_are_one_line_with_their_number_and_sum(folder: Path) -> None:
    lines = shown(".", columns=100)
    assert not [line for line in lines if "small" in line or " one" in line]
    (folded,) = [line for line in lines if "40 under 1% each" in line]
    assert numbers([folded]) == [80]
    assert "2 under 1% each" in lines[-1]  # one and two; tiny is the only small one in its folder, and is shown
    assert next(line for line in lines if " tiny " in line).endswith(" <1%")
    assert ok("count", "--tree", ".").decode().count("small") == 40


def test_small_files_that_have_most_of_all_tokens_are_shown_up_to_ten(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    for number in range(150):
        (tmp_path / "few" / f"{number:03}.txt").write_text("a " * 8)
        (tmp_path / f"{number:03}.txt").write_text("a " * (140 if number % 15 == 7 else 100))
    lines = [line for line in shown(str(tmp_path)) if "few" not in line and "150 under" not in line]
    named = [line.split()[2] for line in lines[1:-1]]
    assert named == [f"{number:03}.txt" for number in range(150) if number % 15 == 7]
    assert "… 140 under 1% each" in lines[-1]


@pytest.mark.parametrize("order", ["name", "tokens"])
@pytest.mark.parametrize("number", [1, 3, 7, 1000])
def test_top_is_a_number_of_rows_in_all(number: int, order: str, folder: Path) -> None:
    rows = ok("count", "--tree", "--sort", order, ".").decode().splitlines()[1:]
    for some in (
        ok("count", "--tree", "--top", str(number), "--sort", order, ".").decode().splitlines()[1:],
        shown("--top", str(number), "--sort", order, ".", columns=300)[1:],
    ):
        assert sorted(numbers(some), reverse=True) == sorted(numbers(rows), reverse=True)[:number]
        assert not any("each" in line for line in some)


def test_top_keeps_the_folders_of_what_it_keeps(folder: Path) -> None:
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "a/b/c/d.txt").write_text("hello " * 9000)
    lines = ok("count", "--tree", "--top", "4", ".").decode().splitlines()
    assert [line.split()[-1] for line in lines] == [".", "a/", "b/", "c/", "d.txt"]


def test_without_file_at_a_terminal_the_tree_is_of_the_current_folder(folder: Path) -> None:
    status, out = on_terminal("count", "--tree", is_input=True)
    assert status == 0
    assert out.decode().splitlines()[0].split()[:2] == [f"{int(ok('count', '--total', '.')):,}", "."]
    assert ok("count", "--tree", data=b"hello world") == b"2 -\n"  # what is piped is read


def test_thousands_are_grouped_for_people_and_plain_in_pipes(folder: Path) -> None:
    total = int(ok("count", "--total", "."))
    assert f"{total:,} ." in shown(".")[0]
    assert ok("count", "--tree", ".").decode().startswith(f"{total} .\n")
    assert f"{total:,} total" in on_terminal("count", ".")[1].decode()
    assert f"{total} total" in ok("count", ".").decode()
    both = shown("-e", "gpt2", "-e", "o200k_base", ".", columns=100)
    assert both[0].split() == ["gpt2", "o200k_base", "path"]
    assert cell_len(both[1]) == 100


def test_a_colour_that_is_asked_for_gives_bars_in_a_pipe(folder: Path) -> None:
    always = ok("count", "--tree", "--color", "always", ".", env={"COLUMNS": "90"}).decode().splitlines()
    assert always == shown(".", columns=90)
    assert cell_len(ok("count", "--tree", "--color=always", ".").decode().splitlines()[0]) == 80
    assert "█" not in ok("count", "--tree", "--color", "never", ".").decode()


def test_the_tree_goes_through_the_pager(folder: Path, tmp_path: Path) -> None:
    for n in range(40):
        (folder / f"m{n}").write_text("hello " * 500)
    (folder / "pager").write_text("#!/bin/sh\ncat > got\n")
    (folder / "pager").chmod(0o755)
    assert shown("d1", "d2", "d3", PAGER="./pager") != []
    assert shown("-g", "m*", ".", PAGER="./pager") == []
    assert (folder / "got").read_text().count("█") > 40


def test_the_budget_and_the_price_are_below_the_tree(folder: Path) -> None:
    asked = ("--budget", "--window", "50000", "--price", "2", ".")
    total = int(ok("count", "--total", "."))
    lines = ok("count", "--tree", *asked).decode().splitlines()
    assert [line.split() for line in lines[-2:]] == [[str(50000 - total), "left"], [f"{2 * total / 1e6:g}", "price"]]
    assert shown(*asked)[-2:] == [f"{50000 - total:,} left".rjust(11), f"{2 * total / 1e6:g} price"]
    refused("count", "--tree", "--budget", ".")


def test_deep_folders_empty_ones_and_names_that_act_on_terminals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    deep = Path("r", *(f"level{n}" for n in range(60)))
    deep.mkdir(parents=True)
    (deep / "new\nline\u202eevil\x1b[31m.txt").write_text("hello")
    Path("nothing").mkdir()
    lines = shown("r", columns=80)
    assert max(map(cell_len, lines)) <= 80
    assert lines[-1].lstrip().startswith("1 … ") and "⏎" in lines[-1] and "⟨U+202E⟩" in lines[-1]
    assert not {"\u202e", "\x1b"} & set("".join(lines))
    assert len(lines) == 62
    assert shown("nothing") == ["0 total" + " " * 69 + "  0%"]


def test_a_name_that_is_written_from_right_to_left_keeps_its_place(folder: Path) -> None:
    (folder / "שלום עולם").write_text("hello " * 500)
    (line,) = [line for line in shown(".", columns=90) if "שלום" in line]
    assert "├── \u2068שלום עולם\u2069 " in line
    assert len(line) == 92  # the marks take no cell
    assert line.endswith("%")
