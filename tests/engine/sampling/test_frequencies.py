"""Segmentations are drawn as often as the reference libraries draw them; their counts are in tests/data/sampling.json."""

from __future__ import annotations

import json
import math
from collections import Counter
from random import Random
from typing import Any

import pytest
from support import ROOT

import tokcli
from tokcli.engine.sampling.sampler import drawn, dropped

GOLDEN: list[dict[str, Any]] = json.loads((ROOT / "tests" / "data" / "sampling.json").read_text("utf-8"))["drawn"]
FORMATS = ROOT / "tests" / "data" / "formats"
LEAST = 5  # draws that are expected in a cell of the table; cells with fewer are added up


def encoding_in(name: str) -> tokcli.Encoding:
    return tokcli.load_encoding(FORMATS / name) if "." in name else tokcli.get_encoding(name)


def largest_chance(cells: int) -> float:
    """Return the chi-square that one of a hundred tables with so many cells exceeds (Wilson and Hilferty 1931)."""
    degrees = cells - 1
    return float(degrees * (1 - 2 / (9 * degrees) + 2.3263 * math.sqrt(2 / (9 * degrees))) ** 3)


def chi_square(ours: Counter[str], theirs: dict[str, int]) -> tuple[float, int]:
    """Return the chi-square of two samples, and the number of cells that were compared."""
    scale = math.sqrt(sum(theirs.values()) / ours.total())
    least = LEAST * (1 + scale * scale)
    common = {ids for ids, number in theirs.items() if ids and number + ours[ids] >= least}
    cells = [(ours[ids], theirs[ids]) for ids in sorted(common)]
    rare = [sum(number for ids, number in counts.items() if ids not in common) for counts in (ours, theirs)]
    if sum(rare):
        cells.append((rare[0], rare[1]))
    return sum((scale * a - b / scale) ** 2 / (a + b) for a, b in cells), len(cells)


def drawn_by_us(row: dict[str, Any], number: int) -> Counter[str]:
    tokenizer, random = encoding_in(row["file"]).tokenizer, Random(1)
    options = row["options"]
    if "dropout" in options:
        sampled = dropped(tokenizer, options["dropout"], random)
    else:
        sampled = drawn(tokenizer, options["alpha"], random, options["nbest"])
    return Counter(" ".join(map(str, sampled.encode(row["text"]))) for _ in range(number))


def test_segmentations_are_drawn_as_often_as_the_references_draw_them() -> None:
    for row in GOLDEN[::5]:  # a text of each file and way
        found, cells = chi_square(drawn_by_us(row, 1000), row["counts"])
        assert found <= largest_chance(cells), (row["file"], row["text"], row["options"])


@pytest.mark.slow
@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['file']}-{row['text']}-{row['options']}")
def test_ten_thousand_draws_are_as_often_as_the_references(row: dict[str, Any]) -> None:
    found, cells = chi_square(drawn_by_us(row, 10_000), row["counts"])
    assert found <= largest_chance(cells)
