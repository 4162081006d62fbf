"""Some random tokenizer.json files and SentencePiece models: fuzz_pipelines.py and fuzz_sentencepiece.py make many."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_pipelines
import fuzz_sentencepiece

pytestmark = [pytest.mark.slow, pytest.mark.process]


def test_a_pipeline_of_any_parts_gives_what_the_library_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    outcome = fuzz_pipelines.fuzz(150, 1, tmp_path)
    assert outcome.different == []
    assert outcome.compared > 1000


def test_a_sentencepiece_model_of_any_options_gives_what_the_library_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentencepiece")
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    outcome = fuzz_sentencepiece.fuzz(20, 1, tmp_path)
    assert outcome.different == []
    assert outcome.compared > 80
