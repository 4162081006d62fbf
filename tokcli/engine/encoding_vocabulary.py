"""`EncodingVocabulary`: what an `Encoding` knows about its vocabulary, as tiktoken's does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from tokcli.engine.base import arguments
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.engine.tiktoken.rank_vocabulary import unknown_id
from tokcli.errors import NoIdError

if TYPE_CHECKING:
    from os import PathLike

    from tokcli.engine.tokenizer import Tokenizer


class EncodingVocabulary:
    """A base of `Encoding`: questions about its vocabulary."""

    name: str
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

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id, special or not; UnknownTokenError, a KeyError, if there is no such id."""
        return self._bytes_of([arguments.token_id(token)])[0]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id; UnknownTokenError, a KeyError, if there is no such id."""
        given = list(tokens) if isinstance(tokens, Iterable) else tokens
        try:
            ids = arguments.token_ids(given)
        except OverflowError:  # tiktoken looks ids up one by one, and names the first that is wrong in any way
            for at, token in enumerate(given):
                self._bytes_of([arguments.token_id(token, f"tokens[{at}]")])
            raise
        return self._bytes_of(ids)

    def _bytes_of(self, ids: list[int]) -> list[bytes]:
        try:
            return list(map(self.tokenizer.token_bytes().__getitem__, ids))
        except KeyError as error:
            raise unknown_id(error.args[0], self.name) from None

    def is_special_token(self, token: int) -> bool:
        """Return whether a special token has this id."""
        if not isinstance(token, int):
            raise NoIdError(str(arguments.wrong_type("token", "an int", token)))
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The largest id plus one."""
        return self.max_token_value + 1

    def save(
        self,
        path: str | PathLike[str],
        *,
        format: Literal["tiktoken", "gpt2", "huggingface", "minbpe"] | str | None = None,
    ) -> tuple[str, ...]:
        """Write the vocabulary to a file, and return the names of what was written; old files are replaced whole.

        Without `format`, the name of the file tells it: `.json` and folders are Hugging Face's (in a folder with
        tokenizer_config.json), `vocab.json` and `merges.txt` GPT-2's pair, `.model` minbpe's (with `.vocab` beside it),
        and all others tiktoken's, whose pattern and special tokens are in FILE.json beside it. VocabularyError, a
        ValueError, says what the format would lose, such as ids that would change; OutputError, an OSError, why a file
        cannot be written. A warning names what is left out that changes no ids.

        >>> import os, tempfile, tokcli
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     names = tokcli.train(["ab ab ab"], 258).save(os.path.join(folder, "own.tiktoken"))
        ...     tokcli.load_encoding(names[0]).encode("ab"), [os.path.basename(name) for name in names]
        ([256], ['own.tiktoken', 'own.tiktoken.json'])
        """
        # formats know encodings, and encodings no formats: what writes them is named here, and not imported
        names: tuple[str, ...] = import_module("tokcli.saving").save(self, path, format)
        return names
