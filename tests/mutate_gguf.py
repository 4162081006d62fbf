"""Mutates small GGUF files, and compares ids and decoded bytes with those of llama.cpp, as mutate_files.py does.

    PYTHONPATH=tests:FOLDER python tests/mutate_gguf.py [NUMBER] [SEED]

FOLDER has `_llama_cpp_cpu`, llama.cpp with its C functions, from the package llama-cpp-cffi (0.4.42). Each mutant is given
to it in a process of its own, since it ends the process where a vocabulary contradicts itself; that counts as a refusal.
What llama.cpp has changed since is left out: `</s>` is special by its name, and byte-level BPE decodes byte tokens.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gguf_files import BOOL, BYTES, FLOAT32, INT32, UINT32, gguf, string
from mutate_files import LibraryEnded, run

from tokcli.engine.bpe.byte_alphabet import byte_alphabet

WORDS = [
    "\u2581",
    "a",
    "b",
    "ab",
    "\u2581a",
    "\u2581ab",
    "abab",
    "\u00e9",
    "\u6771",
    "\u6771\u4eac",
    "\u2581the",
    "x",
    "<x>",
]
TEXTS = [
    "",
    "a",
    "<0x41>",
    "<x>",
    "\u2581\u2581",
    "ab",
    "ba",
    "\u00e9",
    "\u0120a",
    "\u4e2d",
    " ",
    "[UNK]",
    "\n",
    "<|end|>",
]
NUMBERS = [0, 1, 2, 3, 5, 262, 2**31, 2**32 - 1]
FLAGS = ["add_space_prefix", "add_bos_token", "remove_extra_whitespaces", "escape_whitespaces"]
IDS = ["bos_token_id", "eos_token_id", "unknown_token_id", "padding_token_id", "mask_token_id"]
MOST_IDS = 4096  # of a text


def bases() -> list[dict[str, Any]]:
    """Return the values of whole files, by name: of SentencePiece's kinds and of byte-level BPE."""
    pieces = ["<unk>", "<s>", "</s>", *BYTES, *WORDS]
    scores = ([0.0] * (3 + 256) + [-1.0 - n / 2 for n in range(len(WORDS))], FLOAT32)
    kinds = ([2, 3, 3] + [6] * 256 + [1] * (len(WORDS) - 1) + [4], INT32)
    letters = list(byte_alphabet())
    level = {
        "model": "gpt2",
        "tokens": [*letters, "ab", "abab", "\u0120a", "<|end|>", "<x>"],
        "merges": ["a b", "ab ab", "\u0120 a"],
    }
    return [
        {"model": "llama", "tokens": pieces, "scores": scores, "token_type": kinds},
        *(
            level | {"pre": pre, "token_type": ([1] * 259 + [3, 4], INT32)}
            for pre in ("gpt-2", "llama-bpe", "qwen2", "default")
        ),
    ]


class Llamas:
    """GGUF files beside llama.cpp."""

    name = "gguf"

    def mutant(self, dice: random.Random) -> bytes:
        values = copy.deepcopy(dice.choice(BASES))
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(values["tokens"]))
            change, kinds = dice.randrange(7), 7 if "scores" in values else 6
            if change == 0:
                values["tokens"][at] = dice.choice([*TEXTS, values["tokens"][at] + "a"])
            elif change == 1 and "scores" in values:
                values["scores"][0][at % len(values["scores"][0])] = dice.choice([0.0, -1.0, 5.0, -1e10])
            elif change == 2:
                values["token_type"][0][at % len(values["token_type"][0])] = dice.randrange(1, kinds)
            elif change == 3:
                values[dice.choice(FLAGS)] = (dice.random() < 0.5, BOOL)
            elif change == 4:
                values[dice.choice(IDS)] = (dice.choice(NUMBERS), UINT32)
            elif change == 5 and "merges" in values:
                merges = values["merges"]
                merges.insert(dice.randrange(len(merges) + 1), " ".join(dice.choices(values["tokens"], k=2)))
            else:
                values["tokens"].insert(at, dice.choice(TEXTS))
                values["token_type"][0].insert(at, dice.randrange(1, kinds))
                if "scores" in values:
                    values["scores"][0].insert(at, -1.5)
        with tempfile.TemporaryDirectory() as folder:
            data = gguf(Path(folder) / "x", **values).read_bytes()
        (count,) = struct.unpack_from("<Q", data, 16)
        architecture = string("general.architecture") + struct.pack("<I", 8) + string("llama")
        return data[:16] + struct.pack("<Q", count + 1) + architecture + data[24:]

    def reference(self, data: bytes) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str], int]:
        ours, theirs = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=serve, args=(data, theirs, ours), daemon=True)
        child.start()
        theirs.close()

        def ask(question: str | list[int]) -> Any:
            try:
                ours.send(question)
                return ours.recv()
            except (EOFError, BrokenPipeError):
                raise LibraryEnded from None

        return ask, ask, ours.recv()  # EOFError where the process has ended


def serve(data: bytes, pipe: Connection, other: Connection) -> None:
    """Answer with the number of tokens, and then texts with ids and ids with texts, until nobody asks any more."""
    from _llama_cpp_cpu import ffi, lib

    other.close()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    os.environ["GGML_NO_BACKTRACE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        path.write_bytes(data)
        params = lib.llama_model_default_params()
        params.vocab_only = True
        model = lib.llama_model_load_from_file(os.fsencode(path), params)
    if model == ffi.NULL:
        os._exit(1)
    vocab = lib.llama_model_get_vocab(model)
    pipe.send(lib.llama_vocab_n_tokens(vocab))
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            os._exit(0)
        if isinstance(question, str):
            text, out = question.encode(), ffi.new("llama_token[]", MOST_IDS)
            pipe.send(list(out[0 : lib.llama_tokenize(vocab, text, len(text), out, MOST_IDS, False, True)]))
        else:
            room = ffi.new("char[]", 1 << 16)
            size = lib.llama_detokenize(vocab, question, len(question), room, 1 << 16, False, True)
            pipe.send(ffi.buffer(room, size)[:].decode("utf-8", "replace"))


BASES = bases()

if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    sys.exit(run(Llamas(), number, random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)) > 0)
