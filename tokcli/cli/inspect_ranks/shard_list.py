"""`inspect-ranks --shards DIR`: the shards that `encode` wrote, and whether they are as they were written."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tokcli.cli.encode.shards.read_shards import read_folder
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.listing import emit, show_all
from tokcli.errors import InputError
from tokcli.render.tables import Column

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn

NAMES = ("file", "tokens", "documents", "state")


def show(request: InspectRequest, folder: str) -> None:
    """List the shards in a folder; InputError names the first file that was damaged, after all are listed."""
    found = read_folder(folder)
    if found is None:
        raise InputError("holds no finished shards", "Run the command that writes them again.", where=folder)
    rows, wrong = [], None
    for shard in found.shards():
        damaged = shard.damaged()
        wrong = wrong or damaged
        state = "whole" if damaged is None else "damaged"
        rows.append((next(iter(shard.files)), shard.tokens, len(shard.ends), state))
    about = {name: found.head.get(name) for name in ("layout", "dtype", "encoding", "tokens", "documents")}
    columns: list[Column[Any]] = [
        Column(name, itemgetter(place), "right" if place in (1, 2) else "left", groups=place in (1, 2))
        for place, name in enumerate(NAMES)
    ]

    def listed(request: InspectRequest, output: ShownOn) -> None:
        as_json = {**about, "shards": [dict(zip(NAMES, row, strict=True)) for row in rows]}
        emit(request, output, columns, iter(rows), len(rows), lambda: as_json)

    show_all(request, listed)
    if wrong is not None:
        raise InputError(
            f"{wrong} has changed since it was written", "Write the shards again, to another DIR.", where=folder
        )
