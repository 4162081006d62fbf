"""Texts that every machine with Python has, so that a comparison needs no download: code, prose, generated words."""

from __future__ import annotations

import ast
import random
import sysconfig
from itertools import accumulate
from pathlib import Path

KINDS = ("code", "prose", "generated")
_SCRIPTS = {  # the letters of a script, how long its words are, and what stands between them
    "latin": (range(ord("a"), ord("z") + 1), 6, " "),
    "western": ([*range(ord("a"), ord("z") + 1), *map(ord, "éèüöñçåß")], 7, " "),
    "cyrillic": (range(0x430, 0x450), 7, " "),
    "greek": (range(0x3B1, 0x3CA), 7, " "),
    "arabic": (range(0x627, 0x64B), 5, " "),
    "devanagari": ([*range(0x915, 0x93A), *range(0x93E, 0x94E)], 5, " "),
    "hangul": (range(0xAC00, 0xAC00 + 2000), 3, " "),
    "han": (range(0x4E00, 0x4E00 + 2500), 2, ""),
    "kana": (range(0x3042, 0x3094), 4, ""),
}


def text_of(kind: str, size: int) -> str:
    """About `size` bytes of UTF-8 of a kind; less where the machine has less. The same on every call."""
    return {"code": code, "prose": prose, "generated": generated}[kind](size)


def long_text(texts: list[str], size: int) -> str:
    """`size` bytes or a little more of UTF-8: all paragraphs of the texts, again and again, shuffled anew each time.

    Each paragraph begins with a number of its own, so that no text is a copy of another one. The same on every call.
    """
    rnd, parts, left, number = random.Random(2), list[str](), size, 0
    paragraphs = [paragraph for text in texts for paragraph in text.split("\n\n") if paragraph]
    while left > 0 and paragraphs:
        rnd.shuffle(paragraphs)
        for paragraph in paragraphs:
            if left <= 0:
                break
            number += 1
            parts.append(f"{number} {paragraph}\n\n")
            left -= len(parts[-1].encode())
    return "".join(parts)


def _sources() -> list[Path]:
    """Python files of this installation, the standard library first."""
    paths = sysconfig.get_paths()
    found = [path for place in ("stdlib", "purelib") for path in sorted(Path(paths[place]).rglob("*.py"))]
    return list(dict.fromkeys(found))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def code(size: int) -> str:
    """Python sources, file after file."""
    parts, left = [], size
    for path in _sources():
        if left <= 0:
            break
        parts.append(_read(path))
        left -= len(parts[-1])
    return "".join(parts)[:size]


def prose(size: int) -> str:
    """What Python's documentation strings say: English, with some code in it."""
    from pydoc_data import topics

    parts, left, seen = list(topics.topics.values()), size, set[str]()
    left -= sum(map(len, parts))
    for path in _sources():
        if left <= 0:
            break
        try:
            tree = ast.parse(_read(path))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                told = ast.get_docstring(node) or ""
                if len(told) > 80 and told not in seen:
                    seen.add(told)
                    parts.append(told)
                    left -= len(told)
    return "\n\n".join(parts)[:size]


def generated(size: int) -> str:
    """Words of nine scripts that no vocabulary knows, as frequent as words are (Zipf's law); seeded."""
    rnd = random.Random(1)
    paragraphs, left = [], size
    words = {}
    for script, (letters, length, _) in _SCRIPTS.items():
        points = list(map(chr, letters))
        lengths = [max(1, round(rnd.gauss(length, length / 3))) for _ in range(20_000)]
        words[script] = ["".join(rnd.choices(points, k=count)) for count in lengths]
    weights = list(accumulate(1 / rank for rank in range(2, 20_002)))
    while left > 0:
        script = rnd.choice(list(_SCRIPTS))
        sentences = (
            _SCRIPTS[script][2].join(rnd.choices(words[script], cum_weights=weights, k=rnd.randrange(5, 20)))
            for _ in range(rnd.randrange(2, 8))
        )
        paragraphs.append(". ".join(sentences) + f" {rnd.randrange(10_000)}.\n")
        left -= len(paragraphs[-1].encode())
    return "".join(paragraphs)
