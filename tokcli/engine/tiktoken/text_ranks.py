"""`TextRanks`: ranks and a pattern that give the ids of a tokenizer with rules of its own, only faster.

Families prove that a tokenizer has them and make them (text_ranks_of.py); `Tokenizer` uses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.native_models.rank_models import twin_of_ranks
from tokcli.engine.tiktoken.native_encoder import native_splitter
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer

    from tokcli.engine.native_models.text_model import TwinFor
    from tokcli.engine.spec.image import RanksSpec
    from tokcli.engine.unicode.ranges import Ranges


class TextRanks(RankVocabulary):
    """Ranks and a pattern that give a tokenizer's ids, and a description of the text for which they do.

    `spec` describes both, and `added` maps the added tokens, all of them special here, to ids. `load_exact` gives the
    programs (pretokenizers/row_image.py) that cut text with a character of the spec's exceptions natively: they are
    empty where there are none. ValueError for a spec with more than one pattern, or with exceptions that are no ranges.
    """

    def __init__(
        self,
        name: str,
        spec: RanksSpec,
        added: Mapping[str, int],
        load_ranks: Callable[[], dict[bytes, int]],
        load_image: Callable[[], Buffer],
        load_exact: Callable[[], Buffer] = bytes,
    ) -> None:
        (pat_str,), ends = spec.patterns, spec.exceptions
        if list(ends) != sorted(ends):
            raise ValueError("no ranges of characters")
        super().__init__(
            name,
            pat_str=pat_str,
            special_tokens=added,
            max_rank=spec.max_rank,
            load_ranks=load_ranks,
            load_image=load_image,
        )
        self.unsafe: Ranges = tuple(zip(ends[::2], ends[1::2], strict=True))
        self.spec, self.load_exact = spec, load_exact

    def twins_of_rules(self, special: Collection[str]) -> TwinFor | None:
        """Return the native twins of the tokenizer, of whose added tokens those in `special` are special."""
        if self.opened is None:
            return None
        return twin_of_ranks(
            self.opened,
            native_splitter(self.pretokenizer),
            self.special_tokens,
            special,
            self.spec,
            exact=self.load_exact(),
            image=self.load_image(),
        )

    @property
    def looks_at_text(self) -> bool:
        """Whether texts have to be checked: some need to be normalized, or the ranks do not give their ids."""
        return bool(self.unsafe or self.spec.whole_only or self.spec.form)

    def normalized(self, text: str) -> str:
        """Return a text in the form in which it is split and merged."""
        if self.spec.form is None or text.isascii():
            return text
        normalized: str = normal_forms().normalize(self.spec.form, text)
        return normalized

    def with_prefix(self, text: str) -> str:
        """Return a text with a space before it where the tokenizer puts one; an empty text gets none."""
        return " " + text if self.spec.puts_space and text and not text.startswith(" ") else text

    def is_plain(self, text: str) -> bool:
        """Return whether a text is split and merged as it is."""
        return self.normalized(text) == text and self.holds_for(text)

    def holds_for(self, text: str) -> bool:
        """Return whether the pattern and the ranks give the ids of a normalized text."""
        return not self._has_unsafe(text) and not any(map(text.__contains__, self.spec.whole_only))

    def _has_unsafe(self, text: str) -> bool:
        """Return whether a text has a character of `unsafe`."""
        if not self.unsafe or (self.unsafe[0][0] > _LAST_OF_ASCII and text.isascii()):
            return False
        low, astral = self._unsafe_patterns
        # matching a class of the astral planes is slow, and most texts have no such characters
        runs = _ASTRAL.finditer(text)
        return low.search(text) is not None or any(astral.search(text, *run.span()) for run in runs)

    @cached_property
    def _unsafe_patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """The unsafe characters in and beyond the Basic Multilingual Plane."""
        planes = (
            [(first, min(last, 0xFFFF)) for first, last in self.unsafe],
            [(max(first, 0x10000), last) for first, last in self.unsafe],
        )
        members = ("".join(f"\\U{a:08X}-\\U{b:08X}" for a, b in ranges if a <= b) for ranges in planes)
        low, astral = (re.compile(f"[{inside}]" if inside else "(?!)") for inside in members)
        return low, astral


_LAST_OF_ASCII = 0x7F
_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")


def normal_forms() -> ModuleType:
    """Return the module that normalizes text."""
    from tokcli.engine.unicode import forms  # 2 ms, for its tables

    return forms
