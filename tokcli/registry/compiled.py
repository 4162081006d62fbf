"""Vocabulary files compiled once: what they come to is kept in the cache by the sha256 of their bytes.

A run then maps the image into memory instead of reading 30 MB of JSON. That a file is still the one that was read is
told by its status, as git's index does it (device, inode, size, times), or else by its bytes. Whatever is wrong with
the cache only costs time: the file is read again.
"""

from __future__ import annotations

import gc
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.compiled import Compiled, Facts, facts_of
from tokcli.engine.native_encoder import image_of
from tokcli.engine.shortcut import Shortcut
from tokcli.errors import VocabularyError
from tokcli.registry import containers
from tokcli.registry.containers import IMAGE, Container, are_ids, fits, is_flag, is_id, is_ids, is_text, optional
from tokcli.registry.folders import private_dir
from tokcli.registry.images import keep, mapped

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Tokenizer
    from tokcli.formats.vocabulary import Sources, Vocabulary

FOLDER = "compiled"  # in the cache folder
VERSION = 2  # of what stands in a container, and of the rules by which a tokenizer has a shortcut
MAX_BYTES = 512 << 20  # of all that is kept: some 30 of the largest vocabularies
RACY_NS = 2_000_000_000  # a file that was changed so shortly before it was read may change again within the same tick
USED_S = 86_400  # how exactly it is known when something was last used


@dataclass(frozen=True)
class CompiledRanks:
    """A `Vocabulary` whose ranks are in an image; `load_ranks` reads the file again."""

    load_ranks: Callable[[], dict[bytes, int]] = field(repr=False)
    load_image: Callable[[], Any] = field(repr=False)
    max_rank: int
    special_tokens: dict[str, int]
    pat_str: str | None


def load_file(path: str, *, keeps_special_tokens: bool = True) -> Vocabulary | Tokenizer | CompiledRanks:
    """The vocabulary in a file or a folder, compiled where it can be; VocabularyError names what is wrong in it.

    Not `keeps_special_tokens`: others will be set, and have to be checked against all ranks.
    """
    native = backend.native()
    if native is None or not keeps_special_tokens:
        from tokcli.formats.vocabulary import read_vocabulary

        return read_vocabulary(path)
    store = _Store.open(native)
    if store is not None and (sha256 := store.known(path)) is not None:
        found = store.load(sha256, path, _again(path, sha256))
        if found is not None:
            return found
    return _read(path, store)


def load_data(files: Mapping[str, bytes]) -> Vocabulary | Tokenizer | CompiledRanks:
    """The same of what was fetched: one file, or both of a GPT-2 pair, by the names that stand for them in errors."""
    from tokcli.formats.vocabulary import parse_sources, sources_of

    sources = sources_of(files)
    native = backend.native()
    if native is None:
        return parse_sources(sources)
    return _compiled(sources, next(iter(files)), _Store.open(native), lambda: parse_sources(sources))


def _read(path: str, store: _Store | None) -> Vocabulary | Tokenizer | CompiledRanks:
    from tokcli.formats.vocabulary import read_sources

    began = time.time_ns()
    sources = read_sources(path)
    found = _compiled(sources, path, store, _again(path, sources.sha256))
    if store is not None:
        store.remember(path, sources, began)
    return found


def _compiled(
    sources: Sources, path: str, store: _Store | None, again: Callable[[], Vocabulary | Tokenizer]
) -> Vocabulary | Tokenizer | CompiledRanks:
    """What the sources come to, from the cache or for the cache."""
    from tokcli.formats.vocabulary import parse_sources

    found = store.load(sources.sha256, path, again) if store is not None else None
    if found is None:
        with _without_collecting():
            vocabulary = parse_sources(sources)
            block = _compile(vocabulary, sources.sha256)
        if block is None:
            return vocabulary
        container = containers.unpack(memoryview(block))
        found = None if container is None else _opened(container, sources.sha256, path, lambda: vocabulary, store)
        if found is None:
            return vocabulary
        if store is not None:
            store.keep(sources.sha256, block)
    return found


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Looking for garbage among the millions of objects of a vocabulary takes a fifth of the time, and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _again(path: str, sha256: str) -> Callable[[], Vocabulary | Tokenizer]:
    path = os.path.abspath(path)

    def read() -> Vocabulary | Tokenizer:
        from tokcli.formats.vocabulary import parse_sources, read_sources

        sources = read_sources(path)
        if sources.sha256 != sha256:
            raise VocabularyError(f"{path}: it was changed while it was in use")
        return parse_sources(sources)

    return read


# --- between vocabularies and containers -----------------------------------------------------------------------------

_RANKS = {
    "kind": lambda value: value == "ranks",
    "sha256": is_text,
    "max_rank": is_id,
    "special_tokens": is_ids,
    "pat_str": optional(is_text),
}
SHORTCUT_CHECKS = {  # of the fields of a Shortcut
    "pat_str": is_text,
    "added": is_ids,
    "unsafe": is_text,
    "unsafe_is_ascii": is_flag,
    "unsafe_astral": is_text,
    "form": optional(("NFC", "NFD", "NFKC", "NFKD").__contains__),
    "prefix_space": is_flag,
}
SHORTCUT = tuple(SHORTCUT_CHECKS)


def is_around(value: Any) -> bool:
    """Whether it is two lists of ids."""
    return type(value) is list and len(value) == 2 and all(map(are_ids, value))


_TOKENIZER = {
    "kind": lambda value: value == "tokenizer",
    "sha256": is_text,
    **SHORTCUT_CHECKS,
    "max_rank": is_id,
    "special_tokens": is_ids,
    "max_id": is_id,
    "is_byte_level": is_flag,
    "has_template": is_flag,
    "decodes_apart": is_flag,
    "others": optional(lambda v: type(v) is dict and all(map(is_text, v.values()))),
    "drops_space": is_flag,
    "cleans_spaces": is_flag,
    "around": optional(is_around),
}


def _compile(vocabulary: Vocabulary | Tokenizer, sha256: str) -> bytes | None:
    """The container of a vocabulary; None where there is no image that does its work."""
    from tokcli.formats.vocabulary import Vocabulary, check_special_tokens

    header: dict[str, Any]
    try:
        if isinstance(vocabulary, Vocabulary):
            ranks = vocabulary.mergeable_ranks
            image = image_of(ranks)
            check_special_tokens(vocabulary.special_tokens, ranks, "")
            header = {"kind": "ranks", "max_rank": max(ranks.values(), default=0), "pat_str": vocabulary.pat_str}
            header["special_tokens"] = vocabulary.special_tokens
        elif (shortcut := vocabulary.shortcut) is not None:
            ranks, image = shortcut.load_ranks(), shortcut.load_image()
            header = {"kind": "tokenizer", **_header_of(shortcut, facts_of(vocabulary, ranks))}
        else:
            from tokcli.registry.compiled_texts import packed

            found = packed(vocabulary)
            return None if found is None else containers.pack({**found[0], "sha256": sha256}, found[1])
        return containers.pack({**header, "sha256": sha256}, {IMAGE: image}) if ranks else None
    except (ValueError, VocabularyError):  # there is no image, or what is wrong has to be said elsewhere
        return None


def _header_of(shortcut: Shortcut, facts: Facts) -> dict[str, Any]:
    header = {name: getattr(shortcut, name) for name in SHORTCUT}
    header |= {"max_rank": shortcut.max_id, "added": dict(shortcut.added)}
    others = None if facts.others is None else {str(n): data.hex() for n, data in facts.others.items()}
    return {**header, **asdict(facts), "others": others}


def _opened(
    container: Container, sha256: str, path: str, load: Callable[[], Any], store: _Store | None
) -> Tokenizer | CompiledRanks | None:
    """What a container holds; None where that is not of this source, or anything else than it should be."""
    header, image = container.header, container.sections.get(IMAGE)
    native = backend.native()
    if native is None or image is None or header.get("sha256") != sha256:
        return None
    try:
        if header.get("kind") not in ("ranks", "tokenizer"):
            from tokcli.registry.compiled_texts import Source, opened

            return opened(container, Source(path, load, None if store is None else store.rules(sha256)))
        if not native.Vocabulary(image).verify():
            return None
        if fits(header, _RANKS):
            return CompiledRanks(
                lambda: load().mergeable_ranks, lambda: image, header["max_rank"], header["special_tokens"],
                header["pat_str"],
            )  # fmt: skip
        return _tokenizer(header, image, load) if fits(header, _TOKENIZER) else None
    except (ValueError, TypeError, KeyError, IndexError, VocabularyError):
        return None


def _tokenizer(header: Mapping[str, Any], image: memoryview, load: Callable[[], Tokenizer]) -> Compiled:
    def load_ranks() -> dict[bytes, int]:
        shortcut = compiled.whole.shortcut
        return {} if shortcut is None else shortcut.load_ranks()

    others = header["others"]
    facts = Facts(
        **{name: header[name] for name in Facts.__dataclass_fields__ if name != "others"},
        others=None if others is None else {int(number): bytes.fromhex(data) for number, data in others.items()},
    )
    shortcut = Shortcut(
        load_ranks=load_ranks,
        load_image=lambda: image,
        max_id=header["max_rank"],
        **{name: header[name] for name in SHORTCUT},
    )
    compiled = Compiled(facts, shortcut, load)
    return compiled


# --- the folder ------------------------------------------------------------------------------------------------------


class _Store:
    """The folder of containers (SHA256.VERSION) and of what is known of files (HASH.file)."""

    def __init__(self, folder: str, native: ModuleType) -> None:
        self._folder = folder
        self._version = f"{VERSION}-{native.IMAGE_VERSION}-{native.TEXT_IMAGE_VERSION}"

    @classmethod
    def open(cls, native: ModuleType) -> _Store | None:
        """The store; None where its folder cannot be used."""
        try:
            return cls(private_dir(FOLDER), native)
        except OSError:
            return None

    def _container(self, sha256: str) -> str:
        return os.path.join(self._folder, f"{sha256}.{self._version}")

    def rules(self, sha256: str) -> str:
        """Where it is kept what is learned on the way."""
        return f"{self._container(sha256)}.rules"

    def _entry(self, path: str) -> str:
        data = os.fsencode(path)
        return os.path.join(self._folder, f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}.file")

    def load(
        self, sha256: str, path: str, again: Callable[[], Vocabulary | Tokenizer]
    ) -> Tokenizer | CompiledRanks | None:
        """What is kept of the files with this sha256."""
        kept = self._container(sha256)
        block = mapped(kept)
        container = None if block is None else containers.unpack(memoryview(block))
        found = None if container is None else _opened(container, sha256, path, again, self)
        if found is not None:
            with suppress(OSError):
                if os.stat(kept).st_mtime < time.time() - USED_S:
                    os.utime(kept)
        return found

    def keep(self, sha256: str, block: bytes) -> None:
        """Keeps a container, and makes room for it."""
        with suppress(OSError):
            self._prune(MAX_BYTES - len(block))
            keep(self._container(sha256), block)

    def _prune(self, most: int) -> None:
        """Removes what was not used for longest until the folder holds no more than so many bytes."""
        held = []
        with os.scandir(self._folder) as items:
            for item in items:
                status = item.stat(follow_symlinks=False)
                held.append((status.st_mtime_ns, status.st_size, item.path))
        size = sum(item[1] for item in held)
        for _, bytes_held, path in sorted(held):
            if size <= most:
                return
            with suppress(OSError):
                os.unlink(path)
            size -= bytes_held

    def known(self, path: str) -> str | None:
        """The sha256 of the files at a path, if they are still those that were read; None where that is not sure."""
        path = os.path.abspath(path)
        block = mapped(self._entry(path))
        container = None if block is None else containers.unpack(memoryview(block))
        if container is None or not fits(container.header, _ENTRY) or container.header["path"] != path:
            return None
        if any(_status(name) != status for name, status in container.header["files"].items()):
            return None
        sha256: str = container.header["sha256"]
        return sha256

    def remember(self, path: str, sources: Sources, began: int) -> None:
        """Notes which files were read at a path, unless one was changed shortly before, or is being changed."""
        path = os.path.abspath(path)
        files = {os.path.abspath(file): _status(file) for file, _ in sources.files}
        for status in files.values():
            if status is None or max(status[3:]) > began - RACY_NS:
                return
        absent = {os.path.abspath(file): _status(file) for file in sources.absent}
        if any(absent.values()):
            return
        with suppress(OSError, UnicodeError):
            block = containers.pack({"path": path, "sha256": sources.sha256, "files": {**files, **absent}}, {})
            keep(self._entry(path), block)


def _is_status(value: Any) -> bool:
    return value is None or (type(value) is list and len(value) == 5 and all(type(item) is int for item in value))


_ENTRY = {
    "path": is_text,
    "sha256": lambda v: type(v) is str and len(v) == 64 and v.isalnum(),
    "files": lambda v: type(v) is dict and bool(v) and all(map(_is_status, v.values())),
}


def _status(path: str | os.PathLike[str]) -> list[int] | None:
    """What changes when a file does; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
