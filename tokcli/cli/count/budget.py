"""`count --budget` and `--price`: what a count leaves of a model's context window, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli.count.estimates import members_of_estimates
from tokcli.errors import InputError
from tokcli.registry.models.lookup import window_of_model

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions

MILLION = 1_000_000  # tokens that --price is the price of
DIGITS = 12  # decimal places of a price


def members_of(asked: CountOptions, *tokens: int) -> dict[str, object]:
    """Return the JSON members beside the counts of tokens: what is left, the price, and the bounds of estimates."""
    return _left_and_price(asked, tokens[0]) | members_of_estimates(asked, tokens)


def _left_and_price(asked: CountOptions, tokens: int) -> dict[str, object]:
    members: dict[str, object] = {}
    if asked.budget:
        members["left"] = window_of(asked) - tokens
    if asked.price is not None:
        members["price"] = round(tokens * asked.price / MILLION, DIGITS)
    return members


def check_budget(asked: CountOptions) -> None:
    """Raise InputError, before anything is counted, if --budget has no window."""
    _left_and_price(asked, 0)


def window_of(asked: CountOptions) -> int:
    """Return the size of the context window in tokens; InputError where neither --window nor the model tells it."""
    if asked.window is not None:
        return asked.window
    estimate = asked.only_estimate
    model = estimate.model if estimate else asked.model
    if model is None:
        raise InputError("--budget needs a context window", "Name the model with -m, or give --window N.")
    return window_of_model(model)


def rows_of(asked: CountOptions, tokens: int, *, for_people: bool = False) -> list[tuple[str, str]]:
    """Return a row (value, name) for the tokens that are left and for the price, as they are printed."""
    members = _left_and_price(asked, tokens)
    rows = [(f"{members['left']:{',' * for_people}}", "left")] if "left" in members else []
    if "price" in members:
        rows.append((f"{members['price']:.{DIGITS}f}".rstrip("0").rstrip("."), "price"))
    return rows


def lines_of(asked: CountOptions, tokens: int, width: int, *, for_people: bool) -> bytes:
    """Return the lines under a table: what is left and the price, in a column of some width."""
    rows = rows_of(asked, tokens, for_people=for_people)
    return "".join(f"{value:>{width}} {name}\n" for value, name in rows).encode()
