"""The properties of Unicode 16.0 by the names that patterns use: general categories, scripts, a few binary properties.

`tables_16.py` holds the facts; how a pattern uses a property is left to `pretokenizers/`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tokcli.engine.unicode.ranges import Ranges, boundaries, contains, merged, minus, parse_ranges

# Every code point that has a character, or can get one by the Unicode stability policy: planes 0 to 3 and 14. Planes 4
# to 13 are unassigned in every release so far; 15 and 16 are for private use for ever.
SCANNED_PLANES = ((0x0, 0x3FFFF), (0xE0000, 0xEFFFF))

_LONG_NAMES = {
    "uppercaseletter": "lu", "lowercaseletter": "ll", "titlecaseletter": "lt", "modifierletter": "lm",
    "otherletter": "lo", "nonspacingmark": "mn", "spacingmark": "mc", "enclosingmark": "me", "decimalnumber": "nd",
    "letternumber": "nl", "othernumber": "no", "connectorpunctuation": "pc", "dashpunctuation": "pd",
    "openpunctuation": "ps", "closepunctuation": "pe", "initialpunctuation": "pi", "finalpunctuation": "pf",
    "otherpunctuation": "po", "mathsymbol": "sm", "currencysymbol": "sc", "modifiersymbol": "sk", "othersymbol": "so",
    "spaceseparator": "zs", "lineseparator": "zl", "paragraphseparator": "zp", "control": "cc", "format": "cf",
    "privateuse": "co", "unassigned": "cn", "casedletter": "lc", "letter": "l", "mark": "m", "number": "n",
    "punctuation": "p", "symbol": "s", "separator": "z", "other": "c",
}  # fmt: skip
# groups of categories, by the first letters of their names; and the categories from which Unicode derives a property
_GROUPS = {
    "lc": ("Lu", "Ll", "Lt"),
    "alphabetic": ("L", "Nl"),
    "lowercase": ("Ll",),
    "uppercase": ("Lu",),
}
_GROUPS |= {first.lower(): (first,) for first in "LMNPSZC"}
_ALL: Ranges = ((0, 0x10FFFF),)


@lru_cache(maxsize=256)
def unicode16_ranges(name: str) -> Ranges | None:
    """Return the code points that have a property in Unicode 16.0; None for a property that the tables lack.

    The property is a general category (`Lu`, `L`, `Letter`), a script (`Han`, `Script=Han`) or one of a few binary
    properties.

    >>> unicode16_ranges("Zs")[0]
    (32, 32)
    """
    from tokcli.engine.unicode import tables_16  # 2 ms, and only text that is not ASCII needs it

    _, _, value = name.rpartition("=")
    key = re.sub(r"[\s_-]", "", value).lower()
    key = _LONG_NAMES.get(key, key)
    if key in _GROUPS:
        parts = [text for short, text in tables_16.CATEGORIES.items() if short.startswith(_GROUPS[key])]
        parts += [text for other, text in tables_16.OTHER.items() if other.lower() == key]
        assigned = merged(pair for text in parts for pair in parse_ranges(text))
        return merged(assigned + (unicode16_ranges("Cn") or ())) if key == "c" else assigned
    for tables, rest in ((tables_16.CATEGORIES, "cn"), (tables_16.BINARY, ""), (tables_16.SCRIPTS, "unknown")):
        if key == rest:
            return minus(_ALL, merged(pair for ranges in tables.values() for pair in parse_ranges(ranges)))
        for known, ranges in tables.items():
            if known.replace("_", "").lower() == key:
                return tuple(parse_ranges(ranges))
    return None


@lru_cache(maxsize=1)
def _not_printable() -> list[int]:
    """Return where the characters of the categories C and Z begin and end."""
    return boundaries(merged((unicode16_ranges("C") or ()) + (unicode16_ranges("Z") or ())))


def is_printable(text: str) -> bool:
    r"""Return what `str.isprintable` does, by Unicode 16.0 and not by the release that the running Python has.

    >>> is_printable("naïve 日本"), is_printable("no\xa0break"), is_printable("line\n")
    (True, False, False)
    """
    if text.isascii():
        return text.isprintable()
    return all(char == " " or not contains(_not_printable(), char) for char in text)
