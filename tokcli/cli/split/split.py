"""`tokcli split`: the pieces into which the pattern cuts a text, and views that explain them, or check the pattern.

The pieces are written here, and again after each change with --watch; each view is a module of its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import click

from tokcli.cli import messages, streams
from tokcli.cli.declare.command import Command
from tokcli.cli.inputs import records
from tokcli.cli.inputs.whole_input import read_all
from tokcli.cli.json_stream import JsonStream, dump
from tokcli.cli.record import SEPARATOR, Record
from tokcli.cli.request import TextRequest
from tokcli.cli.split.native_pieces import printed_pieces
from tokcli.cli.split.split_options import CONFLICTS, MOST_USED, SplitOptions, SplitRequest, declared
from tokcli.engine import backend
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.utf8 import SplitText
from tokcli.errors import InputError, PatternError, TokcliError
from tokcli.render.visible import escape

MAX_PATTERN_BYTES = 1 << 20  # of a pattern file; patterns may have 65,536 characters
POLL = 0.2  # seconds between two checks of the files
CLEAR = "\x1b[H\x1b[2J"  # moves the cursor to the corner, and clears the screen
RULE = "---\n"  # between two views where there is no screen

FileState: TypeAlias = tuple[int, int] | None


@click.command(cls=Command, name="split", params=[*declared], conflicts=CONFLICTS, most_used=MOST_USED)
def command(**given: Any) -> int:
    """Split FILEs, or standard input, into pieces with the encoding's pattern, one piece per line. Characters that are
    not printable are escaped: \\n, \\t, \\xNN. Views: --table, --why, --diff, --stats, --lint, --identify, --emit.

    \b
      tokcli split -t "it's 2024"
      tokcli split --table -e cl100k_base prompt.txt
      tokcli split --why 4 -t "it's 2024"
      tokcli split --diff cl100k_base prompt.txt
      tokcli split --lint --pattern '\\w+|\\W+'
      tokcli split -m gpt-4 --diff o200k_base --find-witness
      tokcli split -e o200k_base --emit python
    """
    asked = SplitOptions(**given)
    if asked.watch:
        watch(asked, lambda: run(asked))
        return 0
    return run(asked)


def run(asked: SplitOptions) -> int:
    """Write the pieces, or the view that was asked for; return the exit status."""
    if asked.pattern_file is None:
        return written(asked)
    asked = asked.replace(pattern=pattern_in(asked.pattern_file))
    try:
        return written(asked)
    except PatternError as error:
        if error.offset is not None and not (error.where or "").startswith("--diff"):
            error.detail = error.detail or f"the pattern of {asked.pattern_file}"
        elif error.where is None and (asked.diff is None or not compiles(asked.pattern or "")):
            error.where = asked.pattern_file
        raise


def compiles(pattern: str) -> bool:
    """Return whether a regex compiles."""
    try:
        PreTokenizer(pattern)
    except PatternError:
        return False
    return True


def written(asked: SplitOptions) -> int:
    """Write what `run` says, with the pattern that a file holds."""
    if asked.identify and asked.files:
        asked = asked.replace(encoding=identified(asked), files=())
    request = TextRequest(asked)
    if asked.add_special_tokens:
        request.note("--add-special-tokens adds tokens, which are no pieces of the text; nothing is added.")
    if asked.html:
        from tokcli.cli.split import piece_page

        piece_page.write(request, asked.html)
        return request.status
    write = writer(asked)
    request.show_reading()
    with request.open_output("pieces") as output:
        write(request, output)
        output.flush()
    return request.status


def identified(asked: SplitOptions) -> str:
    """Return the vocabulary file whose pattern --identify looks up; InputError if anything else is named as well."""
    if len(asked.files) > 1 or asked.encoding or asked.model or asked.pattern:
        raise InputError("--identify is about one pattern", "Name one FILE, or -e, -m or --pattern.")
    return asked.files[0]


def writer(asked: SplitOptions) -> Callable[[SplitRequest, streams.Output], None]:
    """Return the function that writes the view that was asked for; views that share most imports load together."""
    if asked.table or asked.stats:
        from tokcli.cli.split import stats, table

        return table.write if asked.table else stats.write
    if asked.diff is not None and not asked.find_witness:
        from tokcli.cli.split import diff

        return diff.write
    if asked.lint or asked.why is not None or asked.identify or asked.find_witness or asked.emit:
        from tokcli.cli.split import emitted, lint, why, witness_view

        if asked.emit:
            return emitted.write
        if asked.identify or asked.find_witness:
            return witness_view.write_identity if asked.identify else witness_view.write_witnesses
        return lint.write if asked.lint else why.write
    return write_pieces


def pattern_in(name: str) -> str:
    """Return the pattern that a file holds, without one trailing newline; InputError if it is empty or not UTF-8."""
    source = streams.Input(name=name)
    data = read_all(source, MAX_PATTERN_BYTES, "for a pattern")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8", "A pattern is text.", where=source.shown, offset=error.start, unit="byte"
        ) from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise InputError("it has no pattern", where=source.shown)
    return text


def write_pieces(request: SplitRequest, output: streams.Output) -> None:
    """Write the pieces of all inputs."""
    kind = request.options.records
    for source in request.texts:
        if kind is None:
            split_one(request, source, output)
            continue
        for batch in records.read_batches(
            source, kind, request.options.field, request.options.errors, takes_words=False
        ):
            output.answer(batch.objects)
            for record in batch.records():
                split_one(request, record, output)
            batch.finish(output)


def split_one(request: SplitRequest, source: streams.Input | Record, output: streams.Output) -> None:
    """Write the pieces of an input or a record: a JSON object, or a line each (of a record: one line, with tabs)."""
    kind = request.options.records
    if request.options.as_json:
        stream = JsonStream(output)
        with stream.object(), stream.array("pieces"):
            for some in shown_pieces(request, source, b", "):
                stream.values(some)
        return
    between, is_first = b"\n" if kind is None else b"\t", True
    for some in shown_pieces(request, source, between):
        output.write(some if is_first else between + some)
        is_first = False
    if kind is not None:
        output.write(SEPARATOR[kind])
    elif not is_first:
        output.write(b"\n")


def shown_pieces(request: SplitRequest, source: streams.Input | Record, between: bytes) -> Iterator[bytes]:
    """Yield the pieces of an input or a record as they are printed, those of each part joined by `between`."""
    tokenizer, is_json = request.encoding.tokenizer, request.options.as_json
    with streams.naming(source.shown):
        for part in tokenizer.read_split(request.watched(source.blocks()), request.read_options):
            if isinstance(part, SplitText):
                yield printed_pieces(part, between, is_json=is_json)
            elif not (found := tokenizer.split_chunk(part)):
                continue
            elif backend.is_native() and not part.tail:
                yield printed_pieces(SplitText.of(found), between, is_json=is_json)
            else:
                yield between.decode().join(map(dump_piece if is_json else escape, found)).encode()


def dump_piece(piece: bytes) -> str:
    """Return a piece as a string of JSON; bytes that are not UTF-8 become lone surrogates."""
    return dump(piece.decode("utf-8", "surrogateescape"))


# --- --watch ---------------------------------------------------------------------------------------------------------


def watch(asked: SplitOptions, show: Callable[[], object]) -> None:
    """Show the view now and after every change of a file, until Ctrl-C; errors are printed for the user to correct."""
    names = watched(asked)
    before: list[FileState] | None = None
    while True:
        now = [state_of(name) for name in names]
        if now != before:
            if asked.output is None:
                separate(is_first=before is None)
            redraw(show)
            if not asked.quiet:
                messages.note_at_end()
            before = now
        time.sleep(POLL)


def watched(asked: SplitOptions) -> list[str]:
    """Return the files to watch; InputError where there are none, or the input cannot be read twice."""
    names = [] if asked.pattern_file is None else [asked.pattern_file]
    reads_text = not (asked.lint or asked.emit or asked.find_witness)
    if reads_text and asked.text is None:
        names += asked.files or [streams.STANDARD_INPUT]
    if streams.STANDARD_INPUT in names:
        raise InputError(
            "--watch reads the text again, but standard input cannot be read twice", "Name a FILE, or use -t."
        )
    if not names:
        raise InputError("--watch has no file to watch", "Name a FILE, or a --pattern-file.")
    return names


def state_of(name: str) -> FileState:
    """Return when a file changed last, in nanoseconds, and its size in bytes; None for a file that is missing."""
    try:
        found = os.stat(name)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def separate(*, is_first: bool) -> None:
    """Clear the screen; where standard output is not a terminal, write a line between two views."""
    if sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    elif not is_first:
        sys.stdout.write(RULE)
    sys.stdout.flush()


def redraw(show: Callable[[], object]) -> None:
    """Show the view, or print its error."""
    try:
        show()
    except TokcliError as error:
        messages.report(error)
