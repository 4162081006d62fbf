"""`train`: the corpus, in files, folders or records; how much of it is used, and how it is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from tokcli.cli import streams
from tokcli.cli.inputs.input_facts import between, size_of
from tokcli.engine.stream.utf8 import cut_at_end
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.cli.train.checkpoint import Checkpoint
    from tokcli.cli.train.progress import Progress
    from tokcli.training.corpus_counter import CorpusCounter

READ_BYTES = 1 << 18
TextsIn: TypeAlias = Callable[[streams.Input], Iterable[bytes]]


def path_of(source: streams.Input) -> str:
    """Return the path of an input; InputError for text and standard input, which --counts and --dask cannot open."""
    if source.data is not None or source.name == streams.STANDARD_INPUT:
        raise InputError("not a file", "--counts and --dask read files: name them.", where=source.shown)
    return source.name


class Corpus:
    """Inputs, and how much of them is used: `limit` bytes in all, and of each input all but `held_back` percent.

    An input is one text, or the texts that `texts_in` finds in it.
    """

    def __init__(
        self, sources: list[streams.Input], *, limit: int | None, held_back: float, texts_in: TextsIn | None = None
    ) -> None:
        self.sources = sources
        self._left = limit
        self._held_back = held_back
        self._texts_in = texts_in
        if held_back and any(size_of(source) is None for source in sources):
            raise InputError("--hold-back needs files: the length of a stream is not known")

    def total_bytes(self) -> int | None:
        """Return how many bytes will be counted; None where that is not known."""
        sizes = [size_of(source) for source in self.sources]
        if None in sizes:
            return self._left
        total = sum(self._taken(size or 0) for size in sizes)
        return total if self._left is None else min(total, self._left)

    def _taken(self, size: int) -> int:
        return size - int(size * self._held_back / 100)

    def held_back(self) -> Iterator[bytes]:
        """Yield the end of each input, which --hold-back keeps out of training, without a partial first character."""
        for source in self.sources:
            size = size_of(source) or 0
            data = b"".join(between(source.blocks(READ_BYTES), self._taken(size), size))
            yield data.decode("utf-8", "ignore").encode()  # it may begin within a character

    def count(self, counting: CorpusCounter, progress: Progress, checkpoint: Checkpoint | None) -> None:
        """Count the corpus, from the position of the checkpoint on, if there is one."""
        first = offset = 0
        if checkpoint:
            first, offset, self._left = checkpoint.position
        for number, source in enumerate(self.sources[first:], first):
            if checkpoint:
                checkpoint.begin(number, self._left)
            with streams.naming(source.shown):
                if self._texts_in is not None:
                    counting.add_texts(self._within(self._texts_in(source)), progress.counted)
                else:
                    begin = offset if number == first else 0
                    self._skip(begin)
                    progress.counted(begin)
                    counting.add_stream(self._limited(source, begin), progress.counted, begin, checkpoint)
            if checkpoint:
                checkpoint.begin(number + 1, self._left)
                if checkpoint.due():
                    checkpoint.save()

    def _skip(self, size: int) -> None:
        if self._left is not None:
            self._left = max(self._left - size, 0)

    def _limited(self, source: streams.Input, begin: int) -> Iterator[bytes]:
        """Yield the blocks of an input that are used, from `begin` on; the last ends with a whole character."""
        size = size_of(source) if self._held_back else None
        end = None if size is None else self._taken(size)
        if self._left is not None:
            end = begin + self._left if end is None else min(end, begin + self._left)
        blocks = source.blocks(READ_BYTES)
        if end is None:
            yield from between(blocks, begin, None)
            return
        last = b""
        for block in between(blocks, begin, end):
            if last:
                self._skip(len(last))
                yield last
            last = block
        self._skip(len(last))
        size_now = size_of(source)
        yield last if size_now is not None and size_now <= end else last[: len(last) - cut_at_end(last)]

    def _within(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield texts as far as --limit allows; the last may be cut, after a whole character."""
        for text in texts:
            if self._left is not None and len(text) >= self._left:
                text = text[: self._left]
                yield text[: len(text) - cut_at_end(text)]
                self._left = 0
                return
            self._skip(len(text))
            yield text
