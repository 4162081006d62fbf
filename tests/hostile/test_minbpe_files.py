"""Files of minbpe that mean harm: what they make is bounded, and reading them takes as long as they are."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from support import parse_vocabulary, took_less

from tokcli.engine.minbpe import MinBpe
from tokcli.errors import VocabularyError
from tokcli.registry.encodings import load_encoding


def test_merges_that_make_much_together_are_refused() -> None:
    """Each line may make a token of 64 kB: 60 kB of lines took 500 MB."""
    pairs = [(97, 97), *((number, number) for number in range(256, 270))]
    pairs += [(270, number % 256) for number in range(256)]
    pairs += [(number, byte) for number in range(271, 280) for byte in range(256)]
    lines = "".join(f"{left} {right}\n" for left, right in pairs)
    with pytest.raises(VocabularyError, match=r"x\.model:[0-9]+: tokens of [0-9]+ bytes together; at most 67108864"):
        parse_vocabulary(f"minbpe v1\n\n0\n{lines}".encode(), "x.model", "a minbpe model")


def hides(names: list[str]) -> bool:
    """Whether a name is the beginning of a later one, by the definition."""
    return any(name != later and later.startswith(name) for at, name in enumerate(names) for later in names[at:])


def test_special_tokens_that_hide_others_are_known() -> None:
    rnd = random.Random(5)
    seen = set()
    for _ in range(3000):
        names = list({"".join(rnd.choices("ab", k=rnd.randint(1, 5))): None for _ in range(4)})
        model = MinBpe([], {name: 256 + number for number, name in enumerate(names)}, None)
        assert model._hides_specials == hides(names), names
        seen.add(hides(names))
    assert seen == {True, False}


@pytest.mark.clock
def test_long_special_tokens_are_read_in_time(tmp_path: Path) -> None:
    """Each of their beginnings was looked up."""
    path = tmp_path / "x.model"
    path.write_bytes(b"minbpe v1\n\n2\n" + b"x" * 400_000 + b" 300\n" + b"y" * 400_000 + b" 301\n97 98\n97 99\n")
    began = time.process_time()
    assert load_encoding(path).encode("ab") == [256]
    assert took_less(began, 3)
