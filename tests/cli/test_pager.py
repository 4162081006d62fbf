"""What is taller than the screen is paged, at once and politely; nothing else is."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from support import ok, on_terminal

ESC = b"\x1b["
LINES = "hello world\n" * 100
SHOW = ("encode", "--visualise", "-t", LINES)


@pytest.fixture
def pager(tmp_path: Path) -> dict[str, str]:
    """A pager that writes what it gets, and LESS, into files."""
    script = tmp_path / "my pager"
    script.write_text(f'#!/bin/sh\ncat > "{tmp_path}/got"\necho "$LESS$1" > "{tmp_path}/less"\n')
    script.chmod(0o755)
    return {"PAGER": f"'{script}' -x", "LESS": ""}


def test_a_long_view_goes_through_the_pager(pager: dict[str, str], tmp_path: Path) -> None:
    assert on_terminal(*SHOW, env=pager) == (0, b"")
    got = (tmp_path / "got").read_bytes()
    assert ESC in got
    assert got.count("⏎".encode()) == 100
    assert got.decode().endswith("300 tokens · 1,200 bytes · 4.00 bytes per token · o200k_base\x1b[0m\n")
    assert (tmp_path / "less").read_text() == "-x\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "--table", "-t", LINES],
        ["split", "--diff", r"\w+|\W", "-t", "it's 12345 " * 40],
        ["inspect-ranks", *(f"--id={id}" for id in range(300, 340))],
    ],
    ids=["split", "diff", "inspect-ranks"],
)
def test_tables_go_through_the_pager_too(arguments: list[str], pager: dict[str, str], tmp_path: Path) -> None:
    assert on_terminal(*arguments, env=pager) == (0, b"")
    assert (tmp_path / "got").read_text().count("\n") > 40


def test_less_is_told_to_keep_colours_where_nobody_told_it_anything(
    pager: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LESS", raising=False)
    on_terminal(*SHOW, env={"PAGER": pager["PAGER"]})
    assert (tmp_path / "less").read_text() == "FRX-x\n"


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (("-t", "hello\n" * 22), {}),
        (("-t", LINES), {"PAGER": ""}),
        (("-t", LINES), {"PAGER": "cat"}),
        (("-t", LINES), {"PAGER": "no such pager"}),
        (("-t", LINES), {"PAGER": "'"}),
        (("-t", LINES), {"TERM": "dumb"}),
    ],
    ids=str,
)
def test_no_pager_where_none_is_needed_or_wanted(
    arguments: tuple[str, ...], env: dict[str, str], pager: dict[str, str], tmp_path: Path
) -> None:
    status, shown = on_terminal("encode", "--visualise", *arguments, env=pager | env)
    assert status == 0
    assert shown.count("⏎".encode()) == arguments[1].count("\n")
    assert (ESC in shown) == (env.get("TERM") != "dumb")
    assert not (tmp_path / "got").exists()


def test_a_pipe_is_not_paged(pager: dict[str, str], tmp_path: Path) -> None:
    assert ok(*SHOW, env=pager).count(b"\n") == 100
    assert not (tmp_path / "got").exists()


@pytest.mark.clock
def test_leaving_the_pager_ends_the_view_without_complaint_and_at_once(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("some words and 12345 on a line\n" * 100_000)
    before = cpu_seconds_of_children()
    status, shown = on_terminal("encode", "--visualise", str(tmp_path / "long"), env={"PAGER": "head -n 3"})
    assert status == 0
    assert shown.count("⏎".encode()) == 3
    assert b"Error" not in shown
    assert cpu_seconds_of_children() - before < 5, "3 MB in full take longer"


def cpu_seconds_of_children() -> float:
    """Return the processor time of the processes that this one waited for: the machine may be busy."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_no_isolates_go_to_a_pager(pager: dict[str, str], tmp_path: Path) -> None:
    isolate = "\u2068".encode()
    assert isolate in on_terminal("encode", "--visualise", "-t", "مرحبا", env=pager)[1]
    on_terminal("encode", "--visualise", "-t", "مرحبا\n" * 30, env=pager)
    assert isolate not in (tmp_path / "got").read_bytes()


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1", "LC_ALL": "POSIX"}])
def test_lines_and_bars_are_ascii_where_the_locale_is_not_utf_8(locale: dict[str, str], tmp_path: Path) -> None:
    for name, text in {"a/b": "x y z " * 99, "a/long name 日本": "x " * 99}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = on_terminal("count", "--tree", tmp_path / "a", env=locale)[1].decode()
    assert "|-- b" in shown
    assert "`-- long name 日本" in shown
    assert "####" in shown
    assert set("".join(char for char in shown if not char.isascii())) == set("日本")
    for view in (["inspect-ranks", "hello"], ["inspect-ranks", "--stats"], ["split", "--table", "-t", "x" * 99]):
        assert on_terminal(*view, env={"NO_COLOR": "1", **locale})[1].isascii()


def test_less_is_told_that_views_are_utf_8(pager: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "my pager").write_text(f'#!/bin/sh\ncat > /dev/null\necho "$LESSCHARSET" > "{tmp_path}/charset"\n')
    on_terminal(*SHOW, env=pager)
    assert (tmp_path / "charset").read_text() == "utf-8\n"
    on_terminal(*SHOW, env={**pager, "LESSCHARSET": "latin1"})
    assert (tmp_path / "charset").read_text() == "latin1\n"
