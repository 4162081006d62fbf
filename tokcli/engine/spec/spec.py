"""`TokenizerSpec`: a tokenizer as its file describes it, stage by stage."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokcli.engine.spec.added_token import AddedToken


class TokenizerSpec(NamedTuple):
    """The stages of a tokenizer, by which a text becomes ids, and ids become text.

    The `added` tokens are cut out of a text. The steps of `normalizer` change the text between them, those of
    `splitter` cut it into pieces, and `model` turns pieces into ids. `template` says which ids go around those of a
    text, and `decoder` how ids become text. `name` is what messages call the vocabulary. `file_notes` say what the file
    asks for that is not done unasked; each continues a sentence with the file's name.

    Which types each stage may have is in the modules of this folder.
    """

    model: Any
    added: tuple[AddedToken, ...] = ()
    normalizer: tuple[Any, ...] = ()
    splitter: tuple[Any, ...] = ()
    template: Any = None
    decoder: Any = ()
    name: str = "the vocabulary"
    file_notes: tuple[str, ...] = ()
