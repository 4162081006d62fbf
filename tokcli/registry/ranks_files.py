"""Reads the ranks of the registered encodings: the packed files in tokcli/vocab, or the published files.

Only what needs the dictionary of ranks loads this module.
"""

from __future__ import annotations

from tokcli.formats.gpt2 import parse_gpt2
from tokcli.formats.limits import read_regular_file
from tokcli.formats.packed_ranks import unpack
from tokcli.formats.tiktoken import parse_tiktoken
from tokcli.registry.catalog import Entry


def read_shipped(path: str) -> dict[bytes, int]:
    """Return the mergeable_ranks in a packed file; raise VocabularyError if it is damaged."""
    return unpack(read_regular_file(path), path)


def read_published(entry: Entry, offline: bool) -> dict[bytes, int]:
    """Return the mergeable_ranks in the published files of an encoding, from a cache or the network.

    Raise NetworkError if they have to be downloaded and cannot be, or must not be (`offline`).
    """
    from tokcli.registry.network.cache import fetch  # 20 ms: hashlib, tempfile and urllib

    files = [fetch(source.url, source.sha256, offline=offline) for source in entry.sources]
    if len(files) == 1:
        return parse_tiktoken(files[0], entry.sources[0].url)
    merges, vocab = files
    return parse_gpt2(vocab, merges, entry.sources[1].url, entry.sources[0].url)[0]
