"""A text above the size of a piece is counted and encoded with little memory by tokenizers that see a text whole."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from gguf_files import bert, llama, t5
from support import ROOT, ok, program, refused

from tokcli.registry.encodings import load_encoding

FORMATS = ROOT / "tests/data/formats"
NAMES = ["bpe.model", "unigram.model", "word.model", "char.model", "unigram.tokenizer.json", "wordpiece.tokenizer.json"]
MEMORY = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of 9 MiB, which is read in parts."""
    chance = random.Random(4)
    some = ["the", "lower", "Newest", "hello", "wörld", "世界。", "x,", "12", "low", "a", "er"]
    line = "".join(chance.choice(some) + chance.choice([" ", " ", " ", "\n", "  "]) for _ in range(10_000))
    path = tmp_path_factory.mktemp("long") / "words.txt"
    path.write_text(line * (9 * (1 << 20) // len(line.encode()) + 1), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "t5.gguf", "spm.gguf", "bert.gguf"])
def test_a_long_text_has_the_ids_of_the_whole(name: str, words: Path, tmp_path: Path) -> None:
    makers = {"t5.gguf": t5, "spm.gguf": llama, "bert.gguf": bert}
    path = makers[name](tmp_path / name) if name in makers else FORMATS / name
    ids = load_encoding(path).encode_array(words.read_text("utf-8"))
    assert ok("count", "-e", path, words).split() == [str(len(ids)).encode()]
    assert ok("encode", "-e", path, "--format", "u32", words, "--special", "text") == bytes(ids)
    assert ok("encode", "-e", path, "-n", "9", words, "--special", "text").split() == [b"%d" % i for i in ids[:9]]
    last = ok("encode", "-e", path, "-n", "9", "--keep", "last", words, "--special", "text")
    assert last.split() == [b"%d" % number for number in ids[-9:]]


@pytest.mark.memory
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kB")
@pytest.mark.parametrize("name", NAMES)
def test_memory_does_not_grow_with_the_text(name: str, words: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    with path.open("wb") as file:
        for _ in range(10):
            file.write(words.read_bytes())
    command = [sys.executable, "-c", MEMORY, *program(), "count", "-e", FORMATS / name, "-j", "2", path]
    ran = subprocess.run(command, capture_output=True, check=True)
    assert int(ran.stdout) > 1_000_000
    assert int(ran.stderr.split()[-1]) < 150 << 10


@pytest.mark.slow
@pytest.mark.memory
def test_a_long_text_without_a_place_to_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"the words " + b"x" * (70 << 20))
    err = refused("count", "-e", FORMATS / "unigram.model", path)
    assert "a text above 64 MiB without a place to cut it begins at byte 9" in err
