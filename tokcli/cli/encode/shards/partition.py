"""The inputs of `--shards` as sections: those that belong to one of the N parts of --shard-of.

The inputs are divided by their bytes, as if they were joined to one file. A document belongs to the part that has its
first byte, so the N parts together hold every document once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple

from tokcli.cli.checkpoint_folder import digest_of_text
from tokcli.cli.inputs.input_facts import changed_at, size_on_disk
from tokcli.cli.inputs.sections import Section, is_one_piece, record_from
from tokcli.cli.streams import Input
from tokcli.errors import InputError

MAX_PARTS = 1 << 32


class Part(NamedTuple):
    """Part `number` (from 1) of the inputs, when they are divided into `parts` parts."""

    number: int = 1
    parts: int = 1


def parse_part(text: str) -> Part:
    """Return the part that I/N names; InputError if it names none.

    >>> parse_part("2/8")
    Part(number=2, parts=8)
    """
    number, slash, parts = text.partition("/")
    if slash and all(part.isascii() and part.isdigit() and len(part) <= 10 for part in (number, parts)):
        found = Part(int(number), int(parts))
        if 1 <= found.number <= found.parts <= MAX_PARTS:
            return found
    raise InputError(f"--shard-of {text}: not I/N with I from 1 to N", "Name part 2 of 8 parts as 2/8.")


class Inventory(NamedTuple):
    """What is known of all inputs before they are read: their bytes in all, and a digest of names, sizes and times.

    `is_known` tells whether all sizes are known: that of a pipe is not, and a pipe cannot be read again.
    """

    total: int
    digest: str
    is_known: bool


def take_inventory(sources: Iterable[Input]) -> Inventory:
    """Look at all inputs without reading them; InputError for a file that is missing."""
    total, digest, is_known = 0, sha256(), True
    for source in sources:
        size = size_on_disk(source)
        total, is_known = total + (size or 0), is_known and size is not None
        about = [source.name, size, changed_at(source), digest_of_text(source)]
        digest.update(json.dumps(about).encode() + b"\n")
    return Inventory(total, digest.hexdigest(), is_known)


def sections(sources: Iterable[Input], total: int, part: Part, separator: bytes | None) -> Iterator[Section]:
    """Yield the sections of one part of the inputs, which have `total` bytes.

    The records of a file end with `separator`; where that is None, a file is a document. A compressed file is never
    cut: it belongs to one part.
    """
    begin = total * (part.number - 1) // part.parts
    end = None if part.number == part.parts else total * part.number // part.parts
    at = 0
    for number, source in enumerate(sources):
        size = 0 if part.parts == 1 else size_on_disk(source) or 0
        first, after = begin - at, None if end is None else end - at  # as places in this input
        if after is not None and after <= 0:
            return
        at += size
        is_cut = first > 0 or (after is not None and after < size)
        if is_cut and first < size and separator is not None and not is_one_piece(source):
            yield from _cut(Section(source, number), size, first, after, separator)
        elif first <= 0:  # its first byte is in this part
            yield Section(source, number)


def _cut(whole: Section, size: int, first: int, after: int | None, separator: bytes) -> Iterator[Section]:
    """Yield the section with the records that begin at byte `first` of a file or later, and before `after`, if any."""
    start = record_from(whole.source, size, first, separator)
    stop = size if after is None else record_from(whole.source, size, after, separator)
    if start < stop:
        yield whole._replace(start=start, stop=None if stop == size else stop)
