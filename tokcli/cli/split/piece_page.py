"""`split --html FILE`: the inputs as a page of pieces, with the alternatives that made them."""

from __future__ import annotations

from tokcli.analysis.pieces.described import described
from tokcli.cli import pages
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.split.table import rows
from tokcli.render.pages.page_columns import Packer, PieceColumns


def write(request: SplitRequest, path: str) -> None:
    """Write the page of the inputs to a file."""
    encoding, packer = request.encoding, Packer()
    made = PieceColumns()
    for row in rows(request):
        made.add(row.piece, row.alternative, row.tokens)
        pages.check_size(len(made.sequence))
    made.pack(packer, pages.table_of(encoding, made.sequence))
    pattern = encoding.tokenizer.pretokenizer
    parts = tuple(described(encoding)) if pattern is None else ()  # of a tokenizer without a single pattern
    head = {"name": encoding.name, "alternatives": pattern.alternatives if pattern else (), "parts": parts}
    pages.write(path, request.files_read, "split", f"{encoding.name}: a text as pieces", head, packer)
