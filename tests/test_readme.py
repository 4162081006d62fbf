"""Every example of the README does what it says."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from support import run_tokcli
from tools import readme_examples

TEXT = readme_examples.README.read_text("utf-8")
BLOCKS = readme_examples.blocks(TEXT)


def test_the_readme_has_examples_of_every_command() -> None:
    commands = " ".join(example.command for block in BLOCKS for example in block)
    for name in ("count", "encode", "decode", "split", "train", "inspect-ranks"):
        assert f"tokcli {name}" in commands


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_prints_what_the_readme_says(number: int, tmp_path: Path) -> None:
    printed = readme_examples.run_block(BLOCKS[number], str(tmp_path))
    for example, out in zip(BLOCKS[number], printed, strict=True):
        assert out == example.printed, example.command


def test_the_python_examples_are_true() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
        assert test.examples
        assert doctest.DocTestRunner().run(test).failed == 0


def test_the_help_fits_a_screen() -> None:
    ran = run_tokcli("--help", env={"COLUMNS": "80"})
    lines = ran.out.decode().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_variables_and_statuses_that_the_readme_names_are_those_of_the_code() -> None:
    package = readme_examples.README.parent / "tokcli"
    source = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    named = set(re.findall(r"`(TOKCLI_[A-Z_]+|TIKTOKEN_[A-Z_]+)", TEXT))
    assert named == set(re.findall(r'["\s]((?:TOKCLI|TIKTOKEN)_[A-Z_]+)["\s=]', source)) - {"TOKCLI_COMPLETE"}
