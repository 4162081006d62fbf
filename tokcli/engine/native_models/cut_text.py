"""`CutText`: encodes texts out of which tokens are cut first, in Python; a model encodes what is between them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.engine.base.arguments import NONE
from tokcli.engine.native_models.text_model import NativeRecords, NativeText, PlacedIds, Refused
from tokcli.engine.stream.decoding import KnownBytes
from tokcli.engine.stream.parallel import ordered
from tokcli.engine.stream.utf8 import special_finder
from tokcli.engine.tokens import Tokens, joined, joined_ids
from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.spec.image import ImageSpec
    from tokcli.engine.stream.token_cuts import TokenCuts
    from tokcli.engine.stream.utf8 import TextOrUtf8


class _Fragment(NamedTuple):
    """A token and its id, or text between tokens (id: None); the place at which it begins, and its `space` in front."""

    text: TextOrUtf8
    id: int | None
    begin: int = 0
    space: str = ""


class CutText(NativeText):
    """Encodes the tokens of `cuts` by themselves, and by `between`, a native twin or its like, the text between them.

    With `puts_space`, text at the beginning and behind a token gets a space in front. `bytes_of` gives the bytes of an
    id: if it is given, places are those of the bytes in the text, and a text that has other bytes is an InputError,
    which says that `name` changes it; else `between` knows them.
    """

    def __init__(
        self,
        between: Any,
        cuts: TokenCuts,
        *,
        puts_space: bool = False,
        bytes_of: Callable[[int], bytes] | None = None,
        name: str = "the vocabulary",
    ) -> None:
        self.between, self._cuts, self._space = between, cuts, " " if puts_space else ""
        self._bytes_of, self._name, self.vocabulary_image = bytes_of, name, None

    def told_in(self, spec: ImageSpec) -> ImageSpec:
        """Return a spec that also says what is done here."""
        return spec._replace(
            cuts_by=self._cuts.spaces, puts_space=bool(self._space), places_by_bytes=self._bytes_of is not None
        )

    def _fragments(self, text: TextOrUtf8, allowed: frozenset[str]) -> Iterator[_Fragment]:
        if isinstance(text, memoryview):
            if not self._may_hold_token(text, allowed):
                if text.nbytes:
                    yield _Fragment(memoryview(b" " + bytes(text)) if self._space else text, None, 0, self._space)
                return
            text = str(text, "utf-8")
        space = self._space
        for begin, end, id in self._cuts.find(text, allowed):
            if id is None:
                yield _Fragment(space + text[begin:end], None, begin, space)
            else:
                yield _Fragment(text[begin:end], id, begin)
            space = "" if id is None else self._space

    def _may_hold_token(self, data: memoryview | bytes, allowed: frozenset[str]) -> bool:
        """Return whether a token that is cut out of text may be in its UTF-8."""
        return special_finder(self._cuts.texts(allowed)).is_in(bytes(data))

    def encode(self, text: TextOrUtf8, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text."""
        return self.encode_array(text, allowed).tolist()

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text (uint32)."""
        return joined_ids(list(map(self._ids_of, self._fragments(text, allowed))))

    def _ids_of(self, part: _Fragment) -> memoryview:
        ids: memoryview = self.between.encode_array(part.text, NONE) if part.id is None else _one(part.id)
        return ids

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        """Return the number of ids of a text."""
        parts = self._fragments(text, allowed)
        return sum(self.between.count(part.text, NONE) if part.id is None else 1 for part in parts)

    def encode_batch(self, texts: list[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        if any(self._cuts.is_in(text, NONE) for text in texts):
            return list(ordered(partial(self.encode, allowed=NONE), iter(texts), threads, may_wait=False))
        found: list[list[int]] = self.between.encode_batch(self._spaced(texts), threads)
        return found

    def encode_array_batch(self, texts: list[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all texts, and where those of each begin; Refused where one may hold a token."""
        if any(self._cuts.is_in(text, NONE) for text in texts):
            raise Refused
        found: tuple[memoryview, memoryview] = self.between.encode_array_batch(self._spaced(texts), threads)
        return found

    def _spaced(self, texts: list[str]) -> list[str]:
        return [self._space + text if text else text for text in texts] if self._space else texts

    def records_in(self, data: bytes, allowed: frozenset[str], before: bytes = b"") -> NativeRecords | None:
        """Return what encodes the records in a buffer of UTF-8 at once; None where one may hold a token."""
        if self._may_hold_token(data, allowed):
            return None
        found: NativeRecords | None = self.between.records_in(data, NONE, before + self._space.encode())
        return found

    def place_records(self, data: Buffer, ends: Buffer, separator_size: int) -> PlacedIds:
        """Raise Refused: tokens may have to be cut out of a record."""
        del data, ends, separator_size
        raise Refused

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> tuple[Tokens, float]:
        """Return the tokens of a text that continues another, and the sum of scores after it; see `TextTokenizer`."""
        parts, by_bytes = list[Tokens](), self._bytes_of if places else None
        for part in self._fragments(text, allowed):
            if part.id is not None:
                found, total = Tokens([part.id], spans=[part.begin, part.begin + len(part.text)]), 0.0
            else:
                is_placed = places and by_bytes is None
                found, total = self.between.encode_next(part.text, NONE, before, total, places=is_placed)
                if part.begin and found.spans is not None:
                    found.spans = array("Q", (part.begin + place for place in found.spans))
            parts.append(found)
            before = ""  # text after a token begins anew
        tokens = joined(parts)
        if by_bytes is not None:
            _check_same([self._known.joined(tokens.ids)], text, self._name)
            tokens.spans = self._known.spans(tokens.ids, 0)
        return tokens, total

    def piece_ends(self, text: bytes) -> bytes:
        """Return the bytes (uint64) at which the pieces of a text end; Refused where tokens may be cut out of it."""
        if self._space or self._may_hold_token(text, NONE):
            raise Refused
        ends: bytes = self.between.piece_ends(text)
        return ends

    def part_ends(self, text: memoryview, size: int) -> memoryview:
        """Raise Refused: tokens may have to be cut out of the text."""
        del text, size
        raise Refused

    def image(self) -> bytes:
        """Return the tables of `between` in the form that is kept in the cache."""
        image: bytes = self.between.image()
        return image

    def encode_spans(
        self, text: TextOrUtf8, allowed: frozenset[str], *, begins: bool = True, ends: bool = True
    ) -> Tokens:
        """Return the tokens of a whole text with their places in characters."""
        del begins, ends
        return self._by_places(text, allowed) if self._bytes_of is None else self._by_bytes(text, allowed)

    def _by_places(self, text: TextOrUtf8, allowed: frozenset[str]) -> Tokens:
        ids: list[int] = []
        spans: list[int] = []
        for part in self._fragments(text, allowed):
            if part.id is not None:
                ids.append(part.id)
                spans += part.begin, part.begin + len(part.text)
                continue
            found = self.between.encode_spans(part.text, NONE)
            ids += found.ids
            spans += (part.begin + place for place in found.spans or ())
        return Tokens(ids, spans=spans)

    def _by_bytes(self, text: TextOrUtf8, allowed: frozenset[str]) -> Tokens:
        parts, texts = list[Tokens](), list[bytes]()
        place = 0
        for part in self._fragments(text, allowed):
            ids = self._ids_of(part)
            data = self._known.joined(ids)
            spaces = len(part.space) if data.startswith(part.space.encode()) else 0  # which are not in the text
            texts.append(data[spaces:])
            spans = self._known.spans(ids, place - spaces)
            if spans:
                spans[0], place = (place if spaces else spans[0]), spans[-1]
            parts.append(Tokens(ids, spans=spans))
        _check_same(texts, text, self._name)
        return joined(parts)

    @cached_property
    def _known(self) -> KnownBytes:
        bytes_of = self._bytes_of or bytes
        return KnownBytes(lambda ids: list(map(bytes_of, ids)))


def _one(id: int) -> memoryview:
    return memoryview(array("I", [id]))


def _check_same(parts: Sequence[bytes], text: TextOrUtf8, name: str) -> None:
    """Raise InputError, which names the vocabulary, if the bytes of tokens are not those of the text."""
    if b"".join(parts) != (text.encode() if isinstance(text, str) else bytes(text)):
        raise InputError(f"{name} changes this text: the places of its tokens are not known")
