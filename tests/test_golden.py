"""The golden ids that tiktoken 0.14.0 made of our texts with its own files (tests/tools/make_golden.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokcli

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "golden.jsonl").read_text().splitlines()]


def test_there_are_rows_for_every_encoding() -> None:
    assert {row["encoding"] for row in ROWS} == set(tokcli.list_encoding_names())
    assert len(ROWS) >= 250


@pytest.mark.parametrize("name", tokcli.list_encoding_names())
def test_the_ids_are_the_golden_ones(name: str) -> None:
    enc = tokcli.get_encoding(name)
    for row in (row for row in ROWS if row["encoding"] == name):
        assert enc.encode_ordinary(row["text"]) == row["ids"]
        assert enc.encode(row["text"], allowed_special="all") == row["ids_special"]
        assert enc._encode_bytes(bytes.fromhex(row["bytes_hex"])) == row["byte_ids"]
        assert enc.decode(row["ids"]) == row["text"]
        assert enc.count(row["text"]) == len(row["ids"])
