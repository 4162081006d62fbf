"""`Shortcut`: ranks and a pattern that do what a tokenizer with rules of its own does, and are faster.

Whether a tokenizer has one, it proves itself (pipeline.py, llama_cpp.py); pipeline_encoding.py takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.pattern import Ranges, class_members, merged, minus

if TYPE_CHECKING:
    from tokcli.engine.ranked import Ranked
    from tokcli.engine.unicode_forms import Form


@dataclass(frozen=True)
class Shortcut:
    """`added` are the tokens that are cut out first; what is left is brought into a `form`, then split and merged.

    It holds for text in which neither `unsafe` (a regex; "": nothing) finds anything nor, beyond the Basic Multilingual
    Plane, `unsafe_astral` (the inside of a class). `load_ranks` and `load_image` give the mergeable_ranks and their
    native image; `max_id` is the largest id of the ranks.
    """

    pat_str: str
    load_ranks: Callable[[], dict[bytes, int]] = field(repr=False)
    load_image: Callable[[], Any] = field(repr=False)
    max_id: int
    added: Mapping[str, int] = field(repr=False)
    unsafe: str = field(default="", repr=False)
    unsafe_is_ascii: bool = False  # whether that may be found in ASCII
    unsafe_astral: str = field(default="", repr=False)
    form: Form | None = None
    prefix_space: bool = False  # a text gets a space before it, unless it begins with one
    cut: str | None = None  # what cuts unsafe text into pieces to be merged: the name of a pre-tokenizer of GGUF

    @staticmethod
    def of(
        pat_str: str,
        ranked: Ranked,
        added: Mapping[str, int],
        *,
        unsafe: Ranges = (),
        form: Form | None = None,
        prefix_space: bool = False,
        cut: str | None = None,
    ) -> Shortcut | None:
        """The shortcut by some ranks; `unsafe` are characters. None where it lacks bytes that stand in too many."""
        lacking = _characters_with(frozenset() if ranked.drops_missing else ranked.missing)
        if lacking is None:
            return None
        ranges = merged([*unsafe, *lacking])
        low, high = (class_members(minus(ranges, (other,))) for other in ((0x10000, 0x10FFFF), (0, 0xFFFF)))
        # native code is given the merges and takes no others; ranks alone would merge what is only found whole
        whole_only = [] if backend.native() else [token.decode("utf-8", "replace") for token in ranked.whole_only]
        return Shortcut(
            pat_str,
            load_ranks=lambda: ranked.ranks,
            load_image=ranked.load_image,
            max_id=ranked.max_id,
            added=added,
            unsafe="|".join([*([f"[{low}]"] if low else []), *map(re.escape, whole_only)]),
            unsafe_is_ascii=any(map(str.isascii, whole_only)) or any(first < 128 for first, _ in ranges),
            unsafe_astral=high,
            form=form,
            prefix_space=prefix_space,
            cut=cut,
        )

    @property
    def looks_at_text(self) -> bool:
        """Whether it is not for every text, or not for it as it is."""
        return bool(self.unsafe or self.unsafe_astral or self.form)

    @cached_property
    def _unsafe(self) -> re.Pattern[str]:
        return re.compile(self.unsafe)

    def normalized(self, text: str) -> str:
        """The text as it is split and merged."""
        if self.form is None or text.isascii():
            return text
        from tokcli.engine.unicode_forms import normalize

        return normalize(self.form, text)

    def with_prefix(self, text: str) -> str:
        """A text with the space before it that it may need; none is put where there is no text."""
        return " " + text if self.prefix_space and text and not text.startswith(" ") else text

    def holds_for(self, text: str) -> bool:
        """Whether it may be taken for a normalized text."""
        if not (self.unsafe or self.unsafe_astral) or (text.isascii() and not self.unsafe_is_ascii):
            return True
        if self.unsafe and self._unsafe.search(text):
            return False
        # a class of the astral planes takes long to ask, and most texts have nothing there
        if not self.unsafe_astral or not _ASTRAL.search(text):
            return True
        return not any(self._unsafe_astral.search(match[0]) for match in _ASTRAL.finditer(text))

    @cached_property
    def _unsafe_astral(self) -> re.Pattern[str]:
        return re.compile(f"[{self.unsafe_astral}]")


_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")


def _characters_with(missing: Iterable[int]) -> list[tuple[int, int]] | None:
    """The characters that have such a byte in UTF-8; None where these are not few ranges."""
    found = []
    for byte in missing:
        if 0x80 <= byte < 0xC0:
            return None  # as a continuation it stands anywhere
        if byte < 0x80:
            found.append((byte, byte))
        for first_lead, last_lead, bits, least in (
            (0xC2, 0xDF, 6, 0x80),
            (0xE0, 0xEF, 12, 0x800),
            (0xF0, 0xF4, 18, 0x10000),
        ):
            if first_lead <= byte <= last_lead:
                first = (byte & 0x1F if bits == 6 else byte & 0x0F if bits == 12 else byte & 0x07) << bits
                found.append((max(first, least), min(first + (1 << bits) - 1, 0x10FFFF)))
    return found
