"""`SpacedDecoder`: llama.cpp's way to decode, which drops a space at the beginning and cleans spaces up."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.stream.decoding import Place

_CLEANED = ((rb" ([?!.,])", rb"\1"), (rb" ' ", b"'"), (rb" ('(?:s|m|re|ve))", rb"\1"))


class SpacedDecoder:
    """Decodes ids, without a space at the beginning of the first, and cleans spaces up, where a spec says so.

    `decode` joins the bytes of ids.
    """

    def __init__(self, decode: Callable[[Sequence[int]], bytes], spec: DecodingSpec) -> None:
        self._decode, self._drops_space, self._cleans = decode, spec.drops_space != "no", spec.cleans_spaces
        self._held = b""

    @property
    def place(self) -> Place:
        """Where the next id is; see `ByteDecoder`."""
        if self._cleans:
            return "between"
        return "beginning" if self._drops_space else "behind"

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that later ids do not change."""
        data = self._decode(ids)
        if self._drops_space and ids:
            self._drops_space = False
            data = data[self._decode(ids[:1]).startswith(b" ") :]
        if not self._cleans:
            return data
        data = self._held + data
        at = len(data) - uncleaned_at_end(data)
        self._held = data[at:]
        return cleaned(data[:at])

    def finish(self) -> bytes:
        """Return the bytes that were held."""
        return cleaned(self._held)


def cleaned(text: bytes) -> bytes:
    """Return a text without the spaces before English punctuation (llama.cpp's `clean_spaces`).

    >>> cleaned(b"It 's done .")
    b"It's done."
    """
    for pattern, instead in _CLEANED:
        text = re.sub(pattern, instead, text)
    return text


def uncleaned_at_end(text: bytes) -> int:
    """Return how many bytes at the end of a text to hold back: `cleaned` may change them when others follow.

    What it finds begins at a space, and so far has only spaces, apostrophes and the first letter of "re" or "ve". Of
    several spaces, those before the last two stay.

    >>> uncleaned_at_end(b"It 's done ."), uncleaned_at_end(b"It ' "), uncleaned_at_end(b"you 'r")
    (0, 3, 3)
    """
    before = text[:-1] if text.endswith((b"r", b"v")) else text
    begin = before.find(b" ", len(before.rstrip(b" '")))
    return 0 if begin < 0 else len(text) - max(begin, before.rfind(b"   ", begin) + 1)
