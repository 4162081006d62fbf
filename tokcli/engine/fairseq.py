"""XLM-RoBERTa's ids over a SentencePiece model: fairseq's four special tokens first, then the pieces, the mask last.

`<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; any other piece has its own id and one. (Hugging Face's transformers,
tokenization_xlm_roberta.py: fairseq_tokens_to_ids.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tokcli.engine.postprocessor import Roberta, Tokens, joined
from tokcli.engine.sentencepiece import SentencePiece
from tokcli.errors import UnknownTokenError

_FIRST = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
_MASK = "<mask>"
_SHIFT = 1
_TEMPLATE = Roberta(("</s>", 2), ("<s>", 0), None)


@dataclass(frozen=True)
class XlmRoberta:
    """A model with XLM-RoBERTa's ids; special tokens in text are cut out where they are allowed."""

    model: SentencePiece

    is_byte_level: ClassVar[bool] = False
    has_template: ClassVar[bool] = True
    decodes_apart: ClassVar[bool] = False
    shortcut: ClassVar[None] = None
    native: ClassVar[None] = None  # the model has one

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The four first, and the mask, which is behind the last piece."""
        return _FIRST | {_MASK: len(self.model.pieces) + _SHIFT}

    @property
    def max_id(self) -> int:
        """The mask's."""
        return self.special_tokens[_MASK]

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do."""
        if number in self._names:
            return None
        found = self.model.parents(number - _SHIFT)
        return None if found is None else (self._shifted(found[0]), self._shifted(found[1]))

    @cached_property
    def _unknown(self) -> int:
        return next((n for n, piece in enumerate(self.model.pieces) if piece.kind == "unknown"), -1)

    def _shifted(self, number: int) -> int:
        return _FIRST["<unk>"] if number == self._unknown else number + _SHIFT

    def _parts(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[int, str, int | None]]:
        """(where it begins, text, the id of the special token that it is); the mask takes the spaces before it."""
        names = [name for name in self.special_tokens if name in allowed]
        at = 0
        for match in re.finditer("|".join(map(re.escape, names)), text) if names else ():
            begin = match.start()
            if match[0] == _MASK:
                begin = at + len(text[at:begin].rstrip())
            if at < begin:
                yield at, text[at:begin], None
            yield begin, text[begin : match.end()], self.special_tokens[match[0]]
            at = match.end()
        if at < len(text):
            yield at, text[at:], None

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        ids: list[int] = []
        for _, part, number in self._parts(text, allowed):
            ids += map(self._shifted, self.model.encode(part, frozenset())) if number is None else (number,)
        return ids

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The ids of a text, and where they stand in it, in characters."""
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        for begin, part, number in self._parts(text, allowed):
            if number is not None:
                ids.append(number)
                spans.append((begin, begin + len(part)))
                continue
            found = self.model.encode_spans(part, frozenset())
            ids += map(self._shifted, found.ids)
            spans += ((begin + a, begin + b) for a, b in found.spans or ())
        return Tokens(ids, texts=[self._text(number) for number in ids], spans=spans)

    def _text(self, number: int) -> str:
        name = self._names.get(number)
        return self.model.pieces[number - _SHIFT].text if name is None else name

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """`<s> A </s>`, or `<s> A </s> </s> B </s>`."""
        return joined(_TEMPLATE(texts, add))

    def split(self, text: str) -> list[str]:
        """The words, as they stand in the text."""
        return self.model.split(text)

    @cached_property
    def _names(self) -> Mapping[int, str]:
        return {number: name for name, number in self.special_tokens.items()}

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids, special tokens printed."""
        out, held = bytearray(), []
        for number in ids:
            if number not in self._names:
                if not 0 < number <= len(self.model.pieces):
                    raise UnknownTokenError(f"{number} is not an id of the vocabulary")
                held.append(number - _SHIFT)
                continue
            out += self.model.decode(held) + self._names[number].encode()
            held.clear()
        return bytes(out + self.model.decode(held))

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes that each id stands for."""
        shifted = {number + _SHIFT: data for number, data in self.model.token_bytes().items()}
        return shifted | {number: name.encode() for number, name in self._names.items()}
