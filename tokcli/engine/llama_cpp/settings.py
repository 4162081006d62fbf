"""What a GGUF file says besides the texts of its tokens: their kinds and settings; and the clean-up of decoded text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tokcli.engine.stream.decoding import SpacedDecoder

LlamaModel = Literal["llama", "gpt2", "bert", "t5", "rwkv", "plamo2"]

# A token has one of these kinds or several (llama.cpp, llama_token_attr).
NORMAL, CONTROL, USER_DEFINED, UNKNOWN, UNUSED, BYTE = 1, 2, 4, 8, 16, 32
SPECIAL = CONTROL | UNKNOWN  # found in text only where the caller allows them
FOUND = SPECIAL | USER_DEFINED  # found in text before the model sees it
_NAMES = ((UNKNOWN, "unknown"), (CONTROL, "control"), (USER_DEFINED, "user-defined"), (UNUSED, "unused"),
          (BYTE, "byte"))  # fmt: skip


def kind_names(kinds: Iterable[int]) -> dict[int, str]:
    """Return the name of the kind of each token that is not normal, by id; of several kinds, the first in _NAMES.

    >>> kind_names([NORMAL, CONTROL, UNKNOWN | CONTROL])
    {1: 'control', 2: 'unknown'}
    """
    names = ((number, next((name for bit, name in _NAMES if kind & bit), "")) for number, kind in enumerate(kinds))
    return {number: name for number, name in names if name}


def may_overlap(tokens: Iterable[str]) -> bool:
    """Return whether a token may begin within another one and end beyond it, so that the longer one is found.

    Where none does, the longest token at each place is found, from left to right. Runs of one character are no matter:
    both ways find the longest of them first.

    >>> may_overlap(["<a>", "<b>", "  ", "    "]), may_overlap(["<ab>", "b>cd>"])
    (False, True)
    """
    texts = set(filter(None, tokens))
    others = sorted(text for text in texts if not _is_run(text))
    runs = {text[0]: len(text) for text in sorted(texts.difference(others), key=len)}
    firsts = {text[0] for text in texts}
    if sum(len(text) ** 2 for text in texts) > _MOST_COMPARED:
        return True
    for text in texts:
        for begin in range(1, len(text)):
            if text[begin] in firsts:
                end = text[begin:]
                at = bisect_right(others, end)
                if at < len(others) and others[at].startswith(end):
                    return True
                if not _is_run(text) and _is_run(end) and runs.get(end[0], 0) > len(end):
                    return True
    return False


_MOST_COMPARED = 1 << 24  # characters


def _is_run(text: str) -> bool:
    return text == text[0] * len(text)


@dataclass(frozen=True)
class LlamaSettings:
    """The settings of a tokenizer; None for a special token that it lacks."""

    bos: int | None = None
    eos: int | None = None
    unknown: int | None = None
    sep: int | None = None
    add_bos: bool = False
    add_eos: bool = False
    add_space_prefix: bool = False
    remove_extra_whitespaces: bool = False
    clean_spaces: bool = False
    lowercase: bool = True
    strip_accents: bool = True
    lstrip: frozenset[int] = frozenset()  # special tokens that take the white space before them
    rstrip: frozenset[int] = frozenset()  # and those that take the white space after them
    charsmap: bytes = field(default=b"", repr=False)
    whitespace_words: bool = False  # a gpt2 model of words, for which the white space between them is dropped


_CLEANED = (
    (re.compile(rb" ([?!.,])"), rb"\1"),
    (re.compile(rb" ' "), b"'"),
    (re.compile(rb" ('(?:s|m|re|ve))"), rb"\1"),
)


def cleaned(text: bytes) -> bytes:
    """Return a text without the spaces before English punctuation (llama.cpp's `clean_spaces`).

    >>> cleaned(b"It 's done .")
    b"It's done."
    """
    for pattern, instead in _CLEANED:
        text = pattern.sub(instead, text)
    return text


def spaced_decoder(decode: Callable[[Sequence[int]], bytes], drops_space: bool, cleans_spaces: bool) -> SpacedDecoder:
    """Return a decoder of ids that come a few at a time; `decode` joins the bytes of ids."""
    clean, cut = (cleaned, uncleaned_at_end) if cleans_spaces else (None, None)
    return SpacedDecoder(decode, drops_space=drops_space, cleaned=clean, cut=cut)


def uncleaned_at_end(text: bytes) -> int:
    """Return how many bytes at the end of a text to hold back: `cleaned` may change them when others follow.

    What it finds begins at a space, and so far has only spaces, apostrophes and the first letter of "re" or "ve". Of
    several spaces, those before the last two stay.

    >>> uncleaned_at_end(b"It 's done ."), uncleaned_at_end(b"It ' "), uncleaned_at_end(b"you 'r")
    (0, 3, 3)
    """
    before = text[:-1] if text.endswith((b"r", b"v")) else text
    begin = before.find(b" ", len(before.rstrip(b" '")))
    return 0 if begin < 0 else len(text) - max(begin, before.rfind(b"   ", begin) + 1)
