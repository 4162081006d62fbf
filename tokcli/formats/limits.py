"""How much a vocabulary file may hold, each limit with its reason, and the one way in which such a file is opened.

A limit is there so that a hostile or mistaken file ends in an error instead of eating the machine; no real vocabulary
comes near one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tokcli.errors import VocabularyError

MAX_FILE_BYTES = 256 * 2**20  # the largest vocabulary in use (a multilingual tokenizer.json) has some 35 MB
MAX_TOKENS = 4_000_000  # the largest in use have some 260,000; a dictionary of 4 million takes about 500 MB
MAX_MERGES = 4 * MAX_TOKENS  # every token may have several; the most in use are some 500,000
MAX_KEYS = 2**16  # values in a GGUF header; the most in use are some 60
MAX_TOKEN_BYTES = 2**16  # the longest of o200k_base has 128; merging is at its worst on long tokens
MAX_PIECE_BYTES = 8000  # SentencePiece's own limit
MAX_PATTERN_CHARS = 2**16  # the longest in use (DeepSeek's letters by name) has some 2,000
MAX_RANK = 2**31 - 1  # native code does signed arithmetic on ranks, and ids are exchanged as int32 elsewhere
MAX_NUMBER_DIGITS = 10  # as many as MAX_RANK has
MAX_SIDECAR_BYTES = 2**20  # a pattern and a few thousand special tokens
MAX_CONFIG_BYTES = 16 * 2**20  # a tokenizer_config.json lists its added tokens, some hundreds of kB
HEAD_BYTES = 4096  # what a format is recognised by
MAX_DEPTH = 32  # of parts in parts; the deepest in use has 3

_READ_BYTES = 2**20


def read_regular_file(path: str | os.PathLike[str], limit: int = MAX_FILE_BYTES, *, follow: bool = True) -> bytes:
    """All bytes of a regular file; VocabularyError for anything else (a folder, a pipe, a device) or above `limit`.

    `follow=False` refuses a symlink as well. A file that cannot be opened at all is a VocabularyError, too.

    >>> read_regular_file("/dev/null")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: /dev/null: not a regular file
    """
    name = os.fspath(path)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # O_NONBLOCK: opening a pipe must not wait for a writer
    try:
        handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise VocabularyError(f"{name}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise VocabularyError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise VocabularyError(f"{name}: not a regular file")
        if status.st_size > limit:
            raise VocabularyError(f"{name}: {status.st_size} bytes, more than the {limit} that are read")
        with open(handle, "rb", buffering=0, closefd=False) as file:
            return _read_all(file, name, limit, status.st_size)
    except OSError as error:
        if isinstance(error, VocabularyError):
            raise
        raise VocabularyError(f"{name}: {error.strerror}") from None
    finally:
        os.close(handle)


def _read_all(file: object, name: str, limit: int, expected: int) -> bytes:
    """The rest of an open file of some size, which may grow while it is read."""
    read = file.read  # type: ignore[attr-defined]
    blocks, size, wanted = [], 0, expected + 1  # all at once, as it mostly is
    while block := read(min(wanted, limit + 1 - size)):
        blocks.append(block)
        size += len(block)
        wanted = _READ_BYTES
        if size > limit:
            raise VocabularyError(f"{name}: more than the {limit} bytes that are read")
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def shown_name(path: str | os.PathLike[str]) -> str:
    """What messages call a file: its last part, as in `ranks.tiktoken:42`."""
    return Path(path).name or os.fspath(path)
