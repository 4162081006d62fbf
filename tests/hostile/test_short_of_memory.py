"""Too little memory is one clear error, or none: never a traceback, an abort or a wait without end."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, program, without_coverage

from tokcli.engine import backend

FORMATS = ROOT / "tests" / "data" / "formats"
COMMANDS = {
    "count": ["count", "text"],
    "count in threads": ["count", "-j", "4", "big"],
    "encode records": ["encode", "--records", "lines", "big"],
    "decode": ["decode", "-t", "1 2 3"],
    "split": ["split", "--pattern", r"\w+|\W+", "text"],
    "why": ["split", "--why", "3", "text"],
    "visualise": ["encode", "--visualise", "text"],
    "a page": ["encode", "--html", "page", "text"],
    "a pattern": ["split", "--lint", "--pattern", r"\p{L}+|[^\p{L}]+"],
    "train": ["train", "text", "--vocab-size", "300", "-o", "out"],
    "statistics": ["inspect-ranks", "--stats"],
    "a page of a vocabulary": ["inspect-ranks", "-e", "gpt2", "--html", "page"],
    "a tokenizer.json": ["count", "-e", str(FORMATS / "byte-level.tokenizer.json"), "text"],
    "a SentencePiece model": ["count", "-e", str(FORMATS / "unigram.model"), "text"],
}
# a line of glibc itself for each thread that first needs the thread-local data of a library: nobody can catch it
BY_GLIBC = "cannot allocate memory for thread-local data: ABORT\n"
FIRST, LAST = 18, 200  # MiB; `import click` takes up to 16, with which Python itself may crash


def ran(command: list[str], mib: int, folder: Path) -> subprocess.CompletedProcess[bytes]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    return subprocess.run(
        [*program(), *command], capture_output=True, cwd=folder, timeout=60, preexec_fn=limit, env=without_coverage(),
        check=False,
    )  # fmt: skip


def check(command: list[str], limits: range, folder: Path) -> None:
    (folder / "text").write_bytes(b"hello world, it's 2024\n" * 2000)
    (folder / "big").write_bytes(b"hello world, it's 2024\n" * 200_000)
    kept = sorted(folder.iterdir())
    for mib in limits:
        done = ran(command, mib, folder)
        said = done.stderr.decode()
        if done.returncode == 0 or (done.returncode == 127 and said and not said.replace(BY_GLIBC, "")):
            continue
        assert done.returncode == 2, (mib, done.returncode, said[-300:])
        assert said.startswith("Error: ") and said.count("\n") <= 2 and "internal error" not in said, (mib, said)
        assert sorted(folder.iterdir()) == kept, mib


@pytest.mark.memory
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_little_memory_is_one_line_or_enough(command: list[str], tmp_path: Path) -> None:
    check(command, range(FIRST, 60, 18), tmp_path)


@pytest.mark.memory
@pytest.mark.parametrize("mib", range(54, 74, 4))
def test_little_memory_is_not_blamed_on_the_pattern(mib: int, tmp_path: Path) -> None:
    done = ran(COMMANDS["a pattern"], mib, tmp_path)
    assert done.returncode in (0, 1) or b"out of memory" in done.stderr, done.stderr


@pytest.mark.memory
@pytest.mark.parametrize("mib", range(150, 450, 50))
@pytest.mark.parametrize(
    "command", [["count", "--records", "jsonl"], ["encode", "--records", "jsonl", "--shards", "s"]]
)
def test_little_memory_is_told_where_columns_are_read(command: list[str], mib: int, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"text": ["hello world"] * 500})
    parquet.write_table(table, tmp_path / "rows.parquet")
    done = ran([*command, "rows.parquet"], mib, tmp_path)
    assert done.returncode == 0 or (done.returncode, done.stderr) == (2, b"Error: out of memory\n"), done.stderr


FILLS_MEMORY = """
import resource
from tokcli.engine import backend

backend.native().keep_spare_memory()

class Held:
    def __enter__(self): return self
    def __exit__(self, *_): return False

# an error leaves the `with` at an instruction so late that its number needs an int of its own
exec("def fill(held):\\n with Held():\\n" + "  held.append(1 << 70)\\n" * 60 + "  while True: held.append(len(held) + 999)\\n")
resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
held = []
try:
    fill(held)
except MemoryError:
    del held
    print("ended")
"""


@pytest.mark.memory
@pytest.mark.skipif(backend.name() == "python", reason="native code keeps the memory")
def test_an_error_ends_a_run_that_has_no_memory_left_at_all() -> None:
    """CPython once tried without end to make an int; `inspect-ranks --html` hung under a limit that fitted badly."""
    done = subprocess.run(
        [sys.executable, "-c", FILLS_MEMORY], capture_output=True, timeout=60, env=without_coverage(), check=False
    )
    assert (done.returncode, done.stdout) == (0, b"ended\n"), done.stderr


@pytest.mark.memory
def test_without_memory_for_its_modules_the_program_says_what_it_needs(tmp_path: Path) -> None:
    done = ran(["--version"], 32, tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Error: out of memory: tokcli needs 32 MiB more than Python itself")


@pytest.mark.memory
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [pytest.param(12, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_any_limit_of_memory_is_one_line_or_enough(command: list[str], step: int, tmp_path: Path) -> None:
    check(command, range(FIRST, LAST, step), tmp_path)
