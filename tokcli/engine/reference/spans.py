"""Spans in Python: two numbers for each token, the first and the past-the-end character, or byte."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence


def _pairs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(numbers[::2], numbers[1::2], strict=True)


def format_spans(ids: Sequence[int] | None, spans: Sequence[int], shift: int = 0) -> bytes:
    r"""Return `id TAB start TAB end` and a newline for each id; or `[start, end], ...` for None.

    >>> format_spans([7], [0, 2]), format_spans(None, [0, 2, 2, 3], 5)
    (b'7\t0\t2\n', b'[5, 7], [7, 8]')
    """
    places = ((begin + shift, end + shift) for begin, end in _pairs(spans))
    if ids is None:
        return b", ".join(b"[%d, %d]" % place for place in places)
    return b"".join(b"%d\t%d\t%d\n" % (id, *place) for id, place in zip(ids, places, strict=True))


def byte_spans(text: bytes | memoryview, spans: Sequence[int], /) -> bytes:
    """Return spans in the characters of a text as spans in its bytes; a place past the end of the text is its end.

    >>> array("Q", byte_spans("aé!".encode(), [0, 2, 2, 3])).tolist()
    [0, 3, 3, 4]
    """
    starts = [at for at, byte in enumerate(text) if byte & 0xC0 != 0x80]
    starts.append(len(text))
    last = len(starts) - 1
    return array("Q", [starts[min(place, last)] for place in spans]).tobytes()


def mapped_spans(spans: Sequence[int], breaks: Sequence[int], shift: int, /) -> bytes:
    """Return spans in a changed text as spans in the text before it; `tokens.mapped_spans` says what `breaks` are.

    >>> array("Q", mapped_spans([0, 1, 1, 3], [0, 0, 2, 5], 0)).tolist()
    [0, 1, 1, 6]
    """
    at = 0

    def origin(place: int) -> int:
        nonlocal at
        while at and breaks[at] > place:
            at -= 2
        while at + 2 < len(breaks) and breaks[at + 2] <= place:
            at += 2
        return breaks[at + 1] + place - breaks[at] + shift

    out = array("Q")
    for begin, end in _pairs(spans):
        out.extend((origin(begin), origin(end - 1) + 1 if begin < end else origin(begin)))
    return out.tobytes()


def trimmed_spans(spans: Sequence[int], blanks: Sequence[int], keeps_first: bool, /) -> bytes:
    """Return spans without so many characters (`blanks`, two for each) at their ends; see `tokens.trimmed_spans`.

    >>> array("Q", trimmed_spans([0, 2, 2, 5], [1, 0, 1, 0], True)).tolist()
    [0, 2, 3, 5]
    """
    out = array("Q")
    for at, ((begin, end), (leading, trailing)) in enumerate(zip(_pairs(spans), _pairs(blanks), strict=True)):
        if leading and not (keeps_first and leading == 1 and (at == 0 or begin == 0)):
            begin = min(begin + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, begin)
        out.extend((begin, end))
    return out.tobytes()
