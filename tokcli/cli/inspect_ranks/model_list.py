"""`inspect-ranks --models`: the models that -m knows, in groups: the tokenizer of each, and what is known about it."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.listing import emit, is_for_people, on_screen
from tokcli.cli.inspect_ranks.search import found_in
from tokcli.errors import MAX_QUOTED, InputError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.inside import INSIDE
from tokcli.registry.models.estimates import MEASURED, MEASURED_BY
from tokcli.registry.models.lookup import all_rows, place_of
from tokcli.registry.models.table import ModelRow
from tokcli.registry.network.hub import is_kept
from tokcli.registry.network.hub_files import parse_id
from tokcli.render.numbers import grouped
from tokcli.render.tables import NAME, Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcli.cli.terminal.pager import ShownOn


# what is said of them to people
COUNTS = {"exact": "exact", "none": ""}
PLACES = {"inside": "in the package", "cached": "in the cache", "hub": "to be downloaded", "file": "a file", "-": ""}


class ListedModel(NamedTuple):
    """A model; `counts` is exact, estimate or none, `place` where the tokenizer is."""

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
    """List the models; with a place, those whose tokenizer is there, else those with a name or tokenizer of a regex."""
    asked, listed = request.options, list(listed_models(all_rows()))
    wanted = [text for text in (asked.models, *asked.tokens) if text]
    if len(wanted) > 1:
        raise InputError("--models takes one regex", "Join several by |.")
    if wanted and wanted[0] in PLACES:
        listed = [one for one in listed if one.place == wanted[0]]
    elif wanted:
        texts = [
            {at: one.model for at, one in enumerate(listed)},
            {at: one.tokenizer or "" for at, one in enumerate(listed)},
        ]
        found = {
            at for some in texts for at in found_in(some, wanted[0], asked.timeout, option="--models", any_case=True)
        }
        listed = [listed[at] for at in sorted(found)]
    if not listed:
        request.note(f"{wanted[0][:MAX_QUOTED]!r} matches no name of a model and no tokenizer of one.")

    def as_json() -> object:
        return {"models": list(map(_members, listed))}

    if is_for_people(request, output):
        on_screen().show_blocks(output, asked.color, _blocks(listed))
        return
    emit(request, output, COLUMNS, iter(listed), len(listed), as_json)


def listed_models(rows: Iterable[ModelRow]) -> Iterator[ListedModel]:
    """Yield each model of the rows."""
    for row in rows:
        counts = ("estimate" if ":" in row.tokenizer else "none") if row.is_closed else "exact"
        for word in row.names:
            for model in row.models(word):
                if not model.name.endswith("-DATE"):
                    tokenizer = None if row.is_closed else place_of(model.tokenizer)
                    place = "-" if tokenizer is None else _place(tokenizer)
                    yield ListedModel(row.group, model.name, row, tokenizer, counts, place)


def _blocks(listed: Iterable[ListedModel]) -> Iterator[tuple[str, str, Iterator[tuple[str, str]]]]:
    """Yield the models of each maker and source: its name and source, and for each row the facts and the names."""
    for (group, source, date), models in groupby(listed, lambda one: (one.group, one.row.source, one.row.date)):
        rows = groupby(models, lambda one: (one.row, one.place))
        yield group, ", ".join(filter(None, (source, date))), (_entry(list(some)) for _, some in rows)


def _entry(models: list[ListedModel]) -> tuple[str, str]:
    """Return what is known about the models of a row that are in one place, and their names."""
    first = models[0]
    row = first.row
    window = "" if row.window is None else f"{grouped(row.window)} tokens"
    measured = MEASURED.get(row.tokenizer.partition(":")[2])
    counts = f"--estimate counts {measured.factor:g} times {MEASURED_BY}" if measured else COUNTS[first.counts]
    tokenizer = row.tokenizer if row.has_own and len(models) > 1 else first.tokenizer or "not public"
    return ", ".join(filter(None, (tokenizer, counts, PLACES[first.place], window))), "  ".join(
        one.model for one in models
    )


@lru_cache(maxsize=1000)
def _place(tokenizer: str) -> str:
    """Return where a tokenizer is: in the package, in a cache, on the hub, or in a file."""
    if tokenizer in CATALOG or tokenizer in INSIDE:
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
