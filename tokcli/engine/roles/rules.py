"""`rules_of`: the rules that do in Python what a `TokenizerSpec` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tokcli.engine.spec import models
from tokcli.engine.spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer


def _of_minbpe(spec: TokenizerSpec) -> TextTokenizer:
    from tokcli.engine.minbpe.model import MinBpe

    return MinBpe(spec)


_MAKERS: dict[type, Callable[[TokenizerSpec], TextTokenizer]] = {models.NumberedPairs: _of_minbpe}


def rules_of(spec: TokenizerSpec) -> TextTokenizer:
    """Return the rules of a tokenizer; each family loads its modules when the first of its tokenizers is made."""
    return _MAKERS[type(spec.model)](spec)
