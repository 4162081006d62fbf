"""Writes tokcli/engine/native/characters/character_tables.h: normal forms, lower case and classes of characters for native code.

    python tests/tools/make_native_characters.py > tokcli/engine/native/characters/character_tables.h

The facts are those of tokcli/engine/unicode/forms.py and classes.py, which are the same with every Python. Tables that
give a number for each code point have two stages: blocks of code points, equal blocks stored once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from tokcli.engine.unicode import classes, forms

END = 0x110000
BLOCK = 64
PLANES = 0x30000  # what has a form, or a lower case, is below
HANGUL = 0xFFFF  # the decomposition of Hangul's syllables is calculated
FORMS = get_args(forms.Form)  # in the order of `enum class NormalForm` in normal_forms.h
# in the order of `enum CharacterClass` in characters.h
CLASSES: tuple[classes.Class, ...] = ("MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "WORD", "SPACE",
                                     "EXTEND", "PREPEND")  # fmt: skip
CONTROL, CHINESE = 1 << len(CLASSES), 2 << len(CLASSES)  # and these two
_CONTROL, _CHINESE = re.compile(f"[{classes._CONTROL}]"), re.compile(f"[{classes.CHINESE}]")


def is_surrogate(point: int) -> bool:
    return 0xD800 <= point < 0xE000


def rows(values: Sequence[int | str]) -> str:
    return ",\n    ".join(", ".join(map(str, values[i : i + 24])) for i in range(0, len(values), 24))


def array(kind: str, name: str, values: Sequence[int | str]) -> str:
    return f"inline constexpr {kind} {name}[{len(values)}] = {{\n    {rows(values)}}};\n"


def staged(name: str, values: Sequence[int]) -> str:
    """Return the two stages of a table: k<name>Block has the number of each block, k<name>In the values in them."""
    blocks: dict[tuple[int, ...], int] = {}
    first = [blocks.setdefault(tuple(values[i : i + BLOCK]), len(blocks)) for i in range(0, len(values), BLOCK)]
    second = [value for block in blocks for value in block]
    kinds = ["uint8_t" if max(numbers) < 256 else "uint16_t" for numbers in (first, second)]
    return array(kinds[0], f"k{name}Block", first) + "\n" + array(kinds[1], f"k{name}In", second)


class Pool:
    """Texts in a row of 16-bit numbers: the size of each, and it in UTF-16. The first is empty."""

    def __init__(self) -> None:
        self.units: list[int] = [0]
        self._places = {"": 0}

    def place(self, text: str) -> int:
        if text not in self._places:
            data = text.encode("utf-16-le")
            self._places[text] = len(self.units)
            self.units += [len(text), *(int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2))]
        return self._places[text]


def decomposition(form: forms.Form, char: str, pool: Pool) -> int:
    if 0xAC00 <= ord(char) < 0xD7A4:
        return HANGUL
    made = forms.normalize(form, char)
    return 0 if made == char else pool.place(made)


def form_tables() -> list[str]:
    pool = Pool()
    records: dict[tuple[int, ...], int] = {(0, 0, 0, 0): 0}
    values = [0] * PLANES
    pairs: dict[tuple[int, int], int] = {}
    for start in range(0, END, 256):
        if is_surrogate(start):
            continue
        chars = "".join(map(chr, range(start, start + 256)))
        kinds = [forms.marks(form, chars) for form in FORMS]
        for at, char in enumerate(chars):
            changes = sum(1 << number for number, kind in enumerate(kinds) if kind[at] is None)
            places = [decomposition(form, char, pool) for form in ("NFD", "NFKD")]
            record = (forms._class(char), changes, *places)
            if any(record):
                values[start + at] = records.setdefault(record, len(records))
            halves = forms.unicodedata.decomposition(char).split()
            if len(halves) == 2 and not halves[0].startswith("<"):
                first, second = (int(half, 16) for half in halves)
                if forms._composed(chr(first), chr(second)) == char:
                    pairs[first, second] = start + at
    fields = [f"{{{c}, {f}, {a}, {b}}}" for c, f, a, b in records]
    made = [
        staged("Form", values),
        array("FormRecord", "kFormRecords", fields),
        array("uint16_t", "kFormUnits", pool.units),
    ]
    composed = [f"{{{a}, {b}, {c}}}" for (a, b), c in sorted(pairs.items())]
    return [*made, array("ComposedPair", "kComposedPairs", composed)]


def lower_tables() -> list[str]:
    """Return the tables of lower case: the number of a difference for each code point, and the differences."""
    differences = {0: 0}
    values = [0] * PLANES
    for point in range(END):
        low = classes.lower_character(chr(point))
        if len(low) != 1:
            assert (point, low) == (0x130, "i\u0307"), hex(point)  # the only one; native code knows it
        elif ord(low) != point:
            values[point] = differences.setdefault(ord(low) - point, len(differences))
    return [staged("Lower", values), array("int32_t", "kLowerBy", list(differences))]


def class_tables() -> list[str]:
    """Return the tables of classes: in three stages the number of a set of classes for each code point, and the sets."""
    sets = [0] * END
    for number, name in enumerate(CLASSES):
        for first, last in classes.ranges_of(name):
            for point in range(first, last + 1):
                sets[point] |= 1 << number
    for point, char in enumerate(map(chr, range(END))):
        sets[point] |= CONTROL * bool(_CONTROL.match(char)) | CHINESE * bool(_CHINESE.match(char))
    numbers = {0: 0}
    values = [numbers.setdefault(held, len(numbers)) for held in sets]
    groups: dict[tuple[int, ...], int] = {}
    size = BLOCK * BLOCK
    top = [groups.setdefault(tuple(values[i : i + size]), len(groups)) for i in range(0, END, size)]
    below = staged("Classes", [value for group in groups for value in group])
    return [array("uint8_t", "kClassesGroup", top), below, array("uint16_t", "kClassSets", list(numbers))]


def main() -> None:
    print("// Characters as engine/unicode has them. Written by tests/tools/make_native_characters.py: do not edit.")
    print("// clang-format off\n#pragma once\n\n#include <cstdint>\n\nnamespace tokcli {\n")
    print(
        "// The combining class of a character, a bit for each form that may change it or join it to the one before, and the"
    )
    print("// places of its canonical and its compatible decomposition in kFormUnits; 0 for none.")
    print("struct FormRecord {\n  uint8_t combining, changes;\n  uint16_t canonical, compatible;\n};")
    print("struct ComposedPair {\n  uint32_t first, second, composed;\n};\n")
    print(f"inline constexpr uint32_t kCharacterBlock = {BLOCK}, kFormEnd = {PLANES:#x}, kHangul = {HANGUL:#x};\n")
    print("\n".join([*form_tables(), *lower_tables(), *class_tables()]))
    print("}  // namespace tokcli")


if __name__ == "__main__":
    main()
