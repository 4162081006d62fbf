"""Writes tokcli/engine/unicode/tables_hf.py: the classes of characters that Hugging Face's tokenizers uses beside its patterns.

Its normalizers and Bert rules come from crates with tables of several ages (Unicode 8 to 17); what they do is asked of
the library itself, character by character. Needs tokenizers 0.23, sentencepiece 0.2 and unicodedata2 16.0:

    python tests/tools/make_unicode_hf.py python3.10      (the oldest Python that is supported, for its lower())
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import unicodedata2
from tokenizers import normalizers, pre_tokenizers

from tokcli.engine.unicode import tables_16
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import parse_ranges

TARGET = Path(__file__).resolve().parents[2] / "tokcli" / "engine" / "unicode" / "tables_hf.py"
ALL = [i for i in range(0x110000) if not 0xD800 <= i <= 0xDFFF]

HEADER = '''"""Characters as Hugging Face's tokenizers sees them. Written by tests/tools/make_unicode_hf.py: do not edit.

Ranges are "first-last" in hexadecimal, both ends included, in order; asked of tokenizers 0.23, whose crates carry
tables of several ages. classes.py and forms.py look them up. CLASSES are said by the properties of Unicode 16.0 that
come nearest, what the library has beside them, and what it lacks.
"""

'''
NEAREST = {"MARK": "M", "BERT_MARK": "Mn", "BERT_CONTROL": "Cc Cf Co", "PUNCTUATION": "P", "NUMERIC": "N", "EXTEND": "M",
           "WORD": "Alphabetic M Nd Pc Join_Control", "PREPEND": ""}  # fmt: skip


def ranges(members: Iterable[int]) -> str:
    out: list[list[int]] = []
    for value in members:
        if out and value == out[-1][1] + 1:
            out[-1][1] = value
        else:
            out.append([value, value])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in out)


def difference(properties: str, members: Iterable[int]) -> tuple[str, str]:
    """What is in a class beside the properties of Unicode 16.0, and what it lacks of them."""
    base = {
        i
        for name in properties.split()
        for first, last in unicode16_ranges(name) or ()
        for i in range(first, last + 1)
        if not 0xD800 <= i <= 0xDFFF
    }
    return ranges(sorted(set(members) - base)), ranges(sorted(base - set(members)))


def class_rows(tables: dict[str, list[int]]) -> str:
    lines = ["CLASSES: dict[str, tuple[str, str, str]] = {"]
    for name, members in tables.items():
        lines.append(f'    "{name}": (\n        "{NEAREST[name]}",')
        for part in difference(NEAREST[name], members):
            wrapped = textwrap.wrap(part, 104, break_on_hyphens=False) or [""]
            lines += [f'        "{line} "' for line in wrapped[:-1]] + [f'        "{wrapped[-1]}",']
        lines.append("    ),")
    return "\n".join([*lines, "}\n"])


def literal(name: str, text: str) -> str:
    lines = textwrap.wrap(text, 108, break_on_hyphens=False)
    body = "\n".join(f'    "{line}{" " if i < len(lines) - 1 else ""}"' for i, line in enumerate(lines))
    return f"{name} = (\n{body}\n)\n"


def breaks(pre_tokenizer: object) -> list[int]:
    """What stands alone, or is left out, between two letters."""
    return [i for i in ALL if len(pre_tokenizer.pre_tokenize_str(f"a{chr(i)}a")) > 1]  # type: ignore[attr-defined]


def inert(form: str) -> set[int]:
    """What Unicode 16.0 decomposes or reorders, and the library does not."""
    normalize = getattr(normalizers, form)().normalize_str
    found = set()
    for i in ALL:
        c = chr(i)
        if unicodedata2.normalize(form, c) != c and normalize(c) == c:
            found.add(i)
        elif unicodedata2.combining(c):
            probe = f"\u0301{c}\u0316\u0334{c}\u05b0"  # classes 230, 220, 1, 10
            if unicodedata2.normalize(form, probe) != normalize(probe):
                found.add(i)
    # what composes to such a character would do so in a Python that knows it: its first half is kept out, too
    return found | {ord(halves[0]) for c in map(chr, found) if len(halves := composed_of(c)) == 2}


def composed_of(c: str) -> str:
    """The two characters of which a character is composed; "" if it is not."""
    parts = unicodedata2.decomposition(c).split()
    return "" if not parts or parts[0].startswith("<") else "".join(chr(int(part, 16)) for part in parts)


def clusters() -> tuple[list[int], list[int]]:
    """(what goes with the character before it, what goes with the one behind it) in a precompiled charsmap."""
    import sentencepiece

    from tokcli.formats.protobuf import ProtobufReader

    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e"] * 9), model_writer=buffer, normalization_rule_name="nmt_nfkc_cf",
        model_type="char", vocab_size=9, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    reader = ProtobufReader("the model")
    spec = next(f for f in reader.fields(memoryview(buffer.getvalue())) if f.number == 3)
    blob = next(bytes(reader.message(f)) for f in reader.fields(reader.message(spec)) if f.number == 2)
    normalize = normalizers.Precompiled(blob).normalize_str  # in it X becomes x, and all of a short cluster with it
    extend = [i for i in ALL if normalize("X" + chr(i)) == "x" and normalize(chr(i)) != ""]
    known = set(extend)
    rest = (i for i in ALL if i not in known and normalize(chr(i)) == chr(i))
    return extend, [i for i in rest if normalize(chr(i) + "X\u0301").endswith("x\u0301")]


def lowered(python: str) -> dict[str, str]:
    lower = normalizers.Lowercase().normalize_str
    code = "import json; print(json.dumps([chr(i).lower() for i in range(0x110000) if not 0xD800 <= i <= 0xDFFF]))"
    old = json.loads(subprocess.check_output([python, "-c", code]))
    return {chr(i): lower(chr(i)) for i, theirs in zip(ALL, old) if lower(chr(i)) != theirs}


def runs_of_pairs(pairs: dict[str, str]) -> str:
    """'first-last:low ...', where all characters of a run are as far from what they become."""
    out: list[list[int]] = []
    for char, low in pairs.items():
        code, made = ord(char), ord(low)
        if out and code == out[-1][1] + 1 and made - code == out[-1][2] - out[-1][0]:
            out[-1][1] = code
        else:
            out.append([code, code, made])
    return " ".join((f"{a:X}" if a == b else f"{a:X}-{b:X}") + f":{low:X}" for a, b, low in out)


def main() -> None:
    strip = normalizers.StripAccents().normalize_str
    clean = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    ).normalize_str
    accents = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    ).normalize_str
    tables = {
        "MARK": [i for i in ALL if strip(chr(i)) == ""],
        "BERT_MARK": [i for i in ALL if accents(chr(i)) == ""],
        "BERT_CONTROL": [i for i in ALL if clean(chr(i)) == ""],
        "PUNCTUATION": breaks(pre_tokenizers.Punctuation()),
        "NUMERIC": breaks(pre_tokenizers.Digits(individual_digits=True)),
        "INERT": sorted(inert("NFD") | inert("NFKD")),
    }
    assert set(breaks(pre_tokenizers.WhitespaceSplit())) | set(tables["PUNCTUATION"]) == set(
        breaks(pre_tokenizers.BertPreTokenizer())
    )
    word = pre_tokenizers.Whitespace()
    tables["WORD"] = [i for i in ALL if len(word.pre_tokenize_str(f"a{chr(i)}a")) == 1]
    tables["EXTEND"], tables["PREPEND"] = clusters()
    inert_characters = tables.pop("INERT")
    text = HEADER + class_rows(tables) + "\n" + literal("INERT", ranges(inert_characters))
    text += "\n# what Python's lower() does not know in every release: runs, and what their first characters become\n"
    text += literal("LOWER", runs_of_pairs(lowered(sys.argv[1])))
    text += "\n# characters whose script is another for UnicodeScripts than in Unicode 16.0; without a name, they join any\n"
    text += literal("SCRIPTS", scripts(pre_tokenizers.UnicodeScripts()))
    TARGET.write_text(text, "utf-8")


def scripts(pre_tokenizer: object) -> str:
    """'first-last:Script ...' of the characters that the library counts to another script; none if they join any."""
    split = pre_tokenizer.pre_tokenize_str  # type: ignore[attr-defined]

    def joins(a: str, b: str) -> bool:
        return len(split(a + b)) == 1

    of_16: dict[int, str] = {
        i: name
        for name, text in tables_16.SCRIPTS.items()
        for first, last in parse_ranges(text)
        for i in range(first, last + 1)
    }
    known: dict[str, str] = {}  # a character of each script of the library, by the name of its script
    out: list[tuple[int, int, str]] = []
    for i in ALL:
        c, name = chr(i), of_16.get(i, "")
        name = "Han" if name in ("Hiragana", "Katakana") else name
        if joins("a", c) and joins("\u4e00", c):
            found = ""
        elif name in known and joins(known[name], c):
            continue
        else:
            found = next((n for n, k in known.items() if joins(k, c)), name)
            known.setdefault(found, c)
        if found == name:
            continue
        if out and out[-1][1] == i - 1 and out[-1][2] == found:
            out[-1] = out[-1][0], i, found
        else:
            out.append((i, i, found))
    return " ".join((f"{a:X}" if a == b else f"{a:X}-{b:X}") + f":{n}" * (n != "") for a, b, n in out)


if __name__ == "__main__":
    main()
