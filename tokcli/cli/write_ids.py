"""Ids on their way out: as decimal text, JSON, binary or .npy, each input or record as it comes, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from tokcli.cli import records
from tokcli.cli.streams import Output
from tokcli.engine import decoder, npy

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.encoding import Encoding

Spans = Sequence[tuple[int, int]]
Members = dict[str, list[int]]

SPOOL_BYTES = 1 << 20  # of offsets or .npy ids kept in memory before they go to a temporary file


class IdWriter:
    """Writes ids: `begin`, any number of `add`, `end` for each input or record; `close` after the last.

    What is added was made by `render`, by any thread unless `is_in_order`.
    """

    is_in_order = False

    def __init__(self, output: Output) -> None:
        self.output = output

    def begin(self) -> None:
        """An input or record begins."""

    def render(self, ids: memoryview) -> Buffer:
        """Ids (uint32) as they are written."""
        raise NotImplementedError

    def add(self, rendered: Buffer, count: int) -> None:
        """Its next ids, so many."""
        raise NotImplementedError

    def add_whole(
        self, ids: memoryview, spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        """All ids of an input or record at once, and where they stand; `members` go into its JSON object."""
        del spans, members
        self.add(self.render(ids), len(ids))

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
        self._members = b""  # of a JSON object, behind its ids

    def begin(self) -> None:
        self.output.write(self._before)
        self._is_first = True

    def render(self, ids: memoryview) -> Buffer:
        return decoder.format_ids(ids, self._between)

    def render_records(self, ids: memoryview, offsets: memoryview, limit: int | None) -> tuple[Buffer, bool]:
        """Whole records, if any, whose ids begin at `offsets`; at most `limit` of each, and whether that cut any."""
        if len(offsets) == 1:
            return b"", False
        joint = self._after + self._before
        text, was_cut = decoder.format_records(ids, offsets, self._between, joint, limit)
        return b"".join([self._before, text, self._after]), was_cut

    def add(self, rendered: Buffer, count: int) -> None:
        if count:
            if not self._is_first:
                self.output.write(self._between)
            self.output.write(rendered)
            self._is_first = False

    def add_whole(
        self, ids: memoryview, spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        del spans
        self.add(TextWriter.render(self, ids), len(ids))
        if self._after.startswith(b"]}"):
            self._members = "".join(f', "{name}": {values}' for name, values in members.items()).encode()

    def end(self) -> None:
        self.output.write(self._after[:1] + self._members + self._after[1:])
        self._members = b""


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

    is_in_order = True

    def __init__(self, output: Output, unit: str, encoding: Encoding) -> None:
        super().__init__(output)
        self._unit, self._encoding = unit, encoding

    def begin(self) -> None:
        self._counter = SpanCounter(self._unit)

    def render(self, ids: memoryview) -> Buffer:
        spans = self._counter.spans(self._encoding.decode_tokens_bytes(ids))
        return self._lines(ids, spans)

    def _lines(self, ids: memoryview, spans: Sequence[tuple[int, int]]) -> bytes:
        return "".join(f"{i}\t{a}\t{b}\n" for i, (a, b) in zip(ids, spans, strict=True)).encode()

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        self.output.write(rendered)

    def add_whole(
        self, ids: memoryview, spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        del members
        self.output.write(self._lines(ids, spans or ()))


class OffsetObjects(TextWriter):
    """A JSON object with ids and offsets; the offsets wait in a spool until the ids are written."""

    is_in_order = True

    def __init__(self, output: Output, unit: str, encoding: Encoding) -> None:
        super().__init__(output, b'{"ids": [', b", ", b"]")
        self._unit, self._encoding = unit, encoding

    def begin(self) -> None:
        super().begin()
        self._counter = SpanCounter(self._unit)
        self._spool = make_spool()

    def render(self, ids: memoryview) -> Buffer:
        self._hold(self._counter.spans(self._encoding.decode_tokens_bytes(ids)))
        return super().render(ids)

    def _hold(self, spans: Sequence[tuple[int, int]]) -> None:
        if spans:
            shown = ", ".join(f"[{a}, {b}]" for a, b in spans)
            self._spool.write((b"" if self._is_first else b", ") + shown.encode())

    def add_whole(
        self, ids: memoryview, spans: Sequence[tuple[int, int]] | None, members: dict[str, list[int]]
    ) -> None:
        self._hold(spans or ())
        super().add_whole(ids, None, {})
        self._members = "".join(f', "{name}": {values}' for name, values in members.items()).encode()

    def end(self) -> None:
        super().end()
        self.output.write(b', "offsets": [')
        copy(self._spool, self.output)
        self.output.write(b"]}\n")


class BinaryWriter(IdWriter):
    """Little-endian ids of 2 or 4 bytes, nothing between inputs."""

    def __init__(self, output: Output, form: decoder.BinaryFormat) -> None:
        super().__init__(output)
        self._form = form

    def render(self, ids: memoryview) -> Buffer:
        return decoder.binary_ids(ids, self._form)

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        self.output.write(rendered)


class NpyWriter(BinaryWriter):
    """A .npy file of uint32. Its header tells how many: written again at the end, or the ids wait in a spool."""

    def __init__(self, output: Output) -> None:
        super().__init__(output, "u32")
        self._count = 0
        self._spool: IO[bytes] | None = None
        if output.is_replaced:
            output.write(npy.header(0))
        else:
            self._spool = make_spool()

    def add(self, rendered: Buffer, count: int) -> None:
        self._count += count
        if self._spool is None:
            super().add(rendered, count)
        else:
            self._spool.write(rendered)

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


def make_writer(given: dict[str, Any], output: Output, encoding: Encoding) -> IdWriter:
    """The writer for the options of `encode`."""
    unit, form = given["offsets"], given["form"]
    if given["as_json"]:
        return OffsetObjects(output, unit, encoding) if unit else TextWriter(output, b'{"ids": [', b", ", b"]}\n")
    if unit:
        return OffsetLines(output, unit, encoding)
    if form == "npy":
        return NpyWriter(output)
    if form in ("u16", "u32"):
        return BinaryWriter(output, form)
    end = records.SEPARATOR[given["records"] or "lines"]
    if form == "json":
        return TextWriter(output, b"[", b", ", b"]" + end)
    return TextWriter(output, b"", b" ", end)
