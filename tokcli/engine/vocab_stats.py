"""What there is to say of a vocabulary as a whole, and of two of them; data only, shown elsewhere."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from tokcli.engine.pattern import members, unicode16_ranges
from tokcli.engine.token_facts import is_special
from tokcli.errors import VocabularyError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

# The scripts that vocabularies have letters of; a token counts for that of its first letter.
SCRIPTS = ("Latin", "Han", "Cyrillic", "Arabic", "Greek", "Hebrew", "Hiragana", "Katakana", "Hangul", "Devanagari",
           "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai",
           "Lao", "Khmer", "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic")  # fmt: skip
_HEAD = 2  # characters
NO_LETTER, NOT_UTF8, OTHER = "no letter", "not UTF-8", "other script"


@dataclass
class Stats:
    """Counts over the tokens of a vocabulary, special ones aside; lengths are in bytes."""

    tokens: int = 0
    special: int = 0
    bytes: int = 0
    merges: int = 0
    not_utf8: int = 0
    with_space: int = 0  # that begin with one
    lengths: Counter[int] = field(default_factory=Counter)
    scripts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # of characters: letters, digits, spaces, others


def stats_of(encoding: Encoding, merges: int) -> Stats:
    """The counts of a vocabulary with so many merges."""
    every = encoding._all_decoder
    special = {number for number in encoding._special_token_values if number in every and is_special(encoding, number)}
    tokens = [token for number, token in every.items() if number not in special]
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
    """The texts of those tokens that are UTF-8."""
    found = []
    for token in tokens:
        try:
            found.append(token.decode())
        except UnicodeDecodeError:
            continue
    return found


def scripts_of(texts: Sequence[str], letters: set[str]) -> Counter[str]:
    """How many texts are of each of SCRIPTS by the first letter that any of them has; `letters` are all that occur."""
    script_of = {
        letter: name for name in SCRIPTS for letter in members(letters, unicode16_ranges(f"Script={name}") or ())
    }
    is_known = script_of.__contains__
    found: Counter[str] = Counter()
    open_heads = set()  # a letter mostly stands among the first two characters, and there are few of those
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


@dataclass(frozen=True)
class Difference:
    """Two vocabularies, token by token: rows are (token, id in A, id in B), None where there is none."""

    shared: int
    same_id: int
    only_a: list[tuple[bytes, int, None]]
    only_b: list[tuple[bytes, None, int]]
    shifted: list[tuple[bytes, int, int]]


def difference(a: Mapping[bytes, int], b: Mapping[bytes, int]) -> Difference:
    """What two vocabularies (token -> id) share and what not, each in the order of the ids.

    >>> difference({b"a": 0, b"b": 1, b"c": 2}, {b"a": 0, b"b": 2, b"d": 1}).shifted
    [(b'b', 1, 2)]
    """
    find = b.get
    same_id = 0
    only_a: list[tuple[bytes, int, None]] = []
    shifted: list[tuple[bytes, int, int]] = []
    for token, number in a.items():
        other = find(token)
        if other is None:
            only_a.append((token, number, None))
        elif other == number:
            same_id += 1
        else:
            shifted.append((token, number, other))
    only_b: list[tuple[bytes, None, int]] = [(token, None, number) for token, number in b.items() if token not in a]
    return Difference(
        same_id + len(shifted),
        same_id,
        sorted(only_a, key=itemgetter(1)),
        sorted(only_b, key=itemgetter(2)),
        sorted(shifted, key=itemgetter(1)),
    )


def byte_order(encoding: Encoding) -> array[int]:
    """The id of each byte (minbpe's GPT4Tokenizer calls it `byte_shuffle`); VocabularyError where one is no token."""
    first: dict[int, int] = {}
    for number, token in encoding._all_decoder.items():
        if len(token) == 1:
            first.setdefault(token[0], number)
    for value in range(256):
        if value not in first:
            raise VocabularyError(
                f"{encoding.name}: byte {value:02x} is no token", "Only where all 256 are, bytes have an order."
            )
    return array("I", map(first.__getitem__, range(256)))
