r"""Where the text of a known pattern may be cut, told by the characters on both sides of the place.

A cut is safe if both sides, split on their own, give the pieces of the whole text. It is safe between a character that
is not white space and U+0020, and between a letter or digit and a stop (most ASCII signs and white space): no known
pattern has a piece across such a place, looks across it, or begins elsewhere because of the text before it. It is not
safe between a letter and an apostrophe or a mark (contractions; o200k takes marks as letters), nor after a newline
(`\s+(?!\S)`). The tests try all this on adversarial text.

Most cuts are found by looking at a few characters. Where that does not help, Python's own `re` looks further, so
`regex` need not be loaded; compiling takes 4 ms. Since classes depend on the release of Python, only characters whose
class never changed are named here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.pretokenizers.known_patterns import BLOOM, DEEPSEEK_CODER, LLAMA_CPP_CODER

_WORDS = (  # letters and digits
    *(("A", "Z"), ("a", "z"), ("0", "9")),
    *(("\u3041", "\u3096"), ("\u30a1", "\u30fa"), ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uac00", "\ud7a3")),
)


class _Rule:
    """Says where text may be cut: between a letter or digit and a stop, and before characters of two more kinds.

    With `before_space`, that is between a character that is not white space and U+0020; with `before_newline`, between
    any character and a newline.
    """

    def __init__(self, stops: str, *, before_space: bool = False, before_newline: bool = False) -> None:
        self.stops, self.before_space, self.before_newline = stops, before_space, before_newline

    def allows(self, before: str, after: str) -> bool:
        """Return whether text may be cut between two characters."""
        if after == " " and self.before_space and not before.isspace():
            return True
        if after in self.stops and any(first <= before <= last for first, last in _WORDS):
            return True
        return self.before_newline and after in "\r\n"

    @property
    def pat_str(self) -> str:
        """A pattern that finds the same places."""
        words = "".join(f"{first}-{last}" for first, last in _WORDS)
        ways = [rf"(?<=[{words}])(?=[{re.escape(self.stops)}])"]
        if self.before_space:
            ways.insert(0, r"(?<=[^\s\x85\x1c-\x1f])(?=\x20)")
        if self.before_newline:
            ways.append(r"(?<=[\s\S])(?=[\r\n])")
        return "|".join(ways)


_STOPS = '\t\n\r !"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\u3001\u3002\uff01\uff0c\uff1f'  # no mark, no apostrophe
_RULE = _Rule(_STOPS, before_space=True)
# Some patterns take signs, or letters and signs, as one piece; and some cut out each newline.
_CODER_RULE = _Rule(_STOPS, before_newline=True)
_RULES = {
    DEEPSEEK_CODER: _CODER_RULE,
    LLAMA_CPP_CODER: _CODER_RULE,
    BLOOM: _Rule("\t\n\r !(),.?|\u3001\u3002\uff0c"),
}
DIGITS_SEEN = 64  # more than enough to see how a run of digits is cut
_ENDS_IN_DIGITS = r"[0-9]{8}\Z"
LOOK_AROUND = 1 << 16  # characters that a user's pattern may look at beside a piece and still be streamed exactly
_FEW = 1 << 7  # characters at the end that are looked at one by one
_WINDOWS = (1 << 12, 1 << 16)  # characters at the end that are searched before the whole text is


@lru_cache(maxsize=32)
def cut_finder(pat_str: str) -> re.Pattern[str]:
    """Return a pattern that finds the places where the text of a known pattern may be cut."""
    return re.compile(_RULES.get(pat_str, _RULE).pat_str)


def last_stop(pat_str: str, text: str, searched: int = 0) -> int:
    """Return the last index where the text of a known pattern may be cut; 0 if there is none.

    The caller has to know that there is none below `searched`.
    """
    length, rule = len(text), _RULES.get(pat_str, _RULE)
    first = max(0, searched - 1, length - _FEW)
    for cut in range(length - 1, first, -1):
        if rule.allows(text[cut - 1], text[cut]):
            return cut
    if first > length - _FEW:  # there is no more text
        return 0
    if not any(text.find(stop, max(0, searched - 1)) >= 0 for stop in _STOPS):  # much faster than the search below
        return 0
    for window in (*_WINDOWS, length):
        start = max(0, searched - 1, length - window)
        cut = 0
        for match in cut_finder(pat_str).finditer(text, start):
            cut = match.start()
        if cut:
            return cut
        if start < length - window:
            break
    return 0


def is_stop(pat_str: str, data: bytes, at: int) -> bool:
    """Return whether the UTF-8 of a known pattern's text may be cut at byte `at`, as `last_stop` may cut it.

    >>> [is_stop("", b"it's so", at) for at in range(8)]
    [False, False, False, False, True, False, False, False]
    """
    if data[at : at + 1] == b" " and data[at - 1 : at].isalnum():  # the common case, in a tenth of the time
        return at > 0
    before = data[max(0, at - MAX_CHARACTER) : at].decode("utf-8", "replace")
    after = data[at : at + MAX_CHARACTER].decode("utf-8", "replace")
    return bool(before and after) and _RULES.get(pat_str, _RULE).allows(before[-1], after[0])


def digits_begin(text: str) -> int | None:
    """Return the index where the digits at the end of a text begin; None if there are too few to cut among them."""
    if not re.search(_ENDS_IN_DIGITS, text[-64:]):
        return None
    return len(text.rstrip("0123456789"))


def cut_in_digits(pieces: Sequence[str], begin: int, length: int) -> int:
    """Return the last index, at least 4 before the end, between two pieces of the digits that end a text; else 0.

    The text has `length` characters, its digits begin at `begin`, and `pieces` are those of the text up to DIGITS_SEEN
    digits. Where a run of digits is cut in threes depends on its beginning; from there on it is cut alike everywhere.
    """
    ends = [end for end in accumulate(map(len, pieces)) if end > begin][:-1]  # the last may go on
    steps = {after - before for before, after in pairwise(ends)}
    if len(steps) != 1:
        return 0
    (step,) = steps
    return max(0, length - 4 - (length - 4 - ends[0]) % step)
