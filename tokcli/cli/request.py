"""What a command was asked for: its options, its inputs, and the encoding, which is loaded when it is first used.

A command body makes a request, calls the engine and writes.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from tokcli.cli import messages, streams
from tokcli.cli.options import (
    DEFAULT_ENCODING,
    EncodingOptions,
    FolderOptions,
    InputOptions,
    Options,
    TextOptions,
)
from tokcli.engine import Generic, backend
from tokcli.engine.base.arguments import MOST_THREADS, NO_ID
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.stream.parallel import allow_inner_threads, ordered
from tokcli.engine.stream.utf8 import SpecialCounter, work_of
from tokcli.engine.tokens import Tokens
from tokcli.registry import encodings

if TYPE_CHECKING:
    from typing import TypeVar

    from tokcli.cli.inputs.records import Batch, Unparsed
    from tokcli.cli.options import Special
    from tokcli.cli.record import Record
    from tokcli.cli.walk.found_texts import FoundTexts
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.roles.record_runs import Records
    from tokcli.engine.stream.chunks import Chunk, Utf8Errors
    from tokcli.engine.stream.utf8 import StreamPart

    Item = TypeVar("Item")
    Made = TypeVar("Made")
    Asked = TypeVar("Asked", bound=EncodingOptions, covariant=True)
    AskedInput = TypeVar("AskedInput", bound=InputOptions, covariant=True)
    AskedText = TypeVar("AskedText", bound=TextOptions, covariant=True)

TEXT = NO_ID  # stands for the ids of a text
LARGE_BYTES = 1 << 19  # of work; with less, threads lose more by learning the text's words each anew than they gain
SMALL_BLOCK = 1 << 15  # bytes read at a time, so that a view has its first rows at once
SHARED_BLOCK = 1 << 20  # bytes read at a time of a long input that threads share: they hand each other less (x1.14)


class Request(Generic["Asked"]):
    """The options of a command, and the encoding that they name; pass `encoding` if it is loaded already.

    Where `needs_pattern` is set to False, ranks without a pattern will do: no text is encoded.
    """

    needs_pattern = True

    def __init__(self, options: Asked, encoding: Encoding | None = None) -> None:
        self.options = options
        if encoding is not None:
            self.encoding = encoding

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding that the options name."""
        named = self.options.encoding
        return self.encoding_named(DEFAULT_ENCODING if named is None else named, self.options.model)

    def encoding_named(self, spec: str, model: str | None = None) -> Encoding:
        """Return the encoding `spec`, or that of a model, loaded as --pattern and --offline say."""
        resolve = encodings.resolve_encoding if model is None else encodings.resolve_model
        encoding = resolve(
            spec if model is None else model,
            pattern=self.options.pattern,
            needs_pattern=self.needs_pattern,
            offline=self.options.offline,
            note=self.note,
            progress=messages.show_download if messages.redraws() and not self.options.quiet else None,
        )
        if encoding.tokenizer.sees_whole_texts:
            messages.VOCABULARIES.append(spec)
        return encoding

    @cached_property
    def threads(self) -> int:
        """The number of threads that may work: 1 where only Python code runs, else --jobs, or all cores."""
        return thread_count(self.options.jobs) if self.encoding.tokenizer.is_native else 1

    def note(self, text: str) -> None:
        """Print a note, which is neither data nor an error, unless notes are suppressed."""
        if not self.options.quiet:
            messages.print_note(text)


class InputRequest(Request["AskedInput"]):
    """A request that has inputs, whole or as records."""

    field = "ids"  # of JSON records, where --field names no other

    @cached_property
    def inputs(self) -> list[streams.Input]:
        """The inputs, in order."""
        return streams.inputs(self.options)

    @cached_property
    def may_wait(self) -> bool:
        """Whether any input is not a regular file: a pipe may keep its reader waiting."""
        return any(source.status() is None for source in self.inputs)

    def shared(
        self,
        work: Callable[[Item], Made],
        items: Iterator[Item],
        size: Callable[[Item], int],
        *,
        known: int = 0,
        large: int = LARGE_BYTES,
    ) -> Iterator[Made]:
        """Return `map(work, items)`; once the items have more than `large` bytes, --jobs threads share the work.

        `known`: the size that all of them are known to have together.
        """
        seen = known

        def is_large(item: Item) -> bool:
            nonlocal seen
            more = size(item)
            seen += more
            return more > 0 and seen > large

        if self.threads == 1:
            return map(work, items)
        return ordered(work, items, self.threads, is_large=is_large, may_wait=self.may_wait)

    def show_reading(self, *, answers_last: bool = False) -> None:
        """Show on a terminal how much of the inputs has been read, unless the answer appears there meanwhile.

        Where there is no native backend, a note says so once much has been read.

        With `answers_last`, the answer is written after all inputs have been read.
        """
        asked = self.options
        is_free = answers_last or asked.output is not None or not sys.stdout.isatty()
        shows = messages.redraws() and is_free
        reason = backend.missing()
        if not asked.quiet and (shows or reason is not None):
            from tokcli.cli.terminal.reading import watched

            self._watch(lambda inputs: watched(inputs, shows=shows, reason=reason))

    def _watch(self, watched: Callable[[list[streams.Input]], list[streams.Input]]) -> None:
        """Replace the inputs by those that `watched` makes of them."""
        self.inputs = watched(self.inputs)

    def open_output(self, *own: str) -> streams.Output:
        """Return the output for the answer, whose JSON objects have the members `own`.

        The encoding is loaded first, so that its errors are not reported as those of an input.
        """
        _ = self.encoding
        if self.options.all_fields:
            from tokcli.cli.all_fields import AllFields

            return AllFields(self.options.output, self.files_read, own, self.options.field or self.field, self.note)
        return streams.Output(self.options.output, self.files_read)

    @property
    def files_read(self) -> Iterator[streams.Input]:
        """The files that the request reads, which no output may replace."""
        return files_read(self.options, self.inputs)


class TextRequest(InputRequest["AskedText"]):
    """A request whose inputs are text."""

    field = "text"

    _has_words = _has_pairs = False  # whether a record was a list of words, or a pair that has no template

    def encoding_named(self, spec: str, model: str | None = None) -> Encoding:
        """Return an encoding as any request does; notes say what its file asks for and options do."""
        encoding = super().encoding_named(spec, model)
        for text in encoding.tokenizer.file_notes:
            self.note(f"{encoding.name} {text}")
        return encoding

    @cached_property
    def texts(self) -> list[streams.Input] | FoundTexts:
        """The inputs, in order; with -r, or of a list, texts are looked for while they are used."""
        asked = self.options
        if asked.recursive:
            return texts_in_folders(asked, asked.errors)
        return self.inputs if asked.list_of_names is None else texts_in_folders(asked, asked.errors, named=self.inputs)

    @cached_property
    def may_wait(self) -> bool:
        """Whether any input is not a regular file, or is not known yet."""
        return not isinstance(self.texts, list) or super().may_wait

    def _watch(self, watched: Callable[[list[streams.Input]], list[streams.Input]]) -> None:
        """Replace the inputs, or what is searched for texts, by those that `watched` makes of them."""
        if not isinstance(self.texts, list):
            self.texts.named = watched(self.texts.named)
        else:
            super()._watch(watched)

    @property
    def status(self) -> int:
        """The exit status, once the texts have been used."""
        return 0 if isinstance(self.texts, list) else self.texts.status

    @property
    def files_read(self) -> Iterator[streams.Input]:
        """The files that the request reads, which no output may replace."""
        texts = self.texts
        return files_read(self.options, texts if isinstance(texts, list) else texts.quietly())

    def shared_batches(
        self, batches: Iterator[Unparsed], work: Callable[[Batch], Made]
    ) -> Iterator[tuple[Batch, Made]]:
        """Return each batch of records with what `work` makes of it; --jobs threads share that, and the parsing."""

        def parse_and_work(unparsed: Unparsed) -> tuple[Batch, Made]:
            batch = unparsed.parse()
            return batch, work(batch)

        return self.shared(parse_and_work, batches, lambda unparsed: 4 * unparsed.size)

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The special tokens that get their ids."""
        tokens = self.encoding.special_tokens_set
        for name in self.options.allow_special:
            if name not in tokens:
                raise messages.no_special_token(self.encoding, name)
        return frozenset(tokens if self.special == "allow" else self.options.allow_special)

    @cached_property
    def special(self) -> Special:
        """The treatment of special tokens in the text: an error, text, or special tokens."""
        return self.options.special or ("error" if self.options.is_for_ids else "text")

    @cached_property
    def refused(self) -> frozenset[str]:
        """The special tokens that are an error."""
        if self.special != "error":
            return frozenset()
        return frozenset(self.encoding.special_tokens_set - self.allowed)

    @cached_property
    def looked_for(self) -> frozenset[str]:
        """The special tokens that get their ids or are an error."""
        return self.allowed | self.refused

    @cached_property
    def read_options(self) -> ReadOptions:
        """How inputs are read as text: --errors, and the special tokens that get their ids or are an error."""
        return ReadOptions(self.options.errors, self.allowed, self.refused)

    @cached_property
    def _counter(self) -> SpecialCounter | None:
        """The counter of special tokens that are taken as text unasked, for a note; None where none could be."""
        if self.options.special or self.special != "text" or self.options.quiet:
            return None
        name, tokens = self.encoding.name, self.encoding.special_tokens_set - self.allowed
        found = partial(messages.take_as_text, name)
        return SpecialCounter(frozenset(tokens), self.allowed, found) if tokens else None

    def watched(self, blocks: Iterable[bytes]) -> Iterable[bytes]:
        """Return the blocks of a text that is about to be encoded: special tokens that are text are counted."""
        return blocks if self._counter is None else self._counter.watched(blocks)

    def watch_records(self, texts: Records) -> None:
        """Count the special tokens that are text in records that were encoded together."""
        if self._counter is not None:
            self._counter.count_records(texts.data, texts.ends)

    def chunks(self, source: streams.Input | Record) -> Iterator[Chunk]:
        """Read an input or a record as chunks for the encoding."""
        return self.encoding.tokenizer.read_chunks(self.watched(source.blocks()), self.read_options)

    def small_chunks(self, source: streams.Input) -> Iterator[Chunk]:
        """Read an input as chunks that are small, so that the first come at once."""
        return self.encoding.tokenizer.read_chunks(self.watched(source.blocks(SMALL_BLOCK)), self.read_options)

    def parts(self, source: streams.Input | Record) -> Iterator[StreamPart]:
        """Read an input or a record as parts, in whichever form is encoded fastest: enough for ids without text."""
        if not isinstance(source, streams.Input) and source.is_words:
            return chain.from_iterable(map(self.parts, self.words_of(source)))
        if isinstance(source, streams.Input):
            blocks: Iterable[bytes] = source.blocks(most=SHARED_BLOCK if self.threads > 1 else 0)
        else:
            blocks = source.blocks()
        return self.encoding.tokenizer.read_parts(self.watched(blocks), self.read_options)

    def shared_parts(self, work: Callable[[StreamPart], Made], source: streams.Input | Record) -> Iterator[Made]:
        """Apply `work` to each part of an input or a record, which --jobs threads share."""
        if not isinstance(source, streams.Input):
            return map(work, self.parts(source))
        return self.shared_over(work, self.parts(source), known_size(source))

    def shared_over(
        self, work: Callable[[StreamPart], Made], parts: Iterator[StreamPart], known: int = 0
    ) -> Iterator[Made]:
        """Apply `work` to parts of an input, which --jobs threads share; `known` is as for `shared`."""
        if self.encoding.tokenizer.sees_whole_texts:
            work = allow_inner_threads(work, self.threads)
        return self.shared(work, parts, work_of, known=known)

    def needs_one_by_one(self, batch: Batch) -> bool:
        """Return whether records of a batch are encoded one by one: pairs of texts, and lists of words."""
        has_pairs, takes_pairs = batch.has_pairs(), self.encoding.tokenizer.sees_whole_texts
        if has_pairs and not takes_pairs and not self._has_pairs:
            self._has_pairs = True
            self.note(f"{self.encoding.name} has no template for pairs of texts: member 'text_pair' is not encoded.")
        return bool(batch.words) or (takes_pairs and has_pairs)

    def words_of(self, source: Record) -> list[Record]:
        """Return the words of a record, each encoded by itself, as Hugging Face does; note that no space is added."""
        tokenizer, had_words, self._has_words = self.encoding.tokenizer, self._has_words, True
        if not had_words and tokenizer.decode([*tokenizer.encode("a"), *tokenizer.encode("b")]) == b"ab":
            self.note(f"words of a list are encoded one by one: with {self.encoding.name} no space is between them.")
        return source.texts()

    @cached_property
    def template_ids(self) -> tuple[array[int], array[int]]:
        """The ids that the post-processor puts before and after a text (uint32)."""
        if not (self.options.add_special_tokens and self.encoding.tokenizer.sees_whole_texts):
            return array("I"), array("I")
        ids = array("I", self.encoding.tokenizer.finish([Tokens([TEXT])], True).ids)
        at = ids.index(TEXT)
        return ids[:at], ids[at + 1 :]

    def finished_counts(self, counts: memoryview) -> memoryview:
        """Return the number of ids of each single text after the post-processor (uint32)."""
        more = sum(map(len, self.template_ids))
        return memoryview(array("I", [count + more for count in counts])) if more else counts

    def finished_count(self, *counts: int) -> int:
        """Return the number of ids that the post-processor makes of a text, or a pair of texts, with these counts."""
        if len(counts) == 1 and not self.options.add_special_tokens:
            return counts[0]
        times, more = self._template_sizes[len(counts) - 1]
        return sum(time * count for time, count in zip(times, counts, strict=True)) + more

    @cached_property
    def _template_sizes(self) -> list[tuple[list[int], int]]:
        """For a text and for a pair: how often the post-processor takes each text, and how many ids it adds."""

        def size(*counts: int) -> int:
            texts = [Tokens([0] * count) for count in counts]
            return len(self.encoding.tokenizer.finish(texts, self.options.add_special_tokens).ids)

        more = size(0, 0)
        return [([size(1) - size(0)], size(0)), ([size(1, 0) - more, size(0, 1) - more], more)]

    def open_output(self, *own: str) -> streams.Output:
        """Return the output for the answer; check --allow-special first, so that no input is named in its error."""
        _ = self.allowed
        return super().open_output(*own)

    def note_template(self) -> None:
        """Print a note where --add-special-tokens has nothing to add."""
        if self.options.add_special_tokens and not self.encoding.tokenizer.has_template:
            self.note(f"{self.encoding.name} has no template of special tokens; nothing is added.")


def known_size(source: streams.Input) -> int:
    """Return the size of an input in bytes, where that is known before it is read; else 0."""
    return 0 if (status := source.status()) is None else status.st_size


def texts_in_folders(
    asked: FolderOptions, errors: Utf8Errors, *, keeps: bool = True, named: list[streams.Input] | None = None
) -> FoundTexts:
    """Return the inputs of a command with -r, or of a list; the other arguments are those of `FoundTexts`."""
    from tokcli.cli.walk.found_texts import FoundTexts

    return FoundTexts(asked, errors=errors, keeps=keeps, named=named)


def files_read(asked: Options, inputs: Iterable[streams.Input] = ()) -> Iterator[streams.Input]:
    """Yield the inputs, and the other files that options name for reading, which no output may replace."""
    from tokcli.cli.inputs.files_read import named_files  # only where a file is to be replaced

    yield from named_files(asked, inputs)


def thread_count(jobs: int | None) -> int:
    """Return the number of threads for --jobs: at most MOST_THREADS; for None, one per core of this process."""
    if jobs is not None:
        return min(jobs, MOST_THREADS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
