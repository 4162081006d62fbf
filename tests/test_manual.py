"""The man pages say all that the program has: each option from its row, each variable, and examples that are true."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from tools import readme_examples

from tokcli.cli.main import COMMANDS

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import make_manual

PAGES = {name: ROOT / "completions" / "man1" / f"{f'tokcli-{name}'.rstrip('-')}.1" for name in ("", *COMMANDS)}
TEXTS = {path.stem: readme_examples.blocks(path.read_text("utf-8")) for path in readme_examples.MANUAL}
BLOCKS = [(name, number) for name, blocks in TEXTS.items() for number in range(len(blocks))]
LINTERS = (["mandoc", "-Tlint"], ["groff", "-man", "-ww", "-Tutf8", "-z"])


def test_there_is_a_page_for_each_command_and_no_other() -> None:
    assert {path.name for path in PAGES["count"].parent.iterdir()} == {path.name for path in PAGES.values()}


def test_the_pages_are_what_the_program_says_now() -> None:
    assert sorted(make_manual.stale()) == [], "run python tests/tools/make_manual.py"


def test_the_variables_that_the_page_names_are_those_of_the_code() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "tokcli").rglob("*.py"))
    own = set(re.findall(r'["\s]((?:TOKCLI|TIKTOKEN)_[A-Z_]+)["\s=]', source)) - {"TOKCLI_COMPLETE"}
    assert own == set(re.findall(r"(?:TOKCLI|TIKTOKEN)_[A-Z_]+", PAGES[""].read_text("utf-8")))


@pytest.mark.parametrize("linter", LINTERS, ids=lambda line: line[0])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_written_as_man_wants_it(name: str, linter: list[str]) -> None:
    if shutil.which(linter[0]) is None:
        pytest.skip(f"{linter[0]} is not installed")
    ran = subprocess.run([*linter, PAGES[name]], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")
@pytest.mark.parametrize(("name", "number"), BLOCKS)
def test_an_example_prints_what_the_page_says(name: str, number: int, tmp_path: Path) -> None:
    examples = TEXTS[name][number]
    for example, out in zip(examples, readme_examples.run_block(examples, str(tmp_path)), strict=True):
        assert out == example.printed, example.command
