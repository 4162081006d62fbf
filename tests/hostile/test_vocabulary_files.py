"""Vocabulary files of every format: cut anywhere, as bombs, as what is no file; the cost grows with the file's size."""

from __future__ import annotations

import base64
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gguf_files import INT32, gguf
from protobuf import field
from support import ROOT, parse_vocabulary, refused, without_coverage

from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.errors import VocabularyError
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry.encodings import load_encoding

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
import fuzz_files

FORMATS = ROOT / "tests" / "data" / "formats"
MOST_MIB, MOST_S = 400, 30
BYTES = [bytes([byte]) for byte in range(256)]


# --- cut anywhere ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["tiktoken", "tokenizer.json", "tekken", "sentencepiece", "gguf", "minbpe", "gpt2", "packed"]
)
def test_a_file_that_is_cut_anywhere_is_whole_or_refused(form: str) -> None:
    for files in fuzz_files.seeds()[form][:2]:
        for name, data in files.items():
            step = max(1, len(data) // 300)
            for size in [
                *range(1, min(len(data), 60)),
                *range(60, len(data), step),
                *range(max(len(data) - 60, 1), len(data)),
            ]:
                fuzz_files.read(files | {name: data[:size]})


# --- bombs -----------------------------------------------------------------------------------------------------------


def gguf_head(count: int, *values: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + b"".join(values)


def gguf_list(key: bytes, kind: int, count: int, data: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<IIQ", 9, kind, count) + data


TOKENS = b"tokenizer.ggml.tokens"
HEAD = b'{"version": "1.0", "model": '
BOMBS: dict[str, Callable[[], bytes]] = {
    "a JSON of lists": lambda: HEAD + b"[" + b"[]," * 20_000_000,
    "a JSON of objects": lambda: HEAD + b"[" + b'{"a":1},' * 8_000_000,
    "a JSON of numbers": lambda: HEAD + b"[" + b"1e9," * 20_000_000,
    "a JSON of texts": lambda: HEAD + b"[" + b'"ab",' * 15_000_000,
    "a JSON that is deep": lambda: HEAD + b"[" * 90_000_000,
    "a JSON with a long text": lambda: HEAD + b'"' + b"a" * 80_000_000 + b'"}',
    "a JSON with a long number": lambda: HEAD + b"9" * 80_000_000 + b"}",
    "a JSON with a long member": lambda: HEAD + b'{"' + b"a" * 80_000_000 + b'": 1}}',
    "ranks of empty lines": lambda: b"IQ== 0\n" + b"\n" * 100_000_000,
    "ranks on one line": lambda: b"IQ== 0\n" + b"A" * 100_000_000 + b" 1\n",
    "ranks without end": lambda: b"".join(b"%s %d\n" % (base64.b64encode(b"%07d" % n), n) for n in range(3_000_000)),
    "merges of empty lines": lambda: b"minbpe v1\n\n0\n" + b"\n" * 100_000_000,
    "merges that say they are many": lambda: b"minbpe v1\n\n9999999\n1 2\n",
    "a GGUF of empty tokens": lambda: gguf_head(1, gguf_list(TOKENS, 8, 2_700_000, bytes(8 * 2_700_000))),
    "a GGUF of too many tokens": lambda: gguf_head(1, gguf_list(TOKENS, 8, 1 << 60, bytes(8_000_000))),
    "a GGUF of numbers": lambda: gguf_head(1, gguf_list(b"tokenizer.ggml.scores", 6, 25_000_000, bytes(100_000_000))),
    "a GGUF of bytes": lambda: gguf_head(1, gguf_list(b"tokenizer.ggml.precompiled_charsmap", 0, 100_000_000, bytes(100_000_000))),
    "a GGUF of keys": lambda: gguf_head(1 << 60, bytes(1_000_000)),
    "a GGUF with a long text": lambda: gguf_head(1, struct.pack("<Q", 1 << 62)),
    "a SentencePiece of empty pieces": lambda: field(1, field(1, b"a") + b"\x15\0\0\0\0") + b"\x0a\x02\x0a\x00" * 20_000_000,
    "a SentencePiece with a long piece": lambda: field(1, field(1, b"a") + b"\x15\0\0\0\0") + field(1, field(1, b"a" * 80_000_000)),
    "a SentencePiece with a long charsmap": lambda: field(1, field(1, b"<unk>") + b"\x18\2") + field(3, field(2, bytes(80_000_000))),
    "a SentencePiece whose size lies": lambda: field(1, field(1, b"a") + b"\x15\0\0\0\0") + b"\x0a\xff\xff\xff\xff\x0f",
    "packed ranks whose counts lie": lambda: struct.pack("<8sHHIII32s", b"TOKRANKS", 1, 65535, 1 << 31, 1 << 31, 0, bytes(32)),
}  # fmt: skip
MEASURED = (
    "import sys, time; from tokcli.errors import TokcliError; from tokcli.registry.encodings import load_encoding\n"
    "began = time.process_time()\n"
    "try: load_encoding(sys.argv[1])\n"
    "except TokcliError as error: print(str(error).replace(chr(10), ' ')[:300])\n"
    "else: print('read')\n"
    "most = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    "print(int(most.split()[1]) >> 10, time.process_time() - began)"
)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say how much memory was taken")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_bounded_memory_and_time(bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[bomb]())
    command = [sys.executable, "-c", MEASURED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=without_coverage())
    path.unlink()
    assert done.returncode == 0, done.stderr[-1000:]
    said, measured = done.stdout.splitlines()
    mib, seconds = map(float, measured.split())
    assert said != "read"
    assert "bomb" in said
    assert mib <= MOST_MIB
    assert seconds <= MOST_S


# --- what is no file -------------------------------------------------------------------------------------------------


@pytest.mark.clock
@pytest.mark.parametrize("kind", ["fifo", "folder", "zero", "null", "full", "dangling", "loop", "below a file"])
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    made: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "zero": lambda: path.symlink_to("/dev/zero"),
        "null": lambda: path.symlink_to("/dev/null"),
        "full": lambda: path.symlink_to("/dev/full"),
        "dangling": lambda: path.symlink_to(tmp_path / "missing"),
        "loop": lambda: path.symlink_to(path),
        "below a file": lambda: path.write_bytes(b"x"),
    }
    made[kind]()
    began = time.monotonic()
    said = refused("count", "-e", path / "x" if kind == "below a file" else path, "-t", "x")
    assert time.monotonic() - began < 10
    assert "vocabulary" in said
    assert said.count("\n") <= 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    path.write_bytes(format_tiktoken({token: n for n, token in enumerate(BYTES)}))
    path.chmod(0)
    assert "permission denied" in refused("count", "-e", path, "-t", "x")


@pytest.mark.parametrize("partner", ["fifo", "folder", "zero"])
def test_a_file_beside_it_that_is_none_is_refused(partner: str, tmp_path: Path) -> None:
    path, beside = tmp_path / "x.tiktoken", tmp_path / "x.tiktoken.json"
    path.write_bytes(format_tiktoken({token: n for n, token in enumerate(BYTES)}))
    if partner == "fifo":
        os.mkfifo(beside)
    elif partner == "folder":
        beside.mkdir()
    else:
        beside.symlink_to("/dev/zero")
    with pytest.raises(VocabularyError, match=r"x\.tiktoken\.json"):
        load_encoding(path)


# --- the cost grows with the size ------------------------------------------------------------------------------------


def words(count: int) -> list[bytes]:
    return [b"%x" % n for n in range(1 << 16, (1 << 16) + count)]


def tokenizer_json(count: int, kind: str) -> bytes:
    texts = [word.decode() for word in words(count)]
    alphabet = list(byte_alphabet())
    model: dict[str, object] = {
        "BPE": {"type": "BPE", "vocab": {t: n for n, t in enumerate([*alphabet, *texts])}, "merges": []},
        "WordPiece": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {t: n for n, t in enumerate(["[UNK]", *texts])}},
        "Unigram": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *([t, -1.5] for t in texts)]},
    }[kind]  # fmt: skip
    return json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode()


def added_tokens(count: int) -> bytes:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [{"id": 256 + n, "content": f"<{n}>", **flags, "special": True} for n in range(count)]
    model = {"type": "BPE", "vocab": byte_alphabet(), "merges": []}
    return json.dumps({"version": "1.0", "added_tokens": added, "model": model}).encode()


def tekken(count: int) -> bytes:
    vocab = [{"rank": n, "token_bytes": base64.b64encode(t).decode()} for n, t in enumerate([*BYTES, *words(count)])]
    config = {"pattern": r"\S+|\s+", "default_vocab_size": len(vocab) + 10, "default_num_special_tokens": 10}
    return json.dumps({"config": config, "vocab": vocab}).encode()


def sentencepiece(count: int) -> bytes:
    pieces = [
        field(1, field(1, b"<unk>") + b"\x18\2"),
        *(field(1, field(1, w) + b"\x15\0\0\0\0") for w in words(count)),
    ]
    return b"".join(pieces)


def gguf_file(count: int) -> bytes:
    import tempfile

    texts = [*byte_alphabet(), *(word.decode() for word in words(count))]
    with tempfile.TemporaryDirectory() as folder:
        made = gguf(Path(folder, "x"), model="gpt2", pre="gpt-2", tokens=texts, merges=["h e"],
                    token_type=([1] * len(texts), INT32))  # fmt: skip
        return made.read_bytes()


SIZED: dict[str, Callable[[int], bytes]] = {
    "tiktoken": lambda n: format_tiktoken({token: rank for rank, token in enumerate([*BYTES, *words(n)])}),
    "BPE": lambda n: tokenizer_json(n, "BPE"),
    "WordPiece": lambda n: tokenizer_json(n, "WordPiece"),
    "Unigram": lambda n: tokenizer_json(n, "Unigram"),
    "added tokens": added_tokens,
    "tekken": tekken,
    "SentencePiece": sentencepiece,
    "GGUF": gguf_file,
    "minbpe": lambda n: b"minbpe v1\n\n0\n" + b"".join(b"%d %d\n" % (i % 256, i // 256) for i in range(n)),
}


@pytest.mark.clock
@pytest.mark.parametrize("form", SIZED)
def test_reading_costs_as_much_as_the_file_is_long(form: str) -> None:
    def cost(data: bytes) -> float:
        taken = []
        for _ in range(3):
            began = time.process_time()
            parse_vocabulary(data, "x")
            taken.append(time.process_time() - began)
        return min(taken)

    small, large = SIZED[form](4_000), SIZED[form](32_000)
    cost(small)
    assert cost(large) <= 2.5 * (len(large) / len(small)) * cost(small) + 0.05
