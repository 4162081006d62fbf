"""`count --estimate`: the tokens of a model whose tokenizer is not public, as those of o200k_base times a factor."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokcli.registry.model_estimates import ModelEstimate, estimate_for_model

if TYPE_CHECKING:
    from tokcli.cli.chat.conversation import ChatCount
    from tokcli.cli.count.count_options import CountRequest
    from tokcli.cli.count.many import Row


def prepare_estimate(request: CountRequest) -> None:
    """Make a request with --estimate one for the encoding whose tokens are counted, if its model has none in public."""
    asked = request.options
    found = estimate_for_model(asked.model) if asked.estimate and asked.model else None
    if found is None:
        request.options = asked.replace(estimate=None)
        return
    named = found.encoding
    request.options = asked.replace(estimate=found, model=None, encoding=named, encodings=(named,))
    if not (asked.as_json or asked.jsonl):
        request.note(
            f"this is an estimate: the tokenizer of {found.model} is not public. It is the count by {named} times "
            f"{found.factor:g}; the true count is likely between {found.low:g} and {found.high:g} times that count."
        )


def scaled_rows(estimate: ModelEstimate | bool | None, rows: Iterator[Row]) -> Iterator[Row]:
    """Return rows with the counts of an estimate; the same rows if there is none."""
    if not isinstance(estimate, ModelEstimate):
        return rows
    return (row._replace(tokens=tuple(map(estimate.scaled, row.tokens))) for row in rows)


def scaled_counts(estimate: ModelEstimate | bool | None, counts: Iterable[memoryview]) -> Iterable[memoryview]:
    """Return portions of counts as those of an estimate (uint64); the same portions if there is none."""
    if not isinstance(estimate, ModelEstimate):
        return counts
    return (memoryview(array("Q", map(estimate.scaled, some))) for some in counts)


def scaled_chat(estimate: ModelEstimate | bool | None, chat: ChatCount) -> ChatCount:
    """Return the count of a request to a chat model with each part as estimated; the same if there is no estimate."""
    if not isinstance(estimate, ModelEstimate):
        return chat
    shares = tuple(share._replace(tokens=estimate.scaled(share.tokens)) for share in chat.shares)
    return chat._replace(overhead=estimate.scaled(chat.overhead), shares=shares)


def members_of_estimate(estimate: ModelEstimate, tokens: int) -> dict[str, object]:
    """Return the JSON members of an estimate: that it is one, and between which counts the true one is likely."""
    low, high = (round(tokens * bound / estimate.factor) for bound in (estimate.low, estimate.high))
    return {"exact": False, "low": low, "high": high}
