"""`train`: what is to be trained: the pattern, the special tokens and the rules, from the options or the counts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from tokcli.cli import streams
from tokcli.cli.train.corpus_files import path_of
from tokcli.cli.train.train_options import NO_PATTERN, TrainOptions
from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.known_patterns import GPT4, O200K, R50K
from tokcli.engine.pretokenizers.pretokenizer import ALL, PreTokenizer
from tokcli.errors import InputError
from tokcli.formats.export.writers import ExportVocabulary, recover_merges
from tokcli.formats.limits import MAX_TOKEN_BYTES
from tokcli.registry.encodings import resolve_encoding, resolve_pattern
from tokcli.training.counts_file import open_counts
from tokcli.training.train import check_special_tokens, make_encoding
from tokcli.training.trainer import TrainingRules


class Plan:
    """What a training run is to do, made from its options; InputError or VocabularyError where they do not fit."""

    def __init__(self, asked: TrainOptions, sources: list[streams.Input], note: Callable[[str], None]) -> None:
        self._asked, self._sources, self._note = asked, sources, note
        self.pat_str, self.special_tokens = self._of_counts() if asked.counts else self._of_options()
        with self._naming_counts():
            check_special_tokens(self.special_tokens)

    def _of_options(self) -> tuple[str, list[str]]:
        """Return the pattern and the special tokens that the options name."""
        pattern, special = self._asked.pattern, list(self._asked.special_tokens)
        if pattern is None:
            # GPT-2's pair of files does not name its pattern: whoever reads it takes GPT-2's
            return R50K if self._asked.form == "gpt2" else O200K, special
        if pattern == NO_PATTERN:
            return ALL, special
        return GPT4 if pattern == "gpt4" else resolve_pattern(pattern), special

    def _of_counts(self) -> tuple[str, list[str]]:
        """Return the pattern and the special tokens of counts files; special tokens of the options come first."""
        about: dict[str, Any] = {}
        for source in self._sources:
            file = open_counts(path_of(source))
            file.close()
            if file.version == 1:
                self._note(f"{source.shown}: counts of an earlier version, without a checksum: damage may go unseen")
            if about and file.about != about:
                raise InputError(
                    f"{source.shown}: its pattern or special tokens differ from those of {self._sources[0].shown}"
                )
            about = file.about
        special = self._asked.special_tokens
        return about["pat_str"], [*special, *(token for token in about["special_tokens"] if token not in special)]

    @property
    def on_long_piece(self) -> str:
        """The hint for a piece that is too long."""
        is_none = self.pat_str == ALL
        why = "Without a pattern, all of a text is one piece" if is_none else "The pattern finds no end in it"
        return (
            f"{why}: name another --pattern, train on each line (--records lines), or cut the file into smaller ones."
        )

    @cached_property
    def rules(self) -> TrainingRules:
        """The rules of training; InputError or VocabularyError where they cannot be followed."""
        asked = self._asked
        longest = min(asked.max_token_bytes or MAX_TOKEN_BYTES, MAX_TOKEN_BYTES)  # longer ones could not be read
        rules = TrainingRules(asked.vocab_size or 0, asked.min_frequency, longest, asked.ties)
        if asked.seed_vocab is not None:
            with streams.naming(asked.seed_vocab):
                rules = rules.extending(resolve_encoding(asked.seed_vocab, needs_pattern=False))
        elif asked.byte_order == "gpt2":
            rules = rules.from_seed({bytes([byte]): rank for rank, byte in enumerate(byte_alphabet().values())}, {})
        rules.check_size("--vocab-size")
        return rules

    @property
    def all_special_tokens(self) -> list[str]:
        """The special tokens, followed by those of the vocabulary that is extended."""
        return [*self.special_tokens, *self.rules.seed_special]

    def pretokenizer(self) -> PreTokenizer:
        """Return a pre-tokenizer with the pattern; errors name the counts file that has it."""
        with self._naming_counts():
            return PreTokenizer(self.pat_str)

    def encoding(self, name: str, ranks: dict[bytes, int]) -> Encoding:
        """Return the encoding with these ranks; errors name the counts file that has the pattern."""
        with self._naming_counts():
            return make_encoding(name, self.pat_str, ranks, self.special_tokens, self.rules.seed_special)

    def _naming_counts(self) -> AbstractContextManager[None]:
        return streams.naming(self._sources[0].shown) if self._asked.counts else nullcontext()

    def made(self, encoding: Encoding, merges: list[tuple[bytes, bytes]] | None) -> ExportVocabulary:
        """Return what is to be written; merges that are not known (None) are recovered from the ranks."""
        ranks = encoding._mergeable_ranks
        if merges is None:
            merges = [] if self._asked.form == "tiktoken" else recover_merges(ranks)
        return ExportVocabulary(ranks, merges, self.pat_str, encoding._special_tokens)
