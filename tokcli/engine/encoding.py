"""`Encoding`: text to ids and back, with the public API of tiktoken 0.14, its defaults and its kinds of exceptions.

It checks arguments and special tokens as tiktoken does; its tokenizer (tokenizer.py) does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.base import arguments
from tokcli.engine.base.locks import new_lock  # noqa: F401 - registers the fork hooks
from tokcli.engine.encoding_vocabulary import EncodingVocabulary
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import Chunk
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.tokenizer import Tokenizer
from tokcli.engine.tokens import Tokens, pairs_of, spans_of
from tokcli.errors import TokcliError, UnknownTokenError, VocabularySizeError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType
    from typing import Literal, TypeAlias, TypeVar

    import numpy as np
    import numpy.typing as npt

    from tokcli.engine.files import TextDecoder
    from tokcli.engine.stream.decoding import KnownBytes

    Decoded = TypeVar("Decoded", str, bytes)
    Reopen: TypeAlias = tuple[Callable[..., "Encoding"], tuple[Any, ...]]
"""A function and its arguments that give an equal encoding: what is pickled instead of a whole vocabulary."""


def _files() -> ModuleType:
    """Return the module for files and streams, which takes 0.2 ms to load and which the command line does not use."""
    from tokcli.engine import files

    return files


class Encoding(EncodingVocabulary):
    """A tokenizer with tiktoken's API, made of mergeable_ranks and a pattern, or by `of` from any other tokenizer.

    `mergeable_ranks` maps the bytes of each token to its rank, which is both its id and its place in the order of
    merging; `special_tokens` maps text to ids. `explicit_n_vocab`, where given, must be the number of tokens and the
    largest id plus one, else VocabularySizeError. The mappings are kept, not copied, and must not change afterwards.

    >>> enc = Encoding("tiny", pat_str=r"[a-z]+|[^a-z]+", mergeable_ranks={b"a": 0, b"b": 1, b" ": 2, b"ab": 3},
    ...                special_tokens={"<end>": 4})
    >>> enc.encode("ab ba<end>", allowed_special="all")
    [3, 2, 1, 0, 4]
    """

    name: str
    special_tokens_set: set[str]
    _reopen: Reopen | None

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        arguments.check_text(pat_str, "pat_str")
        mergeable_ranks = arguments.ids_by_token(mergeable_ranks, bytes, "mergeable_ranks")
        special_tokens = arguments.ids_by_token(special_tokens, str, "special_tokens")
        arguments.check_ranks(mergeable_ranks, name)
        for text, argument in [(pat_str, "pat_str"), *((token, "special_tokens") for token in special_tokens)]:
            arguments.check_utf8(text, argument)
        self._set_up(name, Tokenizer(name, RankVocabulary.of(name, pat_str, mergeable_ranks, special_tokens)), None)
        if explicit_n_vocab:
            tokens = len(mergeable_ranks) + len(special_tokens)
            if tokens != explicit_n_vocab or self.max_token_value != explicit_n_vocab - 1:
                raise VocabularySizeError(
                    f"encoding {name!r}: {tokens} tokens, the largest id {self.max_token_value}, "
                    f"but explicit_n_vocab is {explicit_n_vocab}"
                )

    @classmethod
    def of(cls, name: str, tokenizer: Tokenizer, reopen: Reopen | None = None) -> Encoding:
        """Return the encoding of any tokenizer; `reopen`, where given, is pickled instead of the tokenizer."""
        encoding = cls.__new__(cls)
        encoding._set_up(name, tokenizer, reopen)
        return encoding

    def _set_up(self, name: str, tokenizer: Tokenizer, reopen: Reopen | None) -> None:
        self.name, self.tokenizer, self._reopen = name, tokenizer, reopen
        self.max_token_value = tokenizer.max_id
        self._special_tokens = tokenizer.special_tokens
        self.special_tokens_set = set(tokenizer.special_tokens)
        self._known_special = frozenset(tokenizer.special_tokens)
        self._special_token_values = frozenset(tokenizer.special_tokens.values())

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen or (Encoding.of, (self.name, self.tokenizer))

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens in it are ordinary text."""
        arguments.check_text(text)
        return self.tokenizer.encode(text)

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
        dropout: float | None = None,
        alpha: float | None = None,
        seed: int | None = None,
    ) -> list[int]:
        """Return the ids of a text.

        Special tokens in `allowed_special` become their id; those in `disallowed_special`, by default all others, raise
        DisallowedSpecialTokenError, a ValueError; those in neither are ordinary text.

        `dropout`, from 0 to 1, is the probability with which BPE skips each merge. With `alpha`, Unigram draws one of
        all segmentations by exp(alpha * its score). The same `seed` gives the same ids; without one they differ from
        call to call. InputError, a ValueError, where the model is another one.

        >>> import tokcli
        >>> enc = tokcli.get_encoding("cl100k_base")
        >>> enc.encode("unrelated"), enc.encode("unrelated", dropout=0.5, seed=5), enc.encode("cat", dropout=1)
        ([359, 9920], [359, 3833, 660], [66, 64, 83])
        """
        allowed = self._check_special(text, allowed_special, disallowed_special)
        if seed is not None and not isinstance(seed, int):
            raise arguments.wrong_type("seed", "an int", seed)
        if dropout is None and alpha is None:
            return self.tokenizer.encode(text, allowed)
        from tokcli.engine.sampling.sampler import sampled  # every family of tokenizers, 50 ms

        return sampled(self.tokenizer, dropout, alpha, seed).encode(text, allowed)

    def _check_special(
        self, text: str, allowed_special: special.Which, disallowed_special: special.Which
    ) -> frozenset[str]:
        arguments.check_text(text)
        allowed, disallowed = special.resolve(allowed_special, disallowed_special or (), self._known_special)
        special.refuse(text, disallowed)
        return allowed

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> npt.NDArray[np.uint32]:
        """Return a text's ids as a numpy array (uint32); UnicodeEncodeError for a lone surrogate, as in tiktoken."""
        import numpy as np

        allowed = self._check_special(text, allowed_special, disallowed_special)
        text.encode()
        return np.array(self.tokenizer.encode(text, allowed), dtype=np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of each text; special tokens in them are ordinary text."""
        return self.tokenizer.encode_batch(arguments.texts_in(text, "text"), arguments.threads_in(num_threads))

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> list[list[int]]:
        """Return the ids of each text; special tokens are treated as `encode` treats them."""
        texts, threads = arguments.texts_in(text, "text"), arguments.threads_in(num_threads)
        allowed, disallowed = special.resolve(allowed_special, disallowed_special, self._known_special)
        for one in texts:
            special.refuse(one, disallowed)
        if not allowed:
            return self.tokenizer.encode_batch(texts, threads)
        return [self.tokenizer.encode(one, allowed) for one in texts]

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that do not depend on what follows the text, and all ways to encode the rest of it.

        The ways are in no particular order. The bytes of the stable ids, followed by those of any one way, begin with
        the text. TokcliError for tokenizers other than tiktoken's.
        """
        allowed = self._check_special(text, allowed_special, disallowed_special)
        text.encode()  # UnicodeEncodeError for a lone surrogate, as tiktoken
        ranks = self._ranks_for("encode_with_unstable")
        return ranks.encode_unstable(text, allowed, self.tokenizer.encode)

    def _ranks_for(self, method: str) -> RankVocabulary:
        if not isinstance(self.tokenizer.inner, RankVocabulary):
            raise TokcliError(f"{self.name}: {method} is only for tiktoken's encodings")
        return self.tokenizer.inner

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a text that is one token, special or not; UnknownTokenError, a KeyError, for any other."""
        data = arguments.bytes_in(text_or_bytes, "text_or_bytes")
        id = self.tokenizer.id_of(data)
        if id is None:
            raise UnknownTokenError(f"{data!r} is not a token of {self.name}")
        return id

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        return self.tokenizer.encode_piece(arguments.bytes_in(text_or_bytes, "text_or_bytes"))

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of bytes; from the first that is not UTF-8 on, all bytes are part of the last piece."""
        if not isinstance(text, bytes):
            raise arguments.wrong_type("text", "bytes", text)
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            ranks = self._ranks_for("encoding bytes that are not UTF-8")
            return ranks.encode_with_tail(text[: error.start].decode(), text[error.start :])

    # --- beyond tiktoken ---------------------------------------------------------------------------------------------

    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a text, and for each id the first and the past-the-end character that it stands for.

        Under tiktoken's encodings the first characters are those of `decode_with_offsets`; under a tokenizer.json both
        are Hugging Face's offsets. Special tokens are treated as `encode` treats them. InputError where the tokenizer
        does not know these places.

        >>> enc = Encoding("tiny", pat_str=r"[a-z]+|[^a-z]+", mergeable_ranks={b"a": 0, b"b": 1, b" ": 2, b"ab": 3},
        ...                special_tokens={})
        >>> enc.encode_with_offsets("ab a")
        ([3, 2, 0], [(0, 2), (2, 3), (3, 4)])
        """
        allowed = self._check_special(text, allowed_special, disallowed_special)
        tokenizer = self.tokenizer
        found = [tokenizer.encode_spans(Chunk(without_surrogates(text), 0, allowed=allowed))] if text else []
        tokens = tokenizer.finish(found or [Tokens([], spans=[], blanks=[])], False)
        return tokens.ids.tolist(), pairs_of(tokens.spans or ())

    def count(self, text: str) -> int:
        """Return the number of tokens of a text; special tokens in it are ordinary text."""
        arguments.check_text(text)
        return self.tokenizer.count(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return list(map(self.tokenizer.count, arguments.several_texts(texts, "texts")))

    def count_file(self, path: str | Path) -> int:
        """Return the number of tokens of a file; special tokens are text. InputError where the file is not UTF-8.

        The file is read in blocks, so memory does not grow with its size, and as it is: nothing is decompressed.
        """
        count: int = _files().counted(self.tokenizer, path)
        return count

    def count_files(self, paths: Iterable[str | Path], *, num_threads: int = 8) -> list[int]:
        """Return the number of tokens of each file, as `count_file` does."""
        return list(_files().of_each(_files().counted, self.tokenizer, paths, num_threads))

    def encode_files(self, paths: Iterable[str | Path], *, num_threads: int = 8) -> Iterator[memoryview]:
        """Yield the ids of each file as a buffer of uint32, special tokens being text, with few files in memory."""
        buffers: Iterator[memoryview] = _files().of_each(_files().encoded, self.tokenizer, paths, num_threads)
        return buffers

    def encode_stream(self, blocks: Iterable[bytes]) -> Iterator[memoryview]:
        """Yield the ids of text that comes in blocks of bytes, as buffers of uint32; special tokens are text."""
        buffers: Iterator[memoryview] = _files().streamed(self.tokenizer, blocks)
        return buffers

    def split(self, text: str) -> list[str]:
        """Return the pieces that a text is cut into; joined, they are the text."""
        arguments.check_text(text)
        return self.tokenizer.split(without_surrogates(text))

    def encode_array(self, text_or_bytes: str | bytes) -> memoryview:
        """Return the ids as a buffer of uint32 (format "I"), without numpy.

        Byte-level encodings take any bytes; others raise UnicodeDecodeError for bytes that are not UTF-8.
        """
        if isinstance(text_or_bytes, str):
            return self.tokenizer.encode_array(text_or_bytes)
        if not isinstance(text_or_bytes, (bytes, bytearray, memoryview)):
            raise arguments.wrong_type("text_or_bytes", "a str or bytes", text_or_bytes)
        return self.tokenizer.encode_bytes(bytes(text_or_bytes))

    def encode_array_batch(self, texts: Sequence[str], *, num_threads: int = 8) -> tuple[memoryview, memoryview]:
        """Return all ids in one buffer of uint32, and len(texts) + 1 offsets (uint64) at which each text's begin."""
        checked, threads = arguments.several_texts(texts, "texts"), arguments.threads_in(num_threads)
        return self.tokenizer.encode_array_batch(checked, threads)

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        return self._bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; `errors` is `bytes.decode`'s: by default bytes that are not UTF-8 become U+FFFD."""
        return self._text(tokens, errors)

    def _text(self, tokens: Sequence[int], errors: str, name: str = "tokens") -> str:
        arguments.check_text(errors, "errors")
        if errors == "replace" and not arguments.is_array(tokens):
            return self._decoded(self.tokenizer.decode_text, tokens, name)
        return self._bytes(tokens, name).decode("utf-8", errors=errors)

    def _bytes(self, tokens: Sequence[int], name: str = "tokens") -> bytes:
        if arguments.is_array(tokens):
            return self.tokenizer.decode_array(tokens)
        return self._decoded(self.tokenizer.decode, tokens, name)

    def _decoded(
        self, decode: Callable[[Sequence[int]], Decoded], tokens: Sequence[int], name: str = "tokens"
    ) -> Decoded:
        """Return `decode(tokens)`; an error names the ids as the argument `name`."""
        if not isinstance(tokens, list):
            arguments.check_sequence(tokens, name)
        try:
            if isinstance(self.tokenizer.inner, RankVocabulary):
                return decode(tokens)
            ids = arguments.id_array(tokens)
            return decode(arguments.token_ids(tokens, name) if ids is None else ids)
        except (TypeError, ValueError, OverflowError):
            arguments.token_ids(tokens, name)  # names the first that is wrong
            raise

    def decoder(self, *, errors: str = "replace", skip_special_tokens: bool = False) -> TextDecoder:
        """Return a decoder of ids that come one or a few at a time (`TextDecoder`); `errors` is that of `decode`."""
        decoder: TextDecoder = _files().decoder_of(self.tokenizer, errors, skip_special_tokens)
        return decoder

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text of ids, and for each id the index of the first character that has some of its bytes.

        UnicodeDecodeError where the bytes are not UTF-8.
        """
        ids = arguments.id_array(tokens)
        if ids is not None:
            with suppress(KeyError):  # an id that the vocabulary lacks: named below
                return self._known_bytes.joined(ids).decode(), self._known_bytes.spans(ids, 0)[::2].tolist()
        token_bytes = self.decode_tokens_bytes(tokens)
        return b"".join(token_bytes).decode(), spans_of(token_bytes)[::2].tolist()

    @cached_property
    def _known_bytes(self) -> KnownBytes:
        """The bytes of the ids whose offsets have been asked for."""
        known: KnownBytes = _files().known_bytes(self.tokenizer)
        return known

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the text of each sequence of ids; `num_threads`, which tiktoken has, changes nothing."""
        texts = enumerate(arguments.batch_in(batch, num_threads))
        return [self._text(tokens, errors, f"batch[{at}]") for at, tokens in texts]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """Return the bytes of each sequence of ids; `num_threads`, which tiktoken has, changes nothing."""
        texts = enumerate(arguments.batch_in(batch, num_threads))
        return [self._bytes(tokens, f"batch[{at}]") for at, tokens in texts]
