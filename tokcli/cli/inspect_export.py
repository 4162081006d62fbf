"""`inspect-ranks --export`: an encoding in the files of another program, where these can hold it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from tokcli.cli import streams

if TYPE_CHECKING:
    from tokcli.cli.options import Request


def write_export(request: Request, form: str) -> None:
    """Writes the files of a format, all or none; VocabularyError says what they would lose."""
    from tokcli.cli.train_output import Files, tell
    from tokcli.formats.export import export

    output = request.options["output"]
    if output in (None, streams.STANDARD_OUTPUT):
        raise click.UsageError("--export writes files: name one with -o FILE.", click.get_current_context())
    made, notes = export(request.encoding, form)
    with Files(output, form, sources(request.options["encoding"])) as files:
        written = files.write(made)
    for note in notes:
        request.note(note)
    if not request.options["quiet"]:
        tell(written, len(made.mergeable_ranks) + len(made.unmade) + len(made.special_tokens), len(made.merges), 0)


def sources(spec: str | None) -> list[streams.Input]:
    """The files that an encoding is read from, which must not be written to."""
    if spec is None or not os.path.exists(spec):  # noqa: PTH110
        return []
    if not os.path.isdir(spec):  # noqa: PTH112
        return [streams.Input(spec)]
    return [streams.Input(entry.path) for entry in os.scandir(spec) if entry.is_file()]
