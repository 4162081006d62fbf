"""`TextDecoder`: ids to text while they come, as a model makes them; for `Encoding.decoder`."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokcli.engine.base import arguments
from tokcli.engine.stream.decoding import ApartDecoder, ByteDecoder
from tokcli.engine.stream.ids import without

if TYPE_CHECKING:
    from tokcli.engine.tokenizer import Tokenizer


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
