"""`split --stats`: the hits of each alternative in all inputs, the longest pieces, and those of several tokens."""

from __future__ import annotations

from typing import Any

from tokcli.analysis.pieces.piece_arrays import read_pieces
from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.cli import streams
from tokcli.cli.json_stream import line, text_member
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.split.table import for_screens
from tokcli.cli.terminal.colours import is_for_people
from tokcli.render.tables import MOST_FREQUENT, stats_rows


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write lines for people, tab-separated rows for a pipe, or a JSON object."""
    pattern = request.encoding.tokenizer.pretokenizer
    alternatives = pattern.alternatives if pattern else []
    stats = PieceStats()
    for source in request.texts:
        with streams.naming(source.shown):
            for pieces in read_pieces(request.encoding, request.watched(source.blocks()), request.read_options):
                stats.add(request.encoding, pieces)
    if request.options.as_json:
        output.write(line(_json(stats, alternatives)))
        return
    if is_for_people(output, request.options.color):
        for_screens().show_stats(request, output, stats, alternatives)
        return
    for cells in stats_rows(stats, alternatives):
        output.write(f"{cells}\n".encode())


def _json(stats: PieceStats, alternatives: list[str]) -> dict[str, Any]:
    """Return the JSON object; the `times` of several_tokens may be too low, by `may_be_too_low_by` at most."""
    names = [f"a{number}" for number in range(1, len(alternatives) + 1)]
    return {
        "bytes": stats.size,
        "pieces": stats.pieces,
        "tokens": stats.tokens,
        "alternatives": [
            {"name": name, "pattern": source, "hits": stats.hits[name], "bytes": stats.hit_bytes[name]}
            for name, source in zip(names, alternatives, strict=True)
        ],
        "never_hit": [name for name in names if not stats.hits[name]],
        "longest": [
            {"offset": piece.offset, "bytes": size, **text_member(piece.data)} for size, piece in stats.longest
        ],
        "several_tokens": [
            {"times": times, "tokens": tokens, **text_member(data)}
            for (data, tokens), times in stats.split.most_common(MOST_FREQUENT)
        ],
        "several_tokens_pieces": stats.split_pieces,
        "may_be_too_low_by": stats.lost,
    }
