"""Reads tables of models: which tokenizer each name has, its window, and where and when that was found out.

models.txt, the table that ships, says how its lines are to be read; a file that TOKCLI_MODELS names has such lines, and
may leave out where they come from. Which name a user means is left to lookup.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
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
_CHOICE = re.compile(r"\{([^{}]*)\}")
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+(?:@[\w./-]+)?")
_OWN_OF = re.compile(r"[\w-][\w.-]*/\*")
_NAME = re.compile(r"[^/{}]+")
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
    """The rows, and the repository of each named tokenizer.

    The names that choices stand for are made when one of them is asked for, for all that begin with the same letters:
    to make all of them takes 6 ms.
    """

    def __init__(self, rows: Sequence[ModelRow], repositories: Mapping[str, str]) -> None:
        self.rows, self.repositories = rows, repositories
        self._words: dict[str, list[tuple[str, ModelRow]]] = {}
        self._found: dict[str, dict[str, KnownModel]] = {}
        for row in rows:
            for word in row.names:
                self._words.setdefault(_letters(word), []).append((word, row))

    def find(self, form: str) -> KnownModel | None:
        """Return the model whose name has this normal form; None if there is none."""
        return self._named(_letters(form)).get(form)

    def _named(self, letters: str) -> Mapping[str, KnownModel]:
        if letters not in self._found:
            self._found[letters] = {
                normal_form(model.name): model
                for word, row in self._words.get(letters, ())
                for model in row.models(word)
            }
        return self._found[letters]

    def models(self) -> dict[str, KnownModel]:
        """Return all models by the normal form of their names."""
        return {form: found for letters in self._words for form, found in self._named(letters).items()}


def _letters(name: str) -> str:
    """Return the letters at the beginning of a name, or of a word of the table: choices come after them.

    >>> _letters("qwen3-{4b,8b}"), _letters("01")
    ('qwen', '')
    """
    return name[: next((at for at, char in enumerate(name) if not char.isalpha()), len(name))].lower()


NO_TABLE = Table((), {})


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
    return read_table(read_regular_file(_PATH, MAX_BYTES), _PATH)


def users_table() -> Table:
    """Return the table of the file that TOKCLI_MODELS names; an empty one without it.

    VocabularyError says what is wrong with the file, and where.
    """
    path = os.environ.get(MODELS_OF_USERS)
    return _users_table(path) if path else NO_TABLE


@lru_cache(maxsize=8)
def _users_table(path: str) -> Table:
    return read_table(read_regular_file(path, MAX_BYTES), path, is_users=True)


def read_table(data: bytes, path: str, *, is_users: bool = False) -> Table:
    """Return the table in a file, which is not trusted; VocabularyError names the file and the line."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise VocabularyError("not UTF-8", where=path, offset=error.start, unit="byte") from None
    group, source, date = MODELS_OF_USERS, path, ""
    rows: list[ModelRow] = []
    repositories: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words, place = line.split(), f"{path}:{number}"
        if not words or words[0][0] == "#":
            continue
        if words[0][0] == "[" and words[-1][-1] == "]":
            group = line.strip()[1:-1]
        elif words[0] == "source:":
            *cited, date = words[1:] or [""]
            source = " ".join(cited)
        elif group == TOKENIZERS:
            if len(words) != 2 or not _REPOSITORY.fullmatch(words[1]):
                _fail(place, "expected the name of a tokenizer and its repository, ORG/NAME")
            repositories[words[0]] = words[1]
        else:
            if not line[0].isspace():
                window = _window(words, place)
                tokenizer = _located(repositories.get(words[0], words[0]), place) if is_users else words[0]
                rows.append(ModelRow(group, (), tokenizer, window, source, date))
                words = words[2:]
            elif not rows:
                _fail(place, "names that belong to no row: a row begins at the start of its line")
            rows[-1] = rows[-1]._replace(names=(*rows[-1].names, *words))
            if is_users:
                _check_names(words, place)
    return Table(rows, repositories)


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
        if prod(choice.count(",") + 1 for choice in _CHOICE.findall(word)) > MAX_NAMES:
            _fail(place, f"{word[:MAX_QUOTED]!r} stands for more than {MAX_NAMES} names")
        for name in expanded(word):
            if not _NAME.fullmatch(name):
                _fail(place, f"{name[:MAX_QUOTED]!r} is no name of a model: it has a / or a brace")


def _located(named: str, place: str) -> str:
    """Return the tokenizer that a user names; a path, which is one from the folder of the table, as one from here."""
    if named in CATALOG or named in table().repositories or named == CLOSED or _OWN_OF.fullmatch(named):
        return named
    folder = os.path.dirname(place)
    file = os.path.join(folder, os.path.expanduser(named))
    if "\0" not in named and os.path.exists(file):
        return os.path.join(os.curdir, file)
    if not _REPOSITORY.fullmatch(named):
        where = folder or "the current folder"
        _fail(place, f"{named[:MAX_QUOTED]!r} is no encoding, no file in {where}, and no repository ORG/NAME")
    return named


def _fail(place: str, what: str) -> NoReturn:
    raise VocabularyError(what, where=place)
