"""What to do next, in the words of the command line: hints that name options, by the kind of error.

The library's own hints name arguments, since it does not know who calls it. A kind of error with a hint here gets that
instead; the table is searched for the most specific kind first. `hint_for` is called wherever an error is shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tokcli.cli.inputs.column_files import holds_columns
from tokcli.errors import (
    DisallowedSpecialTokenError,
    MissingFileError,
    NoPatternError,
    NotUtf8Error,
    OfflineError,
    PatternTimeoutError,
    TokcliError,
    UnknownEncodingError,
    UnknownModelError,
)
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models import names_a_model

MAX_NAME_BYTES = 255  # the longest name of a file that Linux takes
VIEWS = ("tokens", "merges")  # of --visualise
TAKE_URLS = ("count", "encode", "train")  # the commands with --dask


def _special_token(error: DisallowedSpecialTokenError) -> str:
    return (
        "Use --special text (as ordinary text), --special allow (as the special token) "
        f"or --allow-special {error.token!r} (only this one)."
    )


def _not_utf8(error: NotUtf8Error) -> str:
    with suppress(OSError):  # where no more files can be opened, nothing is known about this one
        if holds_columns(error.where or ""):
            return "It is a file of columns: read the texts of one with --records jsonl --field NAME."
    if error.takes_bytes:
        return "Use --errors replace (U+FFFD for what is not UTF-8) or --errors bytes (lossless)."
    return "Use --errors replace (U+FFFD for what is not UTF-8); this encoding takes text only."


def _timeout(error: PatternTimeoutError) -> str:
    if error.offset is None:
        return "Allow more time with --timeout, or write a shorter pattern."
    return "It backtracks on this text; raise --timeout, or make its repeats possessive (`++`, `*+`)."


def _no_pattern(error: NoPatternError) -> str:
    sidecar = f"{(error.where or 'FILE').rpartition('/')[2]}.json"
    return f"Give --pattern P (a regex, or an encoding's name), or name it in the sidecar {sidecar}: {error.SIDECAR}."


def _offline(_: OfflineError) -> str:
    return "Leave out --offline, TOKCLI_OFFLINE and HF_HUB_OFFLINE once, or name a file."


def _missing_file(error: MissingFileError) -> str:
    name = error.where or ""
    if "\n" in name and any(word.startswith("--files0") for word in sys.argv):
        return "Separate names by NULs, as `find -print0` and `git ls-files -z` do."
    if name in VIEWS and any(word.startswith("--visuali") for word in sys.argv):
        return f"If it is the view that you want, write --visualise={name}."
    if "://" in name and sys.argv[1:2] and sys.argv[1] in TAKE_URLS and not any("--dask" in word for word in sys.argv):
        return "Urls are opened with --dask ADDRESS, or --dask local."
    folder = name.rpartition("/")[0]
    if os.path.isdir(folder):  # noqa: PTH112 - Path raises OSError for a name that is too long
        return error.hint
    if name.strip("0123456789, []") == "" and name.strip():
        return f"If these are ids, give them with -t {name!r}."
    if len(name.split()) > 1 or len(name.encode(errors="replace")) > MAX_NAME_BYTES:
        return f"If this is text, give it with -t {name!r}."
    return error.hint


def _unknown_encoding(error: UnknownEncodingError) -> str:
    return f"It is a model: use -m {error.name}." if names_a_model(error.name) else error.hint


def _unknown_model(error: UnknownModelError) -> str:
    return f"It is an encoding: use -e {error.name}." if error.name in CATALOG else error.hint


_HINTS: dict[type[TokcliError], Callable[[Any], str]] = {
    DisallowedSpecialTokenError: _special_token,
    NoPatternError: _no_pattern,
    NotUtf8Error: _not_utf8,
    PatternTimeoutError: _timeout,
    OfflineError: _offline,
    MissingFileError: _missing_file,
    UnknownEncodingError: _unknown_encoding,
    UnknownModelError: _unknown_model,
}


def hint_for(error: TokcliError) -> str:
    """Return what to do about an error, for somebody who typed a command; the library's hint if there is none here.

    >>> hint_for(TokcliError("the list is empty", "Name a file."))
    'Name a file.'
    """
    for kind in type(error).__mro__:
        if kind in _HINTS:
            return _HINTS[kind](error)
    return error.hint
