"""`EncodingVocabulary`: what an `Encoding` knows about its vocabulary, as tiktoken's does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokcli.engine.base import arguments
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.errors import NoIdError

if TYPE_CHECKING:
    from tokcli.engine.tokenizer import Tokenizer


class EncodingVocabulary:
    """A base of `Encoding`: questions about its vocabulary."""

    tokenizer: Tokenizer
    max_token_value: int
    _special_tokens: Mapping[str, int]
    _special_token_values: frozenset[int]

    @property
    def _pat_str(self) -> str:
        pretokenizer = self.tokenizer.pretokenizer
        return ALL if pretokenizer is None else pretokenizer.pat_str

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self.tokenizer.ranks()

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens that are not special, sorted."""
        return sorted(self.tokenizer.ranks())

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; KeyError where there is none."""
        return self._special_tokens["<|endoftext|>"]

    def is_special_token(self, token: int) -> bool:
        """Return whether a special token has this id."""
        if not isinstance(token, int):
            raise NoIdError(str(arguments.wrong_type("token", "an int", token)))
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The largest id plus one."""
        return self.max_token_value + 1
