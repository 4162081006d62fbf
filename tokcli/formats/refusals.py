"""The errors with which readers refuse a file: they name the file, the place in it, and the offending item, cut short.

What is wrong with a file is left to its reader.
"""

from __future__ import annotations

from typing import NoReturn

from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_MERGES

FETCH_AGAIN = "Download or copy it again."
_SHOWN = 40  # characters of an offending item in a message


def refuse_line(name: str, line: int, what: str) -> NoReturn:
    """Raise VocabularyError for a line of a text file; lines count from 1.

    >>> refuse_line("ranks.tiktoken", 2, "token YQ== repeats line 1")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: ranks.tiktoken:2: token YQ== repeats line 1
    """
    raise VocabularyError(what, where=f"{name}:{line}")


def refuse_cut(where: str, what: str = "") -> NoReturn:
    """Raise VocabularyError for a file that ends before it is complete; `where` is its name, and the line if known."""
    raise VocabularyError(f"{what}the file is cut off, it ends before it is complete", FETCH_AGAIN, where=where)


def lines_of(data: bytes, name: str) -> list[bytes]:
    """Return the lines of a text file without newlines; raise VocabularyError for more than any vocabulary has."""
    check_lines(data, name)
    return data.split(b"\n")


def check_lines(data: bytes, name: str) -> None:
    """Raise VocabularyError if a text file has more lines than any vocabulary has."""
    if (count := data.count(b"\n")) > MAX_MERGES:
        raise VocabularyError(f"{count} lines; at most {MAX_MERGES} are read", where=name)


def refuse_byte(name: str, offset: int, what: str) -> NoReturn:
    """Raise VocabularyError for a place in a binary file; bytes count from 0."""
    raise VocabularyError(f"{what} at byte {offset}", where=name)


def shown_text(text: str) -> str:
    r"""Return a text as an ASCII literal, cut to 40 characters.

    >>> shown_text("é" * 3), shown_text("a" * 50)[-6:]
    ("'\\xe9\\xe9\\xe9'", "aa...'")
    """
    return ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def shown_bytes(item: bytes) -> str:
    """Return bytes without quotes: their ASCII, the rest escaped, cut to 40 characters."""
    text = item[: _SHOWN + 1].decode("ascii", "backslashreplace")
    return (text[:_SHOWN] + "..." if len(text) > _SHOWN else text) or "''"
