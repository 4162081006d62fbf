"""Some tokenizer.json files made of parts of every type: see fuzz_pipelines.py, which makes as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_pipelines

pytestmark = [pytest.mark.slow, pytest.mark.process]


def test_a_pipeline_of_any_parts_gives_what_the_library_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    outcome = fuzz_pipelines.fuzz(150, 1, tmp_path)
    assert outcome.different == []
    assert outcome.compared > 1000
