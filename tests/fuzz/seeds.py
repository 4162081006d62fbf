"""Writes what tests/fuzz/run begins with: inputs (see fuzz_*.cc), texts for C++ and a dictionary, the vocabularies as images.

python seeds.py FOLDER_OF_INPUTS FOLDER_OF_THE_REST
"""

from __future__ import annotations

import sys
from pathlib import Path

TEXTS = (
    "Hello world, it's the FOX'S 12345 — naïve café!\r\n\r\n  \tEnd.",
    "abababababab aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "    def f(x):\n        return x // 2\n\n\n/* ***** */ <|endoftext|> a/b\n//\n",
    "中文字符 日本語のテキスト 한국어 हिन्दी ข้อความ العربية 😀👨\u200d👩\u200d👧 ÀÉ ǅǆ ªº ſ K",
    "international internationalization antidisestablishmentarianism x" * 3,
    "the cat the dog the cat the dog " * 9 + "abcdefghijklmnopqrstuvwxy" * 60,
    "\0\0\0\x7f\x80 \u00a0\u2003\u2028\u3000 \u0301\u0301 ٣٤٥ ½Ⅷ",
)
ATOMS = (
    "'s",
    "'ll",
    "'ſ",
    " the",
    "The",
    "1234",
    "\r\n",
    "\u3000",
    "\u00a0",
    "中",
    "é",
    "É",
    "\u0301",
    "ª",
    "ǅ",
    "٣",
    "½",
    "😀",
)


def inputs() -> list[bytes]:
    """Return inputs: family, flags, place of a cut, vocabulary, text; to other targets than `encode` they are any bytes."""
    return [
        bytes([family, flags, 100, vocabulary]) + text.encode()
        for family in range(17)
        for number, text in enumerate(TEXTS)
        for flags, vocabulary in ((0, 0), (0, 20 + number), (8, 8 * number), (255 if family == 1 else 8, 120 + number))
    ]


def images() -> dict[str, bytes]:
    """The images of the vocabularies in the package, where it is installed with the native backend."""
    try:
        from tokcli.registry.lazy_ranks import load_image
        from tokcli.registry.registered import CATALOG, VOCAB

        return {
            p.stem: bytes(load_image(str(p), CATALOG[p.stem].ranks_sha256))
            for p in sorted(Path(VOCAB).glob("*_base.ranks"))
        }
    except (ImportError, ValueError):
        return {}


def escaped(text: str) -> str:
    """Return the UTF-8 of a text with each byte as C++ and libFuzzer write it."""
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def header() -> str:
    """Return texts and atoms in C++; a text may hold the byte 0."""
    lines = ["#pragma once", "#include <string_view>", "using namespace std::literals;"]
    for name, texts in (("kTexts", TEXTS), ("kAtoms", ATOMS)):
        rows = ",\n".join(f'    "{escaped(text)}"sv' for text in texts)
        lines.append(f"constexpr std::string_view {name}[] = {{\n{rows}}};")
    return "\n".join(lines) + "\n"


def main() -> None:
    seeds, rest = map(Path, sys.argv[1:3])
    for number, data in enumerate(inputs()):
        (seeds / f"{number:03}").write_bytes(data)
    (rest / "dictionary").write_text("".join(f'"{escaped(atom)}"\n' for atom in ATOMS))
    (rest / "texts.h").write_text(header())
    for name, image in images().items():
        (rest / f"{name}.image").write_bytes(image)


if __name__ == "__main__":
    main()
