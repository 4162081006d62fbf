"""Files of counts that are damaged, lie, or would cost too much are refused in one line that names them."""

from __future__ import annotations

import json
import os
import random
import resource
import struct
import zlib
from pathlib import Path

import pytest
from support import noted, refused

from tokcli.engine.base.count_rows import take_block
from tokcli.training.counts_file import CHECKSUM, END, HEAD, MAGIC, SIZES, VERSION, write_counts

ABOUT = {"pat_str": r"\w+|\W", "special_tokens": ["<end>"], "errors": "strict"}
MEMORY = 400 << 20


def counts_file(path: Path, blocks: list[bytes], about: dict[str, object] = ABOUT) -> Path:
    with path.open("wb") as file:
        write_counts(file.write, about, blocks)
    return path


def block_of(rows: dict[bytes, int]) -> bytes:
    return take_block(iter(sorted(rows.items())), 1 << 40)


def refused_counts(path: Path, **more: object) -> str:
    """Return the error of training on counts, which names the file."""
    message = refused("train", "--counts", path, "--vocab-size", "300", "-o", path.with_name("out"), **more)
    assert path.name in message
    assert not path.with_name("out").exists()
    return message


def in_little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def test_damage_anywhere_is_found(tmp_path: Path) -> None:
    """A flip in the header once gave other special tokens, another pattern, or nothing at all, in 13 files of 120."""
    words = {b"word%d" % number: number + 1 for number in range(300)}
    data = counts_file(tmp_path / "whole", [block_of(words)]).read_bytes()
    chance = random.Random(5)
    for place in [*range(0, HEAD.size + 80, 7), *(chance.randrange(len(data)) for _ in range(20)), len(data) - 1]:
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        path = tmp_path / "damaged.counts"
        path.write_bytes(changed)
        refused_counts(path)


def test_counts_of_the_version_before_are_read_with_a_note(tmp_path: Path) -> None:
    header, block = json.dumps(ABOUT).encode(), block_of({b"abab": 3})
    data = zlib.compress(block)
    old = HEAD.pack(MAGIC, 1, len(header)) + header + SIZES.pack(len(data), len(block)) + data
    (tmp_path / "old.counts").write_bytes(old + SIZES.pack(0, 0) + END.pack(1))
    arguments = ("train", "--counts", tmp_path / "old.counts", "--vocab-size", "300", "-o", tmp_path / "out")
    assert "old.counts: counts of an earlier version, without a checksum" in noted(*arguments).err
    assert "without a checksum" not in noted(*arguments, "-q").err
    assert len((tmp_path / "out").read_bytes().splitlines()) == 258
    (tmp_path / "out").unlink()
    (tmp_path / "old.counts").write_bytes(HEAD.pack(MAGIC, VERSION + 1, 0))
    assert f"counts of version {VERSION + 1}" in refused_counts(tmp_path / "old.counts")


@pytest.mark.memory
def test_a_piece_above_64_mib_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """One of 200 MB once took 2.7 GB."""
    for size in (200_000_000, (64 << 20) + 200_000):
        path = counts_file(tmp_path / "long.counts", [block_of({b"a" * size: 1})])
        assert "damaged counts file" in refused_counts(path, preexec_fn=in_little_memory)


@pytest.mark.memory
def test_rows_that_share_a_long_one_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    long = b"a" * 40_000_000
    same = b"".join(take_block(iter([(b"x", 1)]), 1)[:0] + shared_row(len(long)) for _ in range(100_000))
    path = counts_file(tmp_path / "shared.counts", [block_of({long: 1}) + same])
    assert "damaged counts file" in refused_counts(path, preexec_fn=in_little_memory)


def shared_row(same: int) -> bytes:
    """Return a row that shares so many bytes with the one before it, and has one more."""
    number = bytearray()
    while same >= 0x80:
        number.append(same & 0x7F | 0x80)
        same >>= 7
    return bytes([*number, same, 1, ord("b"), 1])


@pytest.mark.memory
@pytest.mark.parametrize("sizes", [(0xFFFFFFFF, 10), (10, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (1, 0)])
def test_sizes_that_lie_cost_nothing(sizes: tuple[int, int], tmp_path: Path) -> None:
    header = json.dumps(ABOUT).encode()
    head = HEAD.pack(MAGIC, VERSION, len(header)) + CHECKSUM.pack(zlib.crc32(header)) + header
    (tmp_path / "lies.counts").write_bytes(head + SIZES.pack(*sizes) + zlib.compress(b"x") * 100)
    refused_counts(tmp_path / "lies.counts", preexec_fn=in_little_memory)


@pytest.mark.parametrize("size", [0xFFFFFFFF, 1 << 22, 3])
def test_a_header_that_lies_about_its_size_is_refused(size: int, tmp_path: Path) -> None:
    (tmp_path / "lies.counts").write_bytes(struct.pack("<8sIII", MAGIC, VERSION, size, 0) + b"{}")
    refused_counts(tmp_path / "lies.counts")


@pytest.mark.parametrize("pattern", ["a{1000000000}", "(?:a{65535}){65535}", "(", "\\0["])
def test_a_pattern_that_cannot_be_used_names_the_counts_that_have_it(pattern: str, tmp_path: Path) -> None:
    path = counts_file(tmp_path / "pattern.counts", [block_of({b"abab": 2})], {**ABOUT, "pat_str": pattern})
    ran = refused_counts(path)
    assert "pattern" in ran


@pytest.mark.parametrize("tokens", [["", "a"], ["a", "a"], ["\ud800"], ["a\nb"], ["x" * 100_000], ["\x1b[2J"]])
def test_special_tokens_of_counts_are_taken_or_refused(tokens: list[str], tmp_path: Path) -> None:
    path = counts_file(tmp_path / "special.counts", [block_of({b"abab": 2})], {**ABOUT, "special_tokens": tokens})
    if tokens[0] in ("", "\ud800") or len(set(tokens)) < len(tokens):
        assert "special" in refused_counts(path)
    elif len(tokens[0]) > 1 << 16:
        refused("train", "--counts", path, "--vocab-size", "300", "-o", tmp_path / "out")
    else:
        noted("train", "--counts", path, "--vocab-size", "300", "-o", tmp_path / "out")
        assert noted("count", "-e", tmp_path / "out", "-t", "ab").out == b"1\n"


def test_counts_that_are_no_file_are_refused(tmp_path: Path) -> None:
    """A pipe was once waited for, for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        assert "not a regular file" in refused("train", "--counts", path, "--vocab-size", "300", "-o", tmp_path / "out")


def test_counts_are_not_looked_for_in_folders(tmp_path: Path) -> None:
    """An empty folder was once an internal error."""
    (tmp_path / "empty").mkdir()
    said = refused("train", "--counts", "-r", tmp_path / "empty", "--vocab-size", "300", "-o", tmp_path / "out")
    assert "--counts cannot be combined with -r" in said
