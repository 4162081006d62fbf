"""`split --stats`: hits of each alternative over all inputs, the longest pieces, and those that are not one token."""

from __future__ import annotations

from typing import Any

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.split_table import json_text
from tokcli.engine.piece_stats import PieceStats
from tokcli.engine.pieces import ChunkPieces
from tokcli.engine.pretokenizer_parts import single_pattern


def write(request: Request, output: streams.Output) -> None:
    """Lines for people, tab-separated rows for a pipe, or a JSON object."""
    pattern = single_pattern(request.encoding)
    alternatives = pattern.alternatives if pattern else []
    stats = PieceStats()
    for source in request.inputs:
        with streams.naming(source.shown):
            for chunk in request.chunks(source):
                stats.add(request.encoding, ChunkPieces(request.encoding, pattern, chunk))
    if request.options["as_json"]:
        output.write(records.dump(_json(stats, alternatives)).encode() + b"\n")
        return
    from tokcli.render import split_stats

    if output.is_terminal or screen.wants_color(output, request.options["color"]):
        with pager.paged(output, wanted=not request.options["watch"]) as shown:
            for line in split_stats.stats_lines(stats, alternatives):
                screen.show_hanging(shown, request.options["color"], line)
        return
    for row in split_stats.stats_rows(stats, alternatives):
        output.write(f"{row}\n".encode())


def _json(stats: PieceStats, alternatives: list[str]) -> dict[str, Any]:
    """Members: bytes, pieces, tokens, alternatives, never_hit, longest, several_tokens."""
    from tokcli.render.split_stats import MOST_FREQUENT

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
            {"offset": piece.offset, "bytes": size, **json_text(piece.data)}
            for size, piece in zip(stats.longest_size(), stats.longest, strict=True)
        ],
        "several_tokens": [
            {"times": times, "tokens": tokens, **json_text(data)}
            for (data, tokens), times in stats.split.most_common(MOST_FREQUENT)
        ],
        "several_tokens_pieces": stats.split_pieces,
        "may_be_too_low_by": stats.lost,
    }
