"""Files and streams, for the Python API: they are encoded and counted in blocks, and ids are decoded as they come.

Special tokens in text are ordinary text.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import fsdecode
from typing import TYPE_CHECKING, TypeVar

from tokcli.engine.base import arguments
from tokcli.engine.stream.chunks import BLOCK_BYTES
from tokcli.engine.stream.decoding import ApartDecoder, ByteDecoder, KnownBytes
from tokcli.engine.stream.ids import special_ids, without
from tokcli.engine.stream.parallel import ordered
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from os import PathLike

    from tokcli.engine.tokenizer import Tokenizer

Made = TypeVar("Made")


def counted(tokenizer: Tokenizer, path: str | PathLike[str]) -> int:
    """Return the number of tokens of a file; InputError, which names the file, where it is not UTF-8."""
    with _blocks_of(path) as blocks:
        return sum(map(tokenizer.count_part, tokenizer.read_parts(blocks)))


def encoded(tokenizer: Tokenizer, path: str | PathLike[str]) -> memoryview:
    """Return the ids (uint32) of a file; InputError, which names the file, where it is not UTF-8."""
    with _blocks_of(path) as blocks:
        buffers = list(streamed(tokenizer, blocks))
    return buffers[0] if len(buffers) == 1 else memoryview(b"".join(buffers)).cast("I")


def streamed(tokenizer: Tokenizer, blocks: Iterable[bytes]) -> Iterator[memoryview]:
    """Yield the ids (uint32) of a stream that comes in blocks, which may end within a character."""
    return map(tokenizer.encode_part, tokenizer.read_parts(arguments.blocks_in(blocks)))


def decoder_of(tokenizer: Tokenizer, errors: str, skip_special_tokens: bool) -> TextDecoder:
    """Return a decoder of ids that come a few at a time; see `Encoding.decoder`."""
    arguments.check_text(errors, "errors")
    special = special_ids(tokenizer.special_tokens, tokenizer.is_special) if skip_special_tokens else frozenset()
    return TextDecoder(tokenizer, errors, special)


def known_bytes(tokenizer: Tokenizer) -> KnownBytes:
    """Return what joins the bytes of ids, each as `token_bytes` gives them; KeyError for an unknown id."""
    return KnownBytes(lambda new: list(map(tokenizer.token_bytes().__getitem__, new)))


def of_each(
    work: Callable[[Tokenizer, str], Made], tokenizer: Tokenizer, paths: object, num_threads: object
) -> Iterator[Made]:
    """Yield the result of `work` for each file, in order; the threads are at most a few files ahead of the caller."""
    checked, threads = arguments.paths_in(paths), arguments.threads_in(num_threads)
    return ordered(lambda path: work(tokenizer, fsdecode(path)), checked, threads)


@contextmanager
def _blocks_of(path: str | PathLike[str]) -> Iterator[Iterator[bytes]]:
    with open(arguments.path_in(path), "rb", buffering=0) as file:  # noqa: PTH123 - also bytes
        try:
            yield iter(lambda: file.read(BLOCK_BYTES), b"")
        except TokcliError as error:
            error.where = error.where or fsdecode(path)
            raise


class TextDecoder:
    r"""Decodes ids that come one or a few at a time; made by `Encoding.decoder`.

    `add` returns the text that is complete with the ids so far, and `finish` the rest. All of it, joined, is what
    `Encoding.decode` returns for all ids together: no character is torn, and a space that depends on the ids beside it
    comes when these are known. After `finish` the decoder begins anew. With `skip_special_tokens`, special tokens are
    left out.

    >>> import tokcli
    >>> decoder = tokcli.get_encoding("o200k_base").decoder()
    >>> [decoder.add(token) for token in [24912, 113592, 233, 0]], decoder.finish()
    (['hello', ' ', '🙋', '!'], '')
    >>> decoder.add([24912, 113592]), ascii(decoder.finish())
    ('hello ', "'\\ufffd'")
    """

    def __init__(self, tokenizer: Tokenizer, errors: str, left_out: frozenset[int]) -> None:
        self._tokenizer, self._errors, self._left_out = tokenizer, errors, left_out
        self._begin()

    def _begin(self) -> None:
        self._bytes: ByteDecoder = self._tokenizer.decode_stream() or ApartDecoder(self._tokenizer.decode)
        self._text = codecs.getincrementaldecoder("utf-8")(self._errors)

    def add(self, ids: int | Iterable[int]) -> str:
        """Return the text that is complete with these ids, one or several; "" while a character lacks bytes.

        UnknownTokenError, a KeyError, for an id that the vocabulary lacks; it changes nothing.
        """
        given = [ids] if hasattr(ids, "__index__") and not hasattr(ids, "__len__") else ids
        return self._text.decode(self._bytes.add(without(arguments.token_ids(given, "ids"), self._left_out)))

    def finish(self) -> str:
        """Return the text that depended on what might follow; bytes that are no character are decoded by `errors`."""
        try:
            return self._text.decode(self._bytes.finish(), final=True)
        finally:
            self._begin()
