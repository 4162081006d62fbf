"""`CompiledTokenizer`: a tokenizer made from its container; the vocabulary's file is read only for what that lacks.

Splitting, merging and decoding need only the native image and the `TokenizerFacts`, which are determined once, from the
tokenizer that was read, and kept in the header of its container. Offsets, pairs of texts, and text that the shortcut
cannot handle need the whole tokenizer.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.engine.tiktoken.native_encoder import decoder_of, open_vocabulary
from tokcli.engine.tokens import Tokens, added, joined, pairs_of, trimmed_spans
from tokcli.errors import TokcliError
from tokcli.registry.compiled.container import Check, are_ids, are_texts, is_flag, is_id, is_ids, is_text, optional

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_models.text_model import NativeText
    from tokcli.engine.shortcut.shortcut import DecodingFacts, Shortcut
    from tokcli.engine.stream.decoding import ByteDecoder


class TokenizerFacts:
    """The facts that a compiled tokenizer knows without its file.

    The first five are the tokenizer's own (see `TextTokenizer`). `other_bytes` has the bytes of the ids that the native
    image lacks; it is None if decoding is more than joining the bytes of ids. In decoded text, `drops_space` drops a
    space at the beginning, and `cleans_spaces` those that llama.cpp cleans up. `template_ids` are the ids that the
    post-processor puts before and after a text, and `trimming` says what it does to spans; each is None if it does
    anything else. `file_notes` are the tokenizer's own, too.
    """

    # (no dataclass: to make one takes 1 ms of each start)
    def __init__(
        self,
        special_tokens: Mapping[str, int],
        max_id: int,
        *,
        is_byte_level: bool,
        has_template: bool,
        decodes_context_free: bool,
        other_bytes: Mapping[int, bytes] | None = None,
        drops_space: bool = False,
        cleans_spaces: bool = False,
        template_ids: tuple[list[int], list[int]] | None = None,
        trimming: Trimming | None = None,
        file_notes: Sequence[str] = (),
    ) -> None:
        self.special_tokens, self.max_id = special_tokens, max_id
        self.is_byte_level, self.has_template = is_byte_level, has_template
        self.decodes_context_free = decodes_context_free
        self.other_bytes, self.drops_space, self.cleans_spaces = other_bytes, drops_space, cleans_spaces
        self.template_ids, self.trimming = template_ids, trimming
        self.file_notes = list(file_notes)

    def header(self) -> dict[str, Any]:
        """Return the facts as members of a container's header."""
        others = None if self.other_bytes is None else {str(n): data.hex() for n, data in self.other_bytes.items()}
        return {**{name: getattr(self, name) for name in FACT_CHECKS}, "other_bytes": others}

    @staticmethod
    def from_header(header: Mapping[str, Any]) -> TokenizerFacts:
        """Return the facts in a header that fits FACT_CHECKS; raise ValueError for bytes that are not hexadecimal."""
        others = header["other_bytes"]
        members = {name: header[name] for name in FACT_CHECKS}
        members["other_bytes"] = None if others is None else {int(n): bytes.fromhex(data) for n, data in others.items()}
        return TokenizerFacts(**members)


def _are_two_lists_of_ids(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(map(are_ids, value))


Trimming = Literal["none", "all", "all but the first"]  # the spaces that spans lose
_TRIMMINGS: tuple[Trimming, ...] = ("none", "all", "all but the first")


FACT_CHECKS: Mapping[str, Check] = {
    "special_tokens": is_ids,
    "max_id": is_id,
    "is_byte_level": is_flag,
    "has_template": is_flag,
    "decodes_context_free": is_flag,
    "other_bytes": optional(lambda value: type(value) is dict and all(map(is_text, value.values()))),
    "drops_space": is_flag,
    "cleans_spaces": is_flag,
    "template_ids": optional(_are_two_lists_of_ids),
    "trimming": optional(_TRIMMINGS.__contains__),
    "file_notes": are_texts,
}


def facts_of(tokenizer: TextTokenizer, image: Buffer | None = None) -> TokenizerFacts:
    """Return the facts of a tokenizer; `image` is the native image of its shortcut, None if it has no shortcut.

    Raise ValueError if `image` is not an image.
    """
    decoding = tokenizer.decoding_facts()
    return TokenizerFacts(
        special_tokens=tokenizer.special_tokens,
        max_id=tokenizer.max_id,
        is_byte_level=tokenizer.is_byte_level,
        has_template=tokenizer.has_template,
        decodes_context_free=tokenizer.decodes_context_free,
        other_bytes=None if decoding is None or image is None else _other_bytes(decoding, image),
        drops_space=decoding is not None and decoding.drops_space,
        cleans_spaces=decoding is not None and decoding.cleans_spaces,
        template_ids=_template_ids(tokenizer),
        trimming=_trimming(tokenizer),
        file_notes=tokenizer.file_notes,
    )


def _other_bytes(decoding: DecodingFacts, image: Buffer) -> dict[int, bytes] | None:
    """Return the bytes of the ids that an image lacks; None if the image has other bytes for an unusual id."""
    vocabulary = open_vocabulary(lambda: image)
    if vocabulary is None:
        return None
    lacking = set(array("I", vocabulary.unknown(array("I", decoding.ids))))
    if any(vocabulary.decode([number]) != decoding.bytes_of(number) for number in set(decoding.unusual) - lacking):
        return None
    return {number: decoding.bytes_of(number) for number in sorted(lacking)}


def _template_ids(tokenizer: TextTokenizer) -> tuple[list[int], list[int]] | None:
    """Return the ids that the template puts before and after a text; None if it does anything else."""
    try:
        found = tokenizer.finish([Tokens([0])], True)
    except (TokcliError, IndexError):
        return None
    if found.special.count(0) != 1:
        return None
    at = found.special.index(0)
    return found.ids[:at].tolist(), found.ids[at + 1 :].tolist()


def _trimming(tokenizer: TextTokenizer) -> Trimming | None:
    """Return what the post-processor does to spans, as a few telling ones show; None if it does anything else."""
    spans, blanks = [1, 5, 5, 9, 9, 12, 0, 3], [1, 1, 2, 0, 0, 2, 1, 0]
    for trimming in _TRIMMINGS:
        try:
            found = tokenizer.finish([Tokens([0] * 4, spans=spans, blanks=blanks)], True)
        except (TokcliError, IndexError):
            return None
        places = [pair for pair, special in zip(pairs_of(found.spans or ()), found.special, strict=True) if not special]
        if places == pairs_of(_trimmed(Tokens([0] * 4, spans=spans, blanks=blanks), trimming).spans or ()):
            return trimming
    return None


def _trimmed(tokens: Tokens, trimming: Trimming) -> Tokens:
    """Return tokens as a post-processor with this trimming leaves them."""
    if trimming != "none" and tokens.spans is not None and tokens.blanks is not None:
        keeps_first = trimming == "all but the first" and tokens.begins
        tokens.spans = trimmed_spans(tokens.spans, tokens.blanks, keeps_first=keeps_first)
    return tokens


class CompiledTokenizer(TextTokenizer):
    """A `TextTokenizer` made of its facts and its shortcut, if it has one; `load` reads the whole tokenizer."""

    special_tokens: Mapping[str, int]
    max_id: int
    is_byte_level: bool
    decodes_context_free: bool
    native: NativeText | None = None
    shortcut: Shortcut | None = None
    has_template: bool = False
    file_notes: Sequence[str] = ()

    def __init__(self, facts: TokenizerFacts, shortcut: Shortcut | None, load: Callable[[], TextTokenizer]) -> None:
        self.facts, self.shortcut = facts, shortcut
        self.special_tokens, self.max_id, self.is_byte_level = facts.special_tokens, facts.max_id, facts.is_byte_level
        self.has_template, self.decodes_context_free = facts.has_template, facts.decodes_context_free
        self.file_notes, self._load = facts.file_notes, load

    @property
    def trims_spans(self) -> bool:
        return self.facts.trimming != "none"

    @cached_property
    def whole(self) -> TextTokenizer:
        """The tokenizer that the file defines; it is read when this is first asked for."""
        return self._load()

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        return self.whole.encode(text, allowed)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        return self.whole.encode_spans(text, allowed)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        template = self.facts.template_ids if add else ([], [])
        trimming = self.facts.trimming if texts[0].spans is not None else "none"
        if len(texts) != 1 or template is None or trimming is None:
            return self.whole.finish(texts, add)
        before, after = (added(ids, 0) for ids in template)
        return joined([before, _trimmed(texts[0], trimming), after])

    def split(self, text: str) -> list[str]:
        return self.whole.split(text)

    @property
    def vocabulary_image(self) -> Buffer | None:
        """The native image of the ranks, if there are any."""
        return None if self.shortcut is None else self.shortcut.load_image()

    @cached_property
    def native_tokens(self) -> tuple[Any, Any] | None:
        """The native vocabulary and its decoder; None if they do not give the bytes of all ids."""
        image, others = self.vocabulary_image, self.facts.other_bytes
        vocabulary = None if image is None or others is None else open_vocabulary(lambda: image)
        return None if vocabulary is None else (vocabulary, decoder_of(vocabulary, others or {}))

    def decode(self, ids: Sequence[int]) -> bytes:
        if self.native_tokens is None:
            return self.whole.decode(ids)
        decode = partial(self._joined, self.native_tokens[1])
        data = decode(ids)
        data = data[1:] if self.facts.drops_space and decode(ids[:1]).startswith(b" ") else data
        if self.facts.cleans_spaces:
            return _llama_rules()[0](data)
        return data

    def _joined(self, decoder: Any, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, joined by the native decoder."""
        try:
            data: bytes = decoder.decode(memoryview(array("I", ids)), 4)
        except (KeyError, OverflowError):
            self.whole.decode(ids)  # says which id is wrong
            raise
        return data

    def decode_stream(self) -> ByteDecoder | None:
        if self.decodes_context_free or self.native_tokens is None:
            return None if self.decodes_context_free else self.whole.decode_stream()
        decode = partial(self._joined, self.native_tokens[1])
        return _llama_rules()[1](decode, self.facts.drops_space, self.facts.cleans_spaces)

    def parents(self, number: int) -> tuple[int, int] | None:
        return self.whole.parents(number)

    def token_bytes(self) -> Mapping[int, bytes]:
        if self.native_tokens is None:
            return self.whole.token_bytes()
        tokens = self.native_tokens[0].tokens()
        return {n: token for n, token in enumerate(tokens) if token is not None} | dict(self.facts.other_bytes or {})


class CompiledWithTwin(CompiledTokenizer):
    """A compiled tokenizer whose native twin encodes whole texts."""

    native: NativeText

    def __init__(self, facts: TokenizerFacts, native: NativeText, load: Callable[[], TextTokenizer]) -> None:
        super().__init__(facts, None, load)
        self.native = native

    @property
    def vocabulary_image(self) -> Buffer | None:
        return self.native.vocabulary_image


def _llama_rules() -> tuple[
    Callable[[bytes], bytes],
    Callable[[Callable[[Sequence[int]], bytes], bool, bool], ByteDecoder],
]:
    """Return what cleans the spaces of llama.cpp's texts, and a decoder of streams."""
    from tokcli.engine.llama_cpp import settings  # most texts need neither

    return settings.cleaned, settings.spaced_decoder
