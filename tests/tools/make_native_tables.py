"""Writes tokcli/engine/native/text/unicode_tables.h: the class of every code point in Unicode 16.0, for the scanners.

    python tests/tools/make_native_tables.py > tokcli/engine/native/text/unicode_tables.h

The facts are those of tokcli/engine/unicode/tables_16.py (see make_unicode.py); the form is a table of two stages, blocks of 256
code points, equal blocks stored once.
"""

from __future__ import annotations

from tokcli.engine.unicode.properties import unicode16_ranges

# in the order of `enum class Class` in unicode.h; what is in none is kOther
CLASSES = [
    ("kUpper", ("Lu", "Lt")),
    ("kLower", ("Ll",)),
    ("kLetter", ("Lm", "Lo")),
    ("kMark", ("M",)),
    ("kNumber", ("N",)),
    ("kSpace", ("White_Space",)),
]
NEWLINES = (0x0A, 0x0D)
SIGNS = ("P", "S")  # behind the newlines
BLOCK = 256


def classes() -> bytearray:
    """The class of each code point, as its number."""
    table = bytearray(0x110000)
    for number, (_, names) in enumerate(CLASSES, 1):
        for name in names:
            for first, last in unicode16_ranges(name) or ():
                table[first : last + 1] = bytes([number]) * (last + 1 - first)
    for number, name in enumerate(SIGNS, len(CLASSES) + 2):
        for first, last in unicode16_ranges(name) or ():
            table[first : last + 1] = bytes([number]) * (last + 1 - first)
    for point in NEWLINES:
        table[point] = len(CLASSES) + 1
    return table


def rows(values: list[int]) -> str:
    lines = [", ".join(map(str, values[i : i + 32])) for i in range(0, len(values), 32)]
    return ",\n    ".join(lines)


def main() -> None:
    table = classes()
    blocks: dict[bytes, int] = {}
    stage1 = [blocks.setdefault(bytes(table[i : i + BLOCK]), len(blocks)) for i in range(0, len(table), BLOCK)]
    stage2 = [value for block in blocks for value in block]
    print(
        "// The class of every code point in Unicode 16.0. Written by tests/tools/make_native_tables.py: do not edit."
    )
    print("// clang-format off\n#pragma once\n\n#include <cstdint>\n\nnamespace tokcli {\n")
    print(f"inline constexpr uint8_t kClassBlock[{len(stage1)}] = {{\n    {rows(stage1)}}};\n")
    print(f"inline constexpr uint8_t kClassOf[{len(stage2)}] = {{\n    {rows(stage2)}}};\n")
    print("}  // namespace tokcli")


if __name__ == "__main__":
    main()
