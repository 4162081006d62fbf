"""Reads the table of models: which tokenizer each name has, its window, and where and when that was found out.

models.txt says how its lines are to be read. Which name a user means is left to lookup.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from tokcli.registry.models.spelling import normal_form

CLOSED = "closed"  # in place of a tokenizer: none is public; `closed:ID` names how it is estimated
TOKENIZERS = "tokenizers"  # the group that says which repository has a tokenizer
_CHOICE = re.compile(r"\{([^{}]*)\}")
_PATH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "models.txt")


class ModelRow(NamedTuple):
    """Models of one maker that have a tokenizer and a window (in tokens; None if it is not known) in common.

    `names` are written with choices in braces. `tokenizer` is a registered encoding, the name of a tokenizer that the
    table knows, a repository of the Hugging Face hub, a vocabulary file, or `closed`. `source` and `date` say where and
    when this was found out.
    """

    group: str
    names: tuple[str, ...]
    tokenizer: str
    window: int | None
    source: str
    date: str

    @property
    def is_closed(self) -> bool:
        """Whether the tokenizer is not public."""
        return self.tokenizer.partition(":")[0] == CLOSED


class Table(NamedTuple):
    """The rows, each model's row by the normal form of its name, and the repository of each named tokenizer."""

    rows: tuple[ModelRow, ...]
    models: Mapping[str, tuple[str, ModelRow]]
    repositories: Mapping[str, str]


def expanded(names: str) -> Iterator[str]:
    """Yield the names that choices in braces stand for.

    >>> list(expanded("phi-{3,3.5}{,-mini}"))
    ['phi-3', 'phi-3-mini', 'phi-3.5', 'phi-3.5-mini']
    """
    parts = _CHOICE.split(names)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    return map("".join, product(*choices)) if len(parts) > 1 else iter(parts)


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the table that ships with the package."""
    with open(_PATH, encoding="utf-8") as file:
        return read_table(file)


def read_table(lines: Iterator[str] | list[str]) -> Table:
    """Return the table that is written in lines of text."""
    group = source = date = ""
    rows: list[ModelRow] = []
    repositories: dict[str, str] = {}
    for line in lines:
        words = line.split()
        if not words or words[0][0] == "#":
            continue
        if words[0][0] == "[":
            group, source, date = line.strip()[1:-1], "", ""
        elif words[0] == "source:":
            *cited, date = words[1:]
            source = " ".join(cited)
        elif group == TOKENIZERS:
            repositories[words[0]] = words[1]
        elif line[0].isspace():
            rows[-1] = rows[-1]._replace(names=(*rows[-1].names, *words))
        else:
            window = None if words[1] == "?" else int(words[1])
            rows.append(ModelRow(group, tuple(words[2:]), words[0], window, source, date))
    models = {normal_form(name): (name, row) for row in rows for names in row.names for name in expanded(names)}
    return Table(tuple(rows), models, repositories)
