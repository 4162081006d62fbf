"""The pipelines of tokcli(1) run: what datatrove, Ray Data and Spark answer through the Python API are tokcli's ids."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, without_coverage

import tokcli

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SCRIPTS = re.findall(
    r"^```py\n(.*?)^```$", (ROOT / "tokcli" / "cli" / "main.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
TEXTS = [f"document {number}, " + "word " * (number % 40) for number in range(80)]


def script_of(package: str) -> str:
    """Return the script of tokcli(1) that imports a package."""
    (found,) = (script for script in SCRIPTS if f"import {package}" in script or f"from {package}" in script)
    return str(found)


def run_script(package: str, folder: Path) -> None:
    """Run a script of tokcli(1) in a folder with a corpus."""
    (folder / "corpus").mkdir()
    for number in range(2):
        lines = [json.dumps({"text": text}) for text in TEXTS[number::2]]
        (folder / "corpus" / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "script.py").write_text(script_of(package))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # Spark's workers are the PATH's python3
    env = without_coverage() | {"PATH": path, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    subprocess.run([sys.executable, "script.py"], cwd=folder, env=env, check=True, capture_output=True, timeout=280)


def rows_of(folder: Path) -> list[list[int]]:
    """Return the column `ids` of the Parquet files in a folder."""
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    ids: list[list[int]] = parquet.read_table(folder)["ids"].to_pylist()
    return ids


def test_datatrove_counts_tokens(tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    run_script("datatrove", tmp_path)
    lines = [
        line for path in (tmp_path / "counted").iterdir() for line in gzip.decompress(path.read_bytes()).split(b"\n")
    ]
    counts = {found["text"]: found["metadata"]["tokens"] for found in map(json.loads, filter(None, lines))}
    assert counts == {text: tokcli.get_encoding("o200k_base").count(text) for text in TEXTS}


@pytest.mark.parametrize("package", ["ray", "pyspark"])
def test_ray_and_spark_encode_texts(package: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    pytest.importorskip("pandas")
    if package == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    run_script(package, tmp_path)
    encoding = tokcli.get_encoding("o200k_base")
    assert sorted(rows_of(tmp_path / "ids")) == sorted(map(encoding.encode_ordinary, TEXTS))


def test_each_pipeline_is_a_dozen_lines() -> None:
    assert len(SCRIPTS) == 4
    assert max(len([line for line in script.splitlines() if line]) for script in SCRIPTS) <= 12
