"""Builds the native twins of byte-level tokenizers: added tokens, a normal form, a pattern, and ranks that merge."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from tokcli.engine.bindings.text_model import CHARS, NativeText, model_of

if TYPE_CHECKING:
    from tokcli.engine import _native
    from tokcli.engine.shortcut.shortcut import Shortcut


def twin_of_ranks(
    shortcut: Shortcut,
    vocabulary: _native.Vocabulary,
    splitter: int | _native.Pattern,
    special: Mapping[str, int],
    *,
    puts_space: bool,
) -> Callable[[frozenset[str]], NativeText] | None:
    """Return the function that gives the twin for the special tokens that become ids; None where there is none.

    Special tokens that stay text hide others that begin within them only in Hugging Face's library, where one twin
    looks for all of them; else each set of allowed tokens has a twin of its own. With `puts_space`, text between added
    tokens gets a space in front, unless it begins with one.
    """

    def made_with(added: Mapping[str, int]) -> NativeText:
        made = model_of({})
        exceptions = array("I", chain.from_iterable(shortcut.unsafe))
        made.use_ranks(vocabulary, splitter, None, exceptions, puts_space)
        tokens = [(text, number) for text, number in added.items() if text]
        made.set_added(False, [(text.encode(), number, False, False, False) for text, number in tokens])
        if shortcut.form is not None:
            made.add_step(CHARS, b"", b"", False, False)
            steps: list[tuple[str, str]] = [("form", shortcut.form)]
            made.set_characters(steps, b"", b"", b"")
        names = [(text, text in special) for text, _ in tokens]
        return NativeText(made, names, vocabulary_image=shortcut.load_image())

    try:
        whole = made_with(shortcut.added)
    except (ValueError, OverflowError):  # a token with a lone surrogate, an id above those of native code
        return None

    def for_allowed(allowed: frozenset[str]) -> NativeText:
        if shortcut.hides_tokens:
            return whole
        found = {text: number for text, number in shortcut.added.items() if text in allowed or text not in special}
        return made_with(found)

    return lru_cache(maxsize=8)(for_allowed)
