"""Numbers on the command line: fractions of a range, and numbers of tokens, in which k and M are allowed."""

from __future__ import annotations

import math
from typing import Any

import click

_UNITS = {"k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1024, "mi": 1024**2, "gi": 1024**3}
MAX_DIGITS = 16  # of a number with a unit, and of its fraction
_NOTED = "tokcli.units"  # where a context keeps the notes on units


class NumberRange(click.FloatRange):
    """A number of a range: no NaN, which click takes for a number of any range, and no negative zero."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number + 0.0  # -0.0 + 0.0 is 0.0


class WholeRange(click.IntRange):
    """A whole number of a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class TokenRange(click.IntRange):
    """A number of tokens: 4096, or with a unit 4k, 1.5M (of 1000), 4Ki, 1Mi (of 1024), 1G or 1Gi.

    With `is_noted`, a note says what k stands for: the size of a vocabulary and of a window are often multiples of
    1024 that people call k.
    """

    name = "number of tokens"

    def __init__(self, min: int, max: int | None = None, *, is_noted: bool = False) -> None:
        super().__init__(min=min, max=max)
        self.is_noted = is_noted

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = value if isinstance(value, int) else with_unit(value)
        if number is None:
            try:
                number = int(value)  # as click does: 100_000 is a number, too
            except ValueError:
                self.fail(f"{value!r} is not a number of tokens such as 4096, 4k or 4Ki.", param, ctx)
        elif self.is_noted and ctx is not None and value != number and value[-1:].isalpha():
            ctx.meta.setdefault(_NOTED, []).append(_note(value, number))
        tokens: int = super().convert(number, param, ctx)
        return tokens


def with_unit(text: str) -> int | None:
    """Return the whole number that a text with a unit, or with commas, stands for; None for any other text.

    >>> list(map(with_unit, ("4k", "1.5M", "4Ki", "4,096", "4096", "1.0005k", "k", "1,2")))
    [4000, 1500000, 4096, 4096, None, None, None, None]
    """
    first, *groups = text.split(",")
    if groups and first.isdecimal() and all(len(group) == 3 and group.isdecimal() for group in groups):  # 4,096
        text = "".join((first, *groups))
        return int(text) if text.isascii() and len(text) <= MAX_DIGITS else None
    digits = text.rstrip("kKmMgGiI")
    whole, point, fraction = digits.partition(".")
    scale = _UNITS.get(text[len(digits) :].lower())
    figures = whole + fraction
    if scale is None or not figures.isascii() or not figures.isdecimal() or len(figures) > MAX_DIGITS:
        return None
    if not whole or (point and not fraction):
        return None
    number, rest = divmod(int(figures) * scale, 10 ** len(fraction))
    return None if rest else number


def notes_on_units(ctx: click.Context) -> list[str]:
    """Return the notes on the units of the numbers that a command line gives."""
    return list(filter(None, ctx.meta.get(_NOTED, ())))


def _note(text: str, number: int) -> str:
    """Return a note on what a number with a unit means; "" where its unit says so itself (Ki)."""
    if text[-1] in "iI":
        return ""
    binary = f"{text[:-1]}{text[-1].upper()}i"
    other = with_unit(binary)
    return f"{text} is {number:,} tokens" + (f"; for {other:,}, type {binary}." if other else ".")
