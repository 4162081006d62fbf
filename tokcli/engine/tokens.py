"""`Tokens`: the ids of a text and what goes with each of them, such as the places of tokens in the text.

Tokenizers make them, post-processors add to them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tokcli.engine import backend
from tokcli.errors import GrowthError

if TYPE_CHECKING:
    from tokcli.engine.spec.templates import Around

# characters; real rules make a text at most 20 times as long, and native code has no more than 2**30 bytes in one piece
_ANY_SIZE, _GROWTH, _MOST = 1 << 20, 64, 1 << 28


Ids: TypeAlias = "array[int] | memoryview"  # uint32; of a memoryview, native code has made the memory
Spans: TypeAlias = "array[int] | memoryview"  # uint64: for each token its first and its past-the-end character


class Tokens:
    """The ids of a text (array of uint32), and lists of the same length: `type_ids`, and `special`.

    `spans` and `blanks` have two numbers for each id, or are None where nobody asked for places. A span (uint64) is the
    first and the past-the-end character in the input. Blanks (uint32) count the spaces at the beginning and at the end
    of the text that the token stands for, which some post-processors take out of its span. `begins` tells whether these
    are the first tokens of their text, not those of a later chunk.
    """

    begins = True

    def __init__(
        self,
        ids: Iterable[int],
        type_ids: list[int] | None = None,
        special: list[int] | None = None,
        spans: Iterable[int] | None = None,
        blanks: Iterable[int] | None = None,
    ) -> None:
        self.ids: Ids = _numbers("I", ids)
        self._type_ids, self._special = type_ids, special  # None: nothing but zeros, which take 16 bytes a token
        self.spans: Spans | None = None if spans is None else _numbers("Q", spans)
        self.blanks = None if blanks is None else _numbers("I", blanks)

    @property
    def type_ids(self) -> list[int]:
        """The type of each token: 0, or 1 for the second text of a pair."""
        if not self._type_ids:
            self._type_ids = [0] * len(self.ids)
        return self._type_ids

    @type_ids.setter
    def type_ids(self, numbers: list[int]) -> None:
        self._type_ids = numbers

    def set_type(self, type_id: int) -> None:
        """Give all tokens one type."""
        self._type_ids = [type_id] * len(self.ids) if type_id else None

    @property
    def special(self) -> list[int]:
        """A number for each token: 1 where a template added it, else 0."""
        if not self._special:
            self._special = [0] * len(self.ids)
        return self._special

    @special.setter
    def special(self, numbers: list[int]) -> None:
        self._special = numbers

    def add(self, more: Tokens) -> None:
        """Add tokens at the end; places are kept where both have them."""
        if self._type_ids or more._type_ids:
            self.type_ids = self.type_ids + more.type_ids
        if self._special or more._special:
            self.special = self.special + more.special
        self.ids = _longer(self.ids, more.ids)
        self.spans = None if self.spans is None or more.spans is None else _longer(self.spans, more.spans)
        self.blanks = None if self.blanks is None or more.blanks is None else _longer(self.blanks, more.blanks)


def joined_ids(parts: list[memoryview]) -> memoryview:
    """Return several arrays of ids (uint32) in a row as one."""
    return parts[0] if len(parts) == 1 else memoryview(b"".join(parts)).cast("I")


def _numbers(typecode: str, numbers: Iterable[int]) -> array[int] | memoryview:
    """Return numbers as they are, if they are an array or a memoryview of this type, else as an array of it."""
    if isinstance(numbers, memoryview) and numbers.format == typecode:
        return numbers
    return numbers if isinstance(numbers, array) and numbers.typecode == typecode else array(typecode, numbers)


def joined(sequences: Sequence[Tokens]) -> Tokens:
    """Return several `Tokens` joined into one; places are kept where all of them have places.

    >>> joined([Tokens([1]), Tokens([2, 3], type_ids=[1, 1])]).type_ids
    [0, 1, 1]
    """
    full = [tokens for tokens in sequences if len(tokens.ids)]
    if len(full) == 1:
        return full[0]  # not copied: it may be all of a long text
    out = Tokens([], spans=[], blanks=[])
    for tokens in full:
        out.add(tokens)
    return out


def _longer(numbers: array[int] | memoryview, more: array[int] | memoryview) -> array[int]:
    """Return numbers with more of the same type at their end; an array is changed in place."""
    if isinstance(numbers, memoryview):
        numbers = array(numbers.format, numbers.tobytes())
    numbers.frombytes(memoryview(more).cast("B"))
    return numbers


def template_tokens(ids: Sequence[int], type_id: int) -> Tokens:
    """Return the special tokens `ids` that a template adds; since they are not in the text, their spans are 0 to 0."""
    size = len(ids)
    return Tokens(ids, [type_id] * size, [1] * size, [0, 0] * size, [0, 0] * size)


def enclosed(texts: list[Tokens], template: Around) -> list[Tokens]:
    """Return one text or a pair of texts, each with the ids that a template puts before and after it."""
    made = []
    for at, tokens in enumerate(texts):
        before = template_tokens(template.second_before if at else template.before, at * template.types)
        is_last = at == len(texts) - 1
        after = template_tokens(template.after if is_last else template.first_after, at * template.types)
        made.append(joined([before, tokens, after]))
    return made


def texts_of(ids: Mapping[str, int]) -> dict[int, str]:
    """Return the text of each id; of several texts with one id, the last.

    >>> texts_of({"a": 0, "b": 0})
    {0: 'b'}
    """
    return {id: text for text, id in ids.items()}


def spans_of(token_bytes: Iterable[bytes], start: int = 0, *, in_chars: bool = True) -> array[int]:
    """Return the first and the past-the-end character (or byte) that each token has bytes of, in one array (uint64).

    The first characters are those of tiktoken's `decode_with_offsets`. `start` is the number of characters (or bytes)
    that begin before the first token.

    >>> spans_of([b"a\\xe4", b"\\xb8\\xad"]).tolist()
    [0, 2, 1, 2]
    """
    spans = array("Q")
    begun = start  # characters whose first byte has been seen
    for token in token_bytes:
        spans.append(max(0, begun - (in_chars and 0x80 <= token[0] < 0xC0)) if token else max(0, begun))
        begun += sum(not 0x80 <= byte < 0xC0 for byte in token) if in_chars and not token.isascii() else len(token)
        spans.append(max(0, begun))
    return spans


def pairs_of(spans: Sequence[int]) -> list[tuple[int, int]]:
    """Return a flat sequence of spans as pairs of numbers.

    >>> pairs_of([0, 2, 2, 3])
    [(0, 2), (2, 3)]
    """
    return list(zip(spans[::2], spans[1::2], strict=True))


def mapped_spans(spans: Spans, breaks: Spans, shift: int) -> Spans:
    """Return spans in a changed text as spans in the original text, plus `shift` characters.

    `breaks` has pairs of numbers: a place in the changed text, and its origin in the original. From there to the next
    pair, each character of the changed text comes from one of the original, in order.

    >>> mapped_spans(array("Q", [0, 1, 1, 3]), array("Q", [0, 0, 2, 5]), 0).tolist()
    [0, 1, 1, 6]
    """
    return memoryview(backend.code().mapped_spans(spans, breaks, shift)).cast("Q")


def trimmed_spans(spans: Spans, blanks: Sequence[int], *, keeps_first: bool) -> Spans:
    """Return spans without the spaces at the ends of tokens: `blanks` has their numbers, two for each token.

    With `keeps_first`, a token at the beginning of the text keeps its leading space if it has only one.

    >>> trimmed_spans(array("Q", [0, 2, 2, 5]), array("I", [1, 0, 1, 0]), keeps_first=True).tolist()
    [0, 2, 3, 5]
    """
    return memoryview(backend.code().trimmed_spans(spans, blanks, keeps_first)).cast("Q")


def most_made_of(size: int) -> int:
    """Return the most characters that a file's rules may make of a text of `size` characters.

    >>> most_made_of(1)
    1048640
    """
    return min(_MOST, _ANY_SIZE + _GROWTH * size)


def check_growth(size: int, most: int, part: str) -> None:
    """Raise GrowthError if `size`, the number of characters that a part of a tokenizer makes, is more than `most`."""
    if size > most:
        raise GrowthError.of(part, most)
