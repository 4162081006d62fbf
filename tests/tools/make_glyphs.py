"""Writes how every character outside ASCII is shown: the tables of the sanitizer in Python, and those of native code.

    pip install unicodedata2==16.0.0
    python tests/tools/make_glyphs.py python > tokcli/engine/unicode/tables_glyphs.py
    python tests/tools/make_glyphs.py native > tokcli/engine/native/views/glyph_tables.h

The facts are those of Unicode 16.0, from PyPI's unicodedata2 16.0.0. The native table has a byte for each code point, in
two stages: blocks of code points, equal blocks stored once.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence

import unicodedata2 as unicode16

from tokcli.cli import json_stream
from tokcli.render import glyphs

FIRST, END = 0x80, 0x110000
BLOCK = 128

# Characters that are letters, marks or symbols by category, but show nothing: fillers, joiners, variation selectors
# (the Default_Ignorable_Code_Point ones that are not Cf or unassigned anyway), and the empty Braille cell.
INVISIBLE = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
# Vowels and final consonants of Hangul, which are drawn on the consonant before them, and the skin colours of emoji
JOINING = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF), (0x1F3FB, 0x1F3FF))

HEADER = '''\
"""How characters are shown, by Unicode 16.0. Written by tests/tools/make_glyphs.py: do not edit.

Ranges are "first-last" in hexadecimal, both ends included, in order; ASCII is not in them. HIDDEN is what is never
printed itself: the categories C (with all that is unassigned), Zl and Zp, and what shows nothing. SPACE is Zs, and MARK
is M, hidden marks included. JOINING takes no screen cell beside the character before it, and WIDE takes two
(East_Asian_Width W and F). RTL has the Bidi_Class R, AL or AN. Facts of the Unicode Character Database 16.0
(Unicode License v3), by way of PyPI's unicodedata2 16.0.0. render/glyphs.py looks them up.
"""
'''


def category(point: int) -> str:
    return unicode16.category(chr(point))


def is_hidden(point: int) -> bool:
    return category(point)[0] == "C" or category(point) in ("Zl", "Zp") or point in INVISIBLE


TABLES: dict[str, Callable[[int], bool]] = {
    "HIDDEN": is_hidden,
    "SPACE": lambda point: category(point) == "Zs",
    "MARK": lambda point: category(point)[0] == "M",
    "JOINING": lambda point: any(first <= point <= last for first, last in JOINING) and category(point)[0] != "C",
    "WIDE": lambda point: unicode16.east_asian_width(chr(point)) in "WF" and not is_hidden(point),
    "RTL": lambda point: unicode16.bidirectional(chr(point)) in ("R", "AL", "AN"),
}


def ranges(holds: Callable[[int], bool]) -> str:
    """Return the code points for which something holds, in hexadecimal."""
    found: list[str] = []
    first = None
    for point in range(FIRST, END + 1):
        is_in = point < END and holds(point)
        if is_in and first is None:
            first = point
        elif first is not None and not is_in:
            found.append(f"{first:X}" if first == point - 1 else f"{first:X}-{point - 1:X}")
            first = None
    return " ".join(found)


def print_python() -> None:
    print(HEADER)
    print("GLYPHS: dict[str, str] = {")
    for name, holds in TABLES.items():
        lines = textwrap.wrap(ranges(holds), 108, break_on_hyphens=False)
        if len(lines) == 1:
            print(f'    "{name}": "{lines[0]}",')
            continue
        print(f'    "{name}": (')
        print("\n".join([*(f'        "{line} "' for line in lines[:-1]), f'        "{lines[-1]}"', "    ),"]))
    print("}")


def value(point: int) -> int:
    """Return the byte of a character: its kind, and above it what Glyph in glyphs.h reads."""
    char = chr(point)
    is_escaped = json_stream.safe(char) != char
    return glyphs.kind_of(char) | glyphs.is_rtl(char) << 3 | is_escaped << 4 | glyphs.cells_of(char) << 5


def array(name: str, values: Sequence[int]) -> str:
    rows = ",\n    ".join(", ".join(map(str, values[i : i + 32])) for i in range(0, len(values), 32))
    return f"inline constexpr uint8_t {name}[{len(values)}] = {{\n    {rows}}};\n"


def print_native() -> None:
    values = bytes(map(value, range(END)))
    blocks: dict[bytes, int] = {}
    first = [blocks.setdefault(values[i : i + BLOCK], len(blocks)) for i in range(0, END, BLOCK)]
    print("// How every character is shown, by Unicode 16.0. Written by tests/tools/make_glyphs.py: do not edit.")
    print("// clang-format off\n#pragma once\n\n#include <cstdint>\n\nnamespace tokcli {\n")
    print(f"inline constexpr uint32_t kGlyphBlock = {BLOCK}, kGlyphEnd = {END:#x};\n")
    print(array("kGlyphBlocks", first))
    print(array("kGlyphIn", [value for block in blocks for value in block]))
    print("}  // namespace tokcli")


if __name__ == "__main__":
    {"python": print_python, "native": print_native}[sys.argv[1]]()
