"""`encode --html FILE`: the inputs as a page of coloured tokens."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence

from tokcli.analysis.browser_tables import browser_tables
from tokcli.cli import pages, streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.whole_tokens import sees_whole, whole_tokens
from tokcli.cli.encode.write_ids import limited
from tokcli.cli.json_stream import text_of_name
from tokcli.engine.tokens import pairs_of
from tokcli.render.numbers import counted
from tokcli.render.pages.box_columns import add_box
from tokcli.render.pages.page import PageWords
from tokcli.render.pages.page_columns import Packer, add_texts


def write_tokens(request: EncodeRequest, path: str) -> None:
    """Write the page of the inputs to a file."""
    encoding, packer = request.encoding, Packer()
    inputs: list[dict[str, object]] = []
    sequence: array[int] = array("I")
    spans: list[tuple[int, int]] | None = []
    for source in request.texts:
        before = len(sequence)
        with streams.naming(source.shown):
            for ids, found in placed_ids(request, source):
                sequence.extend(ids)
                if spans is not None and found is not None:
                    spans.extend(found)
                else:
                    spans = None
                pages.check_size(len(sequence))
        inputs.append({"name": text_of_name(source.shown), "tokens": len(sequence) - before})
    places = "bytes" if not sees_whole(request) else "unknown" if spans is None else "characters"
    table = pages.table_of(encoding, sequence)
    add_texts(packer, table, sequence, spans if places == "characters" else None)
    head: dict[str, object] = {"name": encoding.name, "inputs": inputs, "places": places, "ids": request.options.ids}
    if not request.options.no_box and (tables := browser_tables(encoding)) is not None:
        head["box"] = add_box(packer, tables)
    heading = pages.heading_of(request.options, [str(entry["name"]) for entry in inputs])
    words = PageWords(
        f"{heading}: tokens of {encoding.name} - tokcli",
        heading,
        encoding.name,
        summary(sequence, table.tokens),
        pages.plain_text(table.tokens[id] for id in sequence),
    )
    pages.write(path, request.files_read, "encode", words, head, packer)


def summary(sequence: Sequence[int], tokens: Mapping[int, bytes]) -> str:
    """Return the facts about the tokens of a page, in words.

    >>> summary([5, 6, 5], {5: b"ab", 6: b"c"})
    '3 tokens, 2 different tokens, 5 bytes, 1.67 bytes per token'
    """
    size = sum(len(tokens[id]) for id in sequence)
    ratio = f"{size / len(sequence):.2f} bytes per token" if sequence else "nothing to show"
    different = counted(len(set(sequence)), "different token")
    return ", ".join([counted(len(sequence), "token"), different, counted(size, "byte"), ratio])


def placed_ids(
    request: EncodeRequest, source: streams.Input
) -> Iterator[tuple[Sequence[int], list[tuple[int, int]] | None]]:
    """Yield ids of an input, up to -n of them, and their places in characters; None where these are not known."""
    limit = request.options.limit
    if sees_whole(request):
        _, whole_ids, spans = whole_tokens(request, source.blocks())
        yield whole_ids[:limit], spans if spans is None else pairs_of(spans)[:limit]
        return
    for ids, _ in limited(map(request.encoding.tokenizer.encode_part, request.parts(source)), limit):
        yield ids, None  # their bytes tell the places
