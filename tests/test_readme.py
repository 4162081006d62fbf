"""Every example of the README does what it says."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ok
from tools import readme_examples

TEXT = readme_examples.README.read_text("utf-8")
BLOCKS = readme_examples.blocks(TEXT)


def test_the_readme_has_examples_of_every_command() -> None:
    commands = " ".join(example.command for block in BLOCKS for example in block)
    for name in ("count", "encode", "decode", "split", "train", "inspect-ranks"):
        assert f"tokcli {name}" in commands


def test_the_readme_is_short_and_its_contents_name_each_chapter() -> None:
    assert len(TEXT.splitlines()) <= 350
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    linked = set(re.findall(r"\]\(#([a-z-]+)\)", prose))
    heads = re.findall(r"^(##+) (.*)$", prose, re.MULTILINE)
    names = {re.sub(r"[^a-z -]", "", head.lower()).replace(" ", "-"): marks for marks, head in heads}
    assert {name for name, marks in names.items() if marks == "##"} <= linked <= set(names)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_prints_what_the_readme_says(number: int, tmp_path: Path) -> None:
    printed = readme_examples.run_block(BLOCKS[number], str(tmp_path))
    for example, out in zip(BLOCKS[number], printed, strict=True):
        assert out == example.printed, example.command


def test_the_python_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # they write files
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
        assert test.examples
        assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="the script is for bash")
def test_the_array_of_jobs_encodes_every_document_once(tmp_path: Path) -> None:
    script = re.findall(r"^```sh\n(#!/bin/bash\n#SBATCH.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(script) == 1
    assert script[0].count("\n") <= 10
    (tmp_path / "corpus").mkdir()
    lines = [f'{{"text": "document {number}"}}\n' for number in range(50)]
    (tmp_path / "corpus" / "1.jsonl").write_text("".join(lines[:9]))
    (tmp_path / "corpus" / "2.jsonl").write_text("".join(lines[9:]))
    for number in (1, 2, 3):
        env = readme_examples.environment(str(tmp_path)) | {
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": "3",
        }
        subprocess.run(["bash", "-ec", script[0]], cwd=tmp_path, env=env, check=True, timeout=60)
    parts = [tmp_path / "ids" / f"part-{number}" for number in (1, 2, 3)]
    read_back = ok("decode", "--records", "lines", *parts).decode().splitlines()
    assert read_back == [f"document {number}<|endoftext|>" for number in range(50)]


def test_the_help_fits_a_screen() -> None:
    lines = ok("--help", env={"COLUMNS": "80"}).decode().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_variables_and_statuses_that_the_readme_names_are_those_of_the_code() -> None:
    package = readme_examples.README.parent / "tokcli"
    source = "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    named = set(re.findall(r"`(TOKCLI_[A-Z_]+|TIKTOKEN_[A-Z_]+)", TEXT))
    assert named == set(re.findall(r'["\s]((?:TOKCLI|TIKTOKEN)_[A-Z_]+)["\s=]', source)) - {"TOKCLI_COMPLETE"}
