"""`Shortcut`: ranks and a pattern that do what a tokenizer with rules of its own does, and are faster.

Whether a tokenizer has one, it proves itself (pipeline.py, llama_cpp.py); pipeline_encoding.py takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokcli.engine.unicode_forms import Form


@dataclass(frozen=True)
class Shortcut:
    """`added` are the tokens that are cut out first; what is left is brought into a `form`, then split and merged.

    It holds for text in which `unsafe` (a regex; "": nothing) finds nothing. `load_ranks` and `load_image` give the
    mergeable_ranks and their native image; `max_id` is the largest id of the ranks.
    """

    pat_str: str
    load_ranks: Callable[[], dict[bytes, int]] = field(repr=False)
    load_image: Callable[[], Any] = field(repr=False)
    max_id: int
    added: Mapping[str, int] = field(repr=False)
    unsafe: str = field(default="", repr=False)
    unsafe_is_ascii: bool = False  # whether that may be found in ASCII
    form: Form | None = None
    prefix_space: bool = False  # a text gets a space before it, unless it begins with one

    @staticmethod
    def of(
        pat_str: str,
        ranks: dict[bytes, int],
        added: Mapping[str, int],
        unsafe: list[str],
        *,
        unsafe_is_ascii: bool,
        form: Form | None = None,
        prefix_space: bool = False,
    ) -> Shortcut:
        """The shortcut by some ranks; `unsafe` are regexes."""
        from tokcli.engine.native_encoder import image_of

        return Shortcut(
            pat_str, lambda: ranks, lambda: image_of(ranks), max(ranks.values()), added, "|".join(unsafe),
            unsafe_is_ascii, form, prefix_space,
        )  # fmt: skip

    @property
    def takes_all(self) -> bool:
        """Whether it takes any text as it is."""
        return not (self.unsafe or self.form or self.prefix_space)

    @cached_property
    def _unsafe(self) -> re.Pattern[str]:
        return re.compile(self.unsafe)

    def normalized(self, text: str) -> str:
        """The text as it is split and merged."""
        if self.form is None or text.isascii():
            return text
        from tokcli.engine.unicode_forms import normalize

        return normalize(self.form, text)

    def holds_for(self, text: str) -> bool:
        """Whether it may be taken for a normalized text."""
        if not self.unsafe or (text.isascii() and not self.unsafe_is_ascii):
            return True
        return not self._unsafe.search(text)
