"""Gives every kind of encoding random texts, bytes and ids: answers that agree, or our own errors, are all that comes out.

    PYTHONPATH=tests python tests/fuzz/fuzz_codec.py EXECUTIONS [SEED]

makes so many calls and prints how many of them each encoding answered, and how many it refused.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from support import HARD_ATOMS, NAMES, ROOT

import tokcli

MODELS = sorted((ROOT / "tests" / "data" / "formats").glob("*[!n].json")) + sorted(
    (ROOT / "tests" / "data" / "formats").glob("*.model")
)
MOST_ATOMS, MOST_BYTES, MOST_IDS = 12, 40, 20
WRONG_IDS = (-1, 1 << 20, (1 << 32) - 1, 1 << 32, 1 << 64)
CALLS = 8  # that a turn makes


class Tally(NamedTuple):
    """How many calls were answered, and how many ended in an error of ours."""

    answered: int
    refused: int


def drawn_text(rng: random.Random) -> str:
    """Return atoms that are hard to split, or any characters, surrogates too."""
    if rng.random() < 0.7:
        return "".join(rng.choices(HARD_ATOMS, k=rng.randrange(MOST_ATOMS)))
    points = (rng.choice((0x80, 0x800, 0x3000, 0x10000, 0x110000)) for _ in range(rng.randrange(MOST_ATOMS)))
    return "".join(chr(rng.randrange(most)) for most in points)


def turn(encoding: tokcli.Encoding, rng: random.Random) -> int:
    """Make CALLS calls; return how many of them were refused. What does not agree is an AssertionError."""
    refused = 0

    def tried(call: Callable[[], object]) -> object:
        nonlocal refused
        try:
            return call()
        except (tokcli.TokcliError, UnicodeError, OverflowError):
            refused += 1
            return None

    text = drawn_text(rng)
    ids = encoding.encode_ordinary(text)
    assert encoding.count(text) == len(ids)
    assert encoding.encode_array(text).tolist() == ids
    made = encoding.decode_bytes(ids)
    assert made == b"".join(encoding.decode_tokens_bytes(ids)) or not encoding.tokenizer.decodes_context_free
    data = rng.randbytes(rng.randrange(MOST_BYTES))
    array = tried(lambda: encoding.encode_array(data))
    if (
        isinstance(array, memoryview)
        and encoding.tokenizer.decodes_context_free
        and not encoding.tokenizer.changes_text
    ):
        assert encoding.decode_bytes(array.tolist()) == data
    numbers = [rng.randrange(encoding.max_token_value + 1) for _ in range(rng.randrange(MOST_IDS))]
    if rng.random() < 0.2:
        numbers.append(rng.choice(WRONG_IDS))
    tried(lambda: encoding.decode(numbers))
    tried(lambda: encoding.encode(text, allowed_special="all"))
    return refused


def fuzz(executions: int, seed: int = 0) -> dict[str, Tally]:
    """Make so many calls, as many of each encoding; return what became of them."""
    encodings = [*map(tokcli.get_encoding, NAMES), *map(tokcli.load_encoding, MODELS)]
    turns = executions // (CALLS * len(encodings))
    tallies = {}
    for encoding in encodings:
        rng = random.Random(f"{encoding.name} {seed}")
        refused = 0
        for number in range(turns):
            try:
                refused += turn(encoding, rng)
            except BaseException:
                print(f"{encoding.name}, seed {seed}, turn {number}", file=sys.stderr)
                raise
        tallies[encoding.name] = Tally(turns * CALLS - refused, refused)
    return tallies


if __name__ == "__main__":
    for name, tally in fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0).items():
        print(f"{Path(name).name}: {tally.answered:,} answered, {tally.refused:,} refused", flush=True)
