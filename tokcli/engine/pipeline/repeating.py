"""`RepeatingPipeline`: the tokenizer of a tokenizer.json whose template takes a text more than once.

tokenizers repeats the ids then, with special tokens and without them. No model needs this, so it has no fast way.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from tokcli.engine.base.arguments import NONE
from tokcli.engine.pipeline import processors
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.tokens import Tokens, joined


class RepeatingPipeline(Pipeline):
    """A pipeline that gives the tokens of a text `copies` times; `finish` puts its special tokens between them."""

    family: ClassVar[str] = ""  # compiled tokenizers give each text once
    shortcut: Shortcut | None = None  # so do shortcuts

    @cached_property
    def copies(self) -> int:
        """The number of times that `encode` gives the ids of a text: as often as the post-processor takes a text."""
        return processors.copies(self.processor)

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text, `copies` times."""
        return super().encode(text, allowed) * self.copies

    def for_records(self, data: bytes, allowed: frozenset[str]) -> None:
        """Return None: native code gives the ids of each record once."""
        del data, allowed

    def encode_own_text(self, text: str) -> list[int]:
        """Return the ids of a token's text, once."""
        return super().encode(text, NONE)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places in it, `copies` times."""
        return joined([super().encode_spans(text, allowed)] * self.copies)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return texts that `encode` or `encode_spans` gave after the post-processor, which repeats them anew."""
        return super().finish([self._once(tokens) for tokens in texts], add)

    def _once(self, tokens: Tokens) -> Tokens:
        size = len(tokens.ids) // self.copies
        places = (None if n is None else n[: 2 * size] for n in (tokens.spans, tokens.blanks))
        once = Tokens(tokens.ids[:size], None, None, *places)
        once.begins = tokens.begins
        return once
