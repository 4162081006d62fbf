"""The folder of --shards: what may be in it, how far a run has come, and the index that makes it finished.

During a run, its subfolder `.tokcli-checkpoint` says which shards are complete and where the next one begins, and keeps
the line of the index for each complete shard. The index is written last: a folder that has one is finished.
"""

from __future__ import annotations

import re
import stat
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tokcli.atomic import Replacement, new_file_mode
from tokcli.cli.checkpoint_folder import NAME, STATE, CheckpointFolder, Work, plan_of
from tokcli.cli.encode.shards.layouts import LAYOUTS, Shard
from tokcli.cli.encode.shards.read_shards import FORMAT, MAX_LINE_BYTES, VERSION, ReadShard, read_head, shard_of
from tokcli.cli.json_stream import dump
from tokcli.engine.stream.ids import BinaryFormat, format_ids
from tokcli.errors import EXIT_ERROR, InputError, OutputError, VocabularyError, reason_of
from tokcli.formats.limits import open_regular_file

ENCODING = Work(
    "encode --shards",
    "run",
    re.compile(r"shard-\d{5,}\.json|state\.json|\.(?:shard-\d{5,}\.json|state\.json)\.[0-9a-f]{12}\.tmp"),
    1,
)
LINE_NAME = "shard-{:05}.json"
COPY_BYTES = 1 << 20
MOST = 1 << 62  # of anything that is counted: no run has more


class NextDocument(NamedTuple):
    """Where the next shard begins: `documents` after byte `offset` of an input, and then `tokens` into a document."""

    input: int = 0
    offset: int = 0
    documents: int = 0
    tokens: int = 0


class WholeShards(NamedTuple):
    """The totals of the complete shards, where the next one begins, and the exit status so far."""

    shards: int = 0
    tokens: int = 0
    documents: int = 0
    status: int = 0
    position: NextDocument = NextDocument()


class ShardFolder:
    """The folder of a run, locked from `open` to `close`. `plan` identifies the run: that of another is rejected."""

    def __init__(self, path: str, layout: str, form: BinaryFormat, plan: dict[str, Any], *, resumes: bool) -> None:
        self.path, self._name, self._layout, self._form = path, layout, LAYOUTS[layout], form
        self._plan = plan_of(plan)
        self._resumes = resumes
        self._files = CheckpointFolder(path, ENCODING)
        self.index = Path(path, self._layout.INDEX)
        self.progress = WholeShards()
        self._is_open = self._is_ours = False

    def open(self) -> None:
        """Make the folder, or read how far an earlier run of the same plan came; InputError for any other folder."""
        self._check()
        if self.is_finished and not self._files.path.exists():
            return
        self._files.open()
        self._is_open = True
        if self.is_finished:  # by another process meanwhile; or only its checkpoint was left to be removed
            self._refuse_other()
        else:
            self.progress = self._read()
        self._is_ours = True

    @property
    def is_finished(self) -> bool:
        """Whether there is an index, so that nothing is left to do."""
        return self.index.exists()

    def _check(self) -> None:
        try:
            names = [found.name for found in Path(self.path).iterdir()]
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(reason_of(error), "Name another DIR.", where=self.path) from None
        if self._layout.INDEX in names:
            self._refuse_other()
        other = [name for name in names if name != NAME and not self._layout.owns(name)]
        if other:
            raise InputError(
                f"holds {other[0]!r}, which does not belong to this run", "Name a new or an empty DIR.", where=self.path
            )
        if names and not {NAME, self._layout.INDEX} & set(names):
            raise InputError(
                "holds shards, but no record of the run that wrote them", "Name a new or an empty DIR.", where=self.path
            )

    def _refuse_other(self) -> None:
        """Raise InputError if the index is that of a run with another plan."""
        head = read_head(self.index)
        if head.get("plan") != self._plan:
            raise InputError("holds the shards of another run, which is finished", "Name another DIR.", where=self.path)

    def _read(self) -> WholeShards:
        state = self._files.read_state()
        if state is None:
            self._files.remove_all_but(())
            self._remove_shards()
            return WholeShards()
        try:
            plan, progress = state["plan"], WholeShards(**state["progress"])
            numbers = [*progress[:-1], *progress.position]
            is_right = isinstance(plan, dict) and all(type(number) is int and 0 <= number <= MOST for number in numbers)
            progress = progress._replace(position=NextDocument._make(progress.position))
            is_right = is_right and progress.status <= EXIT_ERROR
        except (KeyError, TypeError, AttributeError):
            is_right = False
        if not is_right:
            raise self._files.damaged(f"{STATE}: impossible value in 'plan' or 'progress'")
        self._files.refuse_other(self._plan, plan)
        if not self._resumes:
            progress = WholeShards()
            self._remove_shards()
        self._check_shards(progress)
        self._files.remove_all_but((STATE, *(LINE_NAME.format(number) for number in range(progress.shards))))
        return progress

    def _remove_shards(self) -> None:
        """Remove the shards of a run that does not go on: the new run may make fewer."""
        with self._files.naming_errors():
            for path in list(Path(self.path).iterdir()):
                if self._layout.owns(path.name):
                    path.unlink()

    def _check_shards(self, progress: WholeShards) -> None:
        """Raise InputError unless the complete shards are there, and their lines of the index fit what was saved."""
        tokens = documents = cut = 0  # cut: tokens of the document that the next shard goes on with
        for number in range(progress.shards):
            shard = self._shard(number)
            documents += len(shard.ends) - shard.continues
            tokens += shard.tokens
            cut = cut + shard.tokens if shard.continues else 0
        if [tokens, documents, cut] != [progress.tokens, progress.documents, progress.position.tokens]:
            raise self.damaged("does not fit the shards")

    def _shard(self, number: int) -> ReadShard:
        """Return a complete shard as its line of the index describes it; InputError unless its files are like that."""
        names, line = self._layout.names(number), LINE_NAME.format(number)
        found = [_size(Path(self.path, name)) for name in names]
        if None in found:
            raise self._files.damaged(f"{names[found.index(None)]} is missing")
        shard: ReadShard | None = None
        try:
            with open_regular_file(self._files.path / line, follow=False) as file:
                data = file.read(MAX_LINE_BYTES)
            shard = shard_of(data, self._files.path / line, self._name, self._form)
        except (VocabularyError, InputError):
            pass
        if shard is None or list(shard.files) != names or data != _line(shard):
            raise self._files.damaged(f"{line} is not as it was written")
        sizes = self._layout.sizes(shard.tokens, len(shard.ends), self._form)
        for name, size, right in zip(names, found, sizes, strict=False):
            if size != right:
                raise self._files.damaged(f"{name} has {size} bytes, not {right}")
        return shard

    def damaged(self, why: str) -> InputError:
        """Return the error for a state that does not fit what lies in the folder, or the inputs."""
        return self._files.damaged(f"{STATE} {why}")

    def new_shard(self) -> Shard:
        """Return the next shard of the run, to be written."""
        with self._files.naming_errors():
            return self._layout(self.path, self.progress.shards, self._form)

    def add(self, shard: Shard, position: NextDocument, status: int, *, continues: bool) -> None:
        """Give the files of a complete shard their names, and save that the next one begins at `position`.

        With `continues`, its last document goes on in the next shard.
        """
        done = self.progress
        with self._files.naming_errors():
            begin = _line_begin(shard.commit(), shard.tokens, shard.documents, continues=continues)
            path = self._files.path / LINE_NAME.format(done.shards)
            _write(str(path), [begin, *_joined(_numbers(shard)), b"]}"])
        self.progress = WholeShards(
            done.shards + 1, done.tokens + shard.tokens, done.documents + shard.documents - continues, status, position
        )
        progress = {**self.progress._asdict(), "position": list(position)}
        self._files.write_state({"plan": self._plan, "progress": progress})

    def finish(self, about: dict[str, Any], sources: Iterable[bytes]) -> None:
        """Write the index: the members `about` the run, its totals and plan, its sources (JSON), and its shards."""
        done = self.progress
        head = {"format": FORMAT, "version": VERSION, **about, "tokens": done.tokens, "documents": done.documents}
        with self._files.naming_errors():
            _write(str(self.index), self._parts({**head, "plan": self._plan}, sources), mode=new_file_mode())

    def _parts(self, head: dict[str, Any], sources: Iterable[bytes]) -> Iterator[bytes]:
        yield dump(head)[:-1].encode() + b',\n"sources": [\n'
        yield from _joined(sources, b",\n")
        yield b'\n],\n"shards": [\n'
        for number in range(self.progress.shards):
            yield b",\n" if number else b""
            with open_regular_file(self._files.path / LINE_NAME.format(number), follow=False) as file:
                yield from iter(lambda: file.read(COPY_BYTES), b"")
        yield b"\n]}\n"

    def close(self) -> None:
        """Unlock the folder; remove its checkpoint if the run is finished, or has not completed any shard.

        A shard that has its name and could not be recorded goes with the checkpoint: no later run would know it.
        """
        if not self._is_open:
            return
        try:
            if self._is_ours and (self.is_finished or not self.progress.shards):
                if not self.is_finished:
                    self._remove_shards()
                self._files.remove(STATE)
        finally:
            self._files.close()


def _size(path: Path) -> int | None:
    """Return the bytes of a regular file; None if there is none of this name."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _line_begin(files: list[dict[str, str]], tokens: int, documents: int, *, continues: bool) -> bytes:
    """Return the line of the index for a shard, up to the ends of its documents."""
    main, *beside = files
    about = {**main, "tokens": tokens, "documents": documents}
    about |= ({"beside": beside} if beside else {}) | ({"continues": True} if continues else {})
    return f'{dump(about)[:-1]}, "ends": ['.encode()


def _line(shard: ReadShard) -> bytes:
    """Return the line of the index for a shard that was read."""
    files = [{"file": name, "sha256": digest} for name, digest in shard.files.items()]
    tokens = shard.ends[-1] if shard.ends else 0
    begin = _line_begin(files, tokens, len(shard.ends), continues=bool(shard.continues))
    return begin + format_ids(shard.ends, b", ") + b"]}"


def _numbers(shard: Shard) -> Iterator[bytes]:
    for ends in shard.ends():
        yield bytes(format_ids(memoryview(array("I", ends)), b", "))


def _joined(parts: Iterable[bytes], between: bytes = b", ") -> Iterator[bytes]:
    for number, part in enumerate(parts):
        yield between if number else b""
        yield part


def _write(path: str, parts: Iterable[bytes], mode: int = 0o600) -> None:
    made = Replacement(path, mode=mode)
    try:
        made.file.writelines(parts)
        made.commit()
    finally:
        made.discard()
