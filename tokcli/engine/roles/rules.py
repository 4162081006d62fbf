"""`rules_of`: the rules that do in Python what a `TokenizerSpec` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokcli.engine.spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer

_MAKERS: dict[type, Callable[[Any], Any]] = {}  # by the type of the model


def rules_of(spec: TokenizerSpec) -> TextTokenizer:
    """Return the rules of a tokenizer; each family loads its modules when the first of its tokenizers is made."""
    made: TextTokenizer = _MAKERS[type(spec.model)](spec)
    return made
