"""Compressed input read block by block as what it holds: gzip, bzip2, xz and zstd, recognised by the first bytes.

Of data that was compressed more than once, only the outermost compression is undone.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing import Protocol

    class Decompressor(Protocol):
        """A decoder of one stream of compressed data, with the interface of `bz2.BZ2Decompressor`."""

        @property
        def eof(self) -> bool:
            """Whether the stream has ended."""

        @property
        def needs_input(self) -> bool:
            """Whether more compressed data is needed before more can be decompressed."""

        @property
        def unused_data(self) -> bytes:
            """The bytes that follow the stream."""

        def decompress(self, data: bytes, max_length: int) -> bytes:
            """Return at most `max_length` decompressed bytes (`_Zstandard` may return more)."""


try:
    from compression import zstd  # from Python 3.14 on
except ImportError:
    try:
        import zstandard as zstd
    except ImportError:
        zstd = None

OUT_BYTES = 1 << 20  # of a block of decompressed data: the size that blocks of records grow to
# More than ALLOWED_BYTES and MAX_RATIO times the compressed size together are taken for a decompression bomb. English
# text expands 4 times, logs up to 50 times.
MAX_RATIO, ALLOWED_BYTES = 200, 1 << 28
MAX_MEMORY = 1 << 28  # of an xz decoder; `xz -9` makes data that takes 65 MiB
SLICE_BYTES = 1 << 12  # of zstd data decoded at a time; they expand to 128 MiB at most
SEEN_BYTES = 1 << 16  # at the beginning of what may be binary ids: enough to tell whether it is compressed
GZIP_OR_ZLIB = 16 + zlib.MAX_WBITS


class _Gzip:
    """zlib's decoder of one gzip member, as a `Decompressor`."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(GZIP_OR_ZLIB)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        made = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail and len(made) < max_length
        return made


class _Zstandard:
    """The package zstandard's decoder of one frame; as it cannot limit its output, it gets little data at a time."""

    def __init__(self) -> None:
        self._decoder = zstd.ZstdDecompressor().decompressobj()
        self._waiting = memoryview(b"")
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof)

    @property
    def unused_data(self) -> bytes:
        return b"".join([self._decoder.unused_data, self._waiting])

    def decompress(self, data: bytes, max_length: int) -> bytes:
        made, size = [], 0
        if data:
            self._waiting = memoryview(b"".join([self._waiting, data]))
        while self._waiting and not self._decoder.eof and size < max_length:
            part, self._waiting = self._waiting[:SLICE_BYTES], self._waiting[SLICE_BYTES:]
            made.append(self._decoder.decompress(part))
            size += len(made[-1])
        self.needs_input = not self._waiting
        return b"".join(made)


class _Kind(NamedTuple):
    """A kind of compressed data: its name, how it begins, and what reads one stream of it."""

    name: str
    begins: tuple[bytes, ...]
    decoder: Callable[[], Decompressor]


def _zstd_decoder() -> Decompressor:
    if zstd is None:
        raise InputError(
            "zstd data: the package zstandard is needed to read it",
            "Run pip install 'tokcli[zstd]', decompress the data first, or take them as they are: --no-decompress.",
        )
    made: Decompressor = zstd.ZstdDecompressor() if hasattr(zstd, "ZstdFile") else _Zstandard()
    return made


KINDS = (
    _Kind("gzip", (b"\x1f\x8b\x08",), _Gzip),
    # "BZh" may begin a text; after it comes a level, and the first block or the end
    _Kind(
        "bzip2",
        tuple(b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")),
        bz2.BZ2Decompressor,
    ),
    _Kind("xz", (b"\xfd7zXZ\0",), lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY)),
    _Kind("zstd", (b"\x28\xb5\x2f\xfd",), _zstd_decoder),
)
_LONGEST = max(len(begin) for kind in KINDS for begin in kind.begins)


def contents(first: bytes, rest: Iterator[bytes], shown: str, *, may_be_ids: bool = False) -> Iterator[bytes]:
    """Return blocks that begin as compressed data does, decompressed; or as they are, if they are not compressed.

    `shown` names them in errors. InputError is raised for data that is damaged, ends too early or seems to have no end.
    Binary ids may begin with any bytes: with `may_be_ids`, data whose beginning cannot be decompressed is not
    compressed.
    """
    while len(first) < (SEEN_BYTES if may_be_ids else _LONGEST) and (block := next(rest, b"")):
        first += block
    kind = next((kind for kind in KINDS if first.startswith(kind.begins)), None)
    blocks = chain([first], rest)
    return blocks if kind is None or (may_be_ids and not _begins(kind, first)) else _decompressed(kind, blocks, shown)


def _begins(kind: _Kind, data: bytes) -> bool:
    """Return whether the beginning of data can be decompressed to some bytes, or to a complete empty stream."""
    try:
        decoder = kind.decoder()
        return bool(_taken(kind, decoder, data, "")) or decoder.eof
    except InputError:
        return False


def _decompressed(kind: _Kind, blocks: Iterable[bytes], shown: str) -> Iterator[bytes]:
    decoder: Decompressor | None = kind.decoder()
    taken = made = 0
    for block in blocks:
        data, taken = block, taken + len(block)
        while True:
            if decoder is None:  # streams may follow one another, with zeros to fill a tape or a block
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = kind.decoder()
            found = _taken(kind, decoder, data, shown)
            made += len(found)
            if made > MAX_RATIO * taken + ALLOWED_BYTES:
                raise InputError(
                    f"{kind.name} data that holds more than {MAX_RATIO} times their size",
                    "Decompress them first if they are what you want.",
                    where=shown,
                )
            if found:
                yield found
            data = b""
            if decoder.eof:
                data, decoder = decoder.unused_data, None
            elif decoder.needs_input:
                break
    if decoder is not None:
        raise InputError(
            f"{kind.name} data that ends too early", "The file is not complete: make or fetch it again.", where=shown
        )


def _taken(kind: _Kind, decoder: Decompressor, data: bytes, shown: str) -> bytes:
    """Return the next decompressed bytes; InputError where the data is damaged."""
    try:
        return decoder.decompress(data, OUT_BYTES)
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, getattr(zstd, "ZstdError", OSError)) as error:
        hint = "Use --no-decompress to take them as they are."
        raise InputError(f"damaged {kind.name} data", hint, where=shown, detail=str(error)) from None
