"""The files that a command line names for reading, which no output may replace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from tokcli.cli.options import Options
from tokcli.cli.streams import Input
from tokcli.errors import TokcliError

READ_BY_OPTION = (
    "files0_from",
    "files_from",
    "pattern_file",
    "coverage",
    "shards",
    "chat_template",
)  # options that name files or folders to be read
CONFIGURATIONS = (".jinja", "chat_template.json", "special_tokens_map.json", "tokenizer_config.json")


def named_files(asked: Options, inputs: Iterable[Input] = ()) -> Iterator[Input]:
    """Yield the inputs, and the other files that options name for reading: lists, patterns, existing vocabularies.

    An input that is a folder, as decode and inspect-ranks read shards, stands for the files in it.
    """
    values = vars(asked)
    named = [Input(name=values[option]) for option in READ_BY_OPTION if values.get(option) is not None]
    for source in chain(inputs, named):
        yield source
        if source.data is None:
            yield from (Input(name=name) for name in _files_in(source.name))
    diff, compared = values.get("diff") or (), values.get("compare") or ""
    for spec in (
        *(values.get(option) for option in ("encoding", "seed_vocab")),
        *(values.get("encodings") or ())[1:],
        *([diff] if isinstance(diff, str) else diff),
        *map(str.strip, compared.split(",")),
    ):
        if spec and "\0" not in spec and os.path.lexists(spec):
            yield from (Input(name=name) for name in _files_of(spec))


def _files_in(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except (OSError, ValueError):  # a file, mostly
        return []


def _files_of(path: str) -> list[str]:
    """Return the files that a vocabulary is read from: the file at a path or in that folder, and those beside it."""
    from tokcli.formats.read import read_sources

    beside = _files_in(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    read = [path, *(name for name in beside if name.endswith(CONFIGURATIONS))]
    try:
        return [*read, *(str(file) for file, _ in read_sources(path).files)]
    except TokcliError:  # it is no vocabulary; the encoding may have been a registered name
        return read
