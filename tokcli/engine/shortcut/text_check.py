"""`Checks`: native code finds, in one pass, the characters and added tokens in a text that need more than a shortcut.

The native check asks about a page of 256 code points when it first meets one of them, so that loading needs no tables
of characters (text_check.h has the native side).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from operator import itemgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tokcli.engine import backend
from tokcli.engine.base.locks import new_lock
from tokcli.engine.shortcut.shortcut import Shortcut, normal_forms
from tokcli.engine.tokens import pairs_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

PAGE = 256  # code points
# The class of a character. CHANGED: the normalizer may change it. BEGINS: an added token may begin with it. BOTH: a
# token may begin with it, and it has another class, too. UNSAFE: the shortcut does not hold for it. Lower values are
# combining classes.
CHANGED, BEGINS, BOTH, UNSAFE = 251, 253, 254, 255
_ROUNDS = 8  # of asking again after new characters have been classed; texts bring new ones in two or three
_MOST_LEARNED = 1 << 14  # pages and runs for one text; one of more is faster in Python, which normalizes it as a whole
SURROGATES = range(0xD800, 0xE000)
_FIRST_OF_NFC = "\u0300"  # the first character that NFC changes or may join to the one before; most texts need no other

SegmentKind = Literal["added", "plain", "slow"]
Answer = TypeVar("Answer")


class TextCheck:
    """A native check for added tokens and for characters that are unsafe or that the normalizer may change.

    `classify` gives the class of each character of a page, and `rewrite` gives the normalized text of a run of
    characters, None for a run that the shortcut does not hold for.
    """

    def __init__(
        self,
        native: ModuleType,
        tokens: Mapping[str, int],
        classify: Callable[[str], list[int]],
        rewrite: Callable[[str], str | None],
    ) -> None:
        texts = list(map(str.encode, tokens))
        self.native: Any = native.TextCheck(b"".join(texts), array("I", map(len, texts)), array("I", tokens.values()))
        self._begin = frozenset(map(itemgetter(0), tokens))
        self._classify, self._rewrite = classify, rewrite
        self._lock = new_lock()
        self._learned = 0

    @property
    def learned(self) -> int:
        """How much the native check has learned so far."""
        return self._learned

    def ask(self, question: Callable[[], Answer], is_sure: Callable[[Answer], bool]) -> Answer:
        """Return the answer of `question`, asked again until the native check knows all characters and runs it met.

        `question` uses the native check. `is_sure` returns whether more knowledge cannot change an answer.
        """
        learned = self._learned
        return self.ask_again(question, is_sure, question(), learned)

    def ask_again(
        self, question: Callable[[], Answer], is_sure: Callable[[Answer], bool], answer: Answer, learned: int
    ) -> Answer:
        """Do as `ask` where `question` has been answered already, after so much had been learned."""
        first = learned
        for _ in range(_ROUNDS - 1):
            if is_sure(answer) or learned - first > _MOST_LEARNED or not self._learns(learned):
                break
            learned = self._learned
            answer = question()
        return answer

    def _learns(self, learned: int) -> bool:
        """Tell the native check what it asked about; return whether it knows more than at count `learned`."""
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
            return bytes([UNSAFE]) * PAGE
        chars = "".join(map(chr, points))
        values = self._classify(chars)
        for char in self._begin.intersection(chars):
            at = ord(char) - points[0]
            values[at] = BOTH if values[at] else BEGINS
        return bytes(values)

    def read(self, text: str | Buffer) -> bool | bytes:
        """Return whether the shortcut may encode a text (str, UTF-8); or the normalized UTF-8 to encode instead."""
        answer: bool | bytes = self.ask(lambda: self.native.read(text), bool)
        return answer

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """Return (begin, end, id) of each token; with the id 2**32 - 1, of unsafe text up to where text may be cut."""
        flat = self._found(self.native.find, text)
        return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))

    def find_runs(self, text: str) -> list[tuple[int, int]]:
        """Return (begin, end) of each run of characters that the normalizer may change."""
        return pairs_of(self._found(self.native.find_runs, text))

    def _found(self, find: Callable[[str], bytes], text: str) -> list[int]:
        learned = -1
        while self._learns(learned):
            learned = self._learned
            found = find(text)
        return memoryview(found).cast("Q").tolist()


class Checks:
    """The native checks of texts for one shortcut; the texts must not have lone surrogates."""

    def __init__(self, native: ModuleType, shortcut: Shortcut) -> None:
        self._native, self._shortcut = native, shortcut
        self.whole = lru_cache(maxsize=8)(self._whole)
        self._tokens = lru_cache(maxsize=8)(self._only_tokens)
        self._form_values = lru_cache(maxsize=1 << 9)(self._form_values_of)

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

    def _made(self, tokens: frozenset[str], classify: Callable[[str], list[int]]) -> TextCheck:
        added = self._shortcut.added
        return TextCheck(self._native, {token: added[token] for token in tokens if token}, classify, self._rewritten)

    def _whole(self, tokens: frozenset[str]) -> TextCheck | None:
        """Return one check for tokens, unsafe characters and the normalizer; None if there is nothing to check."""
        if not (tokens or self._shortcut.looks_at_text):
            return None

        def classify(chars: str) -> list[int]:
            unsafe, changed = self._unsafe_values(chars), self._form_values(chars)
            return list(map(max, unsafe, changed)) if any(unsafe) else changed.copy()

        return self._made(tokens, classify)

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
        return [0 if self._shortcut.holds_for(char) else UNSAFE for char in chars]

    def _form_values_of(self, chars: str) -> list[int]:
        if self._shortcut.form is None or (self._shortcut.form == "NFC" and max(chars) < _FIRST_OF_NFC):
            return [0] * len(chars)
        found = normal_forms().marks(self._shortcut.form, chars)
        return [CHANGED if value is None else value for value in found]

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
        for begin, end, _ in self._tokens(tokens).find(text) if tokens else ():
            if at < begin:
                yield text[at:begin], False
            yield text[begin:end], True
            at = end
        if at < len(text):
            yield text[at:], False

    def plain_segments(self, text: str) -> Iterator[tuple[str, Literal["plain", "slow"]]]:
        """Yield (segment, kind) of normalized text: plain if the shortcut holds for it, else slow."""
        shortcut, at = self._shortcut, 0
        if shortcut.unsafe or shortcut.unsafe_astral:
            for begin, end, _ in self._unsafe.find(text):
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
        if isinstance(made, bytes):
            return made.decode()
        return text if made else self._shortcut.normalized(text)

    def breaks(self, text: str) -> array[int]:
        """Return where the characters of a normalized text come from, in the form that `mapped_spans` takes."""
        form = self._shortcut.form
        breaks, moved = array("Q", [0, 0]), 0  # by how many characters the normalized text is longer so far
        for begin, end in self._form.find_runs(text):
            made = None if form is None else normal_forms().changes(form, text[begin:end])
            if made is None:
                continue
            at = begin  # the next character that is replaced
            for place, (_, change) in enumerate(made, begin + moved):
                breaks.extend((place, at if change <= 0 else max(at - 1, begin)))
                at += max(0, 1 - change)
            moved += len(made) - (end - begin)
            breaks.extend((end + moved, end))
        return breaks

    def _rewritten(self, run: str) -> str | None:
        text = self._shortcut.normalized(run)
        return text if self._shortcut.holds_for(text) else None
