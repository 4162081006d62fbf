"""Shards that `encode --shards` wrote, read back: their index line by line, and the ids of each."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BufferedReader
from operator import le
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokcli.cli.checkpoint_folder import NAME
from tokcli.cli.encode.shards.layouts import LAYOUTS, WIDTH, digest_of_file
from tokcli.cli.inputs.columns import import_pyarrow, refused_by_pyarrow
from tokcli.engine.stream.chunks import BLOCK_BYTES
from tokcli.engine.stream.ids import ids_in
from tokcli.engine.stream.npy import DTYPES
from tokcli.errors import SHORTAGES, InputError, TokcliError, VocabularyError
from tokcli.formats.limits import open_regular_file
from tokcli.formats.strict_json import parse_json_strictly

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

FORMAT, VERSION = "tokcli-shards", 1
MAX_HEAD_BYTES = 1 << 20  # the first line of an index, which comes before sources and shards
MAX_LINE_BYTES = 1 << 30  # the line of a shard: most of it is the ends of its documents
_FORMS: dict[str, Literal["u16", "u32"]] = {name: form for form, name in DTYPES.items()}
# A text whose ids tell tokenizers apart that have the same tokens: case, accents, white space, digits, emoji.
PROBE = "The naïve Café  costs 1234567 £;\n\n\tİstanbul ﬁn e\u0301 日本語 👩‍👩‍👧 don't_stop \u00a0<s>"


class ReadShard(NamedTuple):
    """A shard as the index describes it: its files with their SHA-256, and where its documents end (in tokens, uint32).

    `continues` says that its last document goes on in the next shard.
    """

    folder: Path
    layout: str
    form: Literal["u16", "u32", "npy"]
    files: dict[str, str]
    tokens: int
    ends: memoryview
    continues: bool

    @property
    def shown(self) -> str:
        """The path of the file with the ids."""
        return str(self.folder / next(iter(self.files)))

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the file with the ids; of a parquet file, the ids as uint32.

        InputError says that it does not have as many ids as the index says.
        """
        with open_regular_file(self.shown) as file:
            size = os.fstat(file.fileno()).st_size
            if self.form != "npy" and self.layout != "parquet" and size != self.tokens * WIDTH[self.form]:
                raise InputError(f"it has {size} bytes, which are not the {self.tokens} ids that the index says")
            yield from (
                _parquet_ids(self.shown) if self.layout == "parquet" else iter(lambda: file.read(BLOCK_BYTES), b"")
            )

    def damaged(self) -> str | None:
        """Return the name of the first file that is not as it was written; None if all are."""
        for name, digest in self.files.items():
            if digest_of_file(self.folder / name) != digest:
                return name
        return None


class ReadFolder(NamedTuple):
    """A folder of shards: the path of its index, and `head`, the members of the index before its sources and shards."""

    path: Path
    head: dict[str, Any]

    @property
    def encoding(self) -> str:
        """The name of the encoding that made the shards."""
        return str(self.head.get("encoding"))

    def check_encoding(self, encoding: Encoding) -> None:
        """Raise InputError for another encoding than that of the shards."""
        if self.head.get("digest") != digest_of_encoding(encoding):
            raise InputError(
                f"the shards are of {self.encoding}, and {encoding.name} is another encoding",
                "Name the vocabulary that made them with -e.",
                where=str(self.path.parent),
            )

    def shards(self) -> Iterator[ReadShard]:
        """Yield the shards, read one by one from the index; InputError where it is not as it was written."""
        layout = self.head["layout"]
        form = "u32" if layout == "parquet" else "npy" if layout == "npy" else _FORMS[self.head["dtype"]]
        with _opened(self.path) as file:
            while (line := file.readline(MAX_LINE_BYTES)) and not line.startswith(b'"shards": ['):
                pass
            tokens = documents = 0
            while (line := file.readline(MAX_LINE_BYTES)) and line != b"]}\n":
                if line != b"\n":  # there is no shard
                    shard = shard_of(line.rstrip(b",\n"), self.path, layout, form)
                    tokens += shard.tokens
                    documents += len(shard.ends) - shard.continues
                    yield shard
            if not line or [self.head.get("tokens"), self.head.get("documents")] != [tokens, documents]:
                raise _not_ours(self.path)


def read_folder(folder: str) -> ReadFolder | None:
    """Return the shards in a folder; None if it has no index, InputError if its index was not written by tokcli."""
    try:
        found = [Path(folder, name) for name in sorted({layout.INDEX for layout in LAYOUTS.values()})]
        index = next((index for index in found if index.is_file()), None)
    except ValueError:  # a NUL in the name
        return None
    return None if index is None else ReadFolder(index, read_head(index))


def holds_shards(folder: Path) -> bool:
    """Return whether a folder has finished shards, or those of a run that has not ended.

    OSError where no file can be opened: then nothing is known about this folder.
    """
    try:
        return (folder / NAME).is_dir() or read_folder(str(folder)) is not None
    except TokcliError:
        return False
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        return False


def read_head(index: Path) -> dict[str, Any]:
    """Return the members of an index before its sources and shards; InputError if it was not written by tokcli."""
    with _opened(index) as file:
        head = _parsed(file.readline(MAX_HEAD_BYTES).rstrip(b",\n") + b"}", index)
    is_ours = head.get("format") == FORMAT and head.get("version") == VERSION
    if not is_ours or head.get("layout") not in list(LAYOUTS) or head.get("dtype") not in list(_FORMS):  # of any type
        raise _not_ours(index)
    return head


@contextmanager
def _opened(index: Path) -> Iterator[BufferedReader]:
    with open_regular_file(index) as file, open(file.fileno(), "rb", closefd=False) as buffered:
        yield buffered


def shard_of(line: bytes, index: Path, layout: str, form: Literal["u16", "u32", "npy"]) -> ReadShard:
    """Return the shard that a line of an index describes; InputError if it was not written by tokcli."""
    about, found, ends = line.partition(b', "ends": [')
    said = _parsed(about + b"}", index)
    try:
        files = {str(file["file"]): str(file["sha256"]) for file in (said, *said.get("beside", ()))}
        read = ids_in(ends.removesuffix(b"]}"))
        ends_in = read if isinstance(read, memoryview) else memoryview(array("I", read))
        shard = ReadShard(index.parent, layout, form, files, said["tokens"], ends_in, said.get("continues", False))
    except (KeyError, TypeError, OverflowError, TokcliError):
        raise _not_ours(index) from None
    is_in_order = all(map(le, ends_in, ends_in[1:]))
    counts = [shard.tokens, said.get("documents"), shard.continues]
    fits = counts[:2] == [ends_in[-1] if len(ends_in) else 0, len(ends_in)] and list(map(type, counts)) == [
        int,
        int,
        bool,
    ]
    if not found or not is_in_order or not fits or not all(map(LAYOUTS[layout].owns, files)):
        raise _not_ours(index)
    return shard


def _parsed(data: bytes, index: Path) -> dict[str, Any]:
    try:
        found = parse_json_strictly(data, str(index))
    except (VocabularyError, RecursionError):
        raise _not_ours(index) from None
    if not isinstance(found, dict):
        raise _not_ours(index)
    return found


def _not_ours(index: Path) -> InputError:
    return InputError("not an index of shards written by tokcli", where=str(index))


def _parquet_ids(path: str) -> Iterator[bytes]:
    arrow = import_pyarrow()
    try:
        opened = arrow.parquet.ParquetFile(path, pre_buffer=False)
        for batch in opened.iter_batches(columns=["input_ids"], use_threads=False):
            ids = batch.column(0).flatten().cast(arrow.uint32())
            yield bytes(memoryview(ids.buffers()[1]).cast("B")[4 * ids.offset : 4 * (ids.offset + len(ids))])
    except (OSError, arrow.ArrowException) as error:
        raise refused_by_pyarrow(error, "not a parquet file with the column input_ids", path) from None


def digest_of_encoding(encoding: Encoding) -> str:
    """Return a SHA-256 (hex) of what makes an encoding: its tokens and ids, its pattern, and the ids of PROBE."""
    tokenizer, digest = encoding.tokenizer, sha256()
    pattern = "" if tokenizer.pretokenizer is None else tokenizer.pretokenizer.pat_str
    digest.update(repr([pattern, sorted(encoding.tokenizer.special_tokens.items()), tokenizer.encode(PROBE)]).encode())
    ranks = tokenizer.ranks()
    digest.update(repr(sorted(ranks.values())).encode())
    digest.update(" ".join(map(bytes.hex, sorted(ranks, key=ranks.__getitem__))).encode())
    return digest.hexdigest()
