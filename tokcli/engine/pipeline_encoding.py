"""`PipelineEncoding`: the API of `Encoding` over a tokenizer that has its own rules for whole texts.

Where a tokenizer has a shortcut, an `Encoding` of its ranks does the work, in native code and in streams. Otherwise a
text is held whole, up to the limit for a piece: what a normalizer and a model make of its end depends on what follows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from tokcli.engine import merges, stream
from tokcli.engine import special_tokens as special
from tokcli.engine.encoding import Encoding
from tokcli.engine.merges import Merges
from tokcli.engine.pretokenizer import ALL, PreTokenizer
from tokcli.engine.text import without_surrogates
from tokcli.engine.text_check import Checks, Kind, TextCheck
from tokcli.engine.utf8_stream import Part
from tokcli.engine.vocabulary import answer
from tokcli.errors import DisallowedSpecialTokenError, InputError, TokcliError, UnknownTokenError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_encoder import NativeEncoder
    from tokcli.engine.pipeline import Tokenizer
    from tokcli.engine.postprocessor import Tokens


class WholeText(stream.Chunk):
    """An input that is encoded as one; `allowed` special tokens in it get their id."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, allowed: frozenset[str]) -> WholeText:
        """A text from the beginning of the input."""
        made = cls(text, 0)
        made.allowed = allowed
        return made


class PipelineEncoding(Encoding):
    """A tokenizer with the API of an encoding; `pat_str`, where its pre-tokenizer is one pattern, is for display."""

    is_pipeline = True

    def __init__(self, name: str, tokenizer: Tokenizer, *, pretokenizer: PreTokenizer | None = None) -> None:
        self.tokenizer = tokenizer
        self.has_template = tokenizer.has_template
        self.decodes_apart = tokenizer.decodes_apart
        self._set_up(
            name,
            pretokenizer.pat_str if pretokenizer else ALL,
            dict(tokenizer.special_tokens),
            tokenizer.max_id,
            self._ordinary_tokens,
            _no_image,
        )
        if pretokenizer is not None:
            self._pretokenizer = pretokenizer

    def _ordinary_tokens(self) -> dict[bytes, int]:
        special_ids = self._special_token_values
        return {token: number for number, token in self._token_bytes.items() if number not in special_ids}

    @cached_property
    def _token_bytes(self) -> Mapping[int, bytes]:
        return self.tokenizer.token_bytes()

    def tokens_by_id(self) -> list[bytes]:
        """The bytes of every id, b"" where there is none; VocabularyError for ids far apart."""
        merges.check_size(self.n_vocab)
        return [self._token_bytes.get(number, b"") for number in range(self.n_vocab)]

    @cached_property
    def _all_decoder(self) -> Mapping[int, bytes]:
        return self._token_bytes

    @property
    def whole_tokenizer(self) -> Tokenizer:
        """The tokenizer with all that its file says, read now if it was compiled."""
        whole: Tokenizer = getattr(self.tokenizer, "whole", self.tokenizer)
        return whole

    @cached_property
    def _fast(self) -> Encoding | None:
        shortcut = self.tokenizer.shortcut
        if shortcut is None:
            return None
        return Encoding.on_demand(
            self.name,
            pat_str=shortcut.pat_str,
            special_tokens=dict(shortcut.added),
            max_rank=shortcut.max_id,
            load_ranks=shortcut.load_ranks,
            load_image=shortcut.load_image,
        )

    @property
    def is_native(self) -> bool:
        """Whether native code does the work."""
        if self._fast is None:
            return self.tokenizer.native is not None
        return self._fast.is_native

    def _always_found(self) -> frozenset[str]:
        """The added tokens that are found whatever is allowed."""
        shortcut = self.tokenizer.shortcut
        return frozenset(shortcut.added.keys() - self.special_tokens_set) if shortcut else frozenset()

    def _prefixes_space(self) -> bool:
        shortcut = self.tokenizer.shortcut
        return shortcut is not None and shortcut.prefix_space

    def _natively(self, method: str, *arguments: Any) -> Any:
        del method, arguments

    @cached_property
    def _checks(self) -> Checks | None:
        shortcut = self.tokenizer.shortcut
        return None if shortcut is None or not self.is_native else Checks.of(shortcut)

    @cached_property
    def _check(self) -> TextCheck | None:
        return None if self._checks is None else self._checks.whole(self._found_always)

    @cached_property
    def _checked(self) -> NativeEncoder | None:
        """Native code for texts in which a check finds nothing; None where there is none, or a space comes first."""
        native = None if self._fast is None or self._checks is None or self._prefixes_space() else self._fast._native
        return native if native is None or self._check is None else native.checked(self._check.native)

    def _at_once(self, method: str, *arguments: Any) -> Any:
        """What native code says of a text, or texts; None where Python has to look at them first."""
        native, check = self._checked, self._check
        if native is None:
            return None
        found = answer(native, method, *arguments)
        return check.ask(lambda: answer(native, method, *arguments), _is_there) if found is None and check else found

    @cached_property
    def _found_always(self) -> frozenset[str]:
        return self._always_found()

    def _count(self, text: str, allowed: frozenset[str]) -> int:
        native = self.tokenizer.native
        count = None if native is None else native.count(text, allowed)
        return len(self.tokenizer.encode(without_surrogates(text), allowed)) if count is None else count

    def _array(self, text: str, allowed: frozenset[str]) -> memoryview:
        native = self.tokenizer.native
        ids = None if native is None else native.encode_array(text, allowed)
        return memoryview(array("I", self.tokenizer.encode(without_surrogates(text), allowed))) if ids is None else ids

    # --- encoding ----------------------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        ids: list[int] | None = None  # for half a surrogate pair, too
        if self._fast is not None:
            ids = self._at_once("encode", text)
        elif (native := self.tokenizer.native) is not None:
            ids = native.encode(text, frozenset())
        if ids is not None:
            return ids
        return self._encode_allowing(without_surrogates(text), frozenset())

    def _encode_in_python(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_allowing(self, text: str, allowed: frozenset[str]) -> list[int]:
        fast = self._fast
        if fast is None:
            return self.tokenizer.encode(text, allowed)
        ids: list[int] = []
        for found, plain in self._stretches(text, allowed):
            ids += found if plain is None else fast.encode_ordinary(plain)
        return ids

    def _stretches(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[Sequence[int], str | None]]:
        """A text in parts: ids, or (with None left out) what the shortcut makes them of."""
        shortcut = self.tokenizer.shortcut
        assert shortcut is not None
        for part, kind in self._parts(text, allowed | self._found_always):
            if kind == "added":
                yield [shortcut.added[part]], None
            elif kind == "slow":
                yield self._encode_slowly(part), None
            else:
                yield [], shortcut.with_prefix(part)

    def _encode_slowly(self, text: str) -> list[int]:
        """The ids of text that the shortcut is not for, without added tokens."""
        shortcut, fast = self.tokenizer.shortcut, self._fast
        if shortcut is None or fast is None or shortcut.cut is None or not fast.is_native:
            return self.tokenizer.encode(text, frozenset())
        from tokcli.engine.llama_cutter import cutter

        pieces = [fast._natively("encode_piece", piece.encode()) for piece in cutter(shortcut.cut)(text)]
        return self.tokenizer.encode(text, frozenset()) if None in pieces else list(chain.from_iterable(pieces))

    def _parts(self, text: str, tokens: frozenset[str]) -> Iterator[tuple[str, Kind]]:
        """A text in parts: added tokens, what the shortcut takes (normalized), and what goes the slow way."""
        if self._checks is not None:
            yield from self._checks.parts(text, tokens)
            return
        shortcut = self.tokenizer.shortcut
        assert shortcut is not None
        for segment, is_added in special.segments(text, tokens):
            plain = segment if is_added else shortcut.normalized(segment)
            if is_added:
                yield segment, "added"
            elif shortcut.holds_for(plain):
                yield plain, "plain"
            else:
                yield segment, "slow"

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        text = text_or_bytes if isinstance(text_or_bytes, str) else text_or_bytes.decode("utf-8", "replace")
        return self.tokenizer.encode(text, frozenset())

    def piece_tokens(self, piece: bytes) -> list[int]:
        """The ids of one piece, taken as a text of its own."""
        return self._encode_single_piece(piece)

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """How many ids each of some pieces has, taken as a text of its own."""
        return [len(self.piece_tokens(piece)) for piece in pieces]

    def encode_with_unstable(self, text: str, **given: Any) -> tuple[list[int], list[list[int]]]:
        """No such rule is known for these tokenizers."""
        del text, given
        raise TokcliError(f"{self.name}: encode_with_unstable is for tiktoken's encodings")

    def count(self, text: str) -> int:
        """How many tokens `encode_ordinary` makes of a text."""
        fast = self._fast
        if fast is None:
            return self._count(text, frozenset())
        count: int | None = self._at_once("count", text)
        if count is not None:
            return count
        stretches = self._stretches(without_surrogates(text), frozenset())
        return sum(len(found) if plain is None else fast.count(plain) for found, plain in stretches)

    def split(self, text: str) -> list[str]:
        """The pieces of a text, as they stand in it; joined, they are the text."""
        return self.tokenizer.split(without_surrogates(text))

    def encode_array(self, text_or_bytes: str | bytes) -> memoryview:
        """The ids as a buffer of uint32; bytes must be UTF-8."""
        text = text_or_bytes if isinstance(text_or_bytes, str) else bytes(text_or_bytes).decode()
        fast = self._fast
        if fast is None:
            return self._array(text, frozenset())
        ids: memoryview | None = self._at_once("encode_array", text)
        return self._array_of_parts(text) if ids is None else ids

    def _array_of_parts(self, text: str) -> memoryview:
        fast = self._fast
        assert fast is not None
        stretches = self._stretches(without_surrogates(text), frozenset())
        parts = [memoryview(array("I", f)) if plain is None else fast.encode_array(plain) for f, plain in stretches]
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts)).cast("I")

    def encode_array_batch(self, texts: Sequence[str], *, num_threads: int = 8) -> tuple[memoryview, memoryview]:
        """All ids of some texts, and where each text's begin, as `Encoding` has it."""
        made: tuple[memoryview, memoryview] | None = self._at_once("encode_batch", list(texts), num_threads)
        if made is not None:
            return made
        parts = [self.encode_array(text) for text in texts]
        offsets = array("Q", accumulate(map(len, parts), initial=0))
        return memoryview(b"".join(parts)).cast("I"), memoryview(offsets)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` of each text."""
        made: list[list[int] | None] = [None] * len(text)
        native, check = self._checked, self._check
        if native is not None and not _fill(native, made, text, num_threads) and check is not None:
            check.ask(lambda: _fill(native, made, text, num_threads), bool)
        return [self.encode_ordinary(one) if ids is None else ids for one, ids in zip(text, made, strict=True)]

    def encode_spans(self, chunk: stream.Chunk) -> Tokens:
        """The ids of a whole text, and where they stand in it, in characters."""
        return self.tokenizer.encode_spans(chunk.text, _allowed(chunk))

    # --- streams -----------------------------------------------------------------------------------------------------

    def read_chunks(
        self,
        blocks: stream.Blocks,
        *,
        errors: stream.Errors = "strict",
        allowed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
    ) -> Iterator[stream.Chunk]:
        """All blocks as one chunk; InputError above stream.MAX_PIECE_BYTES. With a shortcut, chunks as usual."""
        if self._fast is not None and not self._prefixes_space():
            found = allowed | self._always_found()
            yield from self._fast.read_chunks(blocks, errors=errors, allowed=found, refused=refused - found)
            return
        whole = self.read_whole(blocks, errors=errors, allowed=allowed, refused=refused)
        if whole is not None:
            yield whole

    def read_whole(
        self, blocks: stream.Blocks, *, errors: stream.Errors, allowed: frozenset[str], refused: frozenset[str]
    ) -> WholeText | None:
        """All blocks as one chunk; None for an empty input, InputError above stream.MAX_PIECE_BYTES."""
        held, size = [], 0
        for block in blocks:
            held.append(block)
            size += len(block)
            if size > stream.MAX_PIECE_BYTES:
                raise InputError(
                    f"more than {stream.MAX_PIECE_BYTES >> 20} MiB from byte 0 on",
                    f"{self.name} has to see a text whole; cut it into records.",
                )
        text = _decoded(b"".join(held), errors, self.name)
        if refused and (pattern := special.finder(refused)) and (match := pattern.search(text)):
            offset = len(text[: match.start()].encode())
            raise DisallowedSpecialTokenError(
                f"special token {match[0]!r} stands in the text at byte {offset}",
                "Use --special text (as ordinary text), --special allow (as the special token) "
                f"or --allow-special {match[0]!r} (only this one).",
                token=match[0],
                offset=offset,
            )
        return WholeText.of(text, allowed) if text else None

    def encode_chunk(self, chunk: stream.Chunk) -> list[int]:
        """The ids of a chunk."""
        if isinstance(chunk, WholeText):
            return self._encode_allowing(chunk.text, chunk.allowed)
        if self._fast is None:
            return self.tokenizer.encode(chunk.text, frozenset())
        if self._takes(chunk):
            return self._fast.encode_chunk(chunk)
        return self._encode_allowing(chunk.text, frozenset())

    def _takes(self, part: Part) -> bool:
        """Whether the shortcut takes a part of a stream as it is. Added tokens have been cut out."""
        shortcut = self.tokenizer.shortcut
        if shortcut is None or isinstance(part, WholeText):
            return False
        if not shortcut.looks_at_text or (isinstance(part, stream.Chunk) and (part.special or part.tail)):
            return True
        if self._checks is not None and (check := self._checks.whole(frozenset())) is not None:
            return check.read(part.text if isinstance(part, stream.Chunk) else part) is True
        text = _text_of(part)
        return shortcut.normalized(text) == text and shortcut.holds_for(text)

    def count_chunk(self, chunk: stream.Chunk, threads: int = 1) -> int:
        """How many ids a chunk has."""
        if self._fast is None:
            return self._count(chunk.text, _allowed(chunk))
        return self._fast.count_chunk(chunk, threads) if self._takes(chunk) else len(self.encode_chunk(chunk))

    def read_parts(
        self,
        blocks: stream.Blocks,
        *,
        errors: stream.Errors = "strict",
        allowed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
    ) -> Iterator[Part]:
        """With a shortcut, parts as usual; else one chunk."""
        if self._fast is None:
            return self.read_chunks(blocks, errors=errors, allowed=allowed, refused=refused)
        found = allowed | self._always_found()
        parts = self._fast.read_parts(blocks, errors=errors, allowed=found, refused=refused - found)
        return with_prefix(parts) if self._prefixes_space() else parts

    def encode_part(self, part: Part) -> memoryview:
        """The ids of one part of a stream (uint32)."""
        if self._fast is None or isinstance(part, WholeText):
            return self._array(_text_of(part), _allowed(part))
        return self._fast.encode_part(part) if self._takes(part) else self._array_of_parts(_text_of(part))

    def count_part(self, part: Part) -> int:
        """How many ids one part of a stream has."""
        if self._fast is None or isinstance(part, WholeText):
            return self._count(_text_of(part), _allowed(part))
        return self._fast.count_part(part) if self._takes(part) else self.count(_text_of(part))

    def encode_records(
        self, data: bytes, ends: Buffer, separator_size: int, special_tokens: frozenset[str] = frozenset()
    ) -> tuple[memoryview, memoryview] | None:
        """As `Encoding` does it, where the shortcut is all there is to it."""
        if self._fast is None or not self._is_plain_shortcut(data):
            return None
        return self._fast.encode_records(data, ends, separator_size, special_tokens | self._always_found())

    def count_records(
        self, data: bytes, ends: Buffer, separator_size: int, special_tokens: frozenset[str] = frozenset()
    ) -> memoryview | None:
        """As `Encoding` does it, where the shortcut is all there is to it."""
        if self._fast is None or not self._is_plain_shortcut(data):
            return None
        return self._fast.count_records(data, ends, separator_size, special_tokens | self._always_found())

    def _is_plain_shortcut(self, data: bytes) -> bool:
        shortcut = self.tokenizer.shortcut
        return shortcut is not None and not shortcut.prefix_space and self._takes(memoryview(data))

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """The pieces of a chunk."""
        if self._fast is not None and self._takes(chunk):
            return self._fast.split_chunk(chunk)
        return [piece.encode() for piece in self.tokenizer.split(chunk.text)]

    # --- decoding ----------------------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        return self.tokenizer.decode(tokens)

    def decode_buffer(self, tokens: memoryview) -> bytes:
        """The bytes of ids in a buffer."""
        return self.tokenizer.decode(tokens.tolist())

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a text that is one token, special or not; UnknownTokenError, a KeyError, if it is none."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        for number, token in self._token_bytes.items():
            if token == data:
                return number
        raise UnknownTokenError(f"{data!r} is not a token of {self.name}")

    def parents(self, token: bytes) -> tuple[int, int] | None:
        """The ids of the two tokens that merge into a token; None where none do."""
        return self.parents_of(self.encode_single_token(token))

    def parents_of(self, number: int) -> tuple[int, int] | None:
        """The same for an id."""
        return self.tokenizer.parents(number)

    def all_parents(self) -> Merges:
        """The same for every id: by the ranks where there are some, else one by one."""
        if self._fast is None:
            return merges.one_by_one(self.n_vocab, self._token_bytes, self.tokenizer.parents)
        return merges.for_ids(self._fast.all_parents(), self.n_vocab)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made_by is not None:
            return self._made_by
        tokenizer: Any = self.whole_tokenizer
        fields = {f.name: getattr(tokenizer, f.name) for f in dataclass_fields(tokenizer) if f.init}
        fields.pop("_cache", None)
        return _restore, (self.name, type(tokenizer), fields)


def _fill(native: NativeEncoder, made: list[list[int] | None], texts: Sequence[str], threads: int) -> bool:
    """Encodes those of some texts that have no ids yet; whether all have them then."""
    left = [at for at, ids in enumerate(made) if ids is None]
    found = answer(native, "encode_batch_lists", [texts[at] for at in left], threads)
    for at, ids in zip(left, found or (), strict=False):
        made[at] = ids
    return found is not None and None not in made


def _is_there(found: Any) -> bool:
    return found is not None


def _restore(name: str, kind: type[Tokenizer], fields: dict[str, Any]) -> PipelineEncoding:
    """What was pickled: a tokenizer's own fields, without what is made from them on demand."""
    return PipelineEncoding(name, kind(**fields))


def with_prefix(parts: Iterator[Part]) -> Iterator[Part]:
    """Parts with a space before each text between special tokens that does not begin with one."""
    begins = True
    for part in parts:
        if isinstance(part, stream.Chunk):
            if begins and part.text and not part.special and not part.text.startswith(" "):
                part = part._replace(text=" " + part.text, pieces=None)
            begins = part.special or (begins and not part.text)
        else:
            if begins and part.nbytes and part[0] != 0x20:
                part = memoryview(b" " + part)
            begins = begins and not part.nbytes
        yield part


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, stream.Chunk) else str(part, "utf-8")


def _allowed(chunk: Part) -> frozenset[str]:
    return chunk.allowed if isinstance(chunk, WholeText) else frozenset()


def _no_image() -> Any:
    raise ValueError("there is no image for a pipeline")


def _decoded(data: bytes, errors: stream.Errors, name: str) -> str:
    try:
        return data.decode("utf-8", "replace" if errors == "replace" else "strict")
    except UnicodeDecodeError as error:
        hint = "Use --errors replace (U+FFFD for what is not UTF-8) or --errors bytes (lossless)."
        if errors == "bytes":
            hint = f"{name} takes text only: use --errors replace (U+FFFD for what is not UTF-8)."
        raise InputError(f"not UTF-8 at byte {error.start} (0x{data[error.start]:02x}: {error.reason})", hint) from None
