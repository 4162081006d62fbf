"""`tokcli count`: the number of tokens, and nothing else; for several inputs a line each and a total, like wc."""

from __future__ import annotations

import os
from typing import Any

import click

from tokcli.cli import messages, streams
from tokcli.cli.count.count_options import (
    CONFLICTS,
    MOST_USED,
    CountCommand,
    CountOptions,
    CountRequest,
    declared,
    naming,
)
from tokcli.cli.request import TextRequest
from tokcli.errors import CheckFailed


@click.command(cls=CountCommand, name="count", params=[*declared], conflicts=CONFLICTS, most_used=MOST_USED)
def command(**given: Any) -> int:
    """Count the tokens in FILEs, or in standard input.

    \b
      tokcli count prompt.txt
      git ls-files -z '*.py' | tokcli count --files0-from - --top 5
      tokcli count --tree=2 src
      tokcli count --max 8000 prompt.txt || echo too long
    """
    asked = asked_of(given)
    request = TextRequest(asked)
    request.note_template()
    is_alone, status = is_one_number(request), 0
    is_plain = is_alone and asked.list_of_names is None and not (
        asked.chat or asked.budget or asked.price is not None or asked.dask or asked.estimate or asked.exact_only
        or (not asked.only_total and (asked.as_json or asked.with_filename))
    )  # fmt: skip
    if not is_plain:
        from tokcli.cli.count import count_forms, estimates

        write = count_forms.write
        if asked.chat:
            from tokcli.cli.count import chat

            write = chat.write
        if asked.exact_only:
            estimates.refuse_guesses(asked)
        if asked.estimate:
            estimates.prepare_estimate(request)
            asked = request.options
    if is_plain or (asked.records and not asked.dask):
        request.show_reading(answers_last=is_plain or asked.only_total)
    with request.open_output(*own_members(asked)) as output:
        if is_plain:
            above = write_number(request, output)
        else:
            above, status = write(request, output, is_alone=is_alone)
        output.flush()
    if above is not None:
        exceeds = CheckFailed(f"{above}, more than --max {asked.limit}")
        if not status:
            raise exceeds
        messages.report(exceeds)
    return status


def asked_of(given: dict[str, Any]) -> CountOptions:
    """Return the options as values: several encodings are columns, of which the first is the request's own."""
    named = given.pop("encoding")
    first = naming(named[0]) if named else {"encoding": None, "model": None}
    return CountOptions(encodings=named, estimates=(), **first, **given)


def write_number(request: CountRequest, output: streams.Output) -> str | None:
    """Write the number of tokens in the only input; return it as a phrase if it is above --max, else None."""
    (source,) = request.inputs
    with streams.naming(source.shown):
        counts = request.shared_parts(request.encoding.tokenizer.count_part, source)
        tokens = request.finished_count(sum(counts))
    output.write((b'{"count": %d}\n' if request.options.as_json else b"%d\n") % tokens)
    limit = request.options.limit
    if limit is None or tokens <= limit:
        return None
    return f"{tokens:,} token{'' if tokens == 1 else 's'}"


def own_members(asked: CountOptions) -> list[str]:
    """Return the names of the JSON members that an answer has itself, whatever the record has that it answers."""
    given = {"left": asked.budget, "price": asked.price is not None, "exact": asked.chat, "left_out": asked.chat}
    given |= dict.fromkeys(("exact", "low", "high"), True) if any(asked.estimates) else {}
    return ["count", *(name for name, is_given in given.items() if is_given)]


def is_one_number(request: CountRequest) -> bool:
    """Return whether the answer is one number: there is one input, which the user named, and one encoding."""
    asked = request.options
    if asked.records or asked.jsonl or asked.csv or asked.tree or asked.html or asked.by or len(asked.encodings) > 1:
        return False
    if asked.recursive and (len(asked.files) != 1 or os.path.isdir(asked.files[0])):
        return False
    return len(request.inputs) == 1
