"""The note that `train` makes on the format of what it writes."""

from __future__ import annotations

import os

from tokcli.formats.export.output_names import OTHER_NAMES, is_folder
from tokcli.formats.limits import shown_name


def note_on_form(output: str, form: str | None, told: str | None) -> str:
    """Return a note on a format that only the name of the output tells, or that its name does not tell; else "".

    A name without an ending gets none: people who leave it out expect no format of it.
    """
    if told is None and form is None and os.path.splitext(output)[1]:
        return f"{shown_name(output)}: written in --format tiktoken; {OTHER_NAMES}"
    if told in (None, form or "tiktoken") or (form and is_folder(output)):
        return ""
    if form:
        return f"{shown_name(output)}: named like a file of --format {told}, but --format {form} is written."
    if is_folder(output):
        return f"{output}: written in --format {told}, as for every folder."
    return f"{shown_name(output)}: written in --format {told}, as its name says."
