"""Makes `TextRanks` of the ranks of a model, unless bytes without a token keep them from holding for most texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.spec.image import RanksSpec
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.unicode.forms import Form
from tokcli.engine.unicode.ranges import Ranges, merged

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.bpe.ranks import Ranked


def text_ranks_of(
    name: str,
    pat_str: str,
    ranked: Ranked,
    added: Mapping[str, int],
    *,
    unsafe: Ranges = (),
    form: Form | None = None,
    prefix_space: bool = False,
    load_exact: Callable[[], Buffer] = bytes,
    hides_tokens: bool = False,
) -> TextRanks | None:
    """Make the ranks of texts from those of a model, unless bytes without a token are in too many characters.

    `unsafe` are ranges of characters for which they do not hold, and `load_exact` gives the programs that cut text with
    them: see `TextRanks`.
    """
    lacking = _characters_with(frozenset() if ranked.drops_missing else ranked.missing)
    if lacking is None:
        return None
    # native code is given the merges and takes no others; ranks alone would merge what is only found whole
    whole_only = () if backend.is_native() else ranked.whole_only
    spec = RanksSpec(
        ranked.max_id,
        (pat_str,),
        exceptions=tuple(chain.from_iterable(merged([*unsafe, *lacking]))),
        puts_space=prefix_space,
        form=form,
        whole_only=tuple(token.decode("utf-8", "replace") for token in whole_only),
        hides_tokens=hides_tokens,
    )
    exact = bytes if lacking else load_exact  # no cut helps with bytes that lack
    return TextRanks(name, spec, added, lambda: ranked.ranks, ranked.load_image, exact)


def _characters_with(missing: Iterable[int]) -> list[tuple[int, int]] | None:
    """Return the ranges of characters whose UTF-8 has a byte of `missing`; None if that is a continuation byte."""
    found = []
    for byte in missing:
        if 0x80 <= byte < 0xC0:
            return None  # a continuation byte occurs in characters everywhere
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
