"""The registered encodings, such as cl100k_base, each made once per process from ranks that ship or are published.

The ranks come from the package itself, or, where the package was built without them, from the caches and the network.
The names `get_encoding`, `list_encoding_names`, `ENCODINGS` and `ENCODING_CONSTRUCTORS` are those of tiktoken.registry.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from tokcli.engine.base.arguments import wrong_type
from tokcli.engine.base.locks import new_lock
from tokcli.engine.encoding import Encoding
from tokcli.errors import UnknownEncodingError, did_you_mean
from tokcli.registry.catalog import CATALOG, Entry
from tokcli.registry.lazy_ranks import LazyRanks, load_image
from tokcli.registry.model_names import is_model

VOCAB = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "vocab")

_lock = new_lock()
_ranks: dict[str, dict[bytes, int]] = {}  # by the name of the packed file; encodings of one vocabulary share them

ENCODINGS: dict[str, Encoding] = {}  # what `get_encoding` has made so far; adding an entry registers an encoding


def _arguments(name: str, *, offline: bool = False) -> dict[str, Any]:
    """Return the arguments with which `Encoding` makes a registered encoding."""
    entry = CATALOG[name]
    arguments: dict[str, Any] = {
        "name": name,
        "pat_str": entry.pat_str,
        "mergeable_ranks": ranks_of(entry, offline=offline),
        "special_tokens": dict(entry.special_tokens),
    }
    return arguments | ({"explicit_n_vocab": entry.explicit_n_vocab} if entry.explicit_n_vocab is not None else {})


# The functions that return the keyword arguments of each registered `Encoding`; adding one registers an encoding.
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {name: partial(_arguments, name) for name in CATALOG}


def list_encoding_names() -> list[str]:
    """Return the names of the registered encodings.

    >>> list_encoding_names()
    ['gpt2', 'r50k_base', 'p50k_base', 'p50k_edit', 'cl100k_base', 'o200k_base', 'o200k_harmony']
    """
    return list(ENCODING_CONSTRUCTORS)


def get_encoding(encoding_name: str) -> Encoding:
    """Return the registered encoding of this name, the same object every time.

    It is safe to call this from many threads: the first one makes the encoding, the others wait. A name that is not
    registered raises UnknownEncodingError, a ValueError.
    """
    if not isinstance(encoding_name, str):
        raise UnknownEncodingError(str(wrong_type("encoding_name", "a str", encoding_name)))
    return get_registered(encoding_name)


def get_registered(name: str, *, offline: bool = False) -> Encoding:
    """Return `get_encoding(name)`; with `offline`, ranks that have to be downloaded raise NetworkError."""
    if (encoding := ENCODINGS.get(name)) is not None:
        return encoding
    with _lock:
        if name not in ENCODINGS:
            ENCODINGS[name] = _construct(name, offline)
        return ENCODINGS[name]


def _construct(name: str, offline: bool) -> Encoding:
    if name in CATALOG:
        return Encoding.of(name, make_registered(name, offline=offline).tokenizer, (get_encoding, (name,)))
    if name not in ENCODING_CONSTRUCTORS:
        raise unknown_encoding(name)
    return Encoding(**ENCODING_CONSTRUCTORS[name]())


def unknown_encoding(name: str) -> UnknownEncodingError:
    """Return the error that says that no encoding and no file has this name, and suggests similar names."""
    what = f"unknown encoding {name!r}"
    hint = f"Registered encodings: {', '.join(CATALOG)}. A path names a file."
    if is_model(name):
        hint = f"It is a model, whose encoding encoding_for_model({name!r}) returns."
    elif "/" in name or "." in name:
        what = f"{name}: no such file, and no encoding of that name{did_you_mean(name, CATALOG)}"
    elif not is_model(name.lower()):
        what += did_you_mean(name.lower(), CATALOG)
    error = UnknownEncodingError(what, hint)
    error.name = name
    return error


def make_registered(name: str, pat_str: str | None = None, *, offline: bool = False) -> Encoding:
    """Return a new object of a registered encoding, with `pat_str`, if it is given, instead of its own pattern.

    Ranks that ship are read when they are needed; others are fetched now, from a cache or the network (NetworkError).
    """
    entry = CATALOG[name]
    path = packed_path(entry)
    if os.path.exists(path):
        vocabulary = LazyRanks(
            load_ranks=lambda: ranks_of(entry, offline=offline),
            load_image=lambda: load_image(path, entry.ranks_sha256),
            max_rank=vocabulary_size(entry) - 1,
            special_tokens=entry.special_tokens,
            pat_str=entry.pat_str,
        )
        return Encoding.of(name, vocabulary.tokenizer(name, entry.pat_str if pat_str is None else pat_str))
    return Encoding(**{**_arguments(name, offline=offline), "pat_str": entry.pat_str if pat_str is None else pat_str})


def packed_path(entry: Entry) -> str:
    """Return the path at which the ranks of a registered encoding ship."""
    return os.path.join(VOCAB, entry.packed)


def vocabulary_size(entry: Entry) -> int:
    """Return the largest id of a registered encoding plus one."""
    return entry.explicit_n_vocab or max(entry.special_tokens.values()) + 1  # special tokens come after the ranks


def ranks_of(entry: Entry, *, offline: bool = False) -> dict[bytes, int]:
    """Return the mergeable_ranks of a registered encoding: those that ship, or else those that are published."""
    with _lock:
        if entry.packed not in _ranks:
            from tokcli.registry.ranks_files import read_published, read_shipped  # 2 ms that native code saves

            path = packed_path(entry)
            _ranks[entry.packed] = read_shipped(path) if os.path.exists(path) else read_published(entry, offline)
        return _ranks[entry.packed]
