"""Mutates small vocabulary files, and compares ids and decoded bytes with those of the library of each format.

    PYTHONPATH=tests python tests/mutate_files.py [NUMBER] [SEED]

For every mutant that the library accepts, all of TEXTS are encoded and random ids decoded. A mutant that only one of
both accepts is counted, and the first of each kind is shown; so is the first difference of each kind. The exit status is
1 if there is a difference, or an error that is no TokcliError.
"""

from __future__ import annotations

import copy
import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from protobuf import field, varint
from support import parse_vocabulary

from tokcli.engine.tokenizer import Tokenizer
from tokcli.errors import TokcliError

FOLDER = Path(__file__).resolve().parent / "data" / "formats"
TEXTS = [
    "",
    "Hello, world! It's 123 o'clock.",
    "  two  spaces \n\n\ttabs  ",
    "na\u00efve cafe\u0301 \u00c5\u212b \ufb01 \u1e9b\u0323",
    "\u6771\u4eac \u304b\u3099 \uac00\u1100\u1161 \u0627\u0644",
    "\U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea \U00011935\U00011930",
    "<s> </s> <unk> <pad> [CLS] [MASK] <mask> <|end|>",
    "aaaaaaaaaaaaaaaaaaaa ababab",
    "\u2581a\u2581 \u0120b \u010a",
    "<0x41> <0xE9> \x00\x01\x7f\x85",
    "Wo\u0308rter, GRO\u00dfE \u0130\u03a3 \u01c5",
    "x" * 120 + " y",
]
LITERALS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    1.5,
    "",
    "a",
    " ",
    "\u2581",
    "\u0120",
    "ab",
    [],
    {},
    "</w>",
    "##",
]


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of each node of a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from nodes(inner)


def mutated_json(top: dict[str, Any], parts: dict[str, list[Any]], dice: random.Random) -> dict[str, Any]:
    """Return a document with one to three changes: another part, literal, number or text, or something left out."""
    top = copy.deepcopy(top)
    for _ in range(dice.randrange(1, 4)):
        if dice.random() < 0.4:
            name = dice.choice(list(parts))
            top[name] = copy.deepcopy(dice.choice(parts[name]))
            continue
        container, key = dice.choice(list(nodes(top)))
        value = container[key]
        if isinstance(value, bool):
            container[key] = not value
        elif isinstance(value, (int, float)) and dice.random() < 0.6:
            container[key] = (
                value + dice.choice([1, -1, 0.5, -0.5]) if isinstance(value, float) else value + dice.choice([1, -1])
            )
        elif isinstance(value, str) and dice.random() < 0.6:
            at = dice.randrange(len(value) + 1)
            container[key] = (
                value[:at] + dice.choice(["a", " ", "\u2581", "\u00e9", ""]) + value[at + dice.randrange(2) :]
            )
        elif isinstance(container, dict) and dice.random() < 0.2:
            del container[key]
        elif isinstance(container, list) and dice.random() < 0.5:
            container.insert(dice.randrange(len(container) + 1), copy.deepcopy(dice.choice(container)))
        else:
            container[key] = copy.deepcopy(dice.choice(LITERALS))
    return top


def replaced(old: object, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": old, "content": new}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
}
PARTS: dict[str, list[Any]] = {
    "normalizer": [
        None, {"type": "NFC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "Nmt"}, {"type": "StripAccents"},
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "\u2581"},
        {"type": "ByteLevel"}, replaced({"String": " "}, "\u2581"), replaced({"Regex": "[a-e]+"}, ""),
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": "a"}, replaced({"String": "a"}, "bb")]},
    ],
    "pre_tokenizer": [
        None, BYTE_LEVEL, METASPACE, METASPACE | {"prepend_scheme": "first"}, METASPACE | {"split": False},
        {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}, {"type": "UnicodeScripts"},
        {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Contiguous"},
        {"type": "CharDelimiterSplit", "delimiter": "a"},
        *(
            {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
            for pattern in ({"String": "a"}, {"Regex": r"\s+|\d"})
            for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
            for invert in (False, True)
        ),
        {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, BYTE_LEVEL]},
    ],
    "post_processor": [None, BYTE_LEVEL, TEMPLATE, {"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]}],
    "decoder": [
        None, BYTE_LEVEL, METASPACE, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "WordPiece", "prefix": "##", "cleanup": True}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True}, replaced({"String": "\u2581"}, " "),
        {"type": "Sequence", "decoders": [replaced({"String": "\u2581"}, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]},
    ],
    "added_tokens": [
        [],
        *(
            [
                {"id": 0, "content": content, "single_word": word, "lstrip": left, "rstrip": right, "normalized": normal, "special": special},
                {"id": 1, "content": "ab", "single_word": False, "lstrip": False, "rstrip": False, "normalized": not normal, "special": True},
            ]
            for content, word, left, right, normal, special in [
                ("<s>", False, False, False, False, True), ("a", True, False, False, True, False),
                ("</s>", False, True, True, False, True), ("\u00c5", False, False, True, True, False),
                (" a", False, True, False, False, False), ("Hello", True, True, True, True, True),
            ]
        ),
    ],
}  # fmt: skip


KINDS = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}
PIECE_KINDS = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "unused": 5, "byte": 6}


class Hugging:
    """tokenizer.json beside Hugging Face's library."""

    def __init__(self) -> None:
        self.seeds = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.tokenizer.json"))]

    def mutant(self, dice: random.Random) -> bytes:
        return json.dumps(mutated_json(dice.choice(self.seeds), PARTS, dice)).encode()

    def reference(self, data: bytes) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str], int]:
        import tokenizers

        made = tokenizers.Tokenizer.from_buffer(data)
        made.no_truncation()
        made.no_padding()
        size = max([-1, *made.get_vocab(with_added_tokens=True).values()]) + 1
        return (
            lambda text: made.encode(text, add_special_tokens=False).ids,
            lambda ids: made.decode(ids, skip_special_tokens=False),
            size,
        )

    name = "tokenizer.json"


class SentencePieces:
    """SentencePiece's models beside its library."""

    name = "sentencepiece"

    def __init__(self) -> None:
        self.seeds: list[Any] = [parse_vocabulary(path.read_bytes(), "x") for path in sorted(FOLDER.glob("*.model"))]

    def mutant(self, dice: random.Random) -> bytes:
        model = dice.choice(self.seeds)
        pieces = [list(piece) for piece in model.model.pieces]
        flags = {3: 1, 4: 1, 5: 1, 24: 0, 35: int(model.model.byte_fallback)}  # by the numbers of their fields
        kind, surface = KINDS[model.model.type], " \u2047 "
        for _ in range(dice.randrange(1, 4)):
            piece = dice.choice(pieces)
            change = dice.randrange(7)
            if change == 0:
                piece[1] = dice.choice([0.0, -1.0, 5.0, -1e10, 0.1])
            elif change == 1:
                piece[2] = dice.choice(list(PIECE_KINDS))
            elif change == 2:
                piece[0] = dice.choice(
                    ["ab", "\u2581", "\u2581\u2581", "a\u2581b", "\u00e9", "<0x41>", " ", "<0xE9>", "Hello"]
                )
            elif change == 3:
                name = dice.choice(list(flags))
                flags[name] = 1 - flags[name]
            elif change == 4:
                kind = dice.choice([1, 2, 3, 4])
            elif change == 5:
                surface = dice.choice(["", "?", " \u2047 "])
            else:
                text = dice.choice(["zz", "\u2581Hel", "lo,", "\u6771", "aa", "aaa", "\u2581a"])
                pieces.append([text, -dice.random(), dice.choice(["normal", "user_defined", "unused"])])
        data = b"".join(
            field(
                1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([PIECE_KINDS[name]])
            )
            for text, score, name in pieces
        )
        trainer = b"".join(varint(number << 3) + bytes([flags[number]]) for number in (24, 35))
        normalizer = b"".join(varint(number << 3) + bytes([flags[number]]) for number in (3, 4, 5))
        charsmap = model.settings.charsmap
        return (
            data
            + field(2, b"\x18" + bytes([kind]) + trainer + field(44, surface.encode()))
            + field(3, (field(2, charsmap) if charsmap else b"") + normalizer)
        )

    def reference(self, data: bytes) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str], int]:
        import sentencepiece

        made = sentencepiece.SentencePieceProcessor(model_proto=data)
        return lambda text: made.encode(text), lambda ids: made.decode(ids), made.get_piece_size()


class LibraryEnded(Exception):
    """The library has ended its process: it has no answer."""


def run(library: Any, number: int, dice: random.Random) -> int:
    """Compare mutants; return the number of differences."""
    counts: Counter[str] = Counter()
    shown: Counter[str] = Counter()

    def tell(what: str, *more: object) -> None:
        counts[what] += 1
        shown[what] += 1
        if shown[what] <= (8 if what.startswith("difference") else 4):
            print(f"  {what}:", *more, flush=True)

    for _ in range(number):
        data = library.mutant(dice)
        try:
            theirs = library.reference(data)
        except BaseException as error:  # noqa: BLE001 (whatever the library raises; a panic is no Exception)
            theirs, refusal = None, error
        try:
            ours = Tokenizer("x", parse_vocabulary(data, "x"))
        except TokcliError as error:
            if theirs is not None:
                rule = "an id twice" if "has already" in str(error) else "other"
                tell(f"only refused here ({rule})", error)
            else:
                counts["refused by both"] += 1
            continue
        except Exception as error:  # noqa: BLE001
            tell("difference (crash)", repr(error)[:200], data[:0])
            continue
        if theirs is None:
            tell("only accepted here", str(refusal)[:150])
            continue
        counts["accepted by both"] += 1
        compare(ours, theirs, data, dice, tell)
    print(library.name, dict(counts), flush=True)
    return sum(count for what, count in counts.items() if what.startswith("difference"))


def compare(ours: Any, theirs: Any, data: bytes, dice: random.Random, tell: Callable[..., None]) -> None:
    encode, decode, size = theirs
    everything = frozenset(ours.special_tokens)
    for text in TEXTS:
        try:
            expected = encode(text)
        except LibraryEnded:
            return
        except BaseException as error:  # noqa: BLE001 (a panic is no Exception)
            expected = type(error)
        try:
            found = ours.encode(text, everything)
        except TokcliError as error:
            found = str(error)
        except Exception as error:  # noqa: BLE001
            tell("difference (crash of encode)", repr(error)[:200], repr(text), save(data))
            return
        if isinstance(expected, type):
            tell("only answered here", expected.__name__, repr(text))
            return
        if found != expected:
            tell("difference (ids)", repr(text), str(expected)[:150], str(found)[:150], save(data))
            return
    for _ in range(6):
        ids = [dice.randrange(max(size, 1)) for _ in range(dice.randrange(1, 12))]
        ids = [number for number in ids if not is_silent(ours, number)]
        try:
            expected = decode(ids)
        except BaseException:  # noqa: BLE001
            continue
        try:
            found = ours.decode(ids).decode("utf-8", "replace")
        except TokcliError:
            continue  # an id without a token, which the library leaves out
        except Exception as error:  # noqa: BLE001
            tell("difference (crash of decode)", repr(error)[:200], ids, save(data))
            return
        if found.replace("\ufffd", "") != expected.replace("\ufffd", ""):
            tell("difference (text)", ids, ascii(expected)[:150], ascii(found)[:150], save(data))
            return


def is_silent(ours: Any, number: int) -> bool:
    """Whether an id has no bytes: between two bytes, the library ends a character with it."""
    try:
        return not ours.decode([number])
    except TokcliError:
        return True


def save(data: bytes) -> str:
    import hashlib
    import tempfile

    path = Path(tempfile.gettempdir()) / f"mutant-{hashlib.sha256(data).hexdigest()[:8]}"
    path.write_bytes(data)
    return str(path)


def main() -> int:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    return int(sum(run(library, number, dice) for library in (Hugging(), SentencePieces())) > 0)


if __name__ == "__main__":
    sys.exit(main())
