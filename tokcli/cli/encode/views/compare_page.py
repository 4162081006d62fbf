"""`encode --compare E1,E2,... --html FILE`: the same text under several encodings, side by side on a page."""

from __future__ import annotations

from array import array

from tokcli.cli import pages, streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.compare import read, sides_of, tokens_of
from tokcli.cli.json_stream import text_of_name
from tokcli.engine.tokens import pairs_of
from tokcli.render.numbers import counted, percent
from tokcli.render.pages.page import PageWords
from tokcli.render.pages.page_columns import Packer, add_texts


class _Column:
    """The tokens of all inputs under one encoding; `spans` are None where the encoding does not tell some of them."""

    def __init__(self, request: EncodeRequest) -> None:
        self.request = request
        self.name = ""
        self.ids: array[int] = array("I")
        self.spans: list[tuple[int, int]] | None = []

    def add(self, data: bytes, start: int) -> int:
        """Add the tokens of an input that begins at a byte of all inputs, and return how many they are."""
        found = tokens_of(self.request, data)
        self.name = found.name
        self.ids.extend(found.ids)
        pages.check_size(len(self.ids))
        if self.spans is not None and found.spans is not None:
            self.spans += ((start + begin, start + end) for begin, end in pairs_of(found.spans))
        else:
            self.spans = None
        return len(found.ids)


def write(request: EncodeRequest, names: str, path: str) -> None:
    """Write the page of the inputs, under the encodings of these names, to a file."""
    sides = [_Column(one) for one in sides_of(request, names)]
    inputs: list[dict[str, object]] = []
    size = 0
    for source in request.texts:
        with streams.naming(source.shown):
            data = read(request, source)
            counts = [side.add(data, size) for side in sides]
        inputs.append({"name": text_of_name(source.shown), "tokens": counts})
        size += len(data)
    packer = Packer()
    for number, side in enumerate(sides):
        packer.prefix = f"{number}-"
        add_texts(packer, pages.table_of(side.request.encoding, side.ids), side.ids, side.spans)
    first = len(sides[0].ids)
    facts = [_facts(len(side.ids), first if number else None) for number, side in enumerate(sides)]
    together = ", ".join(side.name for side in sides)
    head = {
        "name": together,
        "sides": [{"name": text_of_name(side.name), "facts": fact} for side, fact in zip(sides, facts, strict=True)],
        "inputs": inputs,
    }
    heading = pages.heading_of(request.options, [str(entry["name"]) for entry in inputs])
    words = PageWords(f"{heading}: tokens of {together} - tokcli", heading, together, counted(size, "byte"))
    pages.write(path, request.files_read, "compare", words, head, packer)


def _facts(count: int, first: int | None) -> str:
    """Return a number of tokens in words, and how it differs from that of the first encoding.

    >>> _facts(12, None), _facts(15, 12)
    ('12 tokens', '15 tokens (+25.0%)')
    """
    more = "" if first is None else f" ({percent(count - first, first, signed=True)})"
    return counted(count, "token") + more
