"""Loads the vocabulary in a file, or one that ships, from its container; if none is kept, compiles it (compile.py)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcli.registry.compiled.store import Store
from tokcli.registry.inside import INSIDE, NAMES
from tokcli.registry.lazy_ranks import LazyRanks

if TYPE_CHECKING:
    from types import ModuleType

    from tokcli.engine.text_tokenizer import TextTokenizer


def load_file(path: str, *, special_tokens: dict[str, int] | None = None) -> LazyRanks | TextTokenizer:
    """Return the vocabulary in a file or a folder, compiled if possible.

    A VocabularyError says what is wrong in the file, and where. `special_tokens` replace those of a file of ranks; they
    are checked against all ranks, so the file is read for them.
    """
    store = None if special_tokens is not None else Store.open()
    if store is not None and (sha256 := store.known(path)) is not None:
        whole_path = os.path.abspath(path)  # the working folder may be another one when the file is read again
        found = store.load(sha256, path, lambda: _compile().read_again(whole_path, sha256))
        if found is not None:
            return found
    read: LazyRanks | TextTokenizer = _compile().read_file(path, store, special_tokens)
    return read


def repository_inside(name: str) -> str | None:
    """Return the repository whose tokenizer ships, by its name or the tokenizer's; None for any other name."""
    return name if name in INSIDE else NAMES.get(name)


def file_inside(repository: str) -> str:
    """Return the name of the file of a repository that ships."""
    return INSIDE[repository].file


def load_inside(repository: str) -> LazyRanks | TextTokenizer:
    """Return the tokenizer of a repository that ships with the package (registry/inside.py), compiled if possible."""
    store, shown = Store.open(), f"{repository}/{INSIDE[repository].file}"
    if store is not None:
        found = store.load(INSIDE[repository].key, shown, lambda: _compile().read_inside(repository))
        if found is not None:
            return found
    made: LazyRanks | TextTokenizer = _compile().compile_inside(repository)
    return made


def _compile() -> ModuleType:
    from tokcli.registry.compiled import compile  # 20 ms, for the readers of all formats

    return compile
