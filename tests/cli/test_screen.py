"""What people see: colours only where they are wanted, tables on a terminal, and a start that loads little."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from support import ok, on_terminal, without_coverage

from tokcli.engine import backend

ESC = b"\x1b["


SHOW = ("encode", "--visualise", "-t", "hello world")


@pytest.mark.parametrize(
    ("options", "env", "coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--color=never"], {}, False),
        (["--color=always"], {"NO_COLOR": "1"}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--colour", "never"], {}, False),
    ],
)
def test_colour_on_a_terminal_unless_it_is_unwanted(options: list[str], env: dict[str, str], coloured: bool) -> None:
    status, shown = on_terminal(*SHOW, *options, env=env)
    assert status == 0
    assert (ESC in shown) == coloured


@pytest.mark.parametrize(
    ("options", "env", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        (["--color=never"], {"FORCE_COLOR": "1"}, False),
        (["--color=always"], {}, True),
    ],
)
def test_no_colour_in_a_pipe_unless_it_is_wanted(options: list[str], env: dict[str, str], coloured: bool) -> None:
    assert (ESC in ok(*SHOW, *options, env=env)) == coloured


def test_a_file_gets_no_colour_from_the_terminal_beside_it(tmp_path: Path) -> None:
    assert on_terminal(*SHOW, "-o", str(tmp_path / "out")) == (0, b"")
    assert (tmp_path / "out").read_text("utf-8") == "hello│·world\n"


def test_merges_are_shown_step_by_step() -> None:
    lines = ok("encode", "--visualise=merges", "-t", "hello").decode().splitlines()
    assert [line.split() for line in lines] == [
        ["h│e│l│l│o"], ["273", "he│l│l│o"], ["680", "he│ll│o"], ["10844", "hell│o"], ["24912", "hello"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [["inspect-ranks"], ["inspect-ranks", "hello"], ["split", "--table", "-t", "it's 2024 " * 9]], ids=str
)
def test_tables_fit_a_terminal_of_80_columns(arguments: list[str]) -> None:
    status, shown = on_terminal(*arguments, env={"NO_COLOR": "1"})
    assert status == 0
    assert max(map(len, shown.decode().splitlines())) <= 80
    assert ESC not in shown


def test_decode_adds_no_newline_on_a_terminal() -> None:
    assert on_terminal("decode", "-t", "24912 2375") == (0, b"hello world")


def test_binary_ids_do_not_go_to_a_terminal() -> None:
    status, shown = on_terminal("encode", "--format", "u32", "-t", "hello")
    assert (status, shown) == (2, b"")


def test_names_of_files_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    for name in ("a\x1b[31m", "b"):
        (tmp_path / name).write_bytes(b"hello")
    _, shown = on_terminal("count", *(str(tmp_path / name) for name in ("a\x1b[31m", "b")))
    assert ESC not in shown


@pytest.mark.skipif(backend.native() is None, reason="Python reads the ranks, and compiles the pattern")
def test_counting_ascii_loads_little(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello world")
    code = (
        "import sys; from tokcli.cli.main import run\n"
        "status = run(['count', sys.argv[1]]); print(*sorted(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    arguments = [sys.executable, "-c", code, tmp_path / "a"]
    ran = subprocess.run(arguments, capture_output=True, text=True, env=without_coverage())  # which loads much itself
    assert (ran.returncode, ran.stdout) == (0, "2\n")
    heavy = {"rich", "requests", "platformdirs", "filelock", "importlib.metadata", "tempfile", "json", "difflib",
             "shutil", "numpy", "tokcli.engine.unicode.tables_16", "tokcli.registry.network.download"}  # fmt: skip
    assert not heavy & set(ran.stderr.split())


@pytest.mark.parametrize("environment", [{"COLORTERM": "truecolor"}, {"TERM": "xterm-256color"}, {}], ids=str)
def test_lines_are_styled_as_rich_does_it(environment: dict[str, str]) -> None:
    from tokcli.cli.terminal.screen import styled
    from tokcli.render.console import color_system, make_console
    from tokcli.render.tokens import coloured_rows

    for line in coloured_rows([(b"hello", 1), (" 日本\n".encode(), 22), (b"\x1b[31m", 333)], 60, ids=True):
        if not line.style:
            file = io.StringIO()
            make_console(file, "always", environment=environment).print(line, soft_wrap=True)
            assert styled(line, color_system(environment)) == file.getvalue()
