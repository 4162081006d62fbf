"""Counts a corpus on a Dask cluster (extra `dask`): a part of it for each task, the counts merged as a tree.

Tasks are pure: what a worker that died had done or was doing, another one does again, and nothing is counted twice.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from tokcli.engine.native_encoder import FAMILY_OF
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.errors import InputError, TokcliError
from tokcli.training.counting import Counting
from tokcli.training.counts import merge_runs
from tokcli.training.counts_file import CountsFile, write_counts

LOCAL = "local"  # in place of an address: processes on this machine
PART_BYTES = 32 << 20  # of a file that can be cut
PATIENCE = "15s"  # until a cluster answers
FAN_IN = 8  # counts that one task merges
READ_BYTES = 1 << 20
# Where the text of a known pattern can be cut, whatever stands around (native/scan.h says so of its next_cut)
_CUT = re.compile(rb"(?<=[!-~]) |(?<=[0-9A-Za-z])\n")


class Part(NamedTuple):
    """What one task counts: a file or url, or from the first cut behind `start` to the first behind `end`."""

    url: str
    start: int = 0
    end: int | None = None


def count_on_cluster(address: str, urls: list[str], counting: Counting, workers: int = 2) -> None:
    """Counts files, or any urls that fsspec opens, on the cluster at an address, and adds that to `counting`.

    The result is that of counting here. TokcliError where there is no dask, or no cluster.
    """
    about = counting.about
    can_cut = about["pat_str"] in FAMILY_OF and not any(set(token) & set(" \n") for token in counting.special_tokens)
    parts = [part for url in urls for part in _parts(url, can_cut)]
    with _client(address, workers) as client:
        counts = client.map(count_part, parts, about=about, timeout=counting.timeout, pure=True)
        while len(counts) > 1:
            groups = [counts[i : i + FAN_IN] for i in range(0, len(counts), FAN_IN)]
            counts = [client.submit(merge_counts, group, pure=True) for group in groups]
        data: bytes = counts[0].result() if counts else b""
    if data:
        counting.add_blocks(CountsFile(io.BytesIO(data), "the cluster's counts").blocks())


@contextmanager
def _client(address: str, workers: int) -> Iterator[Any]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise TokcliError("--dask needs distributed, which is not installed", "pip install 'tokcli[dask]'") from None
    if address == LOCAL:
        made = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        with made as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise TokcliError(
            f"--dask {address}: no cluster answers: {error}", "Name its scheduler, tcp://HOST:PORT."
        ) from None
    with client:
        yield client


def _parts(url: str, can_cut: bool) -> list[Part]:
    size = _size(url)
    if not can_cut or size is None or size <= PART_BYTES:
        return [Part(url)]
    return cut_into_parts(url, size, PART_BYTES)


def cut_into_parts(url: str, size: int, part: int) -> list[Part]:
    """A file of `size` bytes in parts of about so many."""
    bounds = list(range(0, size, part)) or [0]
    return [Part(url, start, start + part if start != bounds[-1] else None) for start in bounds]


def _size(url: str) -> int | None:
    """The bytes of a file or url; None where that cannot be told, or where it is compressed."""
    try:
        fsspec: Any = import_module("fsspec")
        files, path = fsspec.core.url_to_fs(url)
        size = files.size(path)
    except (OSError, ValueError, NotImplementedError, ImportError) as error:
        raise InputError(f"{url}: {_reason(error)}") from None
    return None if size is None else int(size)


def count_part(part: Part, about: dict[str, Any], timeout: float) -> bytes:
    """A task: the counts file of a part."""
    counting = Counting(
        PreTokenizer(about["pat_str"], timeout=timeout),
        errors=about["errors"],
        special_tokens=about["special_tokens"],
    )
    try:
        counting.add_stream(_read(part))
    except OSError as error:
        raise InputError(f"{part.url}: {_reason(error)}") from None
    except TokcliError as error:
        where = f"{part.url}: behind byte {part.start}: " if part.start else f"{part.url}: "
        raise InputError(where + error.what, error.hint) from None
    return _file_of(about, counting.finish().blocks())


def merge_counts(files: list[bytes]) -> bytes:
    """A task: some counts files as one."""
    opened = [CountsFile(io.BytesIO(data), "counts") for data in files]
    return _file_of(opened[0].about, merge_runs([file.blocks() for file in opened]))


def _file_of(about: dict[str, Any], blocks: Iterator[bytes]) -> bytes:
    out = io.BytesIO()
    write_counts(out.write, about, blocks)
    return out.getvalue()


def _read(part: Part) -> Iterator[bytes]:
    with import_module("fsspec").open(part.url, "rb") as file:
        at = _cut_behind(file, part.start) if part.start else 0
        end = None if part.end is None else _cut_behind(file, part.end)
        file.seek(at)
        while block := file.read(READ_BYTES if end is None else min(READ_BYTES, end - at)):
            at += len(block)
            yield block


def _cut_behind(file: Any, at: int) -> int:
    """The first place at or behind `at` where text can be cut; the end of the file where there is none."""
    file.seek(at - 1)
    window, searched = b"", 1
    while block := file.read(1 << 16):
        window += block
        if match := _CUT.search(window, searched):
            return int(at - 1 + match.start())
        searched = len(window)
    return at - 1 + len(window)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
