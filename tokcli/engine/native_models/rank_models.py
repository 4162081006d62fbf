"""Native models of ranks: added tokens, a normal form, a pattern, and ranks that merge."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.native_models.text_model import CHARS, NativeText, TwinFor, model_of
from tokcli.engine.pretokenizers.row_image import row_in

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.spec.image import RanksSpec


def twin_of_ranks(
    vocabulary: _native.Vocabulary | None,
    splitter: int | _native.Pattern | None,
    added: Mapping[str, int],
    special: Collection[str],
    ranks: RanksSpec | None = None,
    *,
    exact: Buffer = b"",
    image: Buffer = b"",
) -> TwinFor | None:
    """Return the native twins of a vocabulary and of what splits text for it, if both are native.

    `added` are the added tokens, `special` those of them that stay text unless they are allowed. `ranks` says what is
    done beside splitting and merging, if anything is. With its `hides_tokens`, one twin looks for all added tokens, and
    else each set of allowed ones has a twin of its own. Text with characters of its exceptions is cut by the programs
    `exact` (pretokenizers/row_image.py), or refused without them. `image` is that of the vocabulary.
    """
    exceptions, puts_space, form = (ranks.exceptions, ranks.puts_space, ranks.form) if ranks else ((), False, None)
    is_one_for_all = ranks is not None and ranks.hides_tokens
    if vocabulary is None or splitter is None or NO_ID in added.values():
        return None

    def made_with(tokens: Mapping[str, int]) -> NativeText:
        made = model_of({})
        made.use_ranks(vocabulary, splitter, exactly, array("I", exceptions), puts_space)
        if tokens:
            made.set_added(False, [(text.encode(), id, False, False, False) for text, id in tokens.items()])
        if form is not None:
            made.add_step(CHARS, b"", b"", False, False)
            steps: list[tuple[str, str]] = [("form", form)]
            made.set_characters(steps, b"", b"", b"")
        return NativeText(made, [(text, text in special) for text in tokens], vocabulary_image=image)

    found = {text: id for text, id in added.items() if text}
    plain = {text: id for text, id in found.items() if text not in special}
    try:
        exactly = row_in(exact)
        usual = made_with(found if is_one_for_all else plain)
    except (ValueError, OverflowError):  # a token with a lone surrogate, an id above those of native code; no programs
        return None

    @lru_cache(maxsize=8)
    def with_allowed(allowed: frozenset[str]) -> NativeText:
        return made_with({text: id for text, id in found.items() if text in allowed or text in plain})

    return lambda allowed: with_allowed(allowed) if allowed and not is_one_for_all else usual
