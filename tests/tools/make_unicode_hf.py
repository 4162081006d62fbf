"""Writes tokcli/engine/unicode_hf.py: the classes of characters that Hugging Face's tokenizers uses beside its patterns.

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

TARGET = Path(__file__).resolve().parents[2] / "tokcli" / "engine" / "unicode_hf.py"
ALL = [i for i in range(0x110000) if not 0xD800 <= i <= 0xDFFF]

HEADER = '''"""Characters as Hugging Face's tokenizers sees them. Written by tests/tools/make_unicode_hf.py: do not edit.

Ranges are "first-last" in hexadecimal, both ends included, in order; asked of tokenizers 0.23, whose crates carry
tables of several ages. unicode_classes.py is the only reader.
"""

'''


def ranges(members: Iterable[int]) -> str:
    out: list[list[int]] = []
    for value in members:
        if out and value == out[-1][1] + 1:
            out[-1][1] = value
        else:
            out.append([value, value])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in out)


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
    return found


def clusters() -> tuple[list[int], list[int]]:
    """(what goes with the character before it, what goes with the one behind it) in a precompiled charsmap."""
    import sentencepiece

    from tokcli.formats.protobuf import Reader

    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e"] * 9), model_writer=buffer, normalization_rule_name="nmt_nfkc_cf",
        model_type="char", vocab_size=9, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    reader = Reader("the model")
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
    script = pre_tokenizers.UnicodeScripts()
    text = HEADER + "\n".join(literal(name, ranges(members)) for name, members in tables.items())
    pairs = " ".join(f"{ord(c):X}:{'+'.join(f'{ord(x):X}' for x in low)}" for c, low in lowered(sys.argv[1]).items())
    text += "\n# what Python's lower() does not know in every release\n" + literal("LOWER", pairs)
    text += (
        "\n# runs of characters of one script (numbered), as UnicodeScripts sees them; what is in none goes with any\n"
    )
    text += literal("SCRIPTS", scripts(script))
    TARGET.write_text(text, "utf-8")


def scripts(pre_tokenizer: object) -> str:
    """'first-last:number ...', numbers by first appearance; characters that join every script are left out."""
    split = pre_tokenizer.pre_tokenize_str  # type: ignore[attr-defined]

    def joins(a: str, b: str) -> bool:
        return len(split(a + b)) == 1

    known: list[str] = []
    out: list[list[int]] = []
    for i in ALL:
        c = chr(i)
        if known and out and i == out[-1][1] + 1 and joins(known[out[-1][2]], c) and not joins_all(c, known, joins):
            out[-1][1] = i
            continue
        if joins("a", c) and joins("\u4e00", c):
            continue  # any script
        number = next((n for n, k in enumerate(known) if joins(k, c)), None)
        if number is None:
            known.append(c)
            number = len(known) - 1
        out.append([i, i, number])
    return " ".join(f"{a:X}:{n}" if a == b else f"{a:X}-{b:X}:{n}" for a, b, n in out)


def joins_all(c: str, known: list[str], joins: object) -> bool:
    return joins("a", c) and joins("\u4e00", c)  # type: ignore[operator]


if __name__ == "__main__":
    main()
