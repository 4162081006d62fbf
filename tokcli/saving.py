"""`Encoding.save`: an encoding in a file of a format of `train`, or in several, all replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Sequence

from tokcli.atomic import Replacement, new_file_mode
from tokcli.engine.base import arguments
from tokcli.engine.encoding import Encoding
from tokcli.errors import OutputError, reason_of
from tokcli.formats.export.contents import contents_in
from tokcli.formats.export.losses import ADVICE, FORMS, export
from tokcli.formats.export.output_names import OTHER_NAMES, form_by_name, names_of
from tokcli.formats.export.tokenizer_config import refuse_other_config
from tokcli.formats.tiktoken import refuse_no_sidecar


def save(encoding: Encoding, path: str | os.PathLike[str], form: str | None) -> tuple[str, ...]:
    """Write an encoding to `path` and the files beside it, and return their names; see `Encoding.save`."""
    shown = os.fsdecode(arguments.path_in(path))
    if form is not None and form not in FORMS:
        arguments.check_text(form, "format")
        raise ValueError(f"format: expected one of {', '.join(FORMS)}, not {form[:40]!r}")
    told = form_by_name(shown)
    is_named_otherwise = not (form or told) and bool(os.path.splitext(shown)[1])
    notes = [f"{shown}: written in the format tiktoken; {OTHER_NAMES}"] if is_named_otherwise else []
    form = form or told or "tiktoken"
    names = names_of(shown, form)
    made, lost = export(encoding, form)
    contents = contents_in(made, form)[: len(names)]
    if form in ("gpt2", "huggingface") and (folder := os.path.dirname(names[0])) == shown.rstrip("/"):
        if len(names) > 1 and form == "huggingface":
            refuse_other_config(names[1], f"Remove it, or save to {names[0]}.")
        _make(folder)
    if form == "tiktoken":
        refuse_no_sidecar(names[1], "Move it, or save elsewhere.")
    _replace_all(names, contents)
    for note in (*notes, *(note for note in lost if note != ADVICE.get(form))):  # that says nothing about this encoding
        warnings.warn(note, stacklevel=3)  # at the line that calls `Encoding.save`
    return tuple(names)


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {reason_of(error)}", "Name a folder, or a file in one that exists.") from None


def _replace_all(names: Sequence[str], contents: Sequence[bytes]) -> None:
    """Write all files before the first gets its name, the main one last."""
    written: list[Replacement] = []
    try:
        for name, content in zip(names, contents, strict=True):
            try:
                written.append(Replacement(os.path.realpath(name), mode=_mode_of(name)))
                written[-1].file.write(content)
                written[-1].finish()
            except (OSError, ValueError) as error:
                raise error if isinstance(error, OutputError) else OutputError(f"{name}: {reason_of(error)}") from None
        for name, replacement in zip(reversed(names), reversed(written), strict=True):
            try:
                replacement.commit()
            except OSError as error:
                raise OutputError(f"{name}: {reason_of(error)}") from None
    finally:
        for replacement in written:
            replacement.discard()


def _mode_of(path: str) -> int:
    """Return the mode of the regular file at `path`, or that of a new file; OutputError for anything else."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return new_file_mode()
    if stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path}: is a directory", "Name a file.")
    if not stat.S_ISREG(status.st_mode):
        raise OutputError(f"{path}: not a regular file", "Name a new file.")
    return stat.S_IMODE(status.st_mode)
