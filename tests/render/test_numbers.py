"""Claims about numbers as people read them."""

from __future__ import annotations

import pytest

from tokcli.render.numbers import counted, grouped, percent


@pytest.mark.parametrize(("number", "shown"), [(0, "0"), (999, "999"), (1000, "1,000"), (-1234567, "-1,234,567")])
def test_thousands_are_grouped(number: int, shown: str) -> None:
    assert grouped(number) == shown


def test_only_one_is_singular() -> None:
    assert [counted(n, "token") for n in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]
    assert counted(2, "class", "classes") == "2 classes"


def test_a_percent_has_one_decimal_and_of_nothing_it_is_zero() -> None:
    assert [percent(1, 3), percent(2, 2), percent(0, 0), percent(-1, 8, signed=True)] == [
        "33.3%", "100.0%", "0.0%", "-12.5%",
    ]  # fmt: skip
