"""Some damaged files of each format: see fuzz_files.py, which makes as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_files

FORMATS = ("tiktoken", "tokenizer.json", "tekken", "sentencepiece", "gguf", "minbpe", "gpt2", "packed")


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_end_in_our_own_errors(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path))
    outcome = fuzz_files.fuzz(form, 60, 1)
    assert outcome.refused


def test_every_format_is_damaged() -> None:
    assert tuple(fuzz_files.seeds()) == FORMATS
