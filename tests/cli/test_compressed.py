"""Compressed input is read as what it holds, in every command; damaged, endless and other data end in an error."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
import threading
import zlib
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import noted, ok, program, refused, run_tokcli

import tokcli
from tokcli.cli.inputs import compressed
from tokcli.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd as zstandard

    def zstd(data: bytes) -> bytes:
        return zstandard.compress(data, options={zstandard.CompressionParameter.checksum_flag: 1})

else:
    zstandard = pytest.importorskip("zstandard")

    def zstd(data: bytes) -> bytes:
        return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data))


WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
kinds = pytest.mark.parametrize("kind", WRITERS)
TEXT = "héllo wörld, it's 2024 日本語\n".encode()


def read(*blocks: bytes) -> bytes:
    return b"".join(compressed.contents(blocks[0], iter(blocks[1:]), "here"))


@kinds
@given(data=st.data())
def test_blocks_may_end_anywhere(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.binary(max_size=3000)) * data.draw(st.sampled_from([1, 1, 50, 500]))
    times = data.draw(st.integers(1, 3))
    packed = WRITERS[kind](text) * times
    cuts = sorted(data.draw(st.lists(st.integers(1, len(packed)), max_size=6)))
    blocks = [packed[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(packed)]) if begin < end]
    assert read(*blocks) == text * times


@kinds
def test_every_command_reads_what_the_data_hold(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = TEXT * 40_000
    (tmp_path / "plain").write_bytes(plain)
    packed = WRITERS[kind](plain)
    (tmp_path / "packed").write_bytes(packed)
    assert ok("count", "packed") == ok("count", data=packed) == ok("count", "plain")
    assert ok("encode", "--format", "u32", "packed") == ok("encode", "--format", "u32", "plain")
    assert ok("split", "-j", "2", "packed") == ok("split", "plain")
    assert ok("count", "--records", "lines", "packed") == ok("count", "--records", "lines", "plain")
    (tmp_path / "ids").write_bytes(WRITERS[kind](b"24912 2375"))
    assert ok("decode", "ids") == b"hello world"
    ok("train", "-q", "packed", "--counts-only", "-o", "packed.counts")
    ok("train", "-q", "plain", "--counts-only", "-o", "plain.counts")
    assert (tmp_path / "packed.counts").read_bytes() == (tmp_path / "plain.counts").read_bytes()
    made = json.loads(ok("count", "--json", "packed", "plain"))
    assert [row["bytes"] for row in made["files"]] == [len(plain)] * 2
    assert "length" in refused("train", "packed", "--hold-back", "10", "--vocab-size", "300", "-o", "x")


@kinds
def test_folders_hold_compressed_texts_too(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(WRITERS[kind](b"hello world"))
    (tmp_path / "b").write_bytes(WRITERS[kind](b"\0binary"))
    (tmp_path / "c").write_bytes(WRITERS[kind](TEXT * 30_000))
    ran = noted("count", "-r", "--jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["path"], row["bytes"]) for row in rows] == [("a", 11), ("c", len(TEXT) * 30_000)]
    assert rows[0]["tokens"] == 2
    assert ran.err == "Note: skipped 1 binary file\n"
    assert noted("encode", "-r", "-g", "a", "-g", "b").out == b"24912 2375\n"


@kinds
def test_no_decompress_takes_the_data_as_they_are(kind: str, tmp_path: Path) -> None:
    packed = WRITERS[kind](TEXT)
    (tmp_path / "packed").write_bytes(packed)
    ids = ok("encode", "--no-decompress", "--errors", "bytes", tmp_path / "packed")
    assert ok("decode", data=ids) == packed
    assert ok("encode", "--no-decompress", "--errors", "bytes", data=packed) == ids


@pytest.mark.parametrize("ids", [[35615, 8], [35615, 776, 11, 12] * 9000, [123, 10, 11]])
def test_binary_ids_may_begin_as_compressed_data_or_as_json_do(ids: list[int]) -> None:
    data = array("H", ids).tobytes()
    text = tokcli.get_encoding("gpt2").decode_bytes(ids)
    given = ("decode", "-e", "gpt2", "--format", "u16")
    assert ok(*given, data=data) == text
    made = json.loads(ok(*given, "--json", data=data))
    assert made.get("bytes_hex", made.get("text", "").encode().hex()) == text.hex()
    assert ok(*given, data=gzip.compress(data)) == text
    assert ok(*given, data=gzip.compress(b"")) == b""


@kinds
def test_data_that_are_damaged_or_end_early_are_refused(kind: str, tmp_path: Path) -> None:
    packed = WRITERS[kind](os.urandom(20_000).hex().encode())
    (tmp_path / "short").write_bytes(packed[:-5])
    assert f"{kind} data that ends too early" in refused("count", tmp_path / "short")
    (tmp_path / "head").write_bytes(packed[:12])
    refused("count", tmp_path / "head")
    half = len(packed) // 2
    (tmp_path / "bad").write_bytes(packed[:half] + b"\xff" * 40 + packed[half + 40 :])
    ran = run_tokcli("count", tmp_path / "bad")
    assert ran.status == 2
    assert f"damaged {kind} data" in ran.err
    (tmp_path / "tail").write_bytes(packed + b"more")
    assert kind in refused("count", tmp_path / "tail")
    (tmp_path / "good").write_bytes(b"x")
    ran = run_tokcli("count", tmp_path / "bad", tmp_path / "good")
    assert (ran.status, ran.out.splitlines()[-1]) == (2, b"1 total")


def test_zeros_may_follow_as_on_a_tape() -> None:
    assert read(gzip.compress(b"a") + bytes(600) + gzip.compress(b"b") + bytes(7)) == b"ab"


@pytest.mark.parametrize("text", [b"B", b"BZ", b"BZh", b"BZh9 is a text", b"(", b"(/", b"BZh91AY&SX", b""])
def test_a_text_that_begins_alike_is_a_text(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(text)
    for arguments in ([tmp_path / "text"], ["-t", text.decode()]):
        ids = ok("encode", *arguments)
        assert ok("decode", data=ids) == text
    reader, writer = os.pipe()

    def feed() -> None:
        with os.fdopen(writer, "wb", buffering=0) as pipe:
            for byte in gzip.compress(b"hello world"):
                pipe.write(bytes([byte]))

    feeder = threading.Thread(target=feed)
    feeder.start()
    done = subprocess.run([*program(), "count"], stdin=reader, capture_output=True)
    os.close(reader)
    feeder.join()
    assert done.stdout == b"2\n"


def bomb() -> bytes:
    """A gzip file of 1 MB that holds 1 GB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b" \n" * (1 << 19)
    return b"".join(packer.compress(block) for _ in range(1000)) + packer.flush()


@pytest.mark.slow
def test_a_bomb_ends_in_an_error_and_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(bomb())

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    arguments = ["count", "--pattern", r"\s|\S", "-e", "gpt2", "-j", "1", str(tmp_path / "bomb")]
    done = subprocess.run([*program(), *arguments], capture_output=True, preexec_fn=few)
    assert done.returncode == 2
    assert b"more than 200 times their size" in done.stderr


def test_no_more_comes_at_once_than_a_block() -> None:
    for kind, pack in WRITERS.items():
        packed = pack(bytes(1 << 24))
        blocks = list(compressed.contents(packed, iter(()), "here"))
        assert max(map(len, blocks)) <= 1 << 27, kind
        assert sum(map(len, blocks)) == 1 << 24


def test_without_the_package_zstd_data_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "zstd", None)
    with pytest.raises(InputError, match="zstandard") as caught:
        read(zstd(b"x"))
    assert "tokcli[zstd]" in caught.value.hint
