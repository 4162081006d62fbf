"""`PieceDecoder`: the ids of a SentencePiece model to text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.spec.decoders import SentencePieceDecoder
from tokcli.engine.spec.models import SentencePieceModel
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.stream.decoding import Place
from tokcli.errors import UnknownTokenError


def shown(text: str) -> bytes:
    """Return the UTF-8 of a piece, with spaces as they are in text."""
    return text.replace(VISIBLE_SPACE, " ").encode()


class PieceDecoder:
    """Decodes ids up to `max_id` that come a few at a time; `names` are added tokens, behind which a text begins."""

    place: Place = "between"

    def __init__(self, spec: TokenizerSpec, names: Mapping[int, str], max_id: int) -> None:
        self._model, decoder = cast(SentencePieceModel, spec.model), cast(SentencePieceDecoder, spec.decoder)
        self._settings = cast(SentencePieceNormalizer, spec.normalizer[0])
        self._names, self._max_id, self._surface = names, max_id, decoder.unknown_surface.encode()
        self._denormalizer = None if decoder.denormalizer is None else SpmNormalizer(decoder.denormalizer)
        self._begin()

    def _begin(self) -> None:
        self._held = bytearray()  # of the text between added tokens, what no call has returned yet
        self._has_bytes, self._at_start = False, True

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids; b"" where the model changes the decoded text, which `finish` then does."""
        names, pieces, first = self._names, self._model.pieces, self._model.first_id
        trims = self._settings.remove_extra_whitespaces
        strips = self._settings.add_dummy_prefix or trims
        if ids and (min(ids) < 0 or max(ids) > self._max_id):
            wrong = next(id for id in ids if not 0 <= id <= self._max_id)
            raise UnknownTokenError(f"{wrong} is not an id of the vocabulary")
        out = bytearray()
        for id in ids:
            if id in names:
                out += self.finish() + names[id].encode()
                self._begin()
                continue
            text, _, kind = pieces[id - first]
            if kind == "byte":
                self._held.append(int(text[3:5], 16))
                continue
            if self._held or self._has_bytes:
                self._at_start = False
            if kind == "control":
                continue
            took_space = self._at_start and strips and text.startswith(VISIBLE_SPACE)
            self._held += self._surface if kind == "unknown" else shown(text[took_space:])
            if self._held or (took_space and not trims):
                self._at_start = False
        return bytes(out if self._denormalizer is not None else out + self.finish())

    def finish(self) -> bytes:
        """Return what is left of the text, as the model changes it."""
        data, self._held = bytes(self._held), bytearray()
        self._has_bytes |= bool(data)
        if self._denormalizer is None:
            return data
        return self._denormalizer.normalize(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
