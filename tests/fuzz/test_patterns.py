"""A short run of the fuzzer of patterns finds nothing: see `pattern_fuzz.py`, which also runs for as long as one likes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# The exception that ends what takes too long may come while coverage holds its lock, which nothing would release then.
pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_said_of_random_patterns_is_what_regex_does(seed: int) -> None:
    found = importlib.util.spec_from_file_location("pattern_fuzz", Path(__file__).with_name("pattern_fuzz.py"))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    counts = module.fuzz(20, seed)
    assert counts["patterns"] == 20
    assert counts["attempts"] > 50
