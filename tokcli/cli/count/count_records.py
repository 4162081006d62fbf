"""`tokcli count --records`: a number, or a JSON object, for each record."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.count.budget import members_of, rows_of
from tokcli.cli.count.estimates import scaled_counts
from tokcli.cli.inputs import records
from tokcli.cli.json_stream import around, line
from tokcli.cli.options import TextOptions
from tokcli.cli.record import SEPARATOR, pair_of
from tokcli.cli.request import TextRequest
from tokcli.engine.roles import record_runs
from tokcli.engine.stream.ids import format_ids
from tokcli.errors import InputError
from tokcli.render.numbers import counted

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions, CountRequest
    from tokcli.cli.inputs.left_of import RecordSource


class RecordCounts:
    """The answers of --records: a number for each record, or only the total; neither, if others write `instead`.

    `above` names the first record above --max and its tokens; None if there is none.
    """

    def __init__(self, request: CountRequest, output: streams.Output, *, instead: bool = False) -> None:
        self._asked, self._output = request.options, output
        self._writes = not (instead or self._asked.only_total)
        self.above: str | None = None
        self._total = 0

    def add(
        self,
        shown: str,
        numbers: Sequence[int],
        counts: Iterable[memoryview],
        marks: Iterator[Mapping[str, object]] | None = None,
    ) -> None:
        """Write, or with --total add up, the counts of the records with these numbers, given in any portions.

        `marks` are the JSON members that each record has beside its count.
        """
        asked, limit, at = self._asked, self._asked.limit, 0
        for some in counts:
            self._total += sum(some)
            if limit is not None and self.above is None and max(some, default=0) > limit:
                place = next(place for place, tokens in enumerate(some) if tokens > limit)
                self.above = f"{shown}: record {numbers[at + place]}: {counted(some[place], 'token')}"
            at += len(some)
            if not (self._writes and some):
                continue
            if marks is None and not members_of(asked, 0):
                write_numbers(asked, self._output, some)
            else:
                for tokens in some:
                    write_answer(asked, self._output, tokens, next(marks) if marks else {})

    def end(self, marks: Mapping[str, object] | None = None) -> None:
        """Write the total, if only that was asked for; `marks` are the JSON members beside it."""
        if self._asked.only_total:
            write_answer(self._asked, self._output, self._total, marks or {})


def write_records(request: CountRequest, answers: RecordCounts, output: streams.Output) -> None:
    """Write the count of each record."""
    for source in request.texts:
        for batch, counts in counts_of(request, source):
            output.answer(batch.objects)
            answers.add(source.shown, batch.numbers, counts)
            batch.finish(output)


def counts_of(request: CountRequest, source: RecordSource) -> Iterator[tuple[records.Batch, Iterable[memoryview]]]:
    """Yield each batch of an input's records with their counts, in portions."""
    batches = records.batches_of(source, request.options)
    for batch, counts in request.shared_batches(batches, lambda batch: _count_batch(request, batch)):
        found = [counts] if counts is not None else _one_by_one(request, batch)
        yield batch, scaled_counts(request.options.only_estimate, found)


def _count_batch(request: TextRequest[TextOptions], batch: records.Batch) -> memoryview | None:
    """Return the counts of a batch of records, made in one call; None where records have to be counted one by one."""
    if request.needs_one_by_one(batch):
        return None if batch.words else _count_pairs(request, batch)
    batch.replace_invalid(request.options.errors)
    counts = record_runs.count_records(request.encoding.tokenizer, batch.texts, request.read_options)
    if counts is not None:
        request.watch_records(batch.texts)
    return None if counts is None else request.finished_counts(counts)


def _count_pairs(request: TextRequest[TextOptions], batch: records.Batch) -> memoryview | None:
    """Return what `_count_batch` does, of a batch in which records have a second text."""
    batch.replace_invalid(request.options.errors)
    with suppress(InputError):  # it is told with the record's name when records are counted one by one
        found = batch.with_pairs(request.options.errors)
        counts = record_runs.count_records(request.encoding.tokenizer, found.texts, request.read_options)
        if counts is not None:
            request.watch_records(found.texts)
            each = iter(counts)
            return memoryview(array("I", [request.finished_count(*islice(each, texts)) for texts in found.counts]))
    return None


def _one_by_one(request: TextRequest[TextOptions], batch: records.Batch) -> Iterator[memoryview]:
    """Yield the count of each record, as an array of one; an error names the record."""
    tokenizer = request.encoding.tokenizer
    for record in batch.records():
        with streams.naming(record.shown):
            pair = pair_of(record, request.options.errors) if tokenizer.sees_whole_texts else None
            texts = [record] if pair is None else [record, pair]
            counts = [sum(request.shared_parts(tokenizer.count_part, text)) for text in texts]
            yield memoryview(array("Q", [request.finished_count(*counts)]))


def write_answer(asked: CountOptions, output: streams.Output, tokens: int, marks: Mapping[str, object]) -> None:
    """Write a count with what --budget and --price make of it, on one line; `marks` are more JSON members."""
    if asked.as_json:
        output.write(line({"count": tokens, **members_of(asked, tokens), **marks}))
        return
    values = [value for value, _ in rows_of(asked, tokens)] or [str(tokens)]
    output.write(" ".join(values).encode() + SEPARATOR[asked.records or "lines"])


def write_numbers(asked: TextOptions, output: streams.Output, counts: memoryview) -> None:
    """Write counts (uint32; or one uint64) as lines or as JSON objects."""
    before, after = b"", SEPARATOR[asked.records or "lines"]
    if asked.as_json:
        before, after = around("count")
    numbers = b"%d" % counts[0] if len(counts) == 1 else format_ids(counts, after + before)
    output.write(before + numbers + after)
