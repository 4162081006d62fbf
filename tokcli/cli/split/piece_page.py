"""`split --html FILE`: the inputs as a page of pieces, with the alternatives that made them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from tokcli.analysis.pattern.explain import explain
from tokcli.analysis.pieces.described import described
from tokcli.cli import pages
from tokcli.cli.json_stream import text_of_name
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.split.table import parts, rows_of
from tokcli.cli.split.why_text import byte_asked, occurrences
from tokcli.errors import InputError
from tokcli.render.numbers import counted
from tokcli.render.pages.page import PageWords
from tokcli.render.pages.page_columns import Packer, PieceColumns


def write(request: SplitRequest, path: str) -> None:
    """Write the page of the inputs to a file."""
    encoding, packer = request.encoding, Packer()
    made = PieceColumns()
    inputs: list[dict[str, object]] = []
    for source in request.texts:
        before = len(made.pieces)
        for first, pieces in parts(request, [source]):
            for row in rows_of(first, pieces):
                made.add(row.piece, row.alternative, row.tokens)
                pages.check_size(len(made.sequence))
        inputs.append({"name": text_of_name(source.shown), "pieces": len(made.pieces) - before})
    made.pack(packer, pages.table_of(encoding, made.sequence))
    pattern = encoding.tokenizer.pretokenizer
    head = {
        "name": encoding.name,
        "chosen": 0 if request.options.why is None else chosen(request.options.why, made.pieces, len(inputs)),
        "inputs": inputs,
        "alternatives": pattern.alternatives if pattern else (),
        "meanings": explain(pattern.pat_str) if pattern else (),
        "parts": () if pattern else tuple(described(encoding)),  # of a tokenizer without a single pattern
    }
    heading = pages.heading_of(request.options, [str(entry["name"]) for entry in inputs])
    counts = (counted(len(made.pieces), "piece"), counted(made.size, "byte"), counted(len(made.sequence), "token"))
    words = PageWords(
        f"{heading}: pieces of {encoding.name} - tokcli",
        heading,
        encoding.name,
        ", ".join(counts),
        pages.plain_text(made.pieces),
    )
    pages.write(path, request.files_read, "split", words, head, packer)


def chosen(why: str, pieces: Sequence[bytes], inputs: int) -> int:
    """Return the number of the piece that --why asks for; InputError where there is none."""
    if inputs > 1:
        raise InputError("--why looks at one text, but several were given", "Name one FILE.")
    if (byte := byte_asked(why)) is None:
        byte = occurrences(b"".join(pieces), why).offsets[0]
    ends = list(accumulate(map(len, pieces)))
    if not ends or byte >= ends[-1]:
        raise InputError(f"byte {byte} is past the end of the text", f"Its {ends[-1] if ends else 0} bytes begin at 0.")
    return bisect_right(ends, byte)
