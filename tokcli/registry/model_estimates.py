"""By how much the tokens of a model whose tokenizer is not public differ from those of a public encoding.

There is a factor only where somebody has measured it with the model's own API, and only for the versions that were
measured; any other model is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tokcli.errors import InputError
from tokcli.registry.models import NOT_PUBLIC, tokenizer_of_family

MEASURED_BY = "o200k_base"
# Claude's tokens for one of o200k_base, by `count_tokens` of its API: 1.18 for the versions 3 to 4.6, and 1.53 since
# Opus 4.7, which has another tokenizer (github.com/sammcj/ingest, pull 65, August 2026). The bounds are those of
# single texts: 10% to 30% above o200k_base for prose and code before, and since then 1.0 (Chinese) to 1.47 times
# (English) as many as before (claudecodecamp.com, "I measured Claude 4.7's new tokenizer", April 2026).
_BEFORE_4_7, _SINCE_4_7 = (1.18, 1.1, 1.3), (1.53, 1.1, 1.9)
_CLAUDE = re.compile(r"claude(?:-[a-z]+)??-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d.])")


class ModelEstimate(NamedTuple):
    """By which encoding the tokens of a model are estimated, and how many times its count is likely the model's."""

    model: str
    encoding: str
    factor: float
    low: float
    high: float

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
    if tokenizer_of_family(name) != NOT_PUBLIC:
        return None
    version = _CLAUDE.match(name.rpartition("/")[2].lower())
    numbers = (int(version[1]), int(version[2] or 0)) if version else (0, 0)
    if numbers < (3, 0):
        raise InputError(
            f"{name}: no measured factor is known, so its tokens cannot be estimated",
            "Claude's are known from version 3 on (such as claude-opus-4-7); or count with another encoding by -e.",
        )
    return ModelEstimate(name, MEASURED_BY, *(_BEFORE_4_7 if numbers < (4, 7) else _SINCE_4_7))
