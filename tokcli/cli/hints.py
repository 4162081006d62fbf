"""What to do next, in the words of the command line: hints that name options, by the kind of error.

The library's own hints name arguments, since it does not know who calls it. A kind of error with a hint here gets that
instead; the table is searched for the most specific kind first. `hint_for` is called wherever an error is shown.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from shlex import join, quote
from typing import Any

from tokcli.cli.declare.elsewhere import said_of
from tokcli.cli.inputs.column_files import holds_columns
from tokcli.errors import (
    DisallowedSpecialTokenError,
    GrowthError,
    MissingFileError,
    NoPatternError,
    NotUtf8Error,
    OfflineError,
    PatternError,
    PatternTimeoutError,
    TokcliError,
    UnknownEncodingError,
    UnknownModelError,
    WrongUse,
    did_you_mean,
)
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.lookup import model_names, names_a_model
from tokcli.registry.models.table import table

MAX_NAME_BYTES = 255  # the longest name of a file that Linux takes
NAME_FILES = ("--files0-from", "--files-from", "--pattern-file")  # whose value is no text
_IDS = re.compile(r"[\s,\[\]]*[0-9][0-9\s,\[\]]*")
# A path, but hardly a text: a slash inside, a dot or ~ in front, a glob, an extension, or a drive of Windows.
_PATH = re.compile(r"/|\\|^[.~-]|[*]|\.[A-Za-z][A-Za-z0-9]{0,9}$|\.[0-9][A-Za-z0-9]{0,2}$")
VOCABULARIES = (".tiktoken", ".json", ".model", ".gguf")  # how the names of vocabulary files end
COMMANDS = ("count", "encode", "decode", "split", "train", "inspect-ranks")
HAVE_FOLDERS = ("count", "encode", "split", "train")  # the commands with -r
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


def _pattern(error: PatternError) -> str:
    """Return the name that was meant, perhaps, where the regex of --pattern looks like the name of an encoding."""
    word = next((word.partition("=")[2] for word in sys.argv if word.startswith("--pattern=")), "")
    if "--pattern" in sys.argv[:-1]:
        word = sys.argv[sys.argv.index("--pattern") + 1]
    near = did_you_mean(word.lower(), CATALOG) if re.fullmatch(r"[\w-]+", word) and word not in CATALOG else ""
    return f"{word!r} is read as a regex{near}" if near else error.hint


def _offline(_: OfflineError) -> str:
    return "Leave out --offline, TOKCLI_OFFLINE and HF_HUB_OFFLINE once, or name a file."


def _missing_file(error: MissingFileError, files: Sequence[str], readings: Mapping[str, str]) -> str:
    name = error.where or ""
    before = _word_before(name)
    if "\n" in name and any(word.startswith("--files0") for word in sys.argv):
        return "Read names from lines with --files-from; --files0-from reads those of `git ls-files -z`, with NULs."
    if reading := readings.get(name):
        return reading
    if "://" in name and sys.argv[1:2] and sys.argv[1] in TAKE_URLS and not any("--dask" in word for word in sys.argv):
        return "Urls are opened with --dask ADDRESS, or --dask local."
    if name not in files and any(word.startswith("--files") for word in sys.argv):
        return "Git quotes such a name: list names with `git ls-files -z` for --files0-from." if name[:1] == '"' else ""
    if "*" in name and sys.argv[1:2] and sys.argv[1] in HAVE_FOLDERS and name in files:
        return f"Shells expand globs that are not quoted; to look in the current folder, type -g {quote(name)} ."
    if before in NAME_FILES or sys.argv[1:2] == ["inspect-ranks"]:
        return error.hint
    if option := _option_of_name(name):
        return f"It is {option}."
    if line := _line_with_text(name, files):
        return f"If these are {'ids' if sys.argv[1] == 'decode' else 'words of a text'}, type {line}"
    if sys.argv[1:2] == ["decode"]:
        if len(" ".join(files).split()) > 1 and all(map(looks_like_text, files)) and not _IDS.fullmatch(name):
            return f"decode takes ids. To encode a text, type {join(['tokcli', 'encode', '-t', ' '.join(files)])}"
        return f"If these are ids, give them with -t {name!r}." if _IDS.fullmatch(name) else error.hint
    return f"If this is text, give it with -t {name!r}." if looks_like_text(name) else error.hint


def _option_of_name(name: str) -> str:
    """Return what to type for a missing FILE that has the name of an encoding or of a model; "" for another name."""
    if name.lower() in CATALOG:
        return f"an encoding: use -e {name.lower()}"
    is_word = not any(map(str.isdigit, name)) or _IDS.fullmatch(name)  # as `command` is, which is a model, too
    return "" if is_word or not names_a_model(name.lower()) else f"a model: use -m {quote(name.lower())}"


def _line_with_text(name: str, files: Sequence[str]) -> str:
    """Return the command line with all FILEs as one text; "" where there is one only, or not all look like it."""
    words = [word for word in sys.argv[1:] if word != "--"]
    is_text = _IDS.fullmatch if words[:1] == ["decode"] else looks_like_text
    if len(files) < 2 or name not in files or not all(is_text(file) and not os.path.lexists(file) for file in files):
        return ""
    for file in reversed(files):
        at = len(words) - words[::-1].index(file) - 1 if file in words else 0
        del words[at : at + 1]
    if {"-r", "--recursive"} & {*words}:  # which no text has
        return ""
    return join(["tokcli", *words, "-t", " ".join(files)])


def _word_before(name: str) -> str:
    """Return the argument that the user typed before this one; "" where there is none."""
    at = sys.argv.index(name) if name in sys.argv else 0
    return sys.argv[at - 1] if at > 0 else ""


def looks_like_text(name: str) -> bool:
    """Return whether the name of a missing file is more likely a text that was meant.

    >>> [looks_like_text(name) for name in ("Hello!", "two words", "你好，世界", "hello")]
    [True, True, True, True]
    >>> [looks_like_text(name) for name in ("notes.txt", "src/main", "~x", "*.md", ".env", "C:\\\\x", "日本語.txt", "")]
    [False, False, False, False, False, False, False, False]
    """
    if os.path.isdir(name.rpartition("/")[0]):  # Path raises OSError for a name that is too long
        return False
    is_long = len(name.encode(errors="replace")) > MAX_NAME_BYTES
    return is_long or len(name.split()) > 1 or (bool(name.strip()) and _PATH.search(name) is None)


def _unknown_encoding(error: UnknownEncodingError) -> str:
    if model := next(filter(names_a_model, (error.name.lower(), error.name)), ""):
        return f"It is a model: use -m {model}."
    several = [name.strip() for name in error.name.split(",")]
    if len(several) > 1 and all(name in CATALOG or os.path.lexists(name) for name in several):
        if sys.argv[1:2] != ["count"]:
            return f"Compare them with tokcli encode --compare {error.name}."
        return f"Give each by itself: {' '.join(f'-e {name}' for name in several)}."
    near = next(filter(os.path.lexists, (f"{error.name}{end}" for end in VOCABULARIES)), "")
    if near:
        return f"There is a file of this name: use -e {near}."
    if "did you mean" in error.what:
        return error.hint
    if named := did_you_mean(error.name.lower(), table().repositories):
        return f"Of the tokenizers that are known by name,{named[1:]} {error.hint}"
    models = did_you_mean(error.name.lower(), model_names())
    return f"If it is a model,{models[1:]} {error.hint}" if models else error.hint


def _unknown_model(error: UnknownModelError) -> str:
    if os.path.lexists(error.name):
        return f"It is a file: use -e {quote(error.name)}."
    return f"It is an encoding: use -e {error.name.lower()}." if error.name.lower() in CATALOG else error.hint


def _wrong_use(error: WrongUse) -> str:
    """Return the line to type for an option or a command that there is not, if that is known."""
    if error.command in COMMANDS:
        said = said_of(error.word, error.command)
        return f"{said if said.startswith('tokcli ') else said[0].upper() + said[1:]}." if said else error.hint
    words = sys.argv[1:]
    if error.word.startswith("-"):
        at = next((at for at, word in enumerate(words) if word in COMMANDS), None)
        if at is not None:
            return f"Options come after the command: {join(['tokcli', words[at], *words[:at], *words[at + 1 :]])}"
        return f"Name a command first, for instance {join(['tokcli', 'count', *words])}"
    if words and all(map(_IDS.fullmatch, words)):
        return f"If these are ids, type {join(['tokcli', 'decode', '-t', ' '.join(words)])}"
    if os.path.lexists(error.word) or error.word == "-" or len(error.word.split()) > 1:
        text = [] if os.path.lexists(error.word) or error.word == "-" else ["-t"]
        return f"Type {join(['tokcli', 'count', *text, *words])}"
    return error.hint


_HINTS: dict[type[TokcliError], Callable[[Any], str]] = {
    DisallowedSpecialTokenError: _special_token,
    NoPatternError: _no_pattern,
    NotUtf8Error: _not_utf8,
    PatternError: _pattern,
    PatternTimeoutError: _timeout,
    OfflineError: _offline,
    UnknownEncodingError: _unknown_encoding,
    UnknownModelError: _unknown_model,
    WrongUse: _wrong_use,
}


def hint_for(
    error: TokcliError, vocabularies: Sequence[str] = (), files: Sequence[str] = (), readings: Mapping[str, str] = {}
) -> str:
    """Return what to do about an error, for somebody who typed a command; the library's hint if there is none here.

    `vocabularies` are the names of those in use whose rules change texts, `files` the FILEs of the command line, and
    `readings` what is said of those that may have been meant as an option's value.

    >>> hint_for(TokcliError("the list is empty", "Name a file."))
    'Name a file.'
    """
    if isinstance(error, GrowthError) and vocabularies:
        return error.advice(" or ".join(dict.fromkeys(vocabularies)))
    if isinstance(error, MissingFileError):
        return _missing_file(error, files, readings)
    for kind in type(error).__mro__:
        if kind in _HINTS:
            return _HINTS[kind](error)
    return error.hint
