"""`count --estimate`: the tokens of a model whose tokenizer is not public, as those of o200k_base times a factor."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.cli.count.count_options import ModelName
from tokcli.errors import MAX_QUOTED, InputError
from tokcli.registry.models.estimates import estimate_for_model
from tokcli.registry.models.lookup import find_model

if TYPE_CHECKING:
    from tokcli.cli.chat.conversation import ChatCount
    from tokcli.cli.count.count_options import CountOptions, CountRequest
    from tokcli.cli.count.many import Row
    from tokcli.registry.models.estimates import ModelEstimate


def refuse_guesses(asked: CountOptions) -> None:
    """Raise InputError for a model of which only tiktoken's prefix is known, whose tokenizer may be another."""
    for name in asked.encodings:
        found = find_model(name) if isinstance(name, ModelName) else None
        if found is not None and found.prefix:
            raise InputError(
                f"--exact-only: {name[:MAX_QUOTED]} is not a model that is known here",
                f"Name the encoding with -e; for {found.prefix}... tiktoken has {found.tokenizer}.",
            )


def prepare_estimate(request: CountRequest) -> None:
    """Make a request with --estimate one for the encodings whose tokens stand for those of models that have none."""
    asked = request.options
    estimates = [estimate_for_model(name) if isinstance(name, ModelName) else None for name in asked.encodings]
    if not any(estimates):
        return
    asked = asked.replace(estimates=tuple(estimates))
    request.options = asked.columns()[0]
    if asked.as_json or asked.jsonl:
        return
    for found in filter(None, estimates):
        request.note(
            f"this is an estimate: the tokenizer of {found.model} is not public. It is the count by {found.encoding} "
            f"times {found.factor:g}; the true count is likely between {found.low:g} and {found.high:g} times that "
            f"({found.source})."
        )


def scaled_rows(estimates: Sequence[ModelEstimate | None], rows: Iterator[Row]) -> Iterator[Row]:
    """Return rows with the counts of the estimate of each column; the same rows if there is none."""
    if not any(estimates):
        return rows
    return (row._replace(tokens=tuple(map(_scaled, estimates, row.tokens))) for row in rows)


def _scaled(estimate: ModelEstimate | None, tokens: int) -> int:
    return tokens if estimate is None else estimate.scaled(tokens)


def scaled_counts(estimate: ModelEstimate | None, counts: Iterable[memoryview]) -> Iterable[memoryview]:
    """Return portions of counts as those of an estimate (uint64); the same portions if there is none."""
    if estimate is None:
        return counts
    return (memoryview(array("Q", map(estimate.scaled, some))) for some in counts)


def scaled_chat(estimate: ModelEstimate | None, chat: ChatCount) -> ChatCount:
    """Return the count of a request to a chat model with each part as estimated; the same if there is no estimate."""
    if estimate is None:
        return chat
    shares = tuple(share._replace(tokens=estimate.scaled(share.tokens)) for share in chat.shares)
    return chat._replace(overhead=estimate.scaled(chat.overhead), shares=shares)


def members_of_estimates(asked: CountOptions, tokens: Sequence[int]) -> dict[str, object]:
    """Return the JSON members of estimates: that there are some, and between which counts the true ones likely are.

    `tokens` is the count of each column; with several columns, `low` and `high` have the bounds by name.
    """
    if not any(asked.estimates):
        return {}
    bounds = {
        name: [round(count * bound / estimate.factor) for bound in (estimate.low, estimate.high)]
        for name, estimate, count in zip(asked.encodings, asked.estimates, tokens, strict=True)
        if estimate
    }
    low, high = ({name: both[at] for name, both in bounds.items()} for at in (0, 1))
    if len(tokens) > 1:
        return {"exact": False, "low": low, "high": high}
    return {"exact": False, "low": low[asked.encodings[0]], "high": high[asked.encodings[0]]}
