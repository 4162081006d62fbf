"""Vocabularies, explained: totals, differences, the order of the bytes, and tokens whose own text gives other ids.

The functions return data. Tokens and scores come from the engine's tokenizers; tables are drawn in render/.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from tokcli.engine.encoding import Encoding
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import members
from tokcli.errors import VocabularyError

# The scripts that are told apart; a token counts for the script of its first letter.
SCRIPTS = ("Latin", "Han", "Cyrillic", "Arabic", "Greek", "Hebrew", "Hiragana", "Katakana", "Hangul", "Devanagari",
           "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai",
           "Lao", "Khmer", "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic")  # fmt: skip
_HEAD = 2  # characters of a token that are looked at first
NO_LETTER, NOT_UTF8, OTHER = "no letter", "not UTF-8", "other script"


@dataclass
class Stats:
    """Counts over the tokens of a vocabulary without the special ones; lengths are in bytes."""

    tokens: int = 0
    special: int = 0
    bytes: int = 0
    merges: int = 0
    not_utf8: int = 0
    with_space: int = 0  # tokens that begin with a space
    lengths: Counter[int] = field(default_factory=Counter)
    scripts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # of characters: letters, digits, spaces, others


def stats_of(encoding: Encoding, merges: int) -> Stats:
    """Return the counts of a vocabulary that has `merges` merges."""
    every = encoding.tokenizer.token_bytes()
    special = set(filter(encoding.tokenizer.is_special, encoding.tokenizer.special_tokens.values())) & every.keys()
    tokens = [token for id, token in every.items() if id not in special]
    texts = texts_in(tokens)
    characters = Counter("".join(texts))
    letters = members(characters, unicode16_ranges("L") or ())
    found = Stats(
        tokens=len(tokens),
        special=len(special),
        bytes=sum(map(len, tokens)),
        merges=merges,
        not_utf8=len(tokens) - len(texts),
        with_space=sum([token.startswith(b" ") for token in tokens]),
        lengths=Counter(map(len, tokens)),
        scripts=scripts_of(texts, letters),
    )
    if found.not_utf8:
        found.scripts[NOT_UTF8] = found.not_utf8
    found.kinds["letters"] = sum(map(characters.__getitem__, letters))
    for name, kind in (("digits", "N"), ("spaces", "White_Space")):
        found.kinds[name] = sum(map(characters.__getitem__, members(characters, unicode16_ranges(kind) or ())))
    found.kinds["others"] = characters.total() - found.kinds.total()
    return found


def texts_in(tokens: Iterable[bytes]) -> list[str]:
    """Return the texts of those tokens that are UTF-8."""
    found = []
    for token in tokens:
        try:
            found.append(token.decode())
        except UnicodeDecodeError:
            continue
    return found


def scripts_of(texts: Sequence[str], letters: set[str]) -> Counter[str]:
    """Count texts by the script (of SCRIPTS) of their first letter; `letters` are all letters that occur."""
    script_of = _scripts_of_letters(letters)
    is_known = script_of.__contains__
    found: Counter[str] = Counter()
    open_heads = set()  # most first letters are among the first two characters, of which there are few different ones
    for head, times in Counter([text[:_HEAD] for text in texts]).items():
        first = next(filter(is_known, head), None)
        if first is None:
            open_heads.add(head)
        else:
            found[script_of[first]] += times
    for text in [text for text in texts if text[:_HEAD] in open_heads]:
        first = next(filter(is_known, text), None)
        name = script_of[first] if first else NO_LETTER if letters.isdisjoint(text) else OTHER
        found[name] += 1
    return found


def _scripts_of_letters(letters: set[str]) -> dict[str, str]:
    ranges = {name: unicode16_ranges(f"Script={name}") or () for name in SCRIPTS}
    return {letter: name for name in SCRIPTS for letter in members(letters, ranges[name])}


def scripts_by_text(texts: Iterable[str]) -> dict[str, str]:
    """Return the script (of SCRIPTS) of the first letter of each text, or NO_LETTER or OTHER.

    >>> scripts_by_text([" a", "7", "中"])
    {' a': 'Latin', '7': 'no letter', '中': 'Han'}
    """
    kept = list(texts)
    letters = members(set("".join(kept)), unicode16_ranges("L") or ())
    script_of = _scripts_of_letters(letters)
    found = {}
    for text in kept:
        first = next(filter(script_of.__contains__, text), None)
        found[text] = script_of[first] if first else NO_LETTER if letters.isdisjoint(text) else OTHER
    return found


@dataclass(frozen=True)
class Difference:
    """The difference of two vocabularies; rows are (token, id in A, id in B), with None if the token is missing."""

    shared: int
    same_id: int
    only_a: list[tuple[bytes, int, None]]
    only_b: list[tuple[bytes, None, int]]
    shifted: list[tuple[bytes, int, int]]


def difference(a: Mapping[bytes, int], b: Mapping[bytes, int]) -> Difference:
    """Return what two vocabularies (token to id) share and what they do not, in the order of the ids.

    >>> difference({b"a": 0, b"b": 1, b"c": 2}, {b"a": 0, b"b": 2, b"d": 1}).shifted
    [(b'b', 1, 2)]
    """
    find = b.get
    same_id = 0
    only_a: list[tuple[bytes, int, None]] = []
    shifted: list[tuple[bytes, int, int]] = []
    for token, id in a.items():
        other = find(token)
        if other is None:
            only_a.append((token, id, None))
        elif other == id:
            same_id += 1
        else:
            shifted.append((token, id, other))
    only_b: list[tuple[bytes, None, int]] = [(token, None, id) for token, id in b.items() if token not in a]
    return Difference(
        same_id + len(shifted),
        same_id,
        sorted(only_a, key=itemgetter(1)),
        sorted(only_b, key=itemgetter(2)),
        sorted(shifted, key=itemgetter(1)),
    )


def byte_order(encoding: Encoding) -> array[int]:
    """Return the id of each byte (minbpe's `byte_shuffle`); raise VocabularyError if a byte has no token."""
    first: dict[int, int] = {}
    for id, token in encoding.tokenizer.token_bytes().items():
        if len(token) == 1:
            first.setdefault(token[0], id)
    for value in range(256):
        if value not in first:
            raise VocabularyError(
                f"{encoding.name}: byte {value:02x} is no token",
                "The order of the bytes needs a token for each of the 256.",
            )
    return array("I", map(first.__getitem__, range(256)))


def not_self(encoding: Encoding, ids: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield (id, ids of its own text) for each of `ids` whose own text is encoded as other ids.

    Special tokens are left out, as are tokens that are not text by themselves, such as a byte of a character.
    """
    tokenizer = encoding.tokenizer
    asked = [id for id in ids if not tokenizer.is_special(id)]
    for id, encoded in tokenizer.encode_own_texts(asked):
        if len(encoded) != 1 or encoded[0] != id:
            yield id, list(encoded)
