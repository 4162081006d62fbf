"""`Vocabulary`: tokens and ids, and what `Encoding` stands on: the ranks, and Python or native code for them.

Everything is made when it is first needed: counting needs no decoder, native code no dictionary. How text becomes ids
is encoding.py's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.bpe import MergeStep, PieceCache, encode_piece, merge_steps, parents
from tokcli.engine.native_encoder import FAMILY_OF, NativeEncoder, encoder_for, open_vocabulary, parents_in
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.text import character_spans
from tokcli.errors import UnknownTokenError, VocabularyError

if TYPE_CHECKING:
    from typing_extensions import Self

    from tokcli.engine.merges import Merges

MAX_ID = 2**32 - 1  # ids are uint32


class Vocabulary:
    """Tokens, their ids, and the pattern that belongs to them; made by `Encoding` or `on_demand`."""

    _ranks_are_read_late = False  # and take longer to read than the image, which has the tokens too

    @classmethod
    def on_demand(
        cls,
        name: str,
        *,
        pat_str: str,
        special_tokens: dict[str, int],
        max_rank: int,
        load_ranks: Callable[[], dict[bytes, int]],
        load_image: Callable[[], Any],
    ) -> Self:
        """An encoding whose ranks, and whose native image (a buffer), are loaded when they are needed."""
        encoding = cls.__new__(cls)
        encoding._set_up(name, pat_str, special_tokens, max_rank, load_ranks, load_image)
        encoding._ranks_are_read_late = True
        return encoding

    def _set_up(
        self,
        name: str,
        pat_str: str,
        special_tokens: dict[str, int],
        max_rank: int,
        load_ranks: Callable[[], dict[bytes, int]],
        load_image: Callable[[], Any],
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._special_tokens = special_tokens
        self._special_token_values = frozenset(special_tokens.values())
        self._pretokenizer = PreTokenizer(pat_str)
        self._made_by: tuple[Callable[..., Vocabulary], tuple[Any, ...]] | None = None  # how the registry made it
        self._load_ranks, self._load_image = load_ranks, load_image
        self.max_token_value: int = max(max_rank, max(self._special_token_values, default=0))

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self._load_ranks()

    @cached_property
    def _cache(self) -> PieceCache:
        # known patterns come here only where native code is not used at all
        native = None if self._pretokenizer.is_known else self._opened

        def merge(piece: bytes) -> list[int]:
            if native is not None:
                with suppress(KeyError):  # a byte that is no token: Python says which
                    ids: list[int] = native.encode_piece(piece)
                    return ids
            return encode_piece(self._mergeable_ranks, piece)

        return PieceCache(merge)

    @cached_property
    def _opened(self) -> Any:
        """The image as native code has it; None where there is no such code, or no image."""
        return open_vocabulary(self._load_image)

    def piece_tokens(self, piece: bytes) -> list[int]:
        """The ids of one piece, which is not split again."""
        if self._opened is not None:
            with suppress(KeyError):  # a byte that is no token: Python says which
                ids: list[int] = self._opened.encode_piece(piece)
                return ids
        return encode_piece(self._mergeable_ranks, piece)

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """How many ids each of some pieces has."""
        if self._opened is not None:
            with suppress(KeyError):
                return memoryview(self._opened.count_pieces(pieces)).cast("I").tolist()
        return [len(self.piece_tokens(piece)) for piece in pieces]

    @cached_property
    def _native(self) -> NativeEncoder | None:
        if self._pat_str not in FAMILY_OF or self._opened is None:
            return None
        return encoder_for(self._pat_str, self._opened)

    @property
    def is_native(self) -> bool:
        """Whether native code splits and merges for this encoding."""
        return self._native is not None

    def _natively(self, method: str, *arguments: Any) -> Any:
        """What the native encoder answers; None where it cannot, and the Python code has to, or has to say why not."""
        return None if self._native is None else answer(self._native, method, *arguments)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # --- decoding ----------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        data: bytes | None = self._natively("decode", tokens)
        if data is not None:
            return data
        try:
            return b"".join(map(self._all_decoder.__getitem__, tokens))
        except KeyError as error:
            raise _unknown_id(error.args[0], self.name) from None

    @cached_property
    def _decode_natively(self) -> Callable[[memoryview, int], bytes] | None:
        return None if self._native is None else self._native.decoder(self._special_tokens).decode

    def decode_buffer(self, ids: memoryview) -> bytes:
        """The same for ids in a buffer of uint32 or uint16 (format "I" or "H")."""
        if self._decode_natively is not None:
            try:
                return self._decode_natively(ids, ids.itemsize)
            except KeyError:
                pass  # named below
        return self.decode_bytes(ids.tolist())

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of some ids; bytes that are not UTF-8 become U+FFFD, unless `errors` says otherwise."""
        if errors == "replace" and (text := self._natively("decode_str", tokens)) is not None:
            return str(text)
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special or not; UnknownTokenError, a KeyError, if there is no such id."""
        try:
            return self._all_decoder[token]
        except KeyError:
            raise _unknown_id(token, self.name) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of some ids, and the index in it of the first character that has bytes of each.

        UnicodeDecodeError where the bytes are not UTF-8.
        """
        token_bytes = self.decode_tokens_bytes(tokens)
        return b"".join(token_bytes).decode(), [start for start, _ in character_spans(token_bytes)]

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """`decode` of each."""
        del num_threads
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """`decode_bytes` of each."""
        del num_threads
        return [self.decode_bytes(tokens) for tokens in batch]

    # --- the vocabulary ----------------------------------------------------------------------------------------------

    def tokens_by_id(self) -> list[bytes]:
        """The bytes of every id that is not special, b"" where there is none; VocabularyError for ids far apart."""
        from tokcli.engine.merges import check_size

        check_size(self.n_vocab)
        if self._has_near_image:
            return [token or b"" for token in self._opened.tokens()]
        found = [b""] * self.n_vocab
        for token, number in self._mergeable_ranks.items():
            found[number] = token
        return found

    @property
    def _has_near_image(self) -> bool:
        """Whether tokens come sooner from the image than from the ranks."""
        is_far = self._ranks_are_read_late and "_mergeable_ranks" not in self.__dict__
        return is_far and self._opened is not None

    @cached_property
    def _decoder(self) -> dict[int, bytes]:
        if self._has_near_image:
            return {number: token for number, token in enumerate(self._opened.tokens()) if token is not None}
        decoder = {rank: token for token, rank in self._mergeable_ranks.items()}
        if len(decoder) != len(self._mergeable_ranks):
            raise VocabularyError(f"encoding {self.name!r}: two tokens have the same rank")
        return decoder

    @cached_property
    def _all_decoder(self) -> Mapping[int, bytes]:
        """Special tokens too; where an id is both, it is the ordinary token, as in tiktoken."""
        return {rank: token.encode() for token, rank in self._special_tokens.items()} | self._decoder

    @cached_property
    def _sorted_token_bytes(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted."""
        return list(self._sorted_token_bytes)

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; KeyError where there is none."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token's."""
        if not isinstance(token, int):
            raise TypeError(f"an id is an int, not {type(token).__name__}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The largest id, and one."""
        return self.max_token_value + 1

    @property
    def pretokenizer(self) -> PreTokenizer:
        """What cuts text into pieces for this encoding."""
        return self._pretokenizer

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a text that is one token, special or not; UnknownTokenError, a KeyError, if it is none."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        rank = self._mergeable_ranks.get(data)
        if rank is None:
            rank = self._special_tokens.get(data.decode("utf-8", "surrogateescape"))
        if rank is None:
            raise UnknownTokenError(f"{data!r} is not a token of {self.name}")
        return rank

    def merge_steps(self, piece: bytes) -> Iterator[MergeStep]:
        """Every merge of one piece, from its bytes to its tokens."""
        return merge_steps(self._mergeable_ranks, piece)

    def parents(self, token: bytes) -> tuple[int, int] | None:
        """The ids of the two tokens that merge into a token; None for a single byte."""
        return parents(self._mergeable_ranks, token)

    def parents_of(self, number: int) -> tuple[int, int] | None:
        """The same for an id; None for a special token, too."""
        token = self._decoder.get(number)
        return None if token is None else parents(self._mergeable_ranks, token)

    def all_parents(self) -> Merges:
        """The same for every id; VocabularyError where ids are too large for a table."""
        from tokcli.engine import merges

        merges.check_size(self.n_vocab)
        if self._opened is None:
            return merges.one_by_one(self.n_vocab, self._decoder, self.parents_of)
        return merges.for_ids(parents_in(self._opened), self.n_vocab)


def answer(native: NativeEncoder, method: str, *arguments: Any) -> Any:
    """What a native encoder answers; None where it cannot."""
    try:
        return getattr(native, method)(*arguments)
    except (KeyError, UnicodeError, TypeError, OverflowError):
        return None


def _unknown_id(token: object, name: str) -> Exception:
    if isinstance(token, int) and not 0 <= token <= MAX_ID:
        return OverflowError(f"an id is a number from 0 to {MAX_ID}, not {token}")
    if not isinstance(token, int) and not hasattr(token, "__index__"):
        return TypeError(f"an id is an int, not {type(token).__name__}")
    return UnknownTokenError(f"Invalid token for decoding: {token} is not an id of {name}")
