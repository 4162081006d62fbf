"""The writers of ids: as decimal text, JSON, binary or .npy, each input or record as it comes, in bounded memory."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tokcli.cli.encode.spool import Spool
from tokcli.cli.json_stream import JsonStream, around, line
from tokcli.cli.record import SEPARATOR
from tokcli.cli.streams import Output
from tokcli.engine.stream import ids as decoder
from tokcli.engine.stream import npy
from tokcli.engine.stream.spans import format_json, format_lines
from tokcli.engine.tokens import Spans

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.cli.encode.encode_options import EncodeOptions
    from tokcli.engine.encoding import Encoding

Members = dict[str, Sequence[int]]

TRUNCATED = {"truncated": True}  # of a JSON object whose ids or text were cut

STEP_TOKENS = 1 << 15  # whose places are made at once: their lines fit into a cache, and into memory that is used again


class IdWriter:
    """Writes ids: `begin`, any number of `add`, `end` for each input or record; `close` after the last.

    `add` takes what `render` made, `add_whole` what `render_whole` made, and `write_records` what `render_records`
    made; any thread may call these. This writer's ids are little-endian, of 2 or 4 bytes. Subclasses write other forms.
    """

    takes_batches = True  # whether `render_records` makes many records at once

    def __init__(self, output: Output, form: decoder.BinaryFormat = "u32") -> None:
        self.output, self._form = output, form

    def begin(self) -> None:
        """Begin an input or a record."""

    def render(self, ids: memoryview) -> Buffer:
        """Return ids (uint32) as they are written."""
        return decoder.binary_ids(ids, self._form)

    def render_records(
        self, ids: memoryview, offsets: memoryview, limit: int | None, cut: Sequence[bool] = ()
    ) -> tuple[Buffer, bool]:
        """Return many records as they are written, up to `limit` ids of each, and whether any is cut.

        The ids of each record begin at one of the `offsets` and end at the next. `cut` says for each record whether it
        has been cut already; where it is empty, none has. This writer has no limit: a file of ids alone has
        records only where an id is added to each, and then they are cut before.
        """
        assert limit is None
        return decoder.packed_records(ids, offsets, 0, None, self._form)[0], any(cut)

    def write_records(self, rendered: Buffer) -> None:
        """Write many records, as `render_records` made them."""
        self.output.write(rendered)

    def add(self, rendered: Buffer, count: int) -> None:
        """Write the next `count` ids of the input or record, as `render` made them."""
        del count
        self.output.write(rendered)

    def render_whole(self, ids: memoryview, spans: Spans | None, shift: int = 0) -> tuple[Buffer, Buffer]:
        """Return ids as they are written; beside them, where they are written apart, spans moved on by `shift`."""
        del spans, shift
        return self.render(ids), b""

    def add_whole(self, rendered: tuple[Buffer, Buffer], count: int, members: Members) -> None:
        """Write `count` ids of an input or record, and their places; `members` go into its JSON object."""
        del members
        self.add(rendered[0], count)

    def add_ids(self, ids: Sequence[int]) -> None:
        """Write ids that stand for no place in the text: those of a frame."""
        if len(ids):
            self.add_whole(self.render_whole(memoryview(array("I", ids)), array("Q", [0, 0] * len(ids))), len(ids), {})

    def skip(self, ids: memoryview) -> None:
        """Pass over ids that are not written, but whose text comes before that of the ids that are added."""

    def end(self, was_cut: bool = False) -> None:
        """End the input or record; `was_cut` says that it has more ids than were asked for."""
        del was_cut

    def close(self) -> None:
        """End the output: no input follows."""


def limited(buffers: Iterator[memoryview], limit: int | None) -> Iterator[tuple[memoryview, bool]]:
    """Yield up to `limit` ids in all, each buffer of them with whether any ids after it are left out."""
    left = limit
    for ids in buffers:
        if left is not None and len(ids) > left:
            yield ids[:left], True
            return
        if left is not None:
            left -= len(ids)
        yield ids, False


def records_of(
    ids: memoryview, offsets: memoryview, limit: int | None, cut: Sequence[bool]
) -> Iterator[tuple[memoryview, bool]]:
    """Yield up to `limit` ids of each record, with whether it is cut; the arguments are those of `render_records`."""
    for at, (begin, end) in enumerate(pairwise(offsets)):
        last = end if limit is None else min(end, begin + limit)
        yield ids[begin:last], last < end or (at < len(cut) and cut[at])


def last_of(buffers: Iterable[memoryview], limit: int, skip: Callable[[memoryview], None]) -> Iterator[memoryview]:
    """Yield the last `limit` ids, holding no more than these and a buffer; `skip` is called with all ids before."""
    held: deque[memoryview] = deque()
    size = 0
    for ids in buffers:
        held.append(ids)
        size += len(ids)
        while held and size - len(held[0]) >= limit:
            size -= len(held[0])
            skip(held.popleft())
    if size > limit:
        skip(held[0][: size - limit])
        held[0] = held[0][size - limit :]
    yield from held


class TextWriter(IdWriter):
    """Writes `1 2 3` and a newline, or `[1, 2, 3]`: ids with text before, between and after those of an input."""

    def __init__(self, output: Output, before: bytes, between: bytes, after: bytes) -> None:
        super().__init__(output)
        self._before, self._between, self._after = before, between, after
        self._is_first = True

    def begin(self) -> None:
        self.output.write(self._before)
        self._is_first = True

    def render(self, ids: memoryview) -> Buffer:
        return decoder.format_ids(ids, self._between)

    def render_records(
        self, ids: memoryview, offsets: memoryview, limit: int | None, cut: Sequence[bool] = ()
    ) -> tuple[Buffer, bool]:
        if len(offsets) == 1:
            return b"", False
        joint = self._after + self._before
        text, was_cut = decoder.format_records(ids, offsets, self._between, joint, limit)
        return b"".join([self._before, text, self._after]), was_cut or any(cut)

    def add(self, rendered: Buffer, count: int) -> None:
        if count:
            if not self._is_first:
                self.output.write(self._between)
            self.output.write(rendered)
            self._is_first = False

    def end(self, was_cut: bool = False) -> None:
        del was_cut
        self.output.write(self._after)


class JsonWriter(TextWriter):
    """Writes a JSON object with the ids for each input or record."""

    def __init__(self, output: Output) -> None:
        before, after = around("ids", is_array=True)
        super().__init__(output, before, b", ", after)
        self._stream = JsonStream(output)
        self._members: Members = {}

    def render_records(
        self, ids: memoryview, offsets: memoryview, limit: int | None, cut: Sequence[bool] = ()
    ) -> tuple[Buffer, bool]:
        if limit is not None:
            cut = [end - begin > limit for begin, end in pairwise(offsets)]
        if not any(cut):
            return super().render_records(ids, offsets, None)
        parts, cut_after = [], b"], " + line(TRUNCATED)[1:]
        for some, is_cut in records_of(ids, offsets, limit, cut):
            parts += [self._before, self.render(some), cut_after if is_cut else self._after]
        return b"".join(parts), True

    def begin(self) -> None:
        self._stream.begin_object()
        self._stream.begin_array("ids")
        self._members = {}

    def add(self, rendered: Buffer, count: int) -> None:
        if count:
            self._stream.values(rendered)

    def add_whole(self, rendered: tuple[Buffer, Buffer], count: int, members: Members) -> None:
        super().add_whole(rendered, count, members)
        self._members = members

    def end(self, was_cut: bool = False) -> None:
        self._stream.end()
        self._stream.members(self._members, **(TRUNCATED if was_cut else {}))
        self._write_more()
        self._stream.end()

    def _write_more(self) -> None:
        """Write the last members of an object."""


class SpanCounter:
    """Counts where tokens begin and end, from one chunk to the next, in bytes or in characters."""

    def __init__(self, unit: str, encoding: Encoding) -> None:
        self._in_chars, self._tokenizer = unit == "char", encoding.tokenizer
        self.is_able = not encoding.tokenizer.sees_whole_texts  # the bytes of tokens are the text
        self._at = 0

    def begin(self) -> None:
        """Begin an input or a record."""
        self._at = 0

    def steps(self, ids: memoryview) -> Iterator[tuple[memoryview, Spans]]:
        """Yield STEP_TOKENS at a time with their spans; starts in characters are those of `decode_with_offsets`."""
        for at in range(0, len(ids), STEP_TOKENS):
            some = ids[at : at + STEP_TOKENS]
            spans = self._tokenizer.token_spans(some, self._at, in_chars=self._in_chars)
            self._at = spans[-1]
            yield some, spans

    def of_record(self, ids: memoryview) -> Spans:
        """Return the spans of all tokens of a record."""
        return self._tokenizer.token_spans(ids, 0, in_chars=self._in_chars)

    def skip(self, ids: memoryview) -> None:
        """Count on behind these tokens."""
        for _ in self.steps(ids):
            pass


class OffsetLines(IdWriter):
    """Writes a line for each token: id, start and end, separated by tabs."""

    takes_batches = False

    def __init__(self, output: Output, counter: SpanCounter) -> None:
        super().__init__(output)
        self._counter = counter

    def begin(self) -> None:
        self._counter.begin()

    def skip(self, ids: memoryview) -> None:
        self._counter.skip(ids)

    def render(self, ids: memoryview) -> Buffer:
        return ids  # `add` knows where they are

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        for ids, spans in self._counter.steps(memoryview(rendered)):
            self.output.write(format_lines(ids, spans))

    def render_whole(self, ids: memoryview, spans: Spans | None, shift: int = 0) -> tuple[Buffer, Buffer]:
        return format_lines(ids, array("Q") if spans is None else spans, shift), b""

    def add_whole(self, rendered: tuple[Buffer, Buffer], count: int, members: Members) -> None:
        del count, members
        self.output.write(rendered[0])


class OffsetObjects(JsonWriter):
    """Writes a JSON object with ids and offsets; the offsets wait in a spool until the ids are written.

    `knows_places` says whether the ids alone tell the places of their tokens.
    """

    takes_batches = False  # `render_placed` does

    def __init__(self, output: Output, counter: SpanCounter) -> None:
        super().__init__(output)
        self._counter, self.knows_places = counter, counter.is_able

    def placed(
        self, ids: memoryview, offsets: memoryview, limit: int | None
    ) -> Iterator[tuple[memoryview, Spans, bool]]:
        """Yield up to `limit` ids of each record, their spans, and whether it is cut, where this `knows_places`.

        The ids of each record begin at one of the `offsets` and end at the next.
        """
        for some, is_cut in records_of(ids, offsets, limit, ()):
            yield some, self._counter.of_record(some) if some else array("Q"), is_cut

    def render_placed(self, records: Iterable[tuple[memoryview, Spans, bool]]) -> tuple[Buffer, bool]:
        """Return records as `write_records` takes them, and whether any is cut.

        A record is its ids (uint32), their spans in the unit that is written, and whether it is cut.
        """
        before_places = around("offsets", is_array=True)[0][1:]
        between = b"], " + before_places, b"], %b, %b" % (line(TRUNCATED)[1:-2], before_places)
        parts, is_any_cut = [], False
        for ids, spans, is_cut in records:
            places = format_json(spans) if len(ids) else b""
            parts += [self._before, decoder.format_ids(ids, b", "), between[is_cut], places, self._after]
            is_any_cut |= is_cut
        return b"".join(parts), is_any_cut

    def begin(self) -> None:
        super().begin()
        self._counter.begin()
        self._spool = Spool()

    def skip(self, ids: memoryview) -> None:
        self._counter.skip(ids)

    def render(self, ids: memoryview) -> Buffer:
        return ids  # `add` knows where they are

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        for ids, spans in self._counter.steps(memoryview(rendered)):
            self.add_whole(self.render_whole(ids, spans), len(ids), {})

    def render_whole(self, ids: memoryview, spans: Spans | None, shift: int = 0) -> tuple[Buffer, Buffer]:
        return super().render(ids), format_json(spans, shift) if spans else b""

    def add_whole(self, rendered: tuple[Buffer, Buffer], count: int, members: Members) -> None:
        ids, offsets = rendered
        if offsets:
            if self._spool.size:
                self._spool.write(b", ")
            self._spool.write(offsets)
        super().add(ids, count)
        self._members = members

    def _write_more(self) -> None:
        self._stream.begin_array("offsets")
        self._stream.flush()
        self._spool.copy_to(self.output)  # rendered as JSON already
        self._stream.end()


class NpyWriter(IdWriter):
    """Writes a .npy file of uint32. The header has their number, so it is rewritten at the end, or the ids are held."""

    def __init__(self, output: Output) -> None:
        super().__init__(output, "u32")
        self._count = 0
        self._spool: Spool | None = None
        if output.is_replaced:
            output.write(npy.header(0))
        else:
            self._spool = Spool()

    def add(self, rendered: Buffer, count: int) -> None:
        self._count += count
        if self._spool is None:
            super().add(rendered, count)
        else:
            self._spool.write(rendered)

    def write_records(self, rendered: Buffer) -> None:
        self.add(rendered, len(memoryview(rendered)))

    def close(self) -> None:
        if self._spool is None:
            self.output.patch(npy.header(self._count))
            return
        self.output.write(npy.header(self._count))
        self._spool.copy_to(self.output)


def make_writer(asked: EncodeOptions, output: Output, encoding: Encoding) -> IdWriter:
    """Return the writer for the options of `encode`."""
    form = asked.form
    if asked.offsets:
        counter = SpanCounter(asked.offsets, encoding)
        return OffsetObjects(output, counter) if asked.as_json else OffsetLines(output, counter)
    if asked.as_json:
        return JsonWriter(output)
    if form == "npy":
        return NpyWriter(output)
    if form == "u16" or form == "u32":
        return IdWriter(output, form)
    end = SEPARATOR[asked.records or "lines"]
    if form == "json":
        return TextWriter(output, b"[", b", ", b"]" + end)
    return TextWriter(output, b"", b" ", end)
