"""What a server answers to a request, and the errors for answers that are not the file that was wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tokcli.errors import NetworkError

# Called by the thread that downloads, with the bytes that have arrived and the bytes in all (None: not known).
Progress = Callable[[int, "int | None"], None]

# Called with the headers of the first answer (names in lower case); returns whether the file need not be sent.
IsKnown = Callable[[Mapping[str, str]], bool]


class Answer(NamedTuple):
    """The answer of a server for a url: the headers of its first response, names in lower case, and the file.

    `data` is None if the headers showed that the file is known already.
    """

    headers: Mapping[str, str]
    data: bytes | None


class RefusedError(NetworkError):
    """A server answered with a `status` other than that of a file; `headers` are the answer's, names in lower case."""

    def __init__(self, what: str, status: int, headers: Mapping[str, str], hint: str = "") -> None:
        super().__init__(what, hint)
        self.status, self.headers = status, headers


class ChecksumError(NetworkError, ValueError):
    """A file does not have the SHA-256 that it should have (ValueError in tiktoken)."""


def check_sha256(data: bytes, expected: str, shown: str) -> None:
    """Raise ChecksumError, which calls the file `shown`, if the SHA-256 of its data is not `expected` (hex)."""
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ChecksumError(f"{shown}: its SHA-256 is {found}, expected {expected}")
