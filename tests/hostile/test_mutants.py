"""Mutants of vocabulary files whose answers once differed from those of the library (tests/mutate_files.py)."""

from __future__ import annotations

import json
import struct

from mutate_files import field
from support import parse_vocabulary

from tokcli.engine.executor import Executor
from tokcli.engine.sentencepiece.model import SentencePiece

BYTE, UNKNOWN, NORMAL = 6, 2, 1


def test_an_added_token_comes_after_equal_tokens_of_unigram() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["a", -2.0]]
    added = [
        {"id": 3, "content": "<x>", "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    ]
    top = {"version": "1.0", "added_tokens": added, "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}}
    top |= dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    tokenizer = parse_vocabulary(json.dumps(top).encode(), "x.json")
    assert tokenizer.encode("a<x>", frozenset(["<x>"])) == [2, 3]  # type: ignore[union-attr]


def test_of_two_pieces_with_the_name_of_a_byte_the_byte_is_taken() -> None:
    pieces = [("<unk>", UNKNOWN), *((f"<0x{byte:02X}>", BYTE) for byte in range(256)), ("<0x41>", NORMAL)]
    data = b"".join(
        field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", -1.0) + b"\x18" + bytes([kind]))
        for text, kind in pieces
    )
    model = parse_vocabulary(data + field(2, b"\x18\x03\x98\x02\x01") + field(3, b"\x18\0"), "x.model")
    assert isinstance(model, SentencePiece)
    assert Executor(model).encode("A") == model.encode("A", frozenset()) == [0x41 + 1]
