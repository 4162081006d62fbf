"""Input that begins as compressed data does, or with a byte order mark, as the text that it holds.

UTF-16 and UTF-32 are told by their mark and read as UTF-8 without it, block by block. A mark of UTF-8 is left to those
who read the text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from tokcli.cli import messages
from tokcli.cli.inputs.compressed import contents
from tokcli.cli.inputs.json_notes import note_json
from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing import Protocol

    from tokcli.engine.stream.chunks import Utf8Errors

    class Convertible(Protocol):
        """The fields of an `Input` (`cli/streams.py`) that are used here."""

        @property
        def shown(self) -> str: ...
        @property
        def as_is(self) -> bool: ...
        @property
        def may_be_folder(self) -> bool: ...
        @property
        def may_be_ids(self) -> bool: ...
        @property
        def notes(self) -> bool: ...
        @property
        def name(self) -> str: ...
        @property
        def found_in(self) -> str | None: ...
        @property
        def as_text(self) -> bool: ...
        @property
        def errors(self) -> Utf8Errors | None: ...


# The mark, the name of the encoding, and Python's codec. FF FE 00 00 is UTF-32: text hardly begins with a NUL.
MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "UTF-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "UTF-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "UTF-16", "utf-16-be"),
)
POINTER = b"version https://git-lfs.github.com/spec/"
MARK_BYTES = 4  # of the longest mark
NAMED = 8  # files that notes name; of a folder, all may be UTF-16
_named: dict[str, int] = {}  # the inputs that were read so, and the place of each among them


def converted(source: Convertible, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Return the blocks of an input, decompressed, and with UTF-16 and UTF-32 as UTF-8; others as they are.

    The first block has enough bytes to tell. InputError is raised where data is damaged or not what its mark says.
    """
    first = next(blocks, b"")
    if not (source.as_is or first.startswith(tuple(mark for mark, _, _ in MARKS))):
        blocks = contents(first, blocks, source.shown, may_be_ids=source.may_be_ids)
        first = next(blocks, b"")
    if first.startswith(POINTER) and source.notes:
        note = f"{source.shown}: a Git LFS pointer, not the file itself; `git lfs pull` fetches that."
        messages.print_note_once(note, "a Git LFS pointer")
    errors = source.errors
    if errors is None or errors == "bytes" or source.may_be_ids:
        return chain([first], blocks)
    while len(first) < MARK_BYTES and (block := next(blocks, b"")):
        first += block
    text = _unmarked(source, first, blocks, errors)
    return text if not source.as_text else _noted(source, text)


def _noted(source: Convertible, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Return the same blocks; a note says so if they begin as JSON with records does."""
    first = next(blocks, b"")
    note_json(source.shown, source.name, first, is_found=source.found_in is not None)
    return chain([first], blocks)


def _unmarked(source: Convertible, first: bytes, blocks: Iterator[bytes], errors: Utf8Errors) -> Iterator[bytes]:
    """Return text in UTF-8 that begins with `first`, without the mark of UTF-16 or UTF-32; other text as it is."""
    for mark, name, codec in MARKS:
        if first.startswith(mark):
            if source.notes:
                _note(source.shown, name)
            return _as_utf8(source, chain([first[len(mark) :]], blocks), (name, codec), len(mark), errors)
    return chain([first] if first else (), blocks)


def _note(shown: str, name: str) -> None:
    """Print once that an input is read as what its mark says; after NAMED inputs, that there are more of them."""
    if _named.setdefault(shown, len(_named)) < NAMED:
        messages.print_note_once(f"{shown}: {name} text, read as UTF-8; offsets are bytes of the UTF-8.")
    else:
        messages.print_note_once("more inputs are UTF-16 or UTF-32 text, read as UTF-8.")


def _as_utf8(
    source: Convertible, blocks: Iterable[bytes], of: tuple[str, str], begin: int, errors: Utf8Errors
) -> Iterator[bytes]:
    """Yield text in UTF-16 or UTF-32 as UTF-8; `begin` is the byte of the input at which the blocks begin."""
    name, codec = of
    decoder = codecs.getincrementaldecoder(codec)("replace" if errors == "replace" else "strict")
    at, made = begin, 0  # bytes that were read, and bytes of UTF-8
    for block in chain(blocks, [b""]):
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(block, not block and at > begin)
        except UnicodeDecodeError as error:
            made += len(error.object[: error.start].decode(codec).encode())
            has_errors = source.may_be_folder  # as every command that takes text
            raise InputError(
                f"invalid {name}",
                f"Use --errors replace (U+FFFD for what is not {name}) or --errors bytes (the bytes as they are)."
                if has_errors
                else "Save it as UTF-8.",
                where=source.shown,
                offset=at - held + error.start,
                unit="byte",
                detail=f"{error.reason} (byte {made} of its UTF-8)",
            ) from None
        at += len(block)
        if text:
            data = text.encode()
            made += len(data)
            yield data
