"""Reads tables of models: which tokenizer each name has, its window, and where and when that was found out.

models.txt, the table that ships, says how its lines are to be read; a file that TOKCLI_MODELS names has such lines, and
may leave out where they come from. Which name a user means is left to lookup.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import NamedTuple, NoReturn

from tokcli.errors import MAX_QUOTED, VocabularyError
from tokcli.formats.limits import read_regular_file
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODELS_OF_USERS
from tokcli.registry.models.spelling import normal_form

CLOSED = "closed"  # in place of a tokenizer: none is public; `closed:ID` names how it is estimated
OWN = "*"  # in ORG/*: each model has the repository of ORG that has its name
TOKENIZERS = "tokenizers"  # the group that says which repository has a tokenizer
MAX_BYTES = 1 << 20
MAX_NAMES = 1000  # that one word with choices stands for
MAX_WINDOW_DIGITS = 12
_CHOICE = r"\{([^{}]*)\}"
REPOSITORY = r"[\w-][\w.-]*/[\w.-]+(?:@[\w./-]+)?"
_OWN_OF = r"[\w-][\w.-]*/\*"
_NAME = r"[^/{}]+"
_PATH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "models.txt")


class ModelRow(NamedTuple):
    """Models of one maker that have a tokenizer and a window (in tokens; None if it is not known) in common.

    `names` are written with choices in braces. `tokenizer` is a registered encoding, the name of a tokenizer that the
    table knows, a repository of the Hugging Face hub, ORG/* for the repository of each name, a vocabulary file, or
    `closed`. `source` and `date` say where and when this was found out.
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

    @property
    def has_own(self) -> bool:
        """Whether each model has a repository of its own, by its name."""
        return self.tokenizer.endswith("/" + OWN)

    def models(self, word: str) -> Iterator[KnownModel]:
        """Yield the models that one of `names` stands for; repositories are spelled as the row spells the names."""
        for name in expanded(word):
            if self.has_own:
                yield KnownModel(name.lower(), self.tokenizer[: -len(OWN)] + name, self)
            else:
                yield KnownModel(name, self.tokenizer, self)


class KnownModel(NamedTuple):
    """One model of a row: its name, its tokenizer, and the row."""

    name: str
    tokenizer: str
    row: ModelRow


class Table:
    """The rows of a file of models, and the repository of each named tokenizer.

    A user's file is checked whole; VocabularyError names the file and the line. Of the one that ships, a search for a
    name reads only the rows that have its first letters: to read them all takes 4 ms, and to make all the names that
    their choices stand for another 6 ms.
    """

    def __init__(self, data: bytes = b"", path: str = "", *, is_users: bool = False) -> None:
        self._path, self._is_users = path, is_users
        self._blocks: list[_Block] = []
        self.repositories: dict[str, str] = {}
        self._found: dict[str, dict[str, KnownModel]] = {}
        try:
            self._divide(data.decode().splitlines())
        except UnicodeDecodeError as error:
            raise VocabularyError("not UTF-8", where=path, offset=error.start, unit="byte") from None
        if is_users:
            self._check()

    @cached_property
    def rows(self) -> list[ModelRow]:
        """All rows, in the order of the file."""
        return [self._row(block) for block in self._blocks]

    def find(self, form: str) -> KnownModel | None:
        """Return the model whose name has this normal form; None if there is none."""
        letters = _letters(form)
        if letters not in self._found:
            about = [block for block in self._blocks if any(letters in line.lower() for _, line in block.lines)]
            self._found[letters] = _by_form(map(self._row, about))
        return self._found[letters].get(form)

    def models(self) -> dict[str, KnownModel]:
        """Return all models by the normal form of their names."""
        return _by_form(self.rows)

    def _divide(self, lines: Sequence[str]) -> None:
        """Find the lines of each row, and read the tokenizers."""
        group, source, date = MODELS_OF_USERS, self._path, ""
        for number, line in enumerate(lines, 1):
            plain = line.strip()
            if not plain or plain[0] == "#":
                continue
            if plain[0] == "[" and plain[-1] == "]":
                group = plain[1:-1]
            elif plain.startswith("source:") and plain.split()[0] == "source:":
                *cited, date = plain.split()[1:] or [""]
                source = " ".join(cited)
            elif group == TOKENIZERS:
                words = plain.split()
                if len(words) != 2 or (self._is_users and not re.fullmatch(REPOSITORY, words[1])):
                    _fail(f"{self._path}:{number}", "expected the name of a tokenizer and its repository, ORG/NAME")
                self.repositories[words[0]] = words[1]
            elif not line[0].isspace():
                self._blocks.append(_Block(group, source, date, [(number, plain)]))
            elif not self._blocks:
                _fail(f"{self._path}:{number}", "names that belong to no row: a row begins at the start of its line")
            else:
                self._blocks[-1].lines.append((number, plain))

    def _row(self, block: _Block) -> ModelRow:
        words = " ".join([line for _, line in block.lines]).split()
        place = f"{self._path}:{block.lines[0][0]}"
        window = _window(words, place)
        tokenizer = words[0]
        if self._is_users:
            tokenizer = _located(self.repositories.get(tokenizer, tokenizer), place)
        return ModelRow(block.group, tuple(words[2:]), tokenizer, window, block.source, block.date)

    def _check(self) -> None:
        """Raise VocabularyError for the first line that is no row, or has what is no name."""
        for block in self._blocks:
            self._row(block)
            for at, (number, line) in enumerate(block.lines):
                _check_names(line.split()[0 if at else 2 :], f"{self._path}:{number}")


class _Block(NamedTuple):
    """The lines of a row, each with its number, and what stands above it."""

    group: str
    source: str
    date: str
    lines: list[tuple[int, str]]


def _by_form(rows: Iterable[ModelRow]) -> dict[str, KnownModel]:
    return {normal_form(model.name): model for row in rows for word in row.names for model in row.models(word)}


def _letters(form: str) -> str:
    """Return the letters at the beginning of a normal form; in a word of the table, choices come after them.

    >>> _letters("qwen-3-4b"), _letters("01")
    ('qwen', '')
    """
    return form[: next((at for at, char in enumerate(form) if not char.isalpha()), len(form))]


NO_TABLE = Table()


def expanded(names: str) -> Iterator[str]:
    """Yield the names that choices in braces stand for.

    >>> list(expanded("phi-{3,3.5}{,-mini}"))
    ['phi-3', 'phi-3-mini', 'phi-3.5', 'phi-3.5-mini']
    """
    if "{" not in names:
        return iter((names,))
    parts = re.split(_CHOICE, names)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    return map("".join, product(*choices)) if len(parts) > 1 else iter(parts)


@lru_cache(maxsize=1)
def table() -> Table:
    """Return the table that ships with the package."""
    return Table(read_regular_file(_PATH, MAX_BYTES), _PATH)


def users_table() -> Table:
    """Return the table of the file that TOKCLI_MODELS names; an empty one without it.

    VocabularyError says what is wrong with the file, and where.
    """
    path = os.environ.get(MODELS_OF_USERS)
    return _users_table(path) if path else NO_TABLE


@lru_cache(maxsize=8)
def _users_table(path: str) -> Table:
    return Table(read_regular_file(path, MAX_BYTES), path, is_users=True)


def _window(words: list[str], place: str) -> int | None:
    """Return the window of a row."""
    window = words[1] if len(words) > 2 else ""
    if window == "?":
        return None
    if not (window.isascii() and window.isdecimal() and len(window) <= MAX_WINDOW_DIGITS and int(window)):
        _fail(place, "expected TOKENIZER WINDOW NAME..., where WINDOW is a number of tokens, or ?")
    return int(window)


def _check_names(words: list[str], place: str) -> None:
    """Raise VocabularyError for a word that stands for something that is no name, or for too many."""
    for word in words:
        if not word[0].isalpha():
            _fail(place, f"{word[:MAX_QUOTED]!r} does not begin with a letter")
        if prod(choice.count(",") + 1 for choice in re.findall(_CHOICE, word)) > MAX_NAMES:
            _fail(place, f"{word[:MAX_QUOTED]!r} stands for more than {MAX_NAMES} names")
        for name in expanded(word):
            if not re.fullmatch(_NAME, name):
                _fail(place, f"{name[:MAX_QUOTED]!r} is no name of a model: it has a / or a brace")


def _located(named: str, place: str) -> str:
    """Return the tokenizer that a user names; a path, which is one from the folder of the table, as one from here."""
    if named in CATALOG or named in table().repositories or named == CLOSED or re.fullmatch(_OWN_OF, named):
        return named
    folder = os.path.dirname(place)
    file = os.path.join(folder, os.path.expanduser(named))
    if "\0" not in named and os.path.exists(file):
        return os.path.join(os.curdir, file.removeprefix("./"))
    if not re.fullmatch(REPOSITORY, named):
        where = folder or "the current folder"
        _fail(place, f"{named[:MAX_QUOTED]!r} is no encoding, no file in {where}, and no repository ORG/NAME")
    return named


def _fail(place: str, what: str) -> NoReturn:
    raise VocabularyError(what, where=place)
