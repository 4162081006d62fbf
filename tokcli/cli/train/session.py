"""`train`: the steps of one run. The corpus is counted, merges are learnt from the counts, and ranks are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING

from tokcli.cli import messages, streams
from tokcli.cli.request import files_read, texts_in_folders, thread_count
from tokcli.cli.train.corpus_files import Corpus
from tokcli.cli.train.output import Files
from tokcli.cli.train.output_names import note_on_form
from tokcli.cli.train.plan import Plan
from tokcli.cli.train.progress import Progress
from tokcli.cli.train.report import tell, why_fewer
from tokcli.cli.train.train_options import TrainOptions
from tokcli.errors import InputError, LongPieceError
from tokcli.formats.export.output_names import form_by_name
from tokcli.registry.registered import get_encoding
from tokcli.render.numbers import counted as count_of
from tokcli.training.corpus_counter import CorpusCounter, PieceCounts
from tokcli.training.counts_file import write_counts
from tokcli.training.train import learn_ranks
from tokcli.training.trainer import OnMerge, PairsLeft

if TYPE_CHECKING:
    from pathlib import Path

    from tokcli.cli.train.checkpoint import Checkpoint
    from tokcli.cli.train.corpus_files import TextsIn
    from tokcli.engine.encoding import Encoding

BYTE_TOKENS = 256
FIRST_WORDS = 40  # pieces that --visualise shows
BESIDE = ("r50k_base", "cl100k_base", "o200k_base")  # encodings to compare with: one for each set of ranks in use


class Session:
    """One run of the command: its options and its steps. `status` is the exit status.

    Each input is one text, and counted here; `FullSession` knows records, counts files, clusters and checkpoints, too.
    """

    def __init__(self, asked: TrainOptions) -> None:
        self._asked = asked
        self.status, self._sources = inputs_of(asked)
        self._plan = Plan(asked, self._sources, self._note)
        self._corpus = Corpus(self._sources, limit=asked.limit, held_back=asked.hold_back, texts_in=self._texts_in())
        kind = Progress.kind_for(asked.progress_kind, quiet=asked.quiet)
        self._left: PairsLeft | None = None  # where training stopped early
        self._progress = Progress(kind, None if kind == "none" or asked.counts else self._corpus.total_bytes())

    def _texts_in(self) -> TextsIn | None:
        """Return what finds the texts in an input, or None where an input is one text."""
        return None

    def _note(self, text: str) -> None:
        if not self._asked.quiet:
            messages.print_note(text)

    @property
    def _threads(self) -> int:
        if self._asked.ties == "first" or self._asked.visualise:
            return 1  # pieces have to come in the order of the corpus
        return thread_count(self._asked.jobs)

    def _stopped(self, left: PairsLeft) -> None:
        self._left = left

    # --- counting ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _counting(self, seed_special: Iterable[str] = (), folder: Path | None = None) -> Iterator[CorpusCounter]:
        counting = CorpusCounter(
            self._plan.pretokenizer(),
            errors=self._asked.errors,
            special_tokens=[*self._plan.special_tokens, *seed_special],
            threads=self._threads,
            memory=self._asked.memory,
            folder=folder,
        )
        try:
            yield counting
        finally:
            counting.close()

    def _count(self, counting: CorpusCounter, checkpoint: Checkpoint | None = None) -> PieceCounts:
        """Count the corpus, whatever it is; errors say what to do about it."""
        try:
            self._read(counting, checkpoint)
        except OverflowError:
            raise InputError("a count is more than 2**62") from None
        except LongPieceError as error:
            error.hint = self._plan.on_long_piece
            raise
        finally:
            self._progress.end()
        return counting.finish()

    def _read(self, counting: CorpusCounter, checkpoint: Checkpoint | None) -> None:
        """Count what the inputs hold."""
        self._corpus.count(counting, self._progress, checkpoint)

    def write_counts(self, path: str) -> None:
        """Write the counts to a file (--counts-only)."""
        with streams.Output(path, files_read(self._asked, self._sources)) as output, self._counting() as counting:
            write_counts(output.write, counting.about, self._count(counting).blocks())

    def report(self) -> None:
        """Report the size of the corpus, and the memory that merging takes (--dry-run)."""
        pieces = piece_bytes = total = 0
        with self._counting() as counting:
            for piece, count in self._count(counting).items():
                pieces, piece_bytes, total = pieces + 1, piece_bytes + len(piece), total + len(piece) * count
        # a row of symbols with an end for each piece, lists of places, and the table of pieces (measured: within 20%)
        width = 2 if (self._asked.vocab_size or 0) < 1 << 16 else 4
        taken = (piece_bytes + pieces) * (width + 2) + pieces * 44
        rows = {"bytes": total, "distinct pieces": pieces, "bytes in them": piece_bytes}
        with streams.Output(None) as output:
            for name, number in rows.items():
                output.write(f"{name}\t{number}\n".encode())
            output.write(f"memory\tabout {max(taken >> 20, 1)} MiB\n".encode())

    # --- training ----------------------------------------------------------------------------------------------------

    def train(self, path: str, vocab_size: int) -> None:
        """Count, learn `vocab_size` tokens, write them to a file, and report."""
        asked, plan, rules = self._asked, self._plan, self._plan.rules
        read = list(files_read(asked, self._sources))
        with self._open_checkpoint(path) as checkpoint, Files(path, asked.form or "tiktoken", read) as files:
            files.check(plan.made(plan.encoding("", dict(rules.seed)), None), self._note)  # before the work begins
            with self._counting(rules.seed_special, checkpoint.folder if checkpoint else None) as counting:
                if checkpoint:
                    checkpoint.attach(counting)
                counted = self._count(counting, checkpoint)
                if not len(counted.table) and not counted.runs:
                    raise InputError("the corpus is empty", "Name FILEs that hold text.")
                ranks, merges = self._merge(counted, checkpoint)
            encoding = plan.encoding("trained", ranks)
            written = files.write(plan.made(encoding, merges))
        if not asked.quiet:
            few = why_fewer(vocab_size - len(ranks), self._left, rules) if self._left else ""
            tell(written, len(ranks), len(ranks) - len(rules.seed), len(encoding.special_tokens_set), few)
        if asked.hold_back:
            measure(encoding, self._corpus.held_back())

    def _open_checkpoint(self, output: str) -> AbstractContextManager[Checkpoint | None]:  # noqa: ARG002
        return nullcontext()

    def _merge(
        self, counted: PieceCounts, checkpoint: Checkpoint | None
    ) -> tuple[dict[bytes, int], list[tuple[bytes, bytes]] | None]:
        """Return the ranks, and the merges if the format needs them; None if some were made before this run."""
        asked, rules = self._asked, self._plan.rules
        merges: list[tuple[bytes, bytes]] = []
        listeners: list[OnMerge] = []
        if asked.form != "tiktoken":
            listeners.append(lambda _, left, right, *__: merges.append((left, right)))
        if checkpoint:
            rules = checkpoint.resumed(rules)
            listeners.append(checkpoint.keeps(rules.tokens))
        self._progress.begin_merging(rules.vocab_size - len(rules.seed))
        if self._progress.is_shown:
            listeners.append(self._progress.merged)
        with ExitStack() as stack:
            if asked.visualise:
                from tokcli.cli.train.merge_log import MergeLog  # rich

                words = [piece for piece, _ in islice(counted.items(), FIRST_WORDS)]
                output = stack.enter_context(streams.Output(None))
                listeners.append(MergeLog(words, rules.tokens, output, asked.color).merged)
            try:
                ranks = learn_ranks(
                    counted, rules, device=asked.device, on_merge=_all(listeners), on_early_stop=self._stopped
                )
            finally:
                self._progress.end()
        return ranks, merges if len(rules.seed) == BYTE_TOKENS else None


def with_form(asked: TrainOptions) -> TrainOptions:
    """Return the options with the format to write, which the name of the output may tell; a note says so."""
    told = form_by_name(asked.output or "")
    note = "" if asked.quiet or asked.counts_only else note_on_form(asked.output or "", asked.form, told)
    if note:
        messages.print_note(note)
    return asked.replace(form=asked.form or told or "tiktoken")


def inputs_of(asked: TrainOptions) -> tuple[int, list[streams.Input]]:
    """Return the exit status so far, and the inputs; of folders and lists, those that are text."""
    named = None if asked.recursive else streams.inputs(asked)
    if named is not None and (asked.counts or asked.list_of_names is None):
        return 0, named
    found = texts_in_folders(asked, asked.errors, keeps=False, named=named)
    sources = list(found)
    return found.status, sources


def measure(encoding: Encoding, texts: Iterable[bytes]) -> None:
    """Write a line for each encoding to standard error: the bytes per token of what was held back (--hold-back)."""
    held_back = [text.decode("utf-8", "replace") for text in texts]
    size = sum(len(text.encode()) for text in held_back)
    messages.print_as_is(f"bytes per token on {count_of(size, 'byte')} held back:\n")
    for name, one in [("this", encoding), *((name, get_encoding(name)) for name in BESIDE)]:
        tokens = sum(map(one.count, held_back))
        messages.print_as_is(f"{name:>12} {size / max(tokens, 1):6.3f}  ({count_of(one.n_vocab, 'id')})\n")


def _all(listeners: list[OnMerge]) -> OnMerge | None:
    """Return one listener that calls all of these; None if there are none."""
    if len(listeners) < 2:
        return listeners[0] if listeners else None

    def tell_all(index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:
        for listener in listeners:
            listener(index, left, right, token, count)

    return tell_all
