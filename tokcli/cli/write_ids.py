"""Ids on their way out: as decimal text, JSON, binary or .npy, each input or record as it comes, in bounded memory."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import IO, Any

from tokcli.cli import records
from tokcli.cli.streams import Output
from tokcli.engine import npy
from tokcli.engine.decoder import TYPECODES

SPOOL_BYTES = 1 << 20  # of offsets or .npy ids kept in memory before they go to a temporary file


class IdWriter:
    """Writes ids: `begin`, any number of `add`, `end` for each input or record; `close` after the last.

    `wants_bytes`: whether `add` must be given the bytes of the tokens, for their offsets.
    """

    wants_bytes = False

    def __init__(self, output: Output) -> None:
        self.output = output

    def begin(self) -> None:
        """An input or record begins."""

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        """Its next ids."""
        raise NotImplementedError

    def add_whole(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        """All ids of an input or record at once, and where they stand; `members` go into its JSON object."""
        del spans, members
        self.add(ids, ())

    def end(self) -> None:
        """It ends."""

    def close(self) -> None:
        """There are no more."""


class TextWriter(IdWriter):
    """`1 2 3` and a newline, or `[1, 2, 3]`, or a JSON object with them."""

    def __init__(self, output: Output, before: bytes, between: bytes, after: bytes) -> None:
        super().__init__(output)
        self._before, self._between, self._after = before, between, after
        self._is_first = True
        self._is_closed = False  # the list of ids, by a member behind it

    def begin(self) -> None:
        self.output.write(self._before)
        self._is_first = True

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        del tokens
        if ids:
            between = self._between.decode()
            self.output.write((b"" if self._is_first else self._between) + between.join(map(str, ids)).encode())
            self._is_first = False

    def add_whole(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        del spans
        TextWriter.add(self, ids, ())
        if members and self._after.startswith(b"]}"):
            more = b"".join(f', "{name}": {values}'.encode() for name, values in members.items())
            self.output.write(b"]" + more)
            self._is_closed = True

    def end(self) -> None:
        self.output.write(self._after[1:] if self._is_closed else self._after)
        self._is_closed = False


class SpanCounter:
    """Where tokens begin and end, counted on from one chunk to the next, in bytes or in characters."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._at = 0

    def spans(self, tokens: Sequence[bytes]) -> list[tuple[int, int]]:
        """(start, end) of each token: the starts in characters are those of tiktoken's `decode_with_offsets`."""
        from tokcli.engine.text import character_spans

        if self._unit == "char":
            spans = list(character_spans(tokens, self._at))
            self._at = spans[-1][1] if spans else self._at
            return spans
        spans = []
        for token in tokens:
            spans.append((self._at, self._at + len(token)))
            self._at += len(token)
        return spans


class OffsetLines(IdWriter):
    """A line for each token: id, start and end, separated by tabs."""

    wants_bytes = True

    def __init__(self, output: Output, unit: str) -> None:
        super().__init__(output)
        self._unit = unit

    def begin(self) -> None:
        self._counter = SpanCounter(self._unit)

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        self._write(ids, self._counter.spans(tokens))

    def add_whole(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        del members
        self._write(ids, spans or ())

    def _write(self, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> None:
        self.output.write("".join(f"{i}\t{a}\t{b}\n" for i, (a, b) in zip(ids, spans, strict=True)).encode())


class OffsetObjects(TextWriter):
    """A JSON object with ids and offsets; the offsets wait in a spool until the ids are written."""

    wants_bytes = True

    def __init__(self, output: Output, unit: str) -> None:
        super().__init__(output, b'{"ids": [', b", ", b"]")
        self._unit = unit
        self._members: dict[str, list[int]] = {}

    def begin(self) -> None:
        super().begin()
        self._counter = SpanCounter(self._unit)
        self._spool = make_spool()

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        self._hold(self._counter.spans(tokens))
        super().add(ids, tokens)

    def add_whole(
        self, ids: Sequence[int], spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        self._hold(spans or ())
        super().add(ids, ())
        self._members = members

    def _hold(self, spans: Sequence[tuple[int, int]]) -> None:
        if spans:
            shown = ", ".join(f"[{a}, {b}]" for a, b in spans)
            self._spool.write((b"" if self._is_first else b", ") + shown.encode())

    def end(self) -> None:
        super().end()
        for name, values in self._members.items():
            self.output.write(f', "{name}": {values}'.encode())
        self._members = {}
        self.output.write(b', "offsets": [')
        copy(self._spool, self.output)
        self.output.write(b"]}\n")


class BinaryWriter(IdWriter):
    """Little-endian ids of 2 or 4 bytes, nothing between inputs."""

    def __init__(self, output: Output, typecode: str) -> None:
        super().__init__(output)
        self._typecode = typecode

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        del tokens
        data = array(self._typecode, ids)
        if sys.byteorder == "big":
            data.byteswap()
        self.output.write(data.tobytes())


class NpyWriter(BinaryWriter):
    """A .npy file of uint32. Its header tells how many: written again at the end, or the ids wait in a spool."""

    def __init__(self, output: Output) -> None:
        super().__init__(output, TYPECODES["u32"])
        self._count = 0
        self._spool: IO[bytes] | None = None
        if output.is_replaced:
            output.write(npy.header(0))
        else:
            self._spool = make_spool()

    def add(self, ids: Sequence[int], tokens: Sequence[bytes]) -> None:
        self._count += len(ids)
        if self._spool is None:
            super().add(ids, tokens)
        else:
            self._spool.write(array(self._typecode, ids).tobytes())

    def close(self) -> None:
        if self._spool is None:
            self.output.patch(npy.header(self._count))
            return
        self.output.write(npy.header(self._count))
        copy(self._spool, self.output)


def make_spool() -> IO[bytes]:
    """What has to wait, in memory or in a file without a name."""
    from tempfile import SpooledTemporaryFile

    return SpooledTemporaryFile(SPOOL_BYTES)  # closed in `copy`


def copy(spool: IO[bytes], output: Output) -> None:
    """A spool's content to the output; the spool is closed."""
    with spool:
        spool.seek(0)
        while block := spool.read(SPOOL_BYTES):
            output.write(block)


def make_writer(given: dict[str, Any], output: Output) -> IdWriter:
    """The writer for the options of `encode`."""
    unit, form = given["offsets"], given["form"]
    if given["as_json"]:
        return OffsetObjects(output, unit) if unit else TextWriter(output, b'{"ids": [', b", ", b"]}\n")
    if unit:
        return OffsetLines(output, unit)
    if form == "npy":
        return NpyWriter(output)
    if form in ("u16", "u32"):
        return BinaryWriter(output, TYPECODES[form])
    end = records.SEPARATOR[given["records"] or "lines"]
    if form == "json":
        return TextWriter(output, b"[", b", ", b"]" + end)
    return TextWriter(output, b"", b" ", end)
