"""`inspect-ranks --models`: the models that -m knows, and the tokenizer of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.listing import emit
from tokcli.cli.inspect_ranks.search import found_in
from tokcli.errors import InputError
from tokcli.registry.models import NOT_PUBLIC, ModelFamily, all_models
from tokcli.render.tables import NAME, Column

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn

COLUMNS: tuple[Column[ModelFamily], ...] = (
    Column("model", lambda row: row.name, fold=True, least=NAME),
    Column(
        "tokenizer", lambda row: "not public" if row.tokenizer == NOT_PUBLIC else row.tokenizer, fold=True, least=NAME
    ),
    Column("window", lambda row: "?" if row.window is None else row.window, "right", spare=1, groups=True),
    Column("source", lambda row: row.source, fold=True, spare=2),
)


def show_models(request: InspectRequest, output: ShownOn) -> None:
    """List the models; with a regex, those whose name or tokenizer it matches, ignoring case."""
    asked, rows = request.options, all_models()
    wanted = [text for text in (asked.models, *asked.tokens) if text]
    if len(wanted) > 1:
        raise InputError("--models takes one regex", "Join several by |.")
    if wanted:
        texts = {number: f"{row.name}\n{row.tokenizer}" for number, row in enumerate(rows)}
        rows = [rows[number] for number in found_in(texts, wanted[0], asked.timeout, option="--models", any_case=True)]

    def as_json() -> object:
        return {
            "models": [
                {"model": row.name, "tokenizer": row.tokenizer or None, "window": row.window, "source": row.source}
                for row in rows
            ]
        }

    emit(request, output, COLUMNS, iter(rows), len(rows), as_json)
