"""Reads vocabulary files and compiles them: what takes long to find out about a file is kept in a container."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from tokcli.engine import backend
from tokcli.engine.bpe.image import image_of
from tokcli.engine.roles.rules import rules_of
from tokcli.engine.spec.models import Ranks
from tokcli.engine.spec.splitters import PatStr
from tokcli.engine.text_tokenizer import TextTokenizer, special_tokens_of
from tokcli.errors import VocabularyError
from tokcli.formats import read
from tokcli.formats.limits import read_regular_file
from tokcli.formats.packed_tokenizer import tekken_json, tokenizer_json
from tokcli.formats.sources import Sources
from tokcli.formats.tiktoken import check_special_tokens
from tokcli.registry.catalog import encoding_of_ranks
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled.keeping import compiling, keep, remember
from tokcli.registry.compiled.opening import opened
from tokcli.registry.compiled.packing import packed
from tokcli.registry.compiled.store import Store
from tokcli.registry.inside import INSIDE, Inside
from tokcli.registry.lazy_ranks import LazyRanks
from tokcli.registry.registered import VOCAB


def load_data(files: Mapping[str, bytes]) -> LazyRanks | TextTokenizer:
    """Return the vocabulary in files that were fetched, compiled if possible; a VocabularyError says what is wrong.

    `files` maps names, for errors, to contents: one file, or both of a GPT-2 pair.
    """
    name, sources = next(iter(files)), read.sources_of(files)
    return _compiled(sources, name, Store.open(), partial(_parsed, sources, name))


def compile_inside(repository: str) -> LazyRanks | TextTokenizer:
    """Return the tokenizer of a repository that ships with the package, and keep it compiled if possible."""
    found = INSIDE[repository]
    return load_data({f"{repository}/{found.file}": unpacked(found)})


def read_inside(repository: str) -> LazyRanks | TextTokenizer:
    """Read such a tokenizer again for what its container lacks."""
    found = INSIDE[repository]
    return _parsed(read.sources_of({f"{repository}/{found.file}": unpacked(found)}), repository)


def unpacked(found: Inside) -> bytes:
    """Return a tokenizer's file that ships, to the byte; VocabularyError says that a packed file is damaged."""
    path, stem = os.path.join(VOCAB, f"{found.name}.template"), os.path.join(VOCAB, found.ranks)
    template, ranks = read_regular_file(path), read_regular_file(f"{stem}.ranks")
    if found.file == "tekken.json":
        return tekken_json(template, ranks, path)
    return tokenizer_json(template, ranks, read_regular_file(f"{stem}.merges"), path)


def read_file(
    path: str, store: Store | None, special_tokens: dict[str, int] | None = None
) -> LazyRanks | TextTokenizer:
    """Return the vocabulary in a file or a folder, and keep it compiled in `store`, if there is one.

    `special_tokens` replace those of a file of ranks; such a vocabulary is not kept.
    """
    began = time.time_ns()
    sources = read.read_sources(path)
    if special_tokens is not None:
        return _parsed(sources, path, special_tokens)
    found = _compiled(sources, path, store, partial(read_again, os.path.abspath(path), sources.sha256))
    if store is not None:
        remember(store, path, sources, began)
    return found


def read_again(path: str, sha256: str) -> LazyRanks | TextTokenizer:
    """Read a vocabulary again for what its container lacks; raise VocabularyError if the file has changed."""
    sources = read.read_sources(path)
    if sources.sha256 != sha256:
        raise VocabularyError(f"{path}: the file was changed while it was in use")
    return _parsed(sources, path)


def _parsed(sources: Sources, path: str, special_tokens: dict[str, int] | None = None) -> LazyRanks | TextTokenizer:
    """Return the vocabulary in what was read, with its ranks checked against its special tokens, or those given.

    What the files do not say about published ranks, the catalog does.
    """
    found = read.parse_sources(sources)
    if not isinstance(found.model, Ranks):
        return rules_of(found)
    ranks, published = found.model.mergeable_ranks, encoding_of_ranks(found.model.sha256)
    if special_tokens is None:
        given = special_tokens_of(found)
        special_tokens = given if found.model.names_special or not published else dict(published.special_tokens)
    check_special_tokens(special_tokens, ranks, path)
    if not ranks:
        raise VocabularyError(f"{path}: the file has no tokens")
    pat_str = next((step.pattern for step in found.splitter if isinstance(step, PatStr)), None)
    if pat_str is None and published:
        pat_str = published.pat_str
    return LazyRanks(lambda: ranks, lambda: image_of(ranks), max(ranks.values()), special_tokens, pat_str)


def _compiled(
    sources: Sources, path: str, store: Store | None, again: Callable[[], LazyRanks | TextTokenizer]
) -> LazyRanks | TextTokenizer:
    """Return the vocabulary in what was read: from the store, or compiled and kept there, or as read if that fails."""
    sha256 = sources.sha256
    if store is None:
        return _compile(sources, path)[0]
    if (found := store.load(sha256, path, again)) is not None:
        return found
    with compiling(store, sha256):
        if (found := store.load(sha256, path, again)) is not None:  # another process compiled it meanwhile
            return found
        made, block = _compile(sources, path)
        keep(store, sha256, block)
    return made


def _compile(sources: Sources, path: str) -> tuple[LazyRanks | TextTokenizer, bytes]:
    """Return the vocabulary in what was read, and its container: b"" if nothing of it can be kept.

    The vocabulary is made from the container if there is one, as in later runs.
    """
    with _without_collecting():
        vocabulary = _parsed(sources, path)
        block = packed(vocabulary, sources.sha256) if backend.is_native() else b""
    container = containers.unpack(memoryview(block))
    found = None if container is None else opened(container, sources.sha256, path, lambda: vocabulary)
    return (vocabulary, b"") if found is None else (found, block)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time among millions of objects and finds nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
