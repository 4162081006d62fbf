"""`train --checkpoint DIR`: what is counted and learnt so far, so that a run that was killed can go on.

In DIR stand counts files, and `state.json`, which names those that count and how far they reach; it is replaced at once
when they are on the disk. What it does not name is left from a run that was killed, and removed.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from tokcli.errors import InputError, OutputError

if TYPE_CHECKING:
    from tokcli.training.counting import Counting

STATE = "state.json"
RANKS = "ranks.tiktoken"
VERSION = 1
MAX_STATE_BYTES = 1 << 26


class Checkpoint:
    """A folder that keeps a training; `plan` says which, and another one's is refused."""

    def __init__(self, folder: str, plan: dict[str, Any], every: float) -> None:
        self._folder = Path(folder)
        self._plan = json.loads(json.dumps(plan))
        self._every = every
        self._saved = monotonic()
        self._counting: Counting | None = None
        self._state: dict[str, Any] = {"version": VERSION, "plan": self._plan, "runs": [], "input": 0, "offset": 0}
        with self._errors_named():
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / STATE
            if path.exists():
                self._read(path)
            self._remove_leftovers()

    def _read(self, path: Path) -> None:
        try:
            state = json.loads(path.read_bytes()[:MAX_STATE_BYTES])
            is_ours = state["version"] == VERSION and all((self._folder / name).is_file() for name in state["runs"])
            _ = int(state["input"]), int(state["offset"])
        except (ValueError, KeyError, TypeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise InputError(f"{path}: not a checkpoint that can be read", "Remove the folder, or name another.")
        if state["plan"] != self._plan:
            changed = [key for key in self._plan if state["plan"].get(key) != self._plan[key]]
            raise InputError(
                f"{self._folder}: a checkpoint of another training ({', '.join(changed) or 'other options'})",
                "Remove the folder, name another, or ask for the same again.",
            )
        self._state = state

    @property
    def position(self) -> tuple[int, int]:
        """How far the corpus is counted: which input, and how many bytes of it."""
        return self._state["input"], self._state["offset"]

    @property
    def folder(self) -> str:
        """Where runs are to be written, so that they can be kept."""
        return str(self._folder)

    def attach(self, counting: Counting) -> None:
        """Goes on with the runs there are."""
        self._counting = counting
        counting.adopt([self._folder / name for name in self._state["runs"]])

    def due(self) -> bool:
        """Whether it is time to save."""
        return monotonic() - self._saved >= self._every

    def save(self, number: int, offset: int) -> None:
        """Keeps what is counted, which is the corpus up to a byte of an input."""
        assert self._counting is not None
        with self._errors_named():
            paths = self._counting.flush()
            names: list[str] = []
            for path in paths:
                if path.parent != self._folder:
                    name = f"{len(names) + 1}-{number}-{offset}-{path.name}"
                    _sync(path)
                    path.replace(self._folder / name)
                    path = self._folder / name
                names.append(path.name)
            self._counting.adopt([self._folder / name for name in names])
            self._replace(STATE, json.dumps({**self._state, "runs": names, "input": number, "offset": offset}).encode())
            self._state.update(runs=names, input=number, offset=offset)
            self._remove_files()
        self._saved = monotonic()

    def save_tokens(self, tokens: list[bytes]) -> None:
        """Keeps what is learnt: the tokens in order."""
        from tokcli.formats.tiktoken import format_tiktoken

        with self._errors_named():
            self._replace(RANKS, format_tiktoken({token: rank for rank, token in enumerate(tokens)}))
        self._saved = monotonic()

    def tokens(self) -> list[bytes] | None:
        """What was learnt, where that was kept."""
        from tokcli.formats.limits import read_regular_file
        from tokcli.formats.tiktoken import parse_tiktoken

        path = self._folder / RANKS
        return list(parse_tiktoken(read_regular_file(path), str(path))) if path.exists() else None

    def of(self, number: int) -> InputKeeper:
        """What keeps the counts of an input while it is read (counting.Keep)."""
        return InputKeeper(self, number)

    def keeper(self, tokens: list[bytes]) -> Keeper:
        """What keeps merges as they are made, behind these tokens."""
        return Keeper(self, tokens)

    def finish(self) -> None:
        """The training has ended and is written: nothing is kept."""
        for name in (STATE, RANKS, *self._state["runs"]):
            (self._folder / name).unlink(missing_ok=True)
        try:
            self._folder.rmdir()
        except OSError:
            return  # somebody keeps something there

    def _remove_leftovers(self) -> None:
        for path in self._folder.iterdir():
            if path.name.startswith("tokcli-train-") and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        self._remove_files()

    def _remove_files(self) -> None:
        for path in self._folder.iterdir():
            if path.name.endswith((".counts", ".tmp")) and path.name not in self._state["runs"]:
                path.unlink()

    def _replace(self, name: str, data: bytes) -> None:
        temporary = self._folder / f"{name}.tmp"
        temporary.write_bytes(data)
        _sync(temporary)
        temporary.replace(self._folder / name)
        _sync(self._folder)

    def _errors_named(self) -> _Named:
        return _Named(self._folder)


class InputKeeper:
    """Keeps what is counted of one input, now and then."""

    def __init__(self, checkpoint: Checkpoint, number: int) -> None:
        self._checkpoint = checkpoint
        self._number = number
        self.due = checkpoint.due

    def save(self, offset: int) -> None:
        """Keeps the counts up to a byte of the input."""
        self._checkpoint.save(self._number, offset)


class Keeper:
    """Keeps the tokens that are learnt, now and then."""

    def __init__(self, checkpoint: Checkpoint, tokens: list[bytes]) -> None:
        self._checkpoint = checkpoint
        self._tokens = list(tokens)

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:  # noqa: ARG002
        """A merge was made (trainer.OnMerge)."""
        self._tokens.append(token)
        if self._checkpoint.due():
            self._checkpoint.save_tokens(self._tokens)


class _Named:
    """Names the folder in what the system says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            where = error.filename or self._folder
            raise OutputError(f"{os.fsdecode(where)}: {(error.strerror or str(error)).lower()}") from None


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
