"""`inspect-ranks --models`: the models that -m knows, in groups: the tokenizer of each, and what is known about it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.listing import emit, is_for_people
from tokcli.cli.inspect_ranks.search import found_in
from tokcli.errors import InputError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.lookup import all_rows, place_of
from tokcli.registry.models.table import ModelRow, expanded
from tokcli.registry.network.hub import is_kept
from tokcli.registry.network.hub_files import parse_id
from tokcli.render.tables import NAME, Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcli.cli.terminal.pager import ShownOn


class ListedModel(NamedTuple):
    """A model, or on a screen all of a row; `counts` is exact, estimate or none, `place` where the tokenizer is."""

    group: str
    model: str
    row: ModelRow
    tokenizer: str | None
    counts: str
    place: str


COLUMNS: tuple[Column[ListedModel], ...] = (
    Column("group", lambda listed: listed.group, spare=4),
    Column("model", lambda listed: listed.model, fold=True, least=NAME),
    Column("tokenizer", lambda listed: listed.tokenizer or "not public", fold=True, least=NAME),
    Column("window", lambda listed: listed.row.window or "?", "right", spare=1, groups=True),
    Column("counts", lambda listed: listed.counts, spare=2),
    Column("place", lambda listed: listed.place, spare=3),
    Column("source", lambda listed: listed.row.source, fold=True, spare=6),
    Column("date", lambda listed: listed.row.date, spare=5),
)


def show_models(request: InspectRequest, output: ShownOn) -> None:
    """List the models; with a regex, those whose name or tokenizer it matches, ignoring case."""
    asked, listed = request.options, list(listed_models(all_rows()))
    wanted = [text for text in (asked.models, *asked.tokens) if text]
    if len(wanted) > 1:
        raise InputError("--models takes one regex", "Join several by |.")
    if wanted:
        texts = [
            {at: one.model for at, one in enumerate(listed)},
            {at: one.tokenizer or "" for at, one in enumerate(listed)},
        ]
        found = {
            at for some in texts for at in found_in(some, wanted[0], asked.timeout, option="--models", any_case=True)
        }
        listed = [listed[at] for at in sorted(found)]

    def as_json() -> object:
        return {"models": list(map(_members, listed))}

    if is_for_people(request, output):
        listed = list(_joined(listed))
    emit(request, output, COLUMNS, iter(listed), len(listed), as_json)


def listed_models(rows: Iterable[ModelRow]) -> Iterator[ListedModel]:
    """Yield each model of the rows."""
    for row in rows:
        tokenizer = None if row.is_closed else place_of(row.tokenizer)
        counts = "exact" if tokenizer else "estimate" if ":" in row.tokenizer else "none"
        place = "-" if tokenizer is None else _place(tokenizer)
        for names in row.names:
            for name in expanded(names):
                if not name.endswith("-DATE"):
                    yield ListedModel(row.group, name, row, tokenizer, counts, place)


def _joined(listed: Iterable[ListedModel]) -> Iterator[ListedModel]:
    """Yield the models of each row as one, with their names in a line."""
    by_row: dict[int, list[ListedModel]] = {}
    for one in listed:
        by_row.setdefault(id(one.row), []).append(one)
    for models in by_row.values():
        yield models[0]._replace(model=" ".join(one.model for one in models))


@lru_cache(maxsize=1000)
def _place(tokenizer: str) -> str:
    """Return where a tokenizer is: in the package, in a cache, on the hub, or in a file."""
    if tokenizer in CATALOG:
        return "inside"
    wanted = parse_id(tokenizer)
    return "file" if wanted is None else "cached" if is_kept(wanted) else "hub"


def _members(one: ListedModel) -> dict[str, object]:
    row = one.row
    return {
        "model": one.model,
        "tokenizer": one.tokenizer,
        "window": row.window,
        "counts": one.counts,
        "place": one.place,
        "source": row.source,
        "date": row.date,
        "group": one.group,
    }
