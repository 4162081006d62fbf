"""Vocabularies from the network: that of a url with its checksum, and that of a Hugging Face repository."""

from __future__ import annotations

from collections.abc import Callable

from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.errors import NetworkError, VocabularyError
from tokcli.registry.compiled.compile import load_data
from tokcli.registry.lazy_ranks import LazyRanks
from tokcli.registry.network.answers import Progress
from tokcli.registry.network.cache import fetch
from tokcli.registry.network.hub import find_tokenizer, forget
from tokcli.registry.network.hub_files import parse_id
from tokcli.registry.network.urls import origin, shown_url

_HEX = frozenset("0123456789abcdef")
_SHA256_DIGITS = 64


Named = tuple[str, LazyRanks | TextTokenizer]  # what messages call the file, and the vocabulary in it


def load_url(spec: str, offline: bool, note: Callable[[str], None] | None, progress: Progress | None) -> Named:
    """Return FILE and the vocabulary at `https://HOST/FILE#sha256=HEX`; raise NetworkError for any other url."""
    url, _, fragment = spec.partition("#")
    sha256 = fragment.removeprefix("sha256=").lower()
    try:
        if origin(url).scheme != "https":
            raise ValueError("only https urls are downloaded")
    except ValueError as error:
        raise NetworkError(f"{shown_url(url)}: refused: {error}") from None
    if not fragment.startswith("sha256=") or len(sha256) != _SHA256_DIGITS or set(sha256) - _HEX:
        raise NetworkError(
            f"{shown_url(url)}: refused: no checksum given",
            "Add the SHA-256 of the file, 64 hexadecimal digits: https://HOST/FILE#sha256=HEX",
        )
    name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
    return name, load_data({name: fetch(url, sha256, offline=offline, note=note, progress=progress)})


def load_repository(
    spec: str, offline: bool, note: Callable[[str], None] | None, progress: Progress | None
) -> Named | None:
    """Return `spec/FILE` and the tokenizer of a Hugging Face id; None if `spec` is not an id."""
    wanted = parse_id(spec)
    if wanted is None:
        return None
    files = find_tokenizer(wanted, offline=offline, note=note, progress=progress)
    named = {f"{spec}/{name}": data for name, data in files.items()}
    try:
        return next(iter(named)), load_data(named)
    except VocabularyError:
        forget(wanted)
        raise
