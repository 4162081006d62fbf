"""By how much the tokens of a model whose tokenizer is not public differ from those of a public encoding.

There is a factor only where somebody has measured it with the model's own API, and only for the versions that were
measured; any other model is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from tokcli.errors import InputError
from tokcli.registry.models.lookup import find_model
from tokcli.registry.models.table import CLOSED

MEASURED_BY = "o200k_base"


class Measured(NamedTuple):
    """Tokens of a model for one of MEASURED_BY: on average, and the least and the most for single texts."""

    factor: float
    low: float
    high: float
    source: str
    date: str


_CLAUDE = "count_tokens of Anthropic's API, github.com/sammcj/ingest, pull 65"
# By the name that rows of the table have after `closed:`. The bounds are those of single texts: 10% to 30% above
# o200k_base for prose and code before Opus 4.7, and since then 1.0 (Chinese) to 1.47 times (English) as many as before
# (claudecodecamp.com, "I measured Claude 4.7's new tokenizer", April 2026).
MEASURED = {
    "claude-3": Measured(1.18, 1.1, 1.3, _CLAUDE, "2026-08"),
    "claude-4.7": Measured(1.53, 1.1, 1.9, _CLAUDE, "2026-08"),
}


class ModelEstimate(NamedTuple):
    """By which encoding the tokens of a model are estimated, and how many times its count is likely the model's."""

    model: str
    encoding: str
    factor: float
    low: float
    high: float
    source: str

    def scaled(self, tokens: int) -> int:
        """Return the estimate for a text that has so many tokens by the encoding."""
        return round(tokens * self.factor)


def estimate_for_model(name: str) -> ModelEstimate | None:
    """Return how the tokens of a model are estimated; None if its tokenizer is public, or the model is not known.

    InputError says that nobody has measured the model.

    >>> estimate_for_model("claude-opus-4-6").factor, estimate_for_model("claude-opus-4.7").factor
    (1.18, 1.53)
    >>> estimate_for_model("gpt-4o") is None
    True
    """
    found = find_model(name)
    is_unknown_claude = found is None and "claude" in name.lower()
    if not is_unknown_claude and (found is None or found.row is None or not found.row.is_closed):
        return None
    if found is None or found.tokenizer == CLOSED:
        raise InputError(
            f"{name}: no measured factor is known, so its tokens cannot be estimated",
            "Claude's are known from version 3 on (such as claude-opus-4-7); or count with another encoding by -e.",
        )
    measured = MEASURED[found.tokenizer.partition(":")[2]]
    return ModelEstimate(
        name, MEASURED_BY, measured.factor, measured.low, measured.high, f"{measured.source}, {measured.date}"
    )
