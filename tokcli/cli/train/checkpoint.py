"""`train --checkpoint DIR`: the counts and tokens so far, so that a run that was killed can be resumed.

`state.json` names the valid counts files and says how much of the corpus they cover; it is replaced once they are on
disk. `tokens` has the tokens that were learnt since. `checkpoint_folder.py` keeps both, and touches nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.cli.checkpoint_folder import STATE, CheckpointFolder, digest_of, digest_of_text, plan_of
from tokcli.cli.inputs.input_facts import changed_at, size_of
from tokcli.errors import InputError, VocabularyError
from tokcli.formats.limits import MAX_FILE_BYTES, read_regular_file
from tokcli.formats.tiktoken import format_tiktoken, parse_tiktoken
from tokcli.training.corpus_counter import MAX_RUNS

if TYPE_CHECKING:
    from types import TracebackType

    from tokcli.cli.streams import Input
    from tokcli.cli.train.train_options import TrainOptions
    from tokcli.training.corpus_counter import CorpusCounter
    from tokcli.training.trainer import OnMerge, TrainingRules

TOKENS = "tokens"
MAX_OFFSET = 1 << 62  # of an input whose size is not known: no stream is longer


class Position(NamedTuple):
    """How much of the corpus is counted: all inputs before `input`, and of that one the bytes before `offset`.

    `left` is what --limit left when that input began; None without a limit.
    """

    input: int = 0
    offset: int = 0
    left: int | None = None


class Checkpoint:
    """The state of a training run in a folder; `plan` identifies the run, and the checkpoint of another is an error.

    `__enter__` makes or reads the folder, and locks it until `__exit__`. The state is saved every `every` seconds.
    """

    def __init__(self, folder: str, plan: dict[str, Any], every: float) -> None:
        self._files = CheckpointFolder(folder)
        self._plan = plan_of(plan)
        self._sizes: list[int | None] = [size for _, size, *_ in plan["files"]]
        self._limit: int | None = plan["limit"]
        self._every = every
        self._saved = monotonic()
        self._counting: CorpusCounter | None = None
        self._runs: list[str] = []
        self._state: dict[str, Any] = {}  # as it is on the disk; empty where nothing was saved
        self.position = Position(left=self._limit)

    def __enter__(self) -> Checkpoint:
        _refuse_older(self._files.path.parent)
        self._files.open()
        try:
            self._read()
        except BaseException:
            self._files.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Unlock the folder; remove it if the training has ended without an error, or if no counts were saved."""
        try:
            if kind is None or not self._runs:
                self._files.remove(STATE)
        finally:
            self._files.close()

    def _read(self) -> None:
        state = self._files.read_state()
        if state is None:
            self._files.remove_all_but(())
            return
        values: list[Any] = [state.get(key) for key in ("runs", "plan", "position")]
        runs, plan, position = values
        if not self._are_runs(runs) or not isinstance(plan, dict) or not self._is_position(position):
            raise self._files.damaged(f"{STATE}: impossible value in 'runs', 'plan' or 'position'")
        self._files.refuse_other(self._plan, plan)
        self._runs, self.position, self._state = runs, Position(**position), state
        self._files.remove_all_but((STATE, TOKENS, *self._runs))

    def _are_runs(self, names: object) -> bool:
        return (
            isinstance(names, list)
            and len(names) <= MAX_RUNS
            and all(isinstance(name, str) and self._files.is_run(name) for name in names)
            and len(set(names)) == len(names)
        )

    def _is_position(self, position: object) -> bool:
        if not isinstance(position, dict) or set(position) != set(Position._fields):
            return False
        number, offset, left = position["input"], position["offset"], position["left"]
        if type(number) is not int or not 0 <= number <= len(self._sizes):
            return False
        size = 0 if number == len(self._sizes) else self._sizes[number]
        if type(offset) is not int or not 0 <= offset <= (MAX_OFFSET if size is None else size):
            return False
        return left is None if self._limit is None else type(left) is int and 0 <= left <= self._limit

    @property
    def folder(self) -> Path:
        """The folder in which counts files are kept."""
        return self._files.path

    def holds(self, path: str) -> bool:
        """Return whether a path leads into the folder of the checkpoint."""
        return self._files.holds(path)

    def attach(self, counting: CorpusCounter) -> None:
        """Give a counter the counts files that were saved, to go on with, and save its counts from now on."""
        self._counting = counting
        counting.adopt([self._files.path / name for name in self._runs])

    def begin(self, number: int, left: int | None) -> None:
        """Set the position to the first byte of input `number`; `left` is what --limit has left."""
        self.position = Position(number, 0, left)

    def due(self) -> bool:
        """Return whether it is time to save."""
        return monotonic() - self._saved >= self._every

    def save(self, offset: int = 0) -> None:
        """Save the counts, which cover the corpus up to byte `offset` of the current input."""
        assert self._counting is not None
        position = Position(self.position.input, offset, self.position.left)
        runs = [path.name for path in self._counting.flush()]
        for name in runs:
            if name not in self._runs:
                self._files.sync(name)
        state = {"plan": self._plan, "runs": runs, "position": position._asdict()}
        if state != self._state:  # tokens that were learnt from the old counts are removed
            self._files.write_state(state)
            self._runs, self.position, self._state = runs, position, state
            self._files.remove_all_but((STATE, *runs))
        self._saved = monotonic()

    def keeps(self, tokens: list[bytes]) -> OnMerge:
        """Return a listener to merges that adds each new token to a copy of `tokens`, and saves all when it is time."""
        tokens = list(tokens)

        def keep(index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:  # noqa: ARG001
            tokens.append(token)
            if self.due():
                data = format_tiktoken({token: rank for rank, token in enumerate(tokens)})
                self._files.write(TOKENS, f"{digest_of(data)}\n".encode() + data)
                self._saved = monotonic()

        return keep

    def resumed(self, rules: TrainingRules) -> TrainingRules:
        """Return the rules to go on with: these, extended by the tokens that were saved."""
        kept = self._files.read(TOKENS, MAX_FILE_BYTES)
        if kept is None:
            return rules
        digest, _, data = kept.partition(b"\n")
        if digest != digest_of(data).encode():
            raise self._files.damaged(f"{TOKENS} has changed since it was written")
        try:
            rules = rules.extended(list(parse_tiktoken(data, TOKENS)))
            rules.check_size()
        except (VocabularyError, InputError) as error:
            raise self._files.damaged(f"{TOKENS}: {error}") from None
        return rules


def fingerprint_of(
    asked: TrainOptions, sources: list[Input], pat_str: str, special_tokens: list[str], tokens: list[bytes]
) -> dict[str, Any]:
    """Return what distinguishes a training from others, whose checkpoints are rejected."""
    return {
        "records": asked.records,
        "field": asked.field,
        "skip_invalid": asked.skip_invalid,
        "limit": asked.limit,
        "hold_back": asked.hold_back,
        "errors": asked.errors,
        "min_frequency": asked.min_frequency,
        "max_token_bytes": asked.max_token_bytes,
        "vocab_size": asked.vocab_size,
        "pattern": pat_str,
        "special": special_tokens,
        "seed": digest_of(repr(tokens).encode()),
        "files": [[each.name, size_of(each), changed_at(each), digest_of_text(each)] for each in sources],
    }


def _refuse_older(folder: Path) -> None:
    """Raise InputError where DIR itself holds a checkpoint, as an earlier version of tokcli made them."""
    path = folder / STATE
    try:
        state = json.loads(read_regular_file(path))
    except (ValueError, RecursionError):  # VocabularyError is a ValueError
        return  # there is no such file, or it is the user's
    if isinstance(state, dict) and {"version", "plan", "runs", "input", "offset"} <= state.keys():
        raise InputError(
            "a checkpoint of an earlier version of tokcli, which this one does not resume",
            "Remove it and the counts files that it names, or name another DIR.",
            where=str(path),
        )
