"""Writes tokcli/engine/unicode/tables_versions.py: what Unicode 15.1, which llama.cpp has, does not have or has otherwise.

Needs two Pythons whose unicodedata are 15.1 (3.13) and 16.0 (3.14, or unicodedata2 16.0 in the one that runs this):

    python tests/tools/make_unicode_versions.py python3.13
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import unicodedata2

TARGET = Path(__file__).resolve().parents[2] / "tokcli" / "engine" / "unicode" / "tables_versions.py"

HEADER = '''"""Unicode 15.1 where it differs from 16.0. Written by tests/tools/make_unicode_versions.py: do not edit.

Ranges are "first-last" in hexadecimal. Facts of the Unicode Character Database (Unicode License v3).
llama_cpp/characters.py is the only reader.
"""

'''

PROBE = """
import json, unicodedata
assert unicodedata.unidata_version == '15.1.0', unicodedata.unidata_version
print(json.dumps([unicodedata.category(chr(i)) for i in range(0x110000)]))
"""


def literal(name: str, text: str) -> str:
    lines = textwrap.wrap(text, 108, break_on_hyphens=False)
    return (
        f"{name} = (\n"
        + "\n".join(f'    "{x}{" " if i < len(lines) - 1 else ""}"' for i, x in enumerate(lines))
        + "\n)\n"
    )


def main() -> None:
    old = json.loads(subprocess.check_output([sys.argv[1], "-c", PROBE]))
    changed: dict[str, list[list[int]]] = {}
    for i, category in enumerate(old):
        if category != unicodedata2.category(chr(i)):
            ranges = changed.setdefault(category, [])
            if ranges and ranges[-1][1] == i - 1:
                ranges[-1][1] = i
            else:
                ranges.append([i, i])
    text = HEADER + "CATEGORIES_15_1 = {\n"
    for category, ranges in sorted(changed.items()):
        shown = " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in ranges)
        text += (
            f'    "{category}": ' + literal("", shown).removeprefix(" = ").rstrip("\n").replace("\n", "\n    ") + ",\n"
        )
    text += "}\n"
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
