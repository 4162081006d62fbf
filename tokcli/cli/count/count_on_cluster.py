"""`count --dask`: tasks that count inputs, parts of long inputs, or records, and their results as rows and numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli import messages, streams
from tokcli.cli.cluster_work import ClusterWork, cluster_of, in_tasks, reachable, shift, work_of
from tokcli.cli.count.count_records import RecordCounts, counts_of
from tokcli.cli.count.many import ManyCounts, Outcome, row_of
from tokcli.cli.inputs.sections import Section
from tokcli.cli.request import TextRequest
from tokcli.cli.walk.binary_files import HEAD_BYTES, is_binary
from tokcli.cluster.tasks import in_order
from tokcli.engine.base.time_limit import time_limit
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountRequest


class SectionTally(NamedTuple):
    """The count of a section: tokens by each encoding and bytes that were read; or an error; empty if it is binary."""

    tokens: tuple[int, ...] = ()
    size: int = 0
    error: TokcliError | None = None


class ClusterCounts(ManyCounts):
    """The counts of all inputs, computed on a cluster."""

    def found(self, sources: Iterator[streams.Input]) -> Iterator[Outcome]:
        """Yield the outcome of each input, summed over its sections."""
        request = self.request
        work = work_of(request.options, [one.encoding for one in self.requests])
        with cluster_of(request.options) as client:
            tasks = in_tasks(map(Section, reachable(sources, request.options.dask)), request)
            parts: list[SectionTally] = []  # of an input whose end is still to come
            for sections, tallies in in_order(client, tally, tasks, work):
                for section, made in zip(sections, tallies, strict=True):
                    parts.append(made)
                    if section.stop is None:
                        yield _outcome(section.source, parts)
                        parts = []


def _outcome(source: streams.Input, parts: list[SectionTally]) -> Outcome:
    for part in parts:
        if part.error is not None:
            return Outcome(source, error=part.error)
        if not part.tokens:
            return Outcome(source)
    tokens = tuple(map(sum, zip(*(part.tokens for part in parts), strict=True)))
    return Outcome(source, row_of(source, tokens, sum(part.size for part in parts)))


def tally(sections: list[Section], work: ClusterWork) -> list[SectionTally]:
    """Return the count of each section (a task of the cluster)."""
    counts = ManyCounts([TextRequest(work.options, encoding) for encoding in work.encodings])
    with time_limit(work.seconds):
        if not sections[0].is_whole:  # a part of a long input is alone in its task
            return [_counted(counts, sections[0])]
        made = counts.outcomes([section.source for section in sections])
        return [
            _counted(counts, section) if outcome.is_long else _tally(outcome)
            for section, outcome in zip(sections, made, strict=True)
        ]


def _tally(outcome: Outcome) -> SectionTally:
    if outcome.row is None:
        return SectionTally(error=outcome.error)
    return SectionTally(outcome.row.tokens, outcome.row.size)


def _counted(counts: ManyCounts, section: Section) -> SectionTally:
    source = section.source
    try:
        with streams.naming(source.shown):
            if not section.start and is_binary(source, next(source.blocks(HEAD_BYTES), b"")):
                return SectionTally()
            row = counts.counted(source, section.blocks)
    except TokcliError as error:
        return SectionTally(error=shift(error, section))
    return SectionTally(row.tokens, row.size)


# --- records ---------------------------------------------------------------------------------------------------------


class RecordTally(NamedTuple):
    """The numbers of the records of a section, their counts in tokens, and the error of the record after them.

    `left_out`: how many records were left out, and what is wrong with one of them.
    """

    numbers: list[int]
    counts: array[int]
    error: TokcliError | None = None
    left_out: tuple[int, str] = (0, "")


def write_cluster_records(request: CountRequest, answers: RecordCounts) -> None:
    """Write the counts of records as a cluster computes them."""
    work = work_of(request.options, [request.encoding])
    with cluster_of(request.options) as client:
        tasks = in_tasks(map(Section, reachable(request.texts, request.options.dask)), request)
        for sections, made in in_order(client, tally_records, tasks, work):
            for section, (numbers, counts, error, left_out) in zip(sections, made, strict=True):
                messages.leave_out(*left_out)
                answers.add(section.shown, numbers, [memoryview(counts)])
                if error is not None:
                    raise error


def tally_records(sections: list[Section], work: ClusterWork) -> list[RecordTally]:
    """Return the counts of the records of each section (a task of the cluster)."""
    request = TextRequest(work.options, work.encodings[0])
    with time_limit(work.seconds):
        return [_records(request, section) for section in sections]


def _records(request: CountRequest, section: Section) -> RecordTally:
    numbers: list[int] = []
    found = array("I")
    try:
        for batch, counts in counts_of(request, section):
            numbers.extend(batch.numbers)
            for some in counts:
                found.extend(some)
            batch.raise_error()
    except TokcliError as error:
        return RecordTally(numbers[: len(found)], found, error, messages.take_left_out())
    return RecordTally(numbers, found, left_out=messages.take_left_out())
