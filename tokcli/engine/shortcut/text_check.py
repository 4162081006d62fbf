"""`Checks`: native code finds, in one pass, the characters and added tokens that need more than a shortcut."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from tokcli.engine import backend
from tokcli.engine.shortcut.shortcut import Shortcut

if TYPE_CHECKING:
    from tokcli.engine import _native

SegmentKind = Literal["added", "plain", "slow"]


class Checks:
    """The native checks of texts for one shortcut; the texts must not have lone surrogates."""

    def __init__(self, native: ModuleType, shortcut: Shortcut) -> None:
        self._native, self._shortcut = native, shortcut
        self.whole = lru_cache(maxsize=8)(self._whole)
        self._tokens = lru_cache(maxsize=8)(self._made)

    @staticmethod
    def of(shortcut: Shortcut) -> Checks | None:
        """Return the checks for a shortcut; None where only Python can check texts."""
        native = backend.native()
        if native is None:
            return None
        try:
            "".join(shortcut.added).encode()
            array("I", shortcut.added.values())
        except (UnicodeEncodeError, OverflowError):  # a token with a lone surrogate, an id above those of native code
            return None
        return Checks(native, shortcut)

    def _made(self, tokens: frozenset[str], *, unsafe: bool = False, form: bool = False) -> _native.TextCheck:
        added = {text.encode(): self._shortcut.added[text] for text in tokens if text}
        made: _native.TextCheck = self._native.TextCheck(
            b"".join(added),
            array("I", map(len, added)),
            array("I", added.values()),
            self._shortcut.form if form else None,
            array("I", chain.from_iterable(self._shortcut.unsafe if unsafe else ())),
        )
        return made

    def _whole(self, tokens: frozenset[str]) -> _native.TextCheck | None:
        """Return one check for tokens, unsafe characters and the normalizer; None if there is nothing to check."""
        if not (tokens or self._shortcut.looks_at_text):
            return None
        return self._made(tokens, unsafe=True, form=True)

    @cached_property
    def _unsafe(self) -> _native.TextCheck:
        return self._made(frozenset(), unsafe=True)

    @cached_property
    def _form(self) -> _native.TextCheck:
        return self._made(frozenset(), form=True)

    def segments(self, text: str, tokens: frozenset[str]) -> Iterator[tuple[str, SegmentKind]]:
        """Yield (segment, kind): an added token, normalized text that the shortcut holds for, or other text."""
        for part, is_added in self.parts(text, tokens):
            if is_added:
                yield part, "added"
            else:
                yield from self.plain_segments(self.normalized(part))

    def parts(self, text: str, tokens: frozenset[str]) -> Iterator[tuple[str, bool]]:
        """Yield the added tokens in a text and what is between them, each with whether it is a token."""
        at = 0
        for begin, end in _places(self._tokens(tokens), text) if tokens else ():
            if at < begin:
                yield text[at:begin], False
            yield text[begin:end], True
            at = end
        if at < len(text):
            yield text[at:], False

    def plain_segments(self, text: str) -> Iterator[tuple[str, Literal["plain", "slow"]]]:
        """Yield (segment, kind) of normalized text: plain if the shortcut holds for it, else slow."""
        at = 0
        for begin, end in _places(self._unsafe, text) if self._shortcut.unsafe else ():
            if at < begin:
                yield text[at:begin], "plain"
            yield text[begin:end], "slow"
            at = end
        if at < len(text):
            yield text[at:], "plain"

    def normalized(self, text: str) -> str:
        """Return a text in the form in which it is split."""
        if self._shortcut.form is None:
            return text
        made = self._form.read(text)
        return made.decode() if isinstance(made, bytes) else text

    def breaks(self, text: str) -> memoryview:
        """Return where the characters of a normalized text come from, in the form that `mapped_spans` takes."""
        return memoryview(self._form.breaks(text)).cast("Q")


def _places(check: _native.TextCheck, text: str) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of the tokens that a check finds, or of unsafe text up to where text may be cut."""
    found = memoryview(check.find(text)).cast("Q").tolist()
    return zip(found[::3], found[1::3], strict=True)
