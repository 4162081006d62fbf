"""The compact form in which vocabularies ship with the package: raw token bytes, built to load fast in pure Python.

Layout, little-endian: HEADER (magic, version, number of runs, number of tokens, size of all tokens in bytes, crc32 of
what follows the header, sha256 of the .tiktoken file it was made from), a RUN for each run (number of tokens, rank of
the first; ranks ascend by one within a run), one length byte per token, the tokens' bytes one after the other in order
of rank. In version 2, a byte per token follows: the length of the first of the two tokens that it is merged from, or 0
where nothing merges into it. To find that out takes four fifths of the time in which an image is built.
"""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from itertools import chain
from typing import NamedTuple

from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_RANK, MAX_TOKENS

MAGIC = b"TOKRANKS"
VERSION, LEFTS_VERSION = 1, 2  # without and with the lengths of first tokens
HEADER = struct.Struct("<8sHHIII32s")
RUN = struct.Struct("<II")


class PackedTables(NamedTuple):
    """The sections of a packed file: runs of ranks (count, first), a length byte and the bytes of each token.

    `lefts` are the lengths of first tokens, if the file has them. `sha256` names the .tiktoken file it was made from.
    The memoryviews are of the file's own bytes.
    """

    runs: list[tuple[int, int]]
    lengths: memoryview
    body: memoryview
    lefts: memoryview | None
    sha256: bytes


def unpack(data: bytes, name: str = "packed ranks") -> dict[bytes, int]:
    """Return the mergeable_ranks in a packed file; raise VocabularyError, which names it `name`, if it is damaged."""
    found = read_tables(data, name)
    if sum(found.lengths) != len(found.body):
        raise VocabularyError("the lengths of its tokens do not add up; the file is damaged", where=name)
    ranks = chain.from_iterable(range(first, first + n) for n, first in found.runs)
    mergeable_ranks = dict(zip(map(BytesIO(found.body).read, found.lengths), ranks, strict=True))
    if len(mergeable_ranks) != len(found.lengths):
        raise VocabularyError("a token occurs twice; the file is damaged", where=name)
    return mergeable_ranks


def read_tables(data: bytes, name: str = "packed ranks") -> PackedTables:
    """Return the sections of a packed file; raise VocabularyError if it is damaged.

    What is not checked here, but by what uses the sections: that no token occurs twice, and that lengths add up.
    """
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise VocabularyError("not a packed vocabulary", where=name)
    _, version, run_count, count, size, crc, sha256 = HEADER.unpack_from(data)
    if version not in (VERSION, LEFTS_VERSION):
        raise VocabularyError(f"packed in version {version}; this program reads 1 and 2", where=name)
    lengths_at = HEADER.size + RUN.size * run_count
    body_at = lengths_at + count
    lefts_at = body_at + size
    announced = lefts_at + (count if version == LEFTS_VERSION else 0)
    if count > MAX_TOKENS or len(data) != announced:
        what = f"{len(data)} bytes, but its header announces {announced}"
        raise VocabularyError(f"{what}; the file is damaged", where=name)
    view = memoryview(data)
    if zlib.crc32(view[HEADER.size :]) != crc:
        raise VocabularyError("its checksum is wrong; the file is damaged", where=name)
    runs = [(n, first) for n, first in RUN.iter_unpack(view[HEADER.size : lengths_at])]
    _check_runs(runs, count, name)
    lefts = view[lefts_at:] if version == LEFTS_VERSION else None
    return PackedTables(runs, view[lengths_at:body_at], view[body_at:lefts_at], lefts, sha256)


def _check_runs(runs: list[tuple[int, int]], count: int, name: str) -> None:
    """Raise VocabularyError unless the runs ascend, have gaps between them, and hold `count` ranks."""
    following = -1
    for n, first in runs:
        if n == 0 or first <= following or first + n - 1 > MAX_RANK:
            raise VocabularyError("its runs of ranks contradict each other; the file is damaged", where=name)
        following = first + n
    if sum(n for n, _ in runs) != count:
        raise VocabularyError(f"its runs of ranks do not add up to {count} tokens; the file is damaged", where=name)
