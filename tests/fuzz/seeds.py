"""Writes what tests/fuzz/run begins with: inputs (see fuzz_*.cc), a dictionary, and the package's vocabularies as images.

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
    """Family, flags, place of a cut, number of tokens, tokens, text; to fuzz_image they are changes and a text."""
    return [
        bytes([family, flags, 100, count]) + bytes(range(1, 2 * count + 2 if count else 1)) + text.encode()
        for family in range(11)
        for flags, count in ((0, 0), (9, 20), (2, 3), (5, 40), (16, 60))
        for text in TEXTS
    ]


def images() -> dict[str, bytes]:
    """The images of the vocabularies in the package, where it is installed with the native backend."""
    try:
        from tokcli.registry.encodings import CATALOG, VOCAB
        from tokcli.registry.images import load_image

        return {
            p.stem: bytes(load_image(str(p), CATALOG[p.stem].ranks_sha256)) for p in sorted(Path(VOCAB).glob("*.ranks"))
        }
    except (ImportError, ValueError):
        return {}


def main() -> None:
    seeds, rest = map(Path, sys.argv[1:3])
    for number, data in enumerate(inputs()):
        (seeds / f"{number:03}").write_bytes(data)
    escaped = ["".join(f"\\x{byte:02x}" for byte in atom.encode()) for atom in ATOMS]
    (rest / "dictionary").write_text("".join(f'"{atom}"\n' for atom in escaped))
    for name, image in images().items():
        (rest / f"{name}.image").write_bytes(image)


if __name__ == "__main__":
    main()
