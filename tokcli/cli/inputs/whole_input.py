"""An input that is read whole, as far as a limit allows; JSON and ids without a mark of UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokcli.cli.streams import Input
from tokcli.errors import InputError

MARK = b"\xef\xbb\xbf"  # of UTF-8: before JSON it is skipped, and in text it is a character


def read_all(source: Input, most: int, what: str, hint: str = "", blocks: Iterable[bytes] | None = None) -> bytes:
    """Return all bytes of an input, or its `blocks` if some were read already.

    InputError ("more than ... too many `what`") says that there are more than `most`.
    """
    held: list[bytes] = []
    size = 0
    for block in source.blocks() if blocks is None else blocks:
        held.append(block)
        size += len(block)
        if size > most:
            raise InputError(f"more than {most >> 20} MiB are too many {what}", hint, where=source.shown)
    return b"".join(held)


def without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield the blocks of JSON or ids without a mark of UTF-8 at their beginning.

    >>> list(without_mark([b"\xef", b"\xbb\xbf[1", b"]"])), list(without_mark([b"1 ", b"2"]))
    ([b'[1', b']'], [b'1 ', b'2'])
    """
    rest = iter(blocks)
    first = next(rest, b"")
    while first and len(first) < len(MARK) and MARK.startswith(first):
        if not (block := next(rest, b"")):
            break
        first += block
    first = first.removeprefix(MARK)
    if first:
        yield first
    yield from rest
