"""What `count --dask` and `encode --shards --dask` share: the options as workers get them, and inputs as tasks.

Dask does the rest (tokcli/cluster): it distributes the tasks, and repeats those of a worker that dies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.cli.inputs.columns import file_of_columns
from tokcli.cli.inputs.input_facts import is_converted, size_on_disk
from tokcli.cli.inputs.sections import CutFrom, Section, is_one_piece, record_from, separator_of
from tokcli.cli.request import TextRequest, thread_count
from tokcli.cli.streams import STANDARD_INPUT, Input
from tokcli.cluster import LOCAL
from tokcli.cluster.files import can_cut, first_cut, opened_url
from tokcli.cluster.tasks import connected
from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.errors import InputError, TokcliError

if TYPE_CHECKING:
    from tokcli.cli.options import ClusterOptions
    from tokcli.engine.encoding import Encoding

TASK_BYTES = 8 << 20  # of a long input, or of short ones together
TASK_INPUTS = 256  # short inputs in a task, at most


class ClusterWork(NamedTuple):
    """The needs of every task: the options, an encoding for each -e, and the seconds that a pattern may take."""

    options: Any
    encodings: list[Encoding]
    seconds: float


def work_of(options: ClusterOptions, encodings: list[Encoding]) -> ClusterWork:
    """Return what every worker gets: the options without those that name inputs and outputs, and the encodings."""
    alone = options.replace(
        dask=None,
        files=(),
        text=None,
        files0_from=None,
        files_from=None,
        recursive=False,
        quiet=True,
        output=None,
        jobs=1,
    )
    return ClusterWork(alone, encodings, seconds_allowed())


@contextmanager
def cluster_of(options: ClusterOptions) -> Iterator[Any]:
    """Connect to the cluster of --dask, or start one on this machine."""
    with connected(options.dask or LOCAL, thread_count(options.jobs)) as client:
        yield client


def reachable(sources: Iterable[Input], address: str | None) -> Iterator[Input]:
    """Yield inputs so that workers, whose current folder may be another, can open them; InputError for standard input.

    `address` is that of --dask.
    """
    for source in sources:
        if source.name == STANDARD_INPUT:
            raise InputError("not a file", "--dask reads files and urls: name them.", where=source.shown)
        if "://" in source.name:
            yield source.replace(opens=opened_url)
        elif address == LOCAL:
            yield source
        elif file_of_columns(source):
            yield source.replace(name=str(Path.cwd() / source.name))
        else:
            yield source.replace(opens=partial(_opened_in, str(Path.cwd())))


def _opened_in(folder: str, name: str) -> FileIO:
    """Open a file whose name is relative to a folder."""
    return FileIO(Path(folder) / name)


def in_tasks(sections: Iterable[Section], request: TextRequest[ClusterOptions]) -> Iterator[list[Section]]:
    """Yield sections in groups, one for each task: many short ones, or a single part of a long one."""
    group: list[Section] = []
    size = 0
    for section in sections:
        own, whole = _sizes(section)
        if own > TASK_BYTES:
            if group:
                yield group
            group, size = [], 0
            yield from ([part] for part in _parts(section, whole, request))
            continue
        group.append(section)
        size += own
        if size >= TASK_BYTES or len(group) == TASK_INPUTS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _sizes(section: Section) -> tuple[int, int]:
    """Return the size in bytes of a section and of its input; 0 where it is not known (the worker reports why)."""
    try:
        whole = size_on_disk(section.source) or 0
    except TokcliError:
        whole = 0
    return max((whole if section.stop is None else section.stop) - section.start, 0), whole


def _parts(section: Section, size: int, request: TextRequest[ClusterOptions]) -> Iterator[Section]:
    """Return a long section in parts that split no record, piece or special token; or whole, if it cannot be cut."""
    source, separator = section.source, separator_of(request.options.records)
    cut_from: CutFrom | None = None
    if separator is not None:
        if not is_one_piece(source):
            cut_from = partial(record_from, source, size, separator=separator)
    elif _takes_parts(request) and not is_converted(source):
        cut_from = partial(_text_from, source)
    return iter([section]) if cut_from is None else section.parts(size, TASK_BYTES, cut_from)


def _takes_parts(request: TextRequest[ClusterOptions]) -> bool:
    """Return whether the ids of a text are those of its parts when it is cut at places that `first_cut` finds."""
    tokenizer = request.encoding.tokenizer
    pretokenizer = None if tokenizer.sees_whole_texts else tokenizer.pretokenizer
    return pretokenizer is not None and can_cut(pretokenizer.pat_str, request.looked_for)


def _text_from(source: Input, place: int) -> int:
    with source.opened() as file:
        return first_cut(file, place)


def shift(error: TokcliError, section: Section) -> TokcliError:
    """Return an error of a part of an input, with its offset in the whole input."""
    if error.offset is not None and error.unit == "byte":
        error.offset += section.start
    return error
