"""`Compiled`: a tokenizer whose facts and image are at hand, and whose file is read only for what these do not tell.

What a cache keeps of a tokenizer file (registry/compiled.py) becomes one of these: splitting, merging and decoding need
no more than the image; offsets, pairs of texts and text that the shortcut is not for need the whole tokenizer.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.shortcut import Shortcut
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.engine.native_text import NativeText
    from tokcli.engine.pipeline import Tokenizer
    from tokcli.engine.postprocessor import Tokens


@dataclass(frozen=True)
class Facts:
    """What is known of a tokenizer with a shortcut without its file, beside the shortcut."""

    special_tokens: Mapping[str, int] = field(repr=False)
    max_id: int
    is_byte_level: bool
    has_template: bool
    decodes_apart: bool
    others: Mapping[int, bytes] | None = field(repr=False)  # of ids beside the ranks; None: bytes do not say all
    drops_space: bool = False  # the one that the first token begins with
    cleans_spaces: bool = False
    around: tuple[Sequence[int], Sequence[int]] | None = None  # what the template adds; None: more than that


class Compiled:
    """A tokenizer (see `Tokenizer`) by its facts, its shortcut and whatever loads the whole of it."""

    native: NativeText | None = None  # the shortcut is

    def __init__(self, facts: Facts, shortcut: Shortcut | None, load: Callable[[], Tokenizer]) -> None:
        self.facts, self.shortcut = facts, shortcut
        self.special_tokens, self.max_id, self.is_byte_level = facts.special_tokens, facts.max_id, facts.is_byte_level
        self.has_template, self.decodes_apart = facts.has_template, facts.decodes_apart
        self._load = load

    @cached_property
    def whole(self) -> Tokenizer:
        """The tokenizer in its file."""
        return self._load()

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        return self.whole.encode(text, allowed)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The same, and where they stand, in characters."""
        return self.whole.encode_spans(text, allowed)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """One or two texts through the template."""
        around = self.facts.around if add else ((), ())
        if len(texts) != 1 or texts[0].spans is not None or around is None:
            return self.whole.finish(texts, add)
        before, behind = around
        texts[0].ids = [*before, *texts[0].ids, *behind]
        return texts[0]

    def split(self, text: str) -> list[str]:
        """The pieces that are encoded one by one."""
        return self.whole.split(text)

    @cached_property
    def _decode(self) -> Callable[[memoryview, int], bytes] | None:
        native = backend.native()
        if native is None or self.shortcut is None or self.facts.others is None:
            return None
        try:
            decode: Callable[[memoryview, int], bytes]
            decode = native.Decoder(native.Vocabulary(self.shortcut.load_image()), dict(self.facts.others)).decode
        except ValueError:
            return None
        return decode

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError."""
        if self._decode is None:
            return self.whole.decode(ids)
        try:
            data = self._decode(memoryview(array("I", ids)), 4)
            first = self._decode(memoryview(array("I", ids[:1])), 4) if self.facts.drops_space else b""
        except (KeyError, TypeError, OverflowError):
            return self.whole.decode(ids)  # says what is wrong
        data = data[1:] if first.startswith(b" ") else data
        if self.facts.cleans_spaces:
            from tokcli.engine.llama_cpp import cleaned

            return cleaned(data)
        return data

    def parents(self, number: int) -> tuple[int, int] | None:
        """The ids of the two tokens that merge into one."""
        return self.whole.parents(number)

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes of each id."""
        return self.whole.token_bytes()


def facts_of(tokenizer: Tokenizer, ranks: Mapping[bytes, int]) -> Facts:
    """What may be kept of a tokenizer whose shortcut has these ranks."""
    from tokcli.engine.llama_cpp import NORMAL, LlamaCpp
    from tokcli.engine.pipeline import Pipeline

    drops_space = cleans_spaces = False
    others: Mapping[int, bytes] | None = None
    known = {number: token for token, number in ranks.items()}
    if isinstance(tokenizer, Pipeline) and tokenizer.decodes_apart:
        apart = {token.id for token in tokenizer.added}.union(tokenizer.model.ids.values()).difference(known)
        others = _others(known, apart, {token.id for token in tokenizer.added}, lambda n: tokenizer.decode([n]))
    elif isinstance(tokenizer, LlamaCpp):
        drops_space, cleans_spaces = tokenizer.settings.add_space_prefix, tokenizer.settings.clean_spaces
        apart = set(range(len(tokenizer.texts))).difference(known)
        unusual = {number for number, kind in enumerate(tokenizer.kinds) if kind != NORMAL}
        others = _others(known, apart, unusual, tokenizer._bytes_of)
    return Facts(
        special_tokens=tokenizer.special_tokens,
        max_id=tokenizer.max_id,
        is_byte_level=tokenizer.is_byte_level,
        has_template=tokenizer.has_template,
        decodes_apart=tokenizer.decodes_apart,
        others=others,
        drops_space=drops_space,
        cleans_spaces=cleans_spaces,
        around=_around(tokenizer),
    )


def _others(
    known: Mapping[int, bytes], apart: set[int], unusual: set[int], bytes_of: Callable[[int], bytes]
) -> dict[int, bytes] | None:
    """The bytes of the ids that stand apart; None where an unusual one is known by other bytes than its own."""
    if any(known[number] != bytes_of(number) for number in unusual & known.keys()):
        return None
    return {number: bytes_of(number) for number in sorted(apart)}


def _around(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """The ids that the template puts before and behind a text; None where it does anything else."""
    from tokcli.engine.postprocessor import Tokens

    text = -1  # an id that there is not
    try:
        ids = tokenizer.finish([Tokens([text])], True).ids
    except (TokcliError, IndexError):
        return None
    if ids.count(text) != 1:
        return None
    at = ids.index(text)
    return ids[:at], ids[at + 1 :]
