"""Makes an `Encoding` from what a user names: a registered encoding, a file, a url, or a Hugging Face repository.

Registered encodings are made in registered.py, files are read and compiled in compiled/, downloads left to network/.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from tokcli.engine.base import arguments
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.pretokenizer import ALL, pattern_from
from tokcli.engine.tokenizer import Tokenizer
from tokcli.errors import NoPatternError, VocabularyError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.folders import untrusted_cache
from tokcli.registry.lazy_ranks import LazyRanks
from tokcli.registry.model_names import MODEL_TO_ENCODING, MODELS_OF_USERS, encoding_name_for_model
from tokcli.registry.registered import get_encoding, get_registered, make_registered, unknown_encoding

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.registry.network.answers import Progress

_said: set[str] = set()  # the notes on cache folders that this process has made


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model; an unknown model raises UnknownModelError, a KeyError."""
    return get_encoding(encoding_name_for_model(model_name))


def load_encoding(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Encoding:
    """Return the encoding in a vocabulary file of any format, or in a folder that holds one.

    `pattern` is a regex, or the name of a registered encoding whose pattern is used. Without it the file's own pattern
    is used; a .tiktoken file's is in its sidecar FILE.json, `{"pat_str": "...", "special_tokens": {"NAME": ID}}`. What
    that does not say, the encoding says under whose name OpenAI published this very file, if it did; else there is no
    pattern, which raises NoPatternError, a VocabularyError. `special_tokens` replace the file's. `name` is the name of
    the encoding; by default it is the file's without its suffix. A file that cannot be read raises VocabularyError,
    which names file and place; so does a pattern or special tokens for a file that defines both itself.
    """
    shown = os.fsdecode(arguments.path_in(path))
    for text, argument in ((pattern, "pattern"), (name, "name")):
        if text is not None:
            arguments.check_text(text, argument)
    if special_tokens is not None:
        special_tokens = dict(arguments.ids_by_token(special_tokens, str, "special_tokens"))
    return _load(shown, pattern, special_tokens, name)


def _load(
    path: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    *,
    needs_pattern: bool = True,
) -> Encoding:
    """Return the encoding in a file or a folder, with arguments that were checked; see `load_encoding`."""
    with pattern_from(path if pattern is None else None):
        vocabulary = _files().load_file(path, special_tokens=None if special_tokens is None else dict(special_tokens))
        return encoding_of(vocabulary, name or _stem(path) or path, path, pattern, special_tokens, needs_pattern)


def resolve_encoding(
    spec: str,
    *,
    pattern: str | None = None,
    needs_pattern: bool = True,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """Return the encoding of a registered name, a file, a folder, a url `https://...#sha256=HEX`, or `org/name`.

    A registered name wins over a file of that name, and a file wins over a Hugging Face repository (see hub.py), and
    over a tokenizer that the table of models has a name for, such as `qwen3`. What ships (registry/inside.py) is read
    from the package, where a repository is named without a revision.
    `pattern` replaces any pattern, a registered encoding's too; see `load_encoding`. If not `needs_pattern`, the tokens
    of a file without any can be looked at and decoded: no pattern cuts texts then. `offline` forbids the network.
    `note` is told what the user should know, and `progress` how much of a download has arrived. UnknownEncodingError,
    VocabularyError or NetworkError say what is wrong.
    """
    note = _noting_cache(note)
    if spec in CATALOG:
        if pattern is None:
            return get_registered(spec, offline=offline)
        return make_registered(spec, resolve_pattern(pattern), offline=offline)
    if (inside := _files().repository_inside(spec)) and not os.path.lexists(spec):
        return _from_package(inside, spec, pattern, needs_pattern, note)
    if "://" in spec or ("/" in spec and "\0" not in spec and not os.path.lexists(spec)):
        return _from_network(spec, pattern, needs_pattern, offline, note, progress)
    if "\0" not in spec and not os.path.lexists(spec):
        place = str(_models().place_of(spec))
        if place == spec:
            raise unknown_encoding(spec)
        if note is not None:
            note(_which(spec, place))
        if _files().repository_inside(place):
            return _from_package(place, place, pattern, needs_pattern, note)
        return _from_network(place, pattern, needs_pattern, offline, note, progress)
    return _load(spec, pattern, needs_pattern=needs_pattern)


def resolve_model(
    name: str,
    *,
    pattern: str | None = None,
    needs_pattern: bool = True,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """Return the encoding of a model of any maker; `note` is told where it comes from.

    The options are those of `resolve_encoding`. UnknownModelError says that the model is not known, or that its
    tokenizer is not public.
    """
    spec = "" if MODELS_OF_USERS in os.environ else MODEL_TO_ENCODING.get(name, "")
    if not spec:
        spec, about = _models().tokenizer_for_model(name)
        if about and spec != name and note is not None:
            note(about)
    return resolve_encoding(
        spec, pattern=pattern, needs_pattern=needs_pattern, offline=offline, note=note, progress=progress
    )


def _files() -> ModuleType:
    """Return the module that loads files and what ships, with all their rules: registered encodings do without it."""
    from tokcli.registry.compiled import files

    return files


def _models() -> ModuleType:
    """Return the module that finds models in their table: 5 ms that the names of tiktoken do not need."""
    from tokcli.registry.models import lookup

    return lookup


def resolve_pattern(pattern: str) -> str:
    """Return the pattern of the registered encoding that `pattern` names, or else `pattern` itself, a regex.

    >>> resolve_pattern("a|b")
    'a|b'
    """
    return CATALOG[pattern].pat_str if pattern in CATALOG else pattern


def _noting_cache(note: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Tell `note` once per process if the cache folder is not trusted; return a `note` that does not repeat this."""
    why = f"the cache is not used: {reason}" if note is not None and (reason := untrusted_cache()) else ""
    if note is None or not why:
        return note
    if why not in _said:
        _said.add(why)
        note(why)
    return lambda text: note(text) if text != why else None


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path.rstrip("/")))[0]


def _which(name: str, place: str) -> str:
    """Return the note that says which tokenizer a name stands for."""
    return f"{name}: the tokenizer of {place}"


def _from_package(
    repository: str, name: str, pattern: str | None, needs_pattern: bool, note: Callable[[str], None] | None
) -> Encoding:
    """Return the encoding of a repository whose tokenizer ships with the package, and which was named so."""
    if name != repository and note is not None:
        file = _files().file_inside(repository)
        note(_which(name, repository) + ("" if file == "tokenizer.json" else f" ({file})"))
    with pattern_from(repository if pattern is None else None):
        return encoding_of(_files().load_inside(repository), repository, repository, pattern, None, needs_pattern)


def _from_network(
    spec: str,
    pattern: str | None,
    needs_pattern: bool,
    offline: bool,
    note: Callable[[str], None] | None,
    progress: Progress | None,
) -> Encoding:
    """Return the encoding at a url or in a repository; raise UnknownEncodingError if `spec` looks like neither."""
    from tokcli.registry import remote  # the readers of files

    if "://" in spec:
        shown, vocabulary = remote.load_url(spec, offline, note, progress)
        url = spec.partition("#")[0]
        with pattern_from(url if pattern is None else None):
            return encoding_of(vocabulary, _stem(shown) or url, shown, pattern, None, needs_pattern)
    found = remote.load_repository(spec, offline, note, progress)
    if found is None:
        raise unknown_encoding(spec)
    with pattern_from(spec if pattern is None else None):
        return encoding_of(found[1], spec, found[0], pattern, None, needs_pattern)


def encoding_of(
    vocabulary: LazyRanks | TextTokenizer,
    name: str,
    shown: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    needs_pattern: bool,
) -> Encoding:
    """Return the encoding of a vocabulary that was read: ranks, which need a pattern, or a tokenizer with own rules."""
    if not isinstance(vocabulary, LazyRanks):
        if pattern is not None or special_tokens is not None:
            raise VocabularyError(
                f"{shown}: this file defines its own pattern and special tokens", "Load it without others."
            )
        return Encoding.of(name, Tokenizer(name, vocabulary))
    pat_str = resolve_pattern(pattern) if pattern is not None else vocabulary.pat_str
    if pat_str is None:
        if needs_pattern:
            what, sidecar = "no pattern: ranks alone do not say how text is split", f"{os.path.basename(shown)}.json"
            hint = f"Pass pattern=..., or name it in the sidecar {sidecar}: {NoPatternError.SIDECAR}."
            raise NoPatternError(what, hint, where=shown)
        pat_str = ALL
    return Encoding.of(name, vocabulary.tokenizer(name, pat_str))
