"""`IdDecoder`: ids to bytes by a `ImageSpec` and native ranks, or a table of the bytes of ids."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.base.arguments import is_array
from tokcli.engine.spec.image import SPELLED, ImageSpec
from tokcli.engine.spec.token_table import TokenBytes, TokenTable
from tokcli.engine.stream.decoding import ApartDecoder, BeginDecoder, ByteDecoder, KnownBytes
from tokcli.engine.stream.spaced_decoder import SpacedDecoder
from tokcli.engine.tiktoken.native_encoder import open_decoder, open_vocabulary

if TYPE_CHECKING:
    from typing_extensions import Buffer


class IdDecoder:
    """Decodes ids as a spec says, by the image of the `ranks`, or by a table of the bytes of ids.

    `refuse` is called with ids of which the vocabulary lacks
    one, to raise UnknownTokenError.
    """

    def __init__(
        self,
        spec: ImageSpec,
        ranks: Buffer | None,
        table: TokenTable | None,
        refuse: Callable[[Sequence[int]], object],
    ) -> None:
        self._spec, self._image, self._table, self._refuse = spec, ranks, table, refuse

    @cached_property
    def _other_bytes(self) -> dict[int, bytes]:
        """The bytes of the ids that the ranks lack."""
        listed = zip(self._spec.added_texts, self._spec.added_ids, self._spec.added_flags, strict=True)
        spelled = {n: text.encode("utf-8", "surrogatepass") for text, n, flags in listed if flags & SPELLED}
        return {**spelled, **(self._spec.other_bytes or {})}

    @cached_property
    def _native(self) -> tuple[Any, Any] | None:
        """The native vocabulary and its decoder; None where they do not give the bytes of all ids."""
        image = self._image
        vocabulary = None if image is None or self._spec.other_bytes is None else open_vocabulary(lambda: image)
        return None if vocabulary is None else (vocabulary, open_decoder(vocabulary, self._other_bytes))

    @property
    def is_able(self) -> bool:
        """Whether the image says how ids decode."""
        return self._table is not None or self._native is not None

    def joined(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids in a row; UnknownTokenError for an id that the vocabulary lacks."""
        if self._native is None:
            return self._known.joined(ids)
        try:
            given = ids if is_array(ids) else memoryview(array("I", ids))
            data: bytes = self._native[1].decode(given, 4)
        except (KeyError, OverflowError):
            self._refuse(ids)
            raise
        return data

    @cached_property
    def _known(self) -> KnownBytes:
        """The bytes of the ids of the table that have been asked for."""
        return KnownBytes(self._each)

    def _each(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id of the table; UnknownTokenError for an id that it lacks."""
        assert self._table is not None
        try:
            return list(map(self._table.__getitem__, ids))
        except KeyError:
            self._refuse(ids)
            raise

    @cached_property
    def _steps(self) -> Callable[[], ByteDecoder]:
        """What makes a decoder by the decoders of a tokenizer.json, which take the text of each id."""
        from tokcli.engine.pipeline.decode_steps import StepDecoders, decoders_in

        table = {} if self._table is None else self._table  # (to ask whether a table has any takes long)
        return StepDecoders(_Texts(table), decoders_in(self._spec.decoding.steps)).stream

    @cached_property
    def _spaces(self) -> tuple[frozenset[int], frozenset[int]]:
        """The ids that keep a space at the beginning, and those behind which there is another beginning."""
        spec = self._spec.decoding
        return frozenset(spec.keeps_space), frozenset(spec.begins_anew)

    def stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        spec = self._spec.decoding
        if spec.steps:
            return self._steps()
        if spec.drops_space in ("one", "all"):
            return BeginDecoder(self.joined, spec.drops_space, *self._spaces)
        if spec.drops_space == "no" and not spec.cleans_spaces:
            return ApartDecoder(self.joined)
        return SpacedDecoder(self.joined, spec)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids."""
        stream = self.stream()
        return stream.add(ids) + stream.finish()

    def token_bytes(self) -> Mapping[int, bytes] | None:
        """Return the bytes of all ids; None where the image does not tell them."""
        if self._native is None:
            told, table = self._spec.token_bytes, self._table
            return None if told is None or table is None else TokenBytes(table, told)
        tokens = self._native[0].tokens()
        return {id: token for id, token in enumerate(tokens) if token is not None} | self._other_bytes


class _Texts(dict[int, str]):
    """The texts of ids, each made when it is first asked for."""

    def __init__(self, table: Mapping[int, bytes]) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, id: int) -> str:
        text = self[id] = str(self._table[id], "utf-8", "surrogatepass")
        return text
