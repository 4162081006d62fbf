"""`RankSettings`: the ranks and the patterns of a byte-level tokenizer.json, for its native twin."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokcli.engine.pretokenizers.native_pattern import native_row
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.tiktoken.native_encoder import native_splitter, open_vocabulary

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native


@dataclass(frozen=True)
class RankSettings:
    """What a native model needs for ranks: their image, and the patterns that cut text.

    There is one pattern, or, with `are_in_row`, several that each cut the pieces of the one before. Text with a
    character of the ranges `exceptions` (the first and the last of each) is cut by the patterns `exact` in a row. With
    `puts_space`, text between added tokens gets a space in front, unless it begins with one.
    """

    image: Buffer
    patterns: tuple[str, ...]
    are_in_row: bool
    exact: tuple[str, ...] = ()
    exceptions: Sequence[int] = ()
    puts_space: bool = False


def use_ranks(model: _native.TextModel, settings: RankSettings) -> bool:
    """Let a model use ranks; return whether there are native forms of the patterns and of the ranks."""
    patterns, vocabulary = settings.patterns, open_vocabulary(lambda: settings.image)
    splitter = native_row(patterns) if settings.are_in_row else native_splitter(PreTokenizer(patterns[0]))
    if vocabulary is None or splitter is None:
        return False
    exact = native_row(settings.exact) if settings.exact else None
    model.use_ranks(vocabulary, splitter, exact, array("I", settings.exceptions), settings.puts_space)
    return True
