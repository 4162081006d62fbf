"""`Checks`: what there is in a text that a shortcut is not for, found by native code in one pass over it.

What characters are is asked of the shortcut when one of a page is first met (text_check.h): loading needs no tables.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tokcli.engine import backend
from tokcli.engine.shortcut import Shortcut

if TYPE_CHECKING:
    from typing_extensions import Buffer

PAGE = 256  # code points
# of a character: a normalizer may change it, a token may begin with it, and it is odd or loose, too; it is odd
LOOSE, BEGINS, BOTH, ODD = 251, 253, 254, 255
CHARACTERS = 2**32 - 1  # found: no token, but characters
_ROUNDS = 8
SURROGATES = range(0xD800, 0xE000)

Kind = Literal["added", "plain", "slow"]
Answer = TypeVar("Answer")


class TextCheck:
    """A native check for tokens and odd characters; `judge` gives the values (as of unicode_forms.py) of a page."""

    def __init__(
        self,
        native: ModuleType,
        tokens: Mapping[str, int],
        judge: Callable[[str], list[int]],
        rewrite: Callable[[str], str | None],
    ) -> None:
        texts = [text.encode() for text in tokens]
        self.native: Any = native.TextCheck(b"".join(texts), array("I", map(len, texts)), array("I", tokens.values()))
        self._begin = frozenset(text[:1] for text in tokens)
        self._judge, self._rewrite = judge, rewrite
        self._lock = threading.Lock()
        self._learned = 0

    def ask(self, question: Callable[[], Answer], is_sure: Callable[[Answer], bool]) -> Answer:
        """What `question`, which uses the native check, answers once that knows the characters and runs that it met.

        `is_sure`: whether an answer is the same in any case. Too many runs: not fine.
        """
        for _ in range(_ROUNDS):
            learned = self._learned
            answer = question()
            if is_sure(answer) or not self._learns(learned):
                break
        return answer

    def _learns(self, learned: int) -> bool:
        with self._lock:
            for page in memoryview(self.native.wanted()).cast("I"):
                self.native.set_page(page, self._values(page))
                self._learned += 1
            for run in self.native.wanted_runs():
                text = self._rewrite(run.decode())
                self.native.set_run(run, None if text is None else text.encode())
                self._learned += 1
            return self._learned != learned

    def _values(self, page: int) -> bytes:
        points = range(page * PAGE, (page + 1) * PAGE)
        if points[0] in SURROGATES:
            return bytes([ODD]) * PAGE
        chars = "".join(map(chr, points))
        values = self._judge(chars)
        for char in self._begin.intersection(chars):
            at = ord(char) - points[0]
            values[at] = BOTH if values[at] else BEGINS
        return bytes(values)

    def read(self, text: str | Buffer) -> bool | bytes:
        """Whether a text (a str, or UTF-8) has no tokens and no odd characters; or the UTF-8 that it is, normalized."""
        answer: bool | bytes = self.ask(lambda: self.native.read(text), bool)
        return answer

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """(begin, end, id or CHARACTERS) of tokens, and of odd characters up to where text may be cut."""
        learned = -1
        while self._learns(learned):
            learned = self._learned
            found: bytes = self.native.find(text)
        flat = memoryview(found).cast("Q").tolist()
        return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


class Checks:
    """The checks for a shortcut. Texts here have no surrogates."""

    def __init__(self, native: ModuleType, shortcut: Shortcut) -> None:
        self._native, self._shortcut = native, shortcut
        self.whole = lru_cache(maxsize=8)(self._whole)
        self._tokens = lru_cache(maxsize=8)(self._only_tokens)
        self._form_values = lru_cache(maxsize=1 << 9)(self._form_values_of)

    @staticmethod
    def of(shortcut: Shortcut) -> Checks | None:
        """The checks; None where only Python can do it."""
        native = backend.native()
        if native is None:
            return None
        try:
            checks = Checks(native, shortcut)
            checks._only_tokens(frozenset(shortcut.added))
        except (ValueError, OverflowError):  # UnicodeEncodeError, too: a token that is no text
            return None
        return checks

    def _made(self, tokens: frozenset[str], judge: Callable[[str], list[int]]) -> TextCheck:
        added = self._shortcut.added
        return TextCheck(self._native, {token: added[token] for token in tokens if token}, judge, self._rewritten)

    def _whole(self, tokens: frozenset[str]) -> TextCheck | None:
        """For all at once: these tokens, and what the shortcut is not for or would normalize; None for nothing."""
        if not (tokens or self._shortcut.looks_at_text):
            return None

        def judge(chars: str) -> list[int]:
            unsafe, loose = self._unsafe_values(chars), self._form_values(chars)
            return list(map(max, unsafe, loose)) if any(unsafe) else loose.copy()

        return self._made(tokens, judge)

    def _only_tokens(self, tokens: frozenset[str]) -> TextCheck:
        return self._made(tokens, lambda chars: [0] * len(chars))

    @cached_property
    def _unsafe(self) -> TextCheck:
        return self._made(frozenset(), self._unsafe_values)

    @cached_property
    def _form(self) -> TextCheck:
        return self._made(frozenset(), self._form_values)

    def _unsafe_values(self, chars: str) -> list[int]:
        if self._shortcut.holds_for(chars):
            return [0] * len(chars)
        return [0 if self._shortcut.holds_for(char) else ODD for char in chars]

    def _form_values_of(self, chars: str) -> list[int]:
        if self._shortcut.form is None:
            return [0] * len(chars)
        from tokcli.engine.unicode_forms import marks

        found = marks(self._shortcut.form, chars)
        return [LOOSE if value is None else value for value in found]

    def parts(self, text: str, tokens: frozenset[str]) -> Iterator[tuple[str, Kind]]:
        """A text in parts: added tokens, what the shortcut takes (normalized), and what goes the slow way."""
        at = 0
        for begin, end, _ in self._tokens(tokens).find(text) if tokens else ():
            yield from self._parts(text[at:begin])
            yield text[begin:end], "added"
            at = end
        yield from self._parts(text[at:])

    def _parts(self, text: str) -> Iterator[tuple[str, Kind]]:
        shortcut = self._shortcut
        if shortcut.form is not None:
            text = self._normalized(text)
        at = 0
        if shortcut.unsafe or shortcut.unsafe_astral:
            for begin, end, _ in self._unsafe.find(text):
                if at < begin:
                    yield text[at:begin], "plain"
                yield text[begin:end], "slow"
                at = end
        if at < len(text):
            yield text[at:], "plain"

    def _normalized(self, text: str) -> str:
        made = self._form.read(text)
        if isinstance(made, bytes):
            return made.decode()
        return text if made else self._shortcut.normalized(text)

    def _rewritten(self, run: str) -> str | None:
        text = self._shortcut.normalized(run)
        return text if self._shortcut.holds_for(text) else None
