"""Some random calls of every kind of encoding: see fuzz_codec.py, which makes as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_codec


def test_random_calls_give_answers_that_agree_or_our_own_errors() -> None:
    tallies = fuzz_codec.fuzz(30_000, 1)
    assert len(tallies) > 12
    assert all(tally.answered and tally.refused for tally in tallies.values())
