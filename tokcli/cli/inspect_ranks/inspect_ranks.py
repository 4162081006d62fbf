"""`tokcli inspect-ranks`: the list of encodings, what single tokens are made of, and views of whole vocabularies."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli.declare.command import Command
from tokcli.cli.inspect_ranks import listing
from tokcli.cli.inspect_ranks.inspect_options import CONFLICTS, MOST_USED, InspectOptions, InspectRequest, declared
from tokcli.cli.request import Request
from tokcli.registry.catalog import CATALOG
from tokcli.registry.inside import INSIDE
from tokcli.registry.registered import packed_path, vocabulary_size
from tokcli.render.tables import ENCODING_COLUMNS, EncodingRow

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn


@click.command(cls=Command, name="inspect-ranks", params=[*declared], conflicts=CONFLICTS, most_used=MOST_USED)
def command(**given: Any) -> None:
    """Look up TOKENs: their ids, their bytes, and the two tokens that merge into each. Without arguments, list the
    encodings.

    A TOKEN may have the escapes that `tokcli split` prints (\\n, \\x00).

    \b
      tokcli inspect-ranks
      tokcli inspect-ranks ' world' --id 24912 --hex f09f
      tokcli inspect-ranks --models llama
    """
    asked = InspectOptions(**given)
    request = Request(asked)
    if asked.html or asked.form is not None or asked.names_tokens or asked.searches or has_view(asked):
        show_vocabulary(request)
    else:
        listing.show_all(request, show_encodings)


def has_view(asked: InspectOptions) -> bool:
    """Return whether a view of a whole vocabulary was asked for, or a list other than that of the encodings."""
    lists = (asked.models, asked.coverage, asked.shards)
    return asked.stats or asked.merges or asked.byte_order or any(given is not None for given in (asked.diff, *lists))


def show_vocabulary(request: InspectRequest) -> None:
    """Show the list, look-up, search or view that was asked for; or write the page or the export."""
    from tokcli.cli.inspect_ranks import coverage_view, export, model_list, search, shard_list, tokens, views

    asked = request.options
    request.needs_pattern = asked.needs_pattern
    if asked.models is not None:
        listing.show_all(request, model_list.show_models)
    elif asked.coverage is not None:
        listing.show_all(request, coverage_view.show_coverage)
    elif asked.shards is not None:
        shard_list.show(request, asked.shards)
    elif asked.html:
        export.write_page(request, asked.html)
    elif asked.form is not None:
        export.write_export(request, asked.form)
    elif asked.names_tokens:
        ids = tokens.look_up(request)
        listing.show_all(request, lambda request, output: tokens.show_tokens(request, output, ids))
    elif asked.searches:
        listing.show_all(request, search.show_found)
    else:
        listing.show_all(request, views.view_of(asked))


def describe_encodings() -> list[EncodingRow]:
    """Return a row for each registered encoding, without loading any.

    The source is "shipped", or the url of its ranks.
    """
    rows = []
    for name, entry in CATALOG.items():
        here = os.path.exists(packed_path(entry))
        rows.append(EncodingRow(name, vocabulary_size(entry), "shipped" if here else entry.sources[0].url, here))
    return rows


def show_encodings(request: InspectRequest, output: ShownOn) -> None:
    """List every registered encoding: how many ids it has, where its ranks come from, and whether they are shipped.

    People are told which tokenizers of open models ship as well; programs read registered encodings only.
    """
    rows = describe_encodings()
    as_json = {"encodings": list(map(asdict, rows))}
    listing.emit(request, output, ENCODING_COLUMNS, iter(rows), len(rows), lambda: as_json)
    if output.is_terminal and not request.options.as_json:
        inside = ", ".join(dict.fromkeys(found.name for found in INSIDE.values()))
        request.note(f"inside as well, by name: {inside}. What each model has: tokcli inspect-ranks --models")
