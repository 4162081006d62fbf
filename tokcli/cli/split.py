"""`tokcli split`: the pieces that the pattern cuts a text into; and views that say why, or what is wrong with it.

The pieces are written here; the table and the other views are split_table.py's, split_why.py's and so on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

# Each is an option of its name and a module with `write(request, output)`.
VIEWS = ("table", "why", "diff", "stats", "lint")


@click.command(cls=options.Command, name="split")
@options.takes_files
@options.takes_encoding
@click.option("--pattern-file", metavar="F", shell_complete=options.complete_file,
              help="Read the pattern from F; one newline at its end is none of it.")  # fmt: skip
@options.takes_text("text")
@options.takes_records
@click.option("--table", is_flag=True, help="A table: # bytes chars alternative text tokens.")
@click.option("--why", metavar="POS", type=click.IntRange(min=0),
              help="Try every alternative at this byte of the text, from 0, and say why the winner won.")  # fmt: skip
@click.option("--diff", metavar="ENCODING|P", shell_complete=options.complete_encoding,
              help="Only where this encoding or pattern splits differently.")  # fmt: skip
@click.option("--stats", is_flag=True, help="Hits of each alternative, longest pieces, pieces of many tokens.")
@click.option("--lint", is_flag=True, help="What is wrong with the pattern, and who else could read it; no text.")
@click.option("--watch", is_flag=True, help="Again whenever the pattern's file or an input changes.")
@options.takes_html
@options.takes_output
@options.common
def command(**given: Any) -> None:
    """Split FILEs, or standard input, by the encoding's pattern: a piece a line, with \\n, \\t, \\xNN for what is not
    printable. Views: --table, --why, --diff, --stats, --lint.

    \b
      tokcli split -t "it's 2024"
      tokcli split --table -e cl100k_base prompt.txt
      tokcli split --why 4 -t "it's 2024"
      tokcli split --diff cl100k_base prompt.txt
      tokcli split --lint --pattern '\\w+|\\W+'
    """
    write = view(given)
    if given["watch"]:
        from tokcli.cli import split_watch

        split_watch.watch(given, lambda: run(given, write))
    else:
        run(given, write)


def view(given: dict[str, Any]) -> Callable[[Request, streams.Output], None]:
    """What writes the view that was asked for; the pieces where none was."""
    wanted = [name for name in VIEWS if given[name] is not None and given[name] is not False]  # 0 is a place
    if len(wanted) > 1:
        raise InputError(f"--{wanted[0]} and --{wanted[1]} are two views", "Ask for one of them.")
    if given["pattern_file"] is not None and given["pattern"] is not None:
        raise InputError("both --pattern and --pattern-file were given", "Use one of them.")
    if not wanted:
        return write_pieces
    if given["records"]:
        raise InputError(f"--{wanted[0]} is of whole inputs: no --records", "Leave one of them out.")
    write: Callable[[Request, streams.Output], None] = import_module(f"tokcli.cli.split_{wanted[0]}").write
    return write


def run(given: dict[str, Any], write: Callable[[Request, streams.Output], None]) -> None:
    """One run of a view."""
    if given["pattern_file"] is not None:
        given = given | {"pattern": pattern_in(given["pattern_file"])}
    request = Request(given)
    request.note_template()
    if given["html"]:
        from tokcli.cli import pages

        pages.write_pieces(request)
        return
    with request.open_output() as output:
        write(request, output)
        output.flush()


def pattern_in(name: str) -> str:
    """The pattern that a file holds."""
    source = streams.Input(name)
    data = b"".join(source.blocks())
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{source.shown}: not UTF-8 at byte {error.start}", "A pattern is text.") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise InputError(f"{source.shown}: no pattern in it")
    return text


def write_pieces(request: Request, output: streams.Output) -> None:
    """The pieces of all inputs."""
    for source in request.inputs:
        if not request.options["records"]:
            split_one(request, source, output)
            continue
        for record in records.read_records(source, request.options["records"], request.field):
            split_one(request, record, output)


def split_one(request: Request, source: streams.Input | records.Record, output: streams.Output) -> None:
    """The pieces of an input or a record: a JSON object, or a line each (of a record: all on one line, with tabs)."""
    from tokcli.render.visible import escape

    as_json, of_record = request.options["as_json"], bool(request.options["records"])
    between = b", " if as_json else b"\t" if of_record else b"\n"
    is_first = True
    output.write(b'{"pieces": [' if as_json else b"")
    with streams.naming(source.shown):
        for chunk in request.chunks(source):
            pieces = request.encoding.split_chunk(chunk)
            if not pieces:
                continue
            shown = (records.dump(p.decode("utf-8", "surrogateescape")) if as_json else escape(p) for p in pieces)
            output.write((b"" if is_first else between) + between.decode().join(shown).encode())
            is_first = False
    if as_json:
        output.write(b"]}\n")
    elif of_record:
        output.write(records.SEPARATOR[request.options["records"]])
    elif not is_first:
        output.write(b"\n")
