"""`inspect-ranks --html` and `--export`: a vocabulary as a page, and in the files of other programs."""

from __future__ import annotations

from tokcli.analysis.browser_tables import browser_tables
from tokcli.analysis.vocabulary import not_self
from tokcli.cli import pages, streams
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.inspect_ranks.tokens import look_up
from tokcli.cli.request import files_read
from tokcli.cli.train.output import Files
from tokcli.cli.train.report import tell
from tokcli.errors import InputError
from tokcli.formats.export.losses import export
from tokcli.render.numbers import counted, grouped
from tokcli.render.pages.box_columns import add_box_of_table
from tokcli.render.pages.page import PageWords
from tokcli.render.pages.page_columns import Packer, PageTokens, add_reencoded


def write_page(request: InspectRequest, path: str) -> None:
    """Write the page of all tokens of the encoding to a file, with the first that is looked up chosen."""
    encoding, packer, special = request.encoding, Packer(), pages.special_ids(request.encoding)
    ids = look_up(request) or [0]
    table = PageTokens(
        encoding.tokenizer.token_bytes(),
        encoding.tokenizer.all_parents().of,
        special,
        dict(enumerate(encoding.tokenizer.scores())),
    )
    add_reencoded(packer, table.pack(packer), dict(not_self(encoding, sorted(table.tokens))))
    special_count = f"{grouped(len(table.special))} of them special"
    summary = f"{counted(len(table.tokens), 'token')}, {special_count}"
    words = PageWords(f"{encoding.name}: tokens - tokcli", encoding.name, encoding.name, summary)
    head: dict[str, object] = {"name": encoding.name, "chosen": ids[0]}
    if (tables := browser_tables(encoding)) is not None:
        head["box"] = add_box_of_table(packer, tables, table.tokens)
    pages.write(path, files_read(request.options), "vocabulary", words, head, packer)


def write_export(request: InspectRequest, form: str) -> None:
    """Write the encoding in the files of a format, all or none; VocabularyError if they would lose something."""
    output = request.options.output
    if output is None or output == streams.STANDARD_OUTPUT:
        raise InputError("--export cannot write to standard output", "Name a file with -o FILE.")
    made, notes = export(request.encoding, form)
    with Files(output, form, list(files_read(request.options))) as files:
        written = files.write(made)
    for note in notes:
        request.note(note)
    if not request.options.quiet:
        tell(written, len(made.mergeable_ranks) + len(made.unmade), len(made.merges), len(made.special_tokens), "")
