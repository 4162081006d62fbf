"""`inspect-ranks --coverage FILE`: the tokens that a corpus uses, by their share, and what each script costs."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tokcli.analysis.coverage import coverage_of
from tokcli.cli import streams
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.listing import emit
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.render.numbers import grouped
from tokcli.render.tables import Column

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn

SHOWN_SCRIPTS = 5  # in the note
REPLACING = ReadOptions("replace")  # what is not UTF-8 counts as U+FFFD


def show_coverage(request: InspectRequest, output: ShownOn) -> None:
    """List the tokens that a file uses, the most frequent first; notes tell how much of the vocabulary that is."""
    tokenizer, named = request.encoding.tokenizer, request.options.coverage or ""
    source = streams.Input(name=named, errors="replace", notes=not request.options.quiet)
    token_bytes = tokenizer.token_bytes()
    with streams.naming(source.shown):
        found = coverage_of(token_bytes, map(tokenizer.encode_part, tokenizer.read_parts(source.blocks(), REPLACING)))
    total = found.uses.total()
    rows = [(id, count, count / total, found.scripts[id]) for id, count in found.uses.items()]
    rows.sort(key=lambda row: (-row[1], row[0]))
    used, known = len(rows), len(token_bytes)
    request.note(f"{grouped(total)} tokens use {grouped(used)} of {grouped(known)} ids ({used / max(1, known):.1%})")
    if found.costs:
        shown = [f"{name} {cost.per_character:.2f}" for name, cost in list(found.costs.items())[:SHOWN_SCRIPTS]]
        request.note(f"tokens per character: {', '.join(shown)}")
    columns: tuple[Column[Any], ...] = (
        Column("id", itemgetter(0), "right"),
        Column("count", itemgetter(1), "right", groups=True),
        Column("share", lambda row: f"{row[2]:.4%}", "right"),
        Column("script", itemgetter(3), spare=1),
        Column("text", lambda row: token_bytes[row[0]], fold=True),
    )

    def as_json() -> object:
        return {
            "tokens": total,
            "used": used,
            "ids_known": known,
            "scripts": [
                {"script": name, "tokens": cost.tokens, "characters": cost.characters}
                for name, cost in found.costs.items()
            ],
            "ids": [
                {"id": id, "bytes_hex": token_bytes[id].hex(), "count": count, "script": script}
                for id, count, _, script in rows
            ],
        }

    emit(request, output, columns, iter(rows), used, as_json)
