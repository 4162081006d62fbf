"""Counts a corpus on a Dask cluster (extra `dask`): each task counts a slice, and the counts are merged as a tree.

Tasks are pure: when a worker dies, another one repeats its tasks, and nothing is counted twice.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from tokcli.cluster.files import SLICE_BYTES, can_cut, first_cut, opened_url, size_of_url
from tokcli.cluster.tasks import connected
from tokcli.engine.base.time_limit import seconds_allowed, time_limit
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import InputError, TokcliError, reason_of
from tokcli.training.corpus_counter import CorpusCounter
from tokcli.training.count_blocks import merge_runs
from tokcli.training.counts_file import CountsFile, write_counts

FAN_IN = 8  # counts files that one task merges
READ_BYTES = 1 << 20
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # that of UTF-32-LE begins as the first


class CorpusSlice(NamedTuple):
    """The text that one task counts: a file or url, or a part of one.

    A part begins at the first cut from byte `start` on, and ends at the first from byte `end` on (None: at the end).
    """

    url: str
    start: int = 0
    end: int | None = None


def count_on_cluster(address: str, urls: list[str], counter: CorpusCounter, workers: int = 2) -> None:
    """Count files, or any urls that fsspec opens, on the cluster at an address, and add the counts to `counter`.

    The counts are the same as those of counting on this machine. TokcliError where there is no Dask, or no cluster.
    """
    about: dict[str, Any] = counter.about
    is_cut = can_cut(about["pat_str"], counter.special_tokens)
    slices = [each for url in urls for each in _slices(url, is_cut)]
    with connected(address, workers) as client:
        counts = client.map(count_slice, slices, about=about, seconds=seconds_allowed(), pure=True)
        while len(counts) > 1:
            groups = [counts[i : i + FAN_IN] for i in range(0, len(counts), FAN_IN)]
            counts = [client.submit(merge_counts, group, pure=True) for group in groups]
        data: bytes = counts[0].result() if counts else b""
    if data:
        counter.add_blocks(CountsFile(io.BytesIO(data), "the cluster's counts").blocks())


def _slices(url: str, is_cut: bool) -> list[CorpusSlice]:
    size = size_of_url(url)
    return cut_into_slices(url, size, SLICE_BYTES) if is_cut and size is not None else [CorpusSlice(url)]


def cut_into_slices(url: str, size: int, slice_bytes: int) -> list[CorpusSlice]:
    """Return a file of `size` bytes as slices of about `slice_bytes` each."""
    starts = list(range(0, size, slice_bytes)) or [0]
    return [CorpusSlice(url, start, start + slice_bytes if start != starts[-1] else None) for start in starts]


def count_slice(corpus_slice: CorpusSlice, about: dict[str, Any], seconds: float) -> bytes:
    """Return the counts file of a slice (a task on the cluster); `seconds` is the time limit of the pattern."""
    try:
        with time_limit(seconds):
            counter = CorpusCounter(
                PreTokenizer(about["pat_str"]), errors=about["errors"], special_tokens=about["special_tokens"]
            )
            counter.add_stream(_read(corpus_slice, takes_marks=about["errors"] == "bytes"))
    except OSError as error:
        raise InputError(reason_of(error), where=corpus_slice.url) from None
    except TokcliError as error:
        start = corpus_slice.start
        error.where = f"{corpus_slice.url}: after byte {start}" if start else corpus_slice.url
        raise
    return _file_of(about, counter.finish().blocks())


def merge_counts(files: list[bytes]) -> bytes:
    """Return several counts files as one (a task on the cluster)."""
    opened = [CountsFile(io.BytesIO(data), "counts") for data in files]
    return _file_of(opened[0].about, merge_runs([file.blocks() for file in opened]))


def _file_of(about: dict[str, Any], blocks: Iterator[bytes]) -> bytes:
    out = io.BytesIO()
    write_counts(out.write, about, blocks)
    return out.getvalue()


def _read(corpus_slice: CorpusSlice, *, takes_marks: bool) -> Iterator[bytes]:
    start, end = corpus_slice.start, corpus_slice.end
    with opened_url(corpus_slice.url) as file:
        at = first_cut(file, start) if start else 0
        end = None if end is None else first_cut(file, end)
        file.seek(at)
        while block := file.read(READ_BYTES if end is None else min(READ_BYTES, end - at)):
            if at == 0 and block.startswith(MARKS) and not takes_marks:
                raise InputError("UTF-16 or UTF-32 text", "Train without --dask, which reads it, or save it as UTF-8.")
            at += len(block)
            yield block
