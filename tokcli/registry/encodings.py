"""From a name, a path or a url to an `Encoding`. Registered ones are made once per process; files are compiled once.

Where ranks come from is decided here: shipped with the package first, then caches, then the network.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.engine import backend
from tokcli.errors import NetworkError, UnknownEncodingError, VocabularyError
from tokcli.registry.catalog import CATALOG, Entry
from tokcli.registry.models import encoding_name_for_model as encoding_name_for_model

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tokcli.engine.encoding import Encoding
    from tokcli.engine.pipeline import Tokenizer
    from tokcli.formats.vocabulary import Vocabulary
    from tokcli.registry.compiled import CompiledRanks
    from tokcli.registry.download import Progress

VOCAB = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "vocab")
DEFAULT_PATTERN = "cl100k_base"  # whose pattern a .tiktoken file gets that says nothing about its own

_lock = threading.RLock()
_encodings: dict[str, Encoding] = {}  # at most one per name in the catalog
_shipped_ranks: dict[str, dict[bytes, int]] = {}  # at most one per file in tokcli/vocab; encodings share them


def list_encoding_names() -> list[str]:
    """The names of the registered encodings.

    >>> list_encoding_names()
    ['gpt2', 'r50k_base', 'p50k_base', 'p50k_edit', 'cl100k_base', 'o200k_base', 'o200k_harmony']
    """
    return list(CATALOG)


def get_encoding(encoding_name: str) -> Encoding:
    """The registered encoding of this name, the same object every time; UnknownEncodingError, a ValueError, if none.

    Safe to call from many threads: the first one makes it, the others wait.
    """
    if not isinstance(encoding_name, str):
        raise UnknownEncodingError(f"expected the name of an encoding, got {type(encoding_name).__name__}")
    if encoding_name not in CATALOG:
        raise _unknown(encoding_name)
    return _registered(encoding_name)


def _registered(name: str, *, offline: bool = False) -> Encoding:
    if (encoding := _encodings.get(name)) is not None:
        return encoding
    with _lock:
        if name not in _encodings:
            encoding = _make(name, offline=offline)
            encoding._made_by = (get_encoding, (name,))
            _encodings[name] = encoding
        return _encodings[name]


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of a model; UnknownModelError, a KeyError, if none is known."""
    return get_encoding(encoding_name_for_model(model_name))


def load_encoding(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    note: Callable[[str], None] | None = None,
) -> Encoding:
    """The encoding in a vocabulary file (.tiktoken, packed ranks, a GPT-2 pair by either file or its folder).

    `pattern` is a regex or the name of a registered encoding, whose pattern is meant; without it the file's own counts,
    a .tiktoken file's being in its sidecar FILE.json, `{"pat_str": "...", "special_tokens": {"NAME": ID}}`. Where there
    is none, cl100k_base's is taken and `note` is told. `special_tokens` replace the file's. `name` is the file's name
    without its suffix, unless given. VocabularyError, naming file and place, for anything that cannot be read.
    """
    from tokcli.registry.compiled import load_file

    shown = os.fspath(path)
    vocabulary = load_file(shown, keeps_special_tokens=special_tokens is None)
    return _build(vocabulary, name or _stem(shown) or shown, shown, pattern, special_tokens, note)


def resolve_encoding(
    spec: str,
    *,
    pattern: str | None = None,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Encoding:
    """The encoding that `spec` names: a registered one, a file or folder, `https://...#sha256=HEX`, or `org/name`.

    A registered name wins over a file of that name, and that over a Hugging Face id (see hub.py). `pattern` overrides
    any pattern, a registered encoding's too; see `load_encoding`. UnknownEncodingError, VocabularyError or NetworkError
    say what is wrong.
    """
    if spec in CATALOG:
        if pattern is None:
            return _registered(spec, offline=offline)
        with _lock:
            return _make(spec, resolve_pattern(pattern), offline=offline)
    if "://" in spec:
        return _from_url(spec, pattern, offline, note, progress)
    if "\0" not in spec and not os.path.lexists(spec):
        return _from_hub(spec, pattern, offline, note, progress)
    return load_encoding(spec, pattern=pattern, note=note)


def _unknown(name: str) -> UnknownEncodingError:
    from tokcli.registry.suggest import did_you_mean

    what = f"unknown encoding {name!r}{did_you_mean(name, CATALOG)}"
    if "/" in name or "." in name:
        what = f"{name}: no such file, and no encoding of that name{did_you_mean(name, CATALOG)}"
    return UnknownEncodingError(what, f"Registered encodings: {', '.join(CATALOG)}. A path names a file.")


class Described(NamedTuple):
    """A registered encoding: its largest id and one, where its ranks come from, whether they are on this machine."""

    name: str
    n_vocab: int
    source: str
    here: bool


def describe_encodings() -> list[Described]:
    """What there is to say of each registered encoding without loading it.

    >>> describe_encodings()[-2]
    Described(name='o200k_base', n_vocab=200019, source='shipped', here=True)
    """
    return [_described(name, entry) for name, entry in CATALOG.items()]


def _described(name: str, entry: Entry) -> Described:
    here = os.path.exists(_packed(entry))
    return Described(name, _n_vocab(entry), "shipped" if here else entry.sources[0].url, here)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path.rstrip("/")))[0]


def resolve_pattern(pattern: str) -> str:
    """The regex that a pattern option means: a registered encoding's, or itself.

    >>> resolve_pattern("a|b")
    'a|b'
    """
    return CATALOG[pattern].pat_str if pattern in CATALOG else pattern


def _make(name: str, pat_str: str | None = None, *, offline: bool = False) -> Encoding:
    from tokcli.engine.encoding import Encoding

    entry = CATALOG[name]
    path = _packed(entry)
    if os.path.exists(path) and backend.native() is not None:
        return Encoding.on_demand(
            name,
            pat_str=pat_str or entry.pat_str,
            special_tokens=dict(entry.special_tokens),
            max_rank=_n_vocab(entry) - 1,
            load_ranks=lambda: _ranks(entry, offline),
            load_image=lambda: _image(path, entry.ranks_sha256),
        )
    return Encoding(
        name,
        pat_str=pat_str or entry.pat_str,
        mergeable_ranks=_ranks(entry, offline),
        special_tokens=dict(entry.special_tokens),
        explicit_n_vocab=entry.explicit_n_vocab,
    )


def _packed(entry: Entry) -> str:
    return os.path.join(VOCAB, entry.packed)


def _image(path: str, sha256: str) -> Any:
    from tokcli.registry.images import load_image

    return load_image(path, sha256)


def _n_vocab(entry: Entry) -> int:
    return entry.explicit_n_vocab or max(entry.special_tokens.values()) + 1  # special tokens come after the ranks


def _ranks(entry: Entry, offline: bool) -> dict[bytes, int]:
    """The mergeable_ranks of a registered encoding: those that ship, or, where they were left out, those published."""
    with _lock:
        return _ranks_once(entry, offline)


def _ranks_once(entry: Entry, offline: bool) -> dict[bytes, int]:
    if entry.packed not in _shipped_ranks:
        path = _packed(entry)
        _shipped_ranks[entry.packed] = _shipped(path) if os.path.exists(path) else _published(entry, offline)
    return _shipped_ranks[entry.packed]


def _shipped(path: str) -> dict[bytes, int]:
    from tokcli.formats.limits import read_regular_file
    from tokcli.formats.packed import unpack

    return unpack(read_regular_file(path), path).mergeable_ranks


def _published(entry: Entry, offline: bool) -> dict[bytes, int]:
    from tokcli.formats.gpt2 import parse_gpt2
    from tokcli.formats.tiktoken import parse_tiktoken
    from tokcli.registry.cache import fetch

    files = [fetch(source.url, source.sha256, offline=offline) for source in entry.sources]
    if len(files) == 1:
        return parse_tiktoken(files[0], entry.sources[0].url)
    merges, vocab = files
    return parse_gpt2(vocab, merges, entry.sources[1].url, entry.sources[0].url)[0]


def _from_url(
    spec: str,
    pattern: str | None,
    offline: bool,
    note: Callable[[str], None] | None,
    progress: Progress | None,
) -> Encoding:
    from tokcli.registry.cache import fetch
    from tokcli.registry.compiled import load_data

    url, _, fragment = spec.partition("#")
    sha256 = fragment.removeprefix("sha256=").lower()
    if not url.startswith("https://"):
        raise NetworkError(f"{url}: refused, only https is spoken")
    if not fragment.startswith("sha256=") or len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise NetworkError(
            f"{url}: refused, nothing says what it should contain",
            "Add the SHA-256 of the file, 64 hexadecimal digits: https://HOST/FILE#sha256=HEX",
        )
    data = fetch(url, sha256, offline=offline, note=note, progress=progress)
    name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
    return _build(load_data({name: data}), _stem(name) or url, name, pattern, None, note)


def _from_hub(
    spec: str,
    pattern: str | None,
    offline: bool,
    note: Callable[[str], None] | None,
    progress: Progress | None,
) -> Encoding:
    """The encoding of a Hugging Face id; UnknownEncodingError where `spec` does not look like one."""
    if "/" not in spec:
        raise _unknown(spec)
    from tokcli.registry import hub
    from tokcli.registry.compiled import load_data

    wanted = hub.parse_id(spec)
    if wanted is None:
        raise _unknown(spec)
    files = hub.find(wanted, offline=offline, note=note, progress=progress)
    named = {f"{spec}/{name}": data for name, data in files.items()}
    return _build(load_data(named), spec, next(iter(named)), pattern, None, note)


def _build(
    vocabulary: Vocabulary | Tokenizer | CompiledRanks,
    name: str,
    shown: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    note: Callable[[str], None] | None,
) -> Encoding:
    from tokcli.engine.encoding import Encoding
    from tokcli.registry.compiled import CompiledRanks

    if _is_tokenizer(vocabulary):
        return _build_pipeline(vocabulary, name, shown, pattern, special_tokens)
    pat_str = resolve_pattern(pattern) if pattern is not None else vocabulary.pat_str
    if pat_str is None:
        pat_str = CATALOG[DEFAULT_PATTERN].pat_str
        if note is not None:
            note(f"{shown} has no pattern; {DEFAULT_PATTERN}'s is used (--pattern sets another).")
    if isinstance(vocabulary, CompiledRanks):
        return Encoding.on_demand(
            name,
            pat_str=pat_str,
            special_tokens=vocabulary.special_tokens,
            max_rank=vocabulary.max_rank,
            load_ranks=vocabulary.load_ranks,
            load_image=vocabulary.load_image,
        )
    from tokcli.formats.vocabulary import check_special_tokens  # which what was compiled does not need

    chosen = dict(vocabulary.special_tokens if special_tokens is None else special_tokens)
    check_special_tokens(chosen, vocabulary.mergeable_ranks, shown)
    if not vocabulary.mergeable_ranks:
        raise VocabularyError(f"{shown}: there is no token in it")
    return Encoding(name, pat_str=pat_str, mergeable_ranks=vocabulary.mergeable_ranks, special_tokens=chosen)


def _is_tokenizer(vocabulary: Vocabulary | Tokenizer | CompiledRanks) -> TypeIs[Tokenizer]:
    """Whether it has rules for whole texts; what reads files is not imported to know that."""
    return hasattr(vocabulary, "encode_spans")


def _build_pipeline(
    tokenizer: Tokenizer, name: str, shown: str, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> Encoding:
    from tokcli.engine.pipeline_encoding import PipelineEncoding

    if pattern is not None or special_tokens is not None:
        raise VocabularyError(f"{shown}: it says itself how text is split, and its special tokens: no others fit it")
    return PipelineEncoding(name, tokenizer)
