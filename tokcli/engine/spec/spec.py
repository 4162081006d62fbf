"""`TokenizerSpec`: a tokenizer as its file describes it, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokcli.engine.spec.added_token import AddedToken
    from tokcli.engine.spec.decoders import Decoder, SentencePieceDecoder
    from tokcli.engine.spec.image import DecodingSpec
    from tokcli.engine.spec.models import Model
    from tokcli.engine.spec.normalizers import Normalizer
    from tokcli.engine.spec.splitters import Splitter
    from tokcli.engine.spec.templates import Around, PostProcessor


class TokenizerSpec(NamedTuple):
    """The stages of a tokenizer, by which a text becomes ids, and ids become text.

    The `added` tokens are cut out of a text. The steps of `normalizer` change the text between them, those of
    `splitter` cut it into pieces, and `model` turns pieces into ids. `template` says which ids go around those of a
    text, and `decoder` how ids become text. `name` is what messages call the vocabulary. `file_notes` say what the file
    asks for that is not done unasked; each continues a sentence with the file's name.
    """

    model: Model
    added: tuple[AddedToken, ...] = ()
    normalizer: tuple[Normalizer, ...] = ()
    splitter: tuple[Splitter, ...] = ()
    template: tuple[PostProcessor, ...] | Around | None = None
    decoder: tuple[Decoder, ...] | SentencePieceDecoder | DecodingSpec = ()
    name: str = "the vocabulary"
    file_notes: tuple[str, ...] = ()
