"""How much a vocabulary file may hold, each limit with its reason, and the one way in which such files are opened.

A limit is there so that a hostile or mistaken file ends in an error instead of exhausting the machine; no real
vocabulary comes near one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tokcli.errors import SHORTAGES, VocabularyError, reason_of

MAX_FILE_BYTES = 172 * 2**20  # the largest vocabulary in use (a multilingual tokenizer.json) has some 35 MB
MAX_TOKENS = 2_800_000  # the largest in use have some 260,000; a dictionary of 2.8 million takes about 500 MB
MAX_MERGES = 2 * MAX_TOKENS  # a token may have several; the most in use are some 500,000
MAX_JSON_WEIGHT = 6_000_000  # values of a JSON document, an object as five; the most in use have some 1,500,000
MAX_KEYS = 2**16  # values in a GGUF header; the most in use are some 60
MAX_TOKEN_BYTES = 2**16  # the longest of o200k_base has 128; merging is slowest on long tokens
MAX_MADE_BYTES = 2**26  # of all tokens of a file that has only their merges; those of o200k_base have 1,500,000
MAX_AFFIX_CHARS = 64  # before or after each character or word of a model: `##` and `</w>` are in use
MAX_PIECE_CHARS = 8000  # SentencePiece's own limit
MAX_PATTERN_CHARS = 2**16  # the longest in use (DeepSeek's letters by name) has some 2,000
MAX_COPIES = 64  # of a text that all templates of a post-processor make together; the templates in use make one
MAX_ADDED_IDS = 2**16  # that all these templates add together; the templates in use add a few for each text
MAX_RANK = 2**31 - 1  # native code does signed arithmetic on ranks, and ids are exchanged as int32 elsewhere
MAX_NUMBER_DIGITS = 10  # as many as MAX_RANK has
MAX_SIDECAR_BYTES = 2**20  # a pattern and a few thousand special tokens
MAX_CONFIG_BYTES = 16 * 2**20  # a tokenizer_config.json lists its added tokens, some hundreds of kB
HEAD_BYTES = 4096  # from the beginning of a file, enough to recognise its format
MAX_DEPTH = 32  # of components inside components; the deepest in use has 3
MAX_PARTS = 1000  # components of a tokenizer.json; each reads all of a text, and the most in use are some 20
MAX_NORMALIZED = 2**21  # normalizers times added tokens that they are applied to; a call takes a microsecond or more

_READ_BYTES = 2**20


def read_regular_file(path: str | os.PathLike[str], limit: int = MAX_FILE_BYTES, *, follow: bool = True) -> bytes:
    """Return all bytes of a regular file of at most `limit` bytes; raise VocabularyError for anything else.

    A folder, a pipe, a device and a file that cannot be opened are refused; with `follow=False`, so is a symlink.

    >>> read_regular_file("/dev/null")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: /dev/null: not a regular file
    """
    with open_regular_file(path, follow=follow) as file:
        name, size = os.fspath(path), os.fstat(file.fileno()).st_size
        if size > limit:
            raise VocabularyError(f"{size} bytes; at most {limit} are read", where=name)
        blocks, read, wanted = [], 0, size + 1  # usually one block; a file may grow while it is read
        while block := file.read(min(wanted, limit + 1 - read)):
            blocks.append(block)
            read += len(block)
            wanted = _READ_BYTES
            if read > limit:
                raise VocabularyError(f"more than the {limit} bytes that are read", where=name)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)


@contextmanager
def open_regular_file(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[BinaryIO]:
    """Open a regular file of any size for reading; system errors, also later in reading, become VocabularyError.

    Those that say nothing about the file remain OSError: too many open files, no memory, a disk that fails.
    """
    name = os.fspath(path)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # O_NONBLOCK: opening a pipe must not wait for a writer
    try:
        handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise VocabularyError("no such file", where=name) from None
    except ValueError as error:  # a NUL in the name
        raise VocabularyError(f"{reason_of(error)}", where=name) from None
    except OSError as error:
        raise _told(error, name) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise VocabularyError("not a regular file", where=name)
        with open(handle, "rb", buffering=0, closefd=False) as file:
            yield file
    except OSError as error:
        raise _told(error, name) from None
    finally:
        os.close(handle)


def _told(error: OSError, name: str) -> Exception:
    """Return a system error with the name of its file: VocabularyError where it says something about the file."""
    if error.errno in SHORTAGES:
        return OSError(error.errno, error.strerror, name)
    return VocabularyError(reason_of(error), where=name)


def shown_name(path: str | os.PathLike[str]) -> str:
    """Return what messages call a file: the last part of its path, as in `ranks.tiktoken:42`."""
    name = os.fspath(path)
    return os.path.basename(name.rstrip("/")) or name
