"""`train`: the steps of one call. The corpus is counted, merges are learnt from the counts, and written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokcli.cli import streams
from tokcli.cli.train_corpus import Corpus, size_of, sources_of
from tokcli.cli.train_output import Files, tell
from tokcli.cli.train_progress import Merges, Progress
from tokcli.errors import InputError, VocabularyError

if TYPE_CHECKING:
    from tokcli.cli.train_checkpoint import Checkpoint
    from tokcli.engine.encoding import Encoding
    from tokcli.formats.writers import Made
    from tokcli.training.counting import Counted, Counting
    from tokcli.training.train import Rules
    from tokcli.training.trainer import OnMerge

BYTE_TOKENS = 256
FIRST_WORDS = 40  # pieces that --visualise shows


class Session:
    """One call of the command: what it was asked for, and the steps."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._sources = sources_of(given, self._note)
        self._pat_str, self._special_tokens = self._pattern_and_special_tokens()
        self._corpus = Corpus(
            self._sources,
            limit=given["limit"],
            held_back=given["hold_back"],
            kind=given["records"],
            field=given["field"],
        )
        kind = Progress.kind_for(given["progress_kind"], quiet=given["quiet"])
        self._progress = Progress(kind, None if kind == "none" or given["counts"] else self._corpus.total_bytes())

    # --- what was asked for ------------------------------------------------------------------------------------------

    def _pattern_and_special_tokens(self) -> tuple[str, list[str]]:
        from tokcli.engine.known_patterns import GPT4, O200K, R50K
        from tokcli.formats.writers import WHOLE_TEXT
        from tokcli.registry.encodings import resolve_pattern

        given, pattern = self._given, self._given["pattern"]
        special = list(given["special_tokens"])
        if given["counts"]:
            return self._those_of_counts(special)
        if pattern is None:
            # GPT-2's pair cannot say what its pattern is: everybody takes GPT-2's
            return R50K if given["form"] == "gpt2" else O200K, special
        if pattern == "none":
            return WHOLE_TEXT, special
        return GPT4 if pattern == "gpt4" else resolve_pattern(pattern), special

    def _those_of_counts(self, special: list[str]) -> tuple[str, list[str]]:
        """What the counts were made with; the special tokens of the options come first."""
        from tokcli.training.counts_file import open_counts

        found: dict[str, Any] = {}
        for source in self._sources:
            file = open_counts(path_of(source))
            file.close()
            if found and file.about != found:
                raise InputError(f"{source.shown}: counted with another pattern or other special tokens than the first")
            found = file.about
        if self._given["pattern"] is not None:
            raise InputError("counts say what their pattern was", "Leave out --pattern and --preset.")
        return found["pat_str"], [*special, *(token for token in found["special_tokens"] if token not in special)]

    @cached_property
    def rules(self) -> Rules:
        """What is to be learnt; InputError or VocabularyError for what cannot be."""
        from tokcli.engine.byte_alphabet import byte_alphabet
        from tokcli.training.train import Rules
        from tokcli.training.trainer import check_size

        given = self._given
        asked = (given["vocab_size"], given["min_frequency"], given["max_token_bytes"], given["ties"])
        rules = Rules(*asked)
        if given["seed_vocab"] is not None:
            from tokcli.registry.encodings import resolve_encoding

            seed = resolve_encoding(given["seed_vocab"], note=lambda _: None)
            ranks = getattr(seed, "_mergeable_ranks", None)
            if not ranks:
                raise VocabularyError(
                    f"{given['seed_vocab']}: no vocabulary of bytes and ranks, which could be extended"
                )
            rules = Rules(*asked, ranks, seed._special_tokens)
        elif given["byte_order"] == "gpt2":
            rules = Rules(*asked, {bytes([byte]): rank for rank, byte in enumerate(byte_alphabet().values())})
        check_size(rules.vocab_size, rules.tokens)
        return rules

    @property
    def _threads(self) -> int:
        if self._given["ties"] == "first" or self._given["visualise"]:
            return 1  # pieces have to come in the order of the corpus
        if jobs := self._given["jobs"]:
            return int(jobs)
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def _note(self, text: str) -> None:
        if not self._given["quiet"]:
            from tokcli.render.visible import visible

            sys.stderr.write(f"Note: {visible(text)}\n")

    # --- counting ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _counting(self, seed_special: Iterable[str] = (), folder: str | None = None) -> Iterator[Counting]:
        from tokcli.engine.pretokenizer import PreTokenizer
        from tokcli.training.counting import Counting

        counting = Counting(
            PreTokenizer(self._pat_str, timeout=self._given["timeout"]),
            errors=self._given["errors"],
            special_tokens=[*self._special_tokens, *seed_special],
            threads=self._threads,
            memory=self._given["memory"],
            folder=folder,
        )
        try:
            yield counting
        finally:
            counting.close()

    def _count(self, counting: Counting, checkpoint: Checkpoint | None = None) -> Counted:
        try:
            if self._given["counts"]:
                from tokcli.training.counting import merge_files

                counting.add_blocks(merge_files([path_of(source) for source in self._sources]))
            elif self._given["dask"]:
                from tokcli.training.cluster import count_on_cluster

                count_on_cluster(
                    self._given["dask"], [path_of(source) for source in self._sources], counting, self._threads
                )
            else:
                self._corpus.count(counting, self._progress, checkpoint)
                if checkpoint:
                    checkpoint.save(len(self._sources), 0)
        except OverflowError:
            raise InputError("a count is more than 2**62") from None
        finally:
            self._progress.end()
        return counting.finish()

    def write_counts(self) -> None:
        """--counts-only: the counts, as a file."""
        from tokcli.training.counts_file import write_counts

        with streams.Output(self._given["output"], self._sources) as output, self._counting() as counting:
            write_counts(output.write, counting.about, self._count(counting).blocks())

    def report(self) -> None:
        """--dry-run: what there is to learn from, and the memory that merging it will take."""
        pieces = piece_bytes = total = 0
        with self._counting() as counting:
            for piece, count in self._count(counting).items():
                pieces, piece_bytes, total = pieces + 1, piece_bytes + len(piece), total + len(piece) * count
        # a row of symbols with an end for each piece, lists of places, and the table of pieces (measured: within 20 %)
        width = 2 if (self._given["vocab_size"] or 0) < 1 << 16 else 4
        taken = (piece_bytes + pieces) * (width + 2) + pieces * 44
        rows = {"bytes": total, "distinct pieces": pieces, "bytes in them": piece_bytes}
        with streams.Output(None) as output:
            for name, number in rows.items():
                output.write(f"{name}\t{number}\n".encode())
            output.write(f"memory\tabout {max(taken >> 20, 1)} MiB\n".encode())

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self) -> None:
        """Counts, learns, writes, and says what came of it."""
        from tokcli.training.train import make_encoding

        given, rules, special = self._given, self.rules, self._special_tokens
        first = make_encoding("", self._pat_str, dict(rules.seed), special, rules.seed_special)
        checkpoint = self._open_checkpoint()
        with Files(given["output"], given["form"], self._sources) as files:
            files.refuse(self._made(first, None), self._note)  # before the work begins
            with self._counting(rules.seed_special, checkpoint.folder if checkpoint else None) as counting:
                if checkpoint:
                    checkpoint.attach(counting)
                counted = self._count(counting, checkpoint)
                if not len(counted.table) and not counted.runs:
                    raise InputError(
                        "the corpus is empty: there is nothing to learn from", "Name FILEs that hold text."
                    )
                ranks, merges = self._merge(counted, checkpoint)
            encoding = make_encoding("trained", self._pat_str, ranks, special, rules.seed_special)
            written = files.write(self._made(encoding, merges))
        if checkpoint:
            checkpoint.finish()
        if not given["quiet"]:
            tell(written, len(ranks), len(ranks) - len(rules.seed), given["vocab_size"] - len(ranks))
        if given["hold_back"]:
            from tokcli.cli.train_measure import measure

            measure(encoding, self._corpus.held_back())

    def _open_checkpoint(self) -> Checkpoint | None:
        given = self._given
        if given["checkpoint"] is None:
            return None
        import hashlib

        from tokcli.cli.train_checkpoint import Checkpoint

        names = ["records", "field", "limit", "hold_back", "errors", "min_frequency", "max_token_bytes", "vocab_size"]
        plan = {name: given[name] for name in names}
        plan |= {
            "pattern": self._pat_str,
            "special": [*self._special_tokens, *self.rules.seed_special],
            "seed": hashlib.sha256(repr(self.rules.tokens).encode()).hexdigest(),
            "files": [[source.name, size_of(source), _changed(source)] for source in self._sources],
        }
        return Checkpoint(given["checkpoint"], plan, given["checkpoint_every"])

    def _merge(
        self, counted: Counted, checkpoint: Checkpoint | None
    ) -> tuple[dict[bytes, int], list[tuple[bytes, bytes]] | None]:
        """The ranks; and the merges, where they are asked for and all were made here."""
        from tokcli.training.train import learn_ranks

        given, rules = self._given, self.rules
        merges: list[tuple[bytes, bytes]] = []
        listeners: list[OnMerge] = []
        if given["form"] != "tiktoken":
            listeners.append(lambda _, left, right, *__: merges.append((left, right)))
        if checkpoint and (kept := checkpoint.tokens()):
            rules = rules.extended(kept)
        if checkpoint:
            listeners.append(checkpoint.keeper(rules.tokens).merged)
        self._progress.begin_merging(rules.vocab_size - len(rules.seed))
        if self._progress.is_shown:
            listeners.append(self._progress.merged)
        with ExitStack() as stack:
            if given["visualise"]:
                words = [piece for piece, _ in islice(counted.items(), FIRST_WORDS)]
                output = stack.enter_context(streams.Output(None))
                listeners.append(Merges(words, rules.tokens, output, given["color"]).merged)
            try:
                ranks = learn_ranks(counted, rules, device=given["device"], on_merge=_all(listeners))
            finally:
                self._progress.end()
        return ranks, merges if len(rules.seed) == BYTE_TOKENS else None

    def _made(self, encoding: Encoding, merges: list[tuple[bytes, bytes]] | None) -> Made:
        """What is written; merges that were not made here are recovered from the ranks."""
        from tokcli.formats.writers import Made, recover_merges

        ranks = encoding._mergeable_ranks
        if merges is None:
            merges = [] if self._given["form"] == "tiktoken" else recover_merges(ranks)
        return Made(ranks, merges, self._pat_str, encoding._special_tokens)


def path_of(source: streams.Input) -> str:
    """The path of an input that has to be a file, or what a cluster can open."""
    if source.data is not None or source.name == streams.STANDARD_INPUT:
        raise InputError(f"{source.shown}: not a file", "Counts, and what a cluster reads, are files: name them.")
    return source.name


def _changed(source: streams.Input) -> int | None:
    """When a file was changed last, in nanoseconds."""
    try:
        return os.stat(source.name).st_mtime_ns  # noqa: PTH116
    except (OSError, ValueError):
        return None


def _all(listeners: list[OnMerge]) -> OnMerge | None:
    """One listener for several."""
    if len(listeners) < 2:
        return listeners[0] if listeners else None

    def tell_all(index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:
        for listener in listeners:
            listener(index, left, right, token, count)

    return tell_all
