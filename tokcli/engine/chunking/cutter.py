"""`PassageCutter`: cuts a stream of text into passages, each of at most so many tokens when it is encoded by itself.

The text is encoded once, and its tokens say where a passage may end. Where both ends of a passage are places at which
the engine cuts streams (`Tokenizer.cuts_at`), its ids are taken from those of the whole text; any other passage is
encoded by itself, and shortened while it has too many tokens. So the limit holds whatever a tokenizer makes of a text
without its neighbours.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine.chunking import boundaries
from tokcli.engine.chunking.window import NO_IDS, Located, Window
from tokcli.engine.stream.chunks import PLAIN, Chunk, ReadOptions
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.stream.utf8 import utf8_of
from tokcli.engine.tokens import joined_ids, mapped_spans
from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.chunking.boundaries import Boundary
    from tokcli.engine.stream.chunks import Blocks
    from tokcli.engine.stream.utf8 import StreamPart
    from tokcli.engine.tokenizer import Tokenizer

SEEN_TOKENS = 16  # after a passage, before its end is chosen: they show how the text goes on
NEAR = 1 << 10  # bytes before the end of a passage in which a boundary is looked for first


class Passage(NamedTuple):
    """Text from byte `start` to `end`, with the ids that it has by itself; `is_last`: the stream ends there."""

    data: bytes
    ids: memoryview
    start: int
    end: int
    is_last: bool


def located_parts(tokenizer: Tokenizer, blocks: Blocks, options: ReadOptions) -> Iterator[tuple[StreamPart, int]]:
    """Yield the parts of a stream, each with the byte at which it begins."""
    start = 0
    read = tokenizer.read_chunks if tokenizer.changes_text else tokenizer.read_parts
    for part in read(blocks, options):
        yield part, start
        start += len(part.data) if isinstance(part, Chunk) else part.nbytes


def locate(tokenizer: Tokenizer, part: StreamPart, start: int) -> Located:
    """Return a part that begins at byte `start` of the stream with its ids and the spans of its tokens."""
    data = part.data if isinstance(part, Chunk) else utf8_of(part)
    if not tokenizer.changes_text:
        ids = tokenizer.encode_part(part)
        spans = tokenizer.token_spans(ids, start, in_chars=False)
        if spans and spans[-1] == start + len(data):  # else it has bytes without a token, which are left out
            return Located(data, ids, spans, is_covered=True)
        return guessed(data, ids, start)
    if isinstance(part, Chunk) and not (part.special or part.tail):
        try:
            tokens = tokenizer.encode_spans(part)
        except InputError:  # the tokenizer does not know the places of tokens
            pass
        else:
            own = byte_spans(part.data, tokens.spans or array("Q"))
            shifted = mapped_spans(own, array("Q", [0, 0]), start) if start else own
            return Located(data, memoryview(tokens.ids), shifted)
    return guessed(data, tokenizer.encode_part(part), start)


def guessed(data: Buffer, ids: memoryview, start: int) -> Located:
    """Return a part as if its tokens had equal sizes: guesses will do, as passages are checked by encoding them."""
    size = memoryview(data).nbytes
    ends = (start + size * (number // 2 + 1) // len(ids) for number in range(2 * len(ids)))
    return Located(data, ids, array("Q", ends))


def _tokens_ahead(size: int, is_certain: bool) -> int:
    """Return how many tokens after the first `size` may fit in, too: some have no id alone, and places are guesses."""
    return 2 if is_certain else SEEN_TOKENS + size // 4


class PassageCutter:
    """Cuts streams into passages of at most `size` tokens, of which up to `overlap` repeat the end of the one before.

    A passage ends at a `boundary` or, where it would be too long, at a finer one. `options` are those with which the
    streams are read. A template that is put around each passage takes `added` of its tokens.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        size: int,
        *,
        overlap: int = 0,
        boundary: Boundary = "token",
        options: ReadOptions = PLAIN,
        added: int = 0,
    ) -> None:
        self._tokenizer, self._size, self._overlap = tokenizer, size - added, overlap
        self._added = added
        self._boundary = boundary
        self._asked = (-1, False)  # the place asked about last, and whether it is a cut
        self._tried = boundaries.TRIED[boundary]
        self._seen = self._size + SEEN_TOKENS + _tokens_ahead(self._size, is_certain=False)
        self._alone = ReadOptions(options.errors, options.allowed)
        # bytes that are not UTF-8 may change the pieces before them, and normalizers the text: no ids are taken over
        self._takes_over = not tokenizer.changes_text and options.errors != "bytes"

    def passages(self, parts: Iterable[Located]) -> Iterator[Passage]:
        """Yield the passages of a text; InputError where a character has more than `size` tokens."""
        start = done = 0
        window, self._asked = Window(), (-1, False)
        for has_all in window.filled(parts, self._seen):
            while done < window.end and (has_all or window.tokens_after(start) > self._seen):
                found = self._passage(window, start, done, has_all)
                if found is None and start < done:
                    start = done  # the overlap leaves no room for anything new
                    continue
                if found is None:
                    raise self._too_small(window, start)
                yield found
                done = found.end
                start = self._repeated(window, start, done, self._overlap) if self._overlap else done
            window.forget(start)

    def first(self, parts: Iterable[Located]) -> Passage:
        """Return the first passage of a text, which is empty where a character has more than `size` tokens."""
        window, self._asked = Window(), (-1, False)
        for has_all in window.filled(parts, self._seen):
            found = self._passage(window, 0, 0, has_all) if self._size else None
            return found or Passage(b"", NO_IDS, 0, 0, is_last=window.end == 0)
        raise AssertionError("a window is filled once at least")

    def last(self, parts: Iterable[Located]) -> Passage:
        """Return the end of a text, of at most `size` tokens; its `is_last` says whether it is the whole text."""
        window, self._asked = Window(), (-1, False)
        kept = self._size + SEEN_TOKENS
        for _ in window.filled(parts, 2 * kept):  # so that no token is copied more than twice
            window.forget_all_but(kept)
        start = self._repeated(window, -1, window.end, self._size)
        ids = self._ids(window, start, window.end, has_all=True)
        return Passage(window.slice(start, window.end), ids, start, window.end, is_last=start == 0)

    # --- where a passage ends ----------------------------------------------------------------------------------------

    def _passage(self, window: Window, start: int, done: int, has_all: bool) -> Passage | None:
        """Return the passage that begins at `start` and ends after `done`; None where no further character fits in."""
        first = window.tokens_before(start)
        limit, too_far = first + self._size, 0
        while limit > first and (place := window.place(limit, has_all)) > done:
            end = self._end(window, start, done, place, limit, too_far)
            ids = self._ids(window, start, end, has_all)
            if len(ids) <= self._size:
                break
            if end <= place:
                limit = min(limit, window.tokens_before(end)) - (len(ids) - self._size)
            too_far = end
        else:
            end, ids = done, NO_IDS
        if end == done or self._boundary == "char":
            end, ids = self._with_more_characters(window, start, end, ids)
        is_last = has_all and end == window.end
        return None if end == done else Passage(window.slice(start, end), ids, start, end, is_last)

    def _end(self, window: Window, start: int, done: int, place: int, limit: int, too_far: int) -> int:
        """Return where a passage ends: at the last boundary after `done` and up to `place`, else at `place`.

        Token `limit` of the window ends at `place`. A line, a sentence or a paragraph that ends later may fit in, as
        newlines may have no token, and places may be guesses; unless it ends at `too_far`, where one did not fit in.
        """
        kinds = self._tried if place < window.end or self._overlap else ()
        near = max(start, place - NEAR)
        for kind in kinds:
            last = place if too_far or kind == "piece" else max(place, window.end_of(limit + 1))
            if too_far and (found := self._next_boundary(window, kind, start, place, too_far - 1)) is not None:
                return found
            for begin in (start,) if kind == "piece" else (near, start):
                found = boundaries.last_within(self._places(window, kind, begin, last), done, last)
                if found is not None:
                    return found
            until = window.end_of(limit + _tokens_ahead(self._size, window.is_covered))
            if not too_far and (found := self._next_boundary(window, kind, start, last, until)) is not None:
                return found
        return place

    def _next_boundary(self, window: Window, kind: Boundary, start: int, place: int, until: int) -> int | None:
        """Return where the first line, sentence or paragraph ends after `place` and up to `until`; None without one."""
        if kind == "piece" or until <= place:
            return None
        found = self._places(window, kind, max(start, place - boundaries.SEEN_AFTER), until)
        return next((at for at in found if at > place), None)

    def _places(self, window: Window, kind: Boundary, start: int, end: int) -> list[int]:
        """Return the boundaries of one kind from `start` to `end`."""
        base = window.base
        if kind != "piece":
            return [base + at for at in boundaries.ends_of(kind, window.data, start - base, end - base)]
        if self._takes_over and window.is_covered:
            start = max(start, self._last_cut(window, start, end))  # pieces end at cuts
        until = min(end + boundaries.SEEN_AFTER, window.end)
        while not boundaries.is_between_characters(window.data, until - base):
            until -= 1
        chunks = self._tokenizer.read_chunks([window.slice(start, until)], self._alone)
        sizes = (len(piece) for chunk in chunks for piece in self._tokenizer.split_chunk(chunk))
        return [at for at in accumulate(sizes, initial=start) if at <= end]

    def _with_more_characters(self, window: Window, start: int, end: int, ids: memoryview) -> tuple[int, memoryview]:
        """Return the end of a passage, and its ids, after as many more characters as fit in."""
        while end < window.end:
            following = boundaries.next_between_characters(window.data, end - window.base) + window.base
            more = self._ids(window, start, following, has_all=False)
            if len(more) > self._size:
                break
            end, ids = following, more
        return end, ids

    # --- what is repeated --------------------------------------------------------------------------------------------

    def _repeated(self, window: Window, begin: int, end: int, most: int) -> int:
        """Return the first place after `begin` from which the text up to `end` has at most `most` tokens."""
        if most == 0:
            return end
        every = window.tokens_before(end)
        number = every - most
        while number < max(every, 1):
            place = max(window.end_of(number), begin + 1)
            while not boundaries.is_between_characters(window.data, place - window.base):
                place += 1
            place = self._begin(window, begin, place, end)
            excess = len(self._ids(window, place, end, has_all=False)) - most
            if excess <= 0:
                return place
            number = max(number, window.tokens_before(place)) + excess
        return end

    def _begin(self, window: Window, begin: int, place: int, end: int) -> int:
        """Return the first boundary from `place` on that is before `end`, or else `place`."""
        for kind in self._tried:
            found = [at for at in self._places(window, kind, max(begin, window.base), end) if place <= at < end]
            if found:
                return found[0]
        return place

    # --- ids ---------------------------------------------------------------------------------------------------------

    def _ids(self, window: Window, start: int, end: int, has_all: bool) -> memoryview:
        """Return the ids of a passage by itself."""
        if not (self._takes_over and window.is_covered):
            return self._encoded(window, start, end)
        first = self._next_cut(window, start, end)
        last = end if has_all and end == window.end else self._last_cut(window, first, end)
        if first == start and last == end:
            return window.ids_between(first, last)
        if first >= last:
            return self._encoded(window, start, end)
        within = window.ids_between(first, last)
        return joined_ids([self._encoded(window, start, first), within, self._encoded(window, last, end)])

    def _next_cut(self, window: Window, start: int, end: int) -> int:
        """Return the first cut from `start` on, if it is after one of the next few tokens; else `end`."""
        if start == 0 or self._is_cut(window, start):
            return start
        number = window.tokens_before(start)
        near = (window.end_of(number + after) for after in range(1, SEEN_TOKENS) if number + after <= window.tokens)
        return next((place for place in near if place < end and self._is_cut(window, place)), end)

    def _last_cut(self, window: Window, start: int, end: int) -> int:
        """Return the last cut up to `end`, if it is after one of the last few tokens; else `start`."""
        if self._is_cut(window, end):
            return end
        number = window.tokens_before(end)
        near = (window.end_of(number - before) for before in range(SEEN_TOKENS))
        return next((place for place in near if place <= start or self._is_cut(window, place)), start)

    def _encoded(self, window: Window, start: int, end: int) -> memoryview:
        """Encode a stretch of text by itself and return its ids."""
        if start == end:
            return NO_IDS
        tokenizer, data = self._tokenizer, window.slice(start, end)
        if not self._alone.allowed and self._alone.errors != "bytes":
            return tokenizer.encode_bytes(data)
        return joined_ids([tokenizer.encode_part(part) for part in tokenizer.read_parts([data], self._alone)])

    def _is_cut(self, window: Window, place: int) -> bool:
        """Return whether the texts on both sides of a place, each by itself, have the ids of the whole."""
        if place != self._asked[0]:  # the end of a passage is the start of the next one
            self._asked = place, self._tokenizer.cuts_at(window.data, place - window.base)
        return self._asked[1]

    def _too_small(self, window: Window, start: int) -> InputError:
        end = boundaries.next_between_characters(window.data, start - window.base) + window.base
        character = window.slice(start, end)
        size = len(self._ids(window, start, end, has_all=False))
        beside = f" beside {self._added} of a template" if self._added else ""
        return InputError(
            f"a character of {size} tokens does not fit in a chunk of {self._size + self._added}{beside}",
            "Allow more tokens in a chunk.",
            offset=start,
            unit="byte",
            detail=repr(character.decode("utf-8", "backslashreplace")),
        )
