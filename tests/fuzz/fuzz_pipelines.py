"""Makes tokenizer.json files of parts of every type, and asks tokenizers and tokcli the same about each.

    PYTHONPATH=tests python tests/fuzz/fuzz_pipelines.py FILES [SEED]

prints every difference, and how many answers were compared. Compared are the ids, places and types of texts and of pairs,
with and without special tokens, those of a long text that two threads share, and decoded text. Not compared is what the
library itself leaves open, or gets wrong: see `leaves_open`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tokcli import Encoding, load_encoding
from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.engine.stream.chunks import Chunk
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.engine.tokens import Tokens, pairs_of
from tokcli.errors import TokcliError

Node = dict[str, Any]
TEXTS, PAIRS = 6, 3  # a file
LONG_BYTES = 280_000  # enough for two threads to share a text
LONG_EVERY = 5  # files

CHARACTERS = (
    "abcdeé ÀßŁiİıﬁ½ΣσςＡ日本語がガ한글\U0001f44d\U0001f3fd\u0301\u0308\u200d\u00a0\u3000\t\n\r.,!?-_'\"0123१➀▁ĠĊ<>[]#"
)
WORDS = [
    *("hello", "world", "Hello", "don't", "a", "b", "ab", "abc", "the", "é", "日本", "  ", "   ", "\n\n", "123", "½"),
    *("ﬁn", "İstanbul", "<s>", "[MASK]", "<x>", "ab<x>", "▁a", "##b", "e\u0301", "Σας", "...", "\u00a0x"),
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
]
MATCHES_NOTHING = r"[a-c]*"  # also the empty text
REGEXES = [
    *(r"\s+", r"\p{L}+", r"\d{1,3}", r"\s", r"[^\s\w]+", r"\w+|[^\w\s]+", r"a|b", r"\p{P}", r"(?<=a)b", r"^a", r"b$"),
    *(MATCHES_NOTHING, r"(?i:'s|'t)|\p{L}+|\p{N}+|\s+", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
]
ADDED = ["<s>", "[MASK]", "<x>", "ab", "<pad>", " hello", "▁a", "É", "hello", "\n", "e\u0301"]
PAIR = ["AB", "AB", "BA", "ABA"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["always", "first", "never"]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


class Maker:
    """Makes texts, and the parts of a tokenizer.json, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.pick = self.chance.choice

    def flag(self, share: float = 0.5) -> bool:
        return self.chance.random() < share

    def text(self) -> str:
        """Return a short text; words and characters that rules ask for are frequent."""
        parts = []
        for _ in range(self.pick([1, 2, 3, 6, 12, 25])):
            parts.append(self.pick([self.pick(WORDS), self.pick(CHARACTERS), " "]))
            parts.append(" " if self.flag(0.4) else "")
        return "".join(parts)

    def long_text(self) -> str:
        """Return a text of some texts over and over, between words where it may be cut for threads."""
        some = [self.text() for _ in range(self.pick([1, 5, 40]))] + ["hello world the "] * self.pick([1, 10, 40])
        parts: list[str] = []
        while sum(map(len, parts)) < LONG_BYTES:
            parts += self.chance.choices(some, k=5000)
        return "".join(parts)[:LONG_BYTES]

    def pattern(self) -> Node:
        return self.pick(
            [{"String": self.pick([" ", "a", "b", "'", "é", "ab", "  ", "\n", "▁"])}, {"Regex": self.pick(REGEXES)}]
        )

    def one_of(self, types: dict[str, Node], list_name: str, is_inner: bool) -> Node:
        """Return a part of one of the types, or a sequence of parts, which holds no sequences."""
        if is_inner or self.flag(0.7):
            kind = self.pick(list(types))
            return {"type": kind, **types[kind]}
        make = {"normalizers": self.normalizer, "pretokenizers": self.pre_tokenizer, "decoders": self.decoder}[
            list_name
        ]
        return {"type": "Sequence", list_name: [make(is_inner=True) for _ in range(self.chance.randint(0, 4))]}

    def normalizer(self, is_inner: bool = False) -> Node:
        flag = self.flag
        types: dict[str, Node] = {
            **{name: {} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")},
            "Strip": {"strip_left": flag(), "strip_right": flag()},
            "Replace": {"pattern": self.pattern(), "content": self.pick(["", " ", "▁", "x", "ab", "éé"])},
            "Prepend": {"prepend": self.pick(["▁", "x", " "])},
            "BertNormalizer": {"clean_text": flag(), "handle_chinese_chars": flag(), "lowercase": flag(),
                               "strip_accents": self.pick([None, True, False])},
        }  # fmt: skip
        return self.one_of(types, "normalizers", is_inner)

    def pre_tokenizer(self, is_inner: bool = False) -> Node:
        flag = self.flag
        types: dict[str, Node] = {
            **{name: {} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")},
            "ByteLevel": {"add_prefix_space": flag(), "trim_offsets": flag(), "use_regex": flag()},
            "Metaspace": {"replacement": self.pick("▁▁_"), "prepend_scheme": self.pick(SCHEMES), "split": flag()},
            "CharDelimiterSplit": {"delimiter": self.pick(" a-")},
            "Punctuation": {"behavior": self.pick(BEHAVIORS)},
            "Digits": {"individual_digits": flag()},
            "Split": {"pattern": self.pattern(), "behavior": self.pick(BEHAVIORS), "invert": flag(0.3)},
            "FixedLength": {"length": self.chance.randint(1, 6)},
        }
        return self.one_of(types, "pretokenizers", is_inner)

    def decoder(self, is_inner: bool = False) -> Node:
        types: dict[str, Node] = {
            **{name: {} for name in ("Fuse", "ByteFallback")},
            "ByteLevel": {"add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "Metaspace": {"replacement": "▁", "prepend_scheme": self.pick(SCHEMES), "split": True},
            "WordPiece": {"prefix": self.pick(["##", ""]), "cleanup": self.flag()},
            "BPEDecoder": {"suffix": self.pick(["</w>", "##"])},
            "CTC": {"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": self.flag()},
            "Strip": {
                "content": self.pick(" ▁a"),
                "start": self.chance.randint(0, 2),
                "stop": self.chance.randint(0, 2),
            },
            "Replace": {"pattern": self.pattern(), "content": self.pick(["", " ", "x"])},
        }
        return self.one_of(types, "decoders", is_inner)

    def processor(self, ids: dict[str, int], is_inner: bool = False) -> Node:
        """Return a post-processor, whose special tokens are any tokens."""
        pair, flag = lambda: list(self.pick(list(ids.items()))), self.flag
        types: dict[str, Node] = {
            "ByteLevel": {"add_prefix_space": flag(), "trim_offsets": flag(), "use_regex": True},
            "BertProcessing": {"sep": pair(), "cls": pair()},
            "RobertaProcessing": {"sep": pair(), "cls": pair(), "trim_offsets": flag(), "add_prefix_space": flag()},
            "TemplateProcessing": self.template(ids),
        }
        if is_inner or flag(0.7):
            kind = self.pick(list(types))
            return {"type": kind, **types[kind]}
        return {"type": "Sequence", "processors": [self.processor(ids, True) for _ in range(self.chance.randint(0, 3))]}

    def template(self, ids: dict[str, int]) -> Node:
        special: dict[str, Node] = {}
        for name in "XY":
            tokens = [self.pick(list(ids)) for _ in range(self.pick([1, 1, 2]))]
            special[name] = {"id": name, "ids": [ids[token] for token in tokens], "tokens": tokens}

        def order(texts: str) -> list[Node]:
            parts = [("Sequence", text) for text in texts]
            for name in self.chance.choices("XY", k=self.chance.randint(0, 3)):
                parts.insert(self.chance.randint(0, len(parts)), ("SpecialToken", name))
            return [{kind: {"id": name, "type_id": self.chance.randint(0, 2)}} for kind, name in parts]

        return {"single": order("A"), "pair": order(self.pick(PAIR)), "special_tokens": special}

    def model(self, is_byte_level: bool) -> Node:
        """Return a model with tokens for most characters, and for parts of the words."""
        alphabet = {byte: char for char, byte in BYTE_OF.items()}
        words = [*WORDS, "▁hello", "▁the", " a", " hello"]
        if is_byte_level:
            words = ["".join(alphabet[byte] for byte in word.encode()) for word in words]
            characters = list(BYTE_OF)
        else:
            characters = [char for char in dict.fromkeys(CHARACTERS) if self.flag(0.85)]
        kind = self.pick(["BPE", "BPE", "BPE", "WordPiece", "WordLevel", "Unigram"])
        if kind == "BPE":
            return self.bpe(characters, words)
        tokens = dict.fromkeys(characters)
        prefix = self.pick(["##", "##", ""]) if kind == "WordPiece" else ""
        tokens |= dict.fromkeys(prefix + char for char in characters)
        for word in words * 2:
            begin = self.chance.randrange(len(word))
            end = self.chance.randrange(begin, len(word)) + 1
            tokens |= {word: None} if kind == "WordLevel" else {(prefix if begin else "") + word[begin:end]: None}
        if kind == "Unigram":
            falls_back = self.flag(0.4)
            tokens |= dict.fromkeys(BYTE_TOKENS if falls_back else ())
            scored = [[token, -self.pick([1, 2, 3, 5, 10 * self.chance.random()])] for token in tokens]
            return {"type": kind, "unk_id": 0, "vocab": [["<unk>", 0.0], *scored], "byte_fallback": falls_back}
        unknown = {"WordPiece": "[UNK]", "WordLevel": "<unk>"}[kind]
        tokens[unknown] = None
        model = {"type": kind, "unk_token": unknown, "vocab": {token: id for id, token in enumerate(tokens)}}
        if kind == "WordPiece":
            model |= {"continuing_subword_prefix": prefix, "max_input_chars_per_word": self.pick([100, 5, 3])}
        return model

    def bpe(self, characters: list[str], words: list[str]) -> Node:
        prefix, suffix = (self.pick([None] * 5 + [text]) for text in ("##", "</w>"))
        falls_back, unknown = self.flag(0.3), self.pick([None, "<unk>"])
        tokens = dict.fromkeys([*characters, *([unknown] if unknown else ())])
        tokens |= dict.fromkeys((prefix or "") + char for char in characters)
        tokens |= dict.fromkeys(char + (suffix or "") for char in characters)
        merges = []
        for _ in range(self.chance.randint(0, 60)):
            word = self.pick(words)
            at = self.chance.randint(1, len(word))
            pairs = [(word[:end], word[end]) for end in range(1, at)]  # that make the first characters of a word
            pairs.append((self.pick(list(tokens)), self.pick(list(tokens))))
            for left, right in pairs:
                if left in tokens and right in tokens and [left, right] not in merges and len(left + right) < 20:
                    merges.append([left, right])
                    tokens[left + right.removeprefix(prefix or "")] = None
        if self.flag(0.3):
            self.chance.shuffle(merges)
        tokens |= dict.fromkeys(BYTE_TOKENS if falls_back and self.flag(0.9) else ())
        ids = list(range(len(tokens)))
        if self.flag(0.3):
            self.chance.shuffle(ids)
        return {
            "type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": prefix,
            "end_of_word_suffix": suffix, "fuse_unk": self.flag(0.4), "byte_fallback": falls_back,
            "ignore_merges": self.flag(0.3), "vocab": dict(zip(tokens, ids, strict=True)), "merges": merges,
        }  # fmt: skip

    def file(self) -> Node:
        """Return a whole file."""
        cutting = self.pre_tokenizer() if self.flag(0.85) else None
        model = self.model(is_byte_level=("ByteLevel" in json.dumps(cutting)) == self.flag(0.9))
        ids = (
            model["vocab"] if isinstance(model["vocab"], dict) else {t: id for id, (t, _) in enumerate(model["vocab"])}
        )
        ids = dict(ids)
        added: list[Node] = []
        for content in self.chance.sample(ADDED, self.chance.randint(0, 5)):
            flags = {name: self.flag(0.25) for name in ("single_word", "lstrip", "rstrip")}
            id = ids.setdefault(content, max(ids.values()) + 1)
            added.append({"id": id, "content": content, "normalized": self.flag(), "special": self.flag(), **flags})
        return {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": sorted(added, key=lambda token: int(token["id"])),
            "normalizer": self.normalizer() if self.flag(0.7) else None, "pre_tokenizer": cutting,
            "post_processor": self.processor(ids) if self.flag(0.6) else None,
            "decoder": self.decoder() if self.flag(0.8) else None, "model": model,
        }  # fmt: skip


def of_the_library(path: Path, texts: list[Node]) -> list[Node] | None:
    """Return what tokenizers says of each text, {} where it raises; None where it ends the process or reads no file.

    It is asked in a process of its own, because it aborts on some files.
    """
    import tokenizers

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its panics
        try:
            library = tokenizers.Tokenizer.from_file(str(path))
            answers = [_library_answer(library, asked) for asked in texts]
            with os.fdopen(writer, "w") as out:
                json.dump(answers, out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answered:
        said = answered.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def _library_answer(library: Any, asked: Node) -> Node:
    try:
        found = library.encode(asked["text"], asked["pair"], add_special_tokens=asked["add"])
        text = library.decode(found.ids, skip_special_tokens=False)
    except BaseException:  # noqa: BLE001 - a panic is no Exception
        return {}
    types = found.type_ids if asked["pair"] is not None else None
    return {"ids": found.ids, "places": list(map(list, found.offsets)), "types": types, "text": text}


def our_answer(encoding: Encoding, asked: Node) -> Node:
    """Return what tokcli says of a text or a pair of texts, as `of_the_library` does."""
    tokenizer, allowed = encoding.tokenizer, frozenset(encoding.special_tokens_set)
    place = allow_inner_threads(tokenizer.encode_spans, 2)
    texts = [asked["text"], *([] if asked["pair"] is None else [asked["pair"]])]
    found = [place(Chunk(text, 0, allowed=allowed)) if text else Tokens([], spans=[], blanks=[]) for text in texts]
    tokens = tokenizer.finish(found, asked["add"])
    ids = tokens.ids.tolist()
    if len(texts) == 1 and not asked["add"]:
        encoded = allow_inner_threads(tokenizer.encode_part, 2)(Chunk(texts[0], 0, allowed=allowed)).tolist()
        counted = allow_inner_threads(tokenizer.count_part, 2)(Chunk(texts[0], 0, allowed=allowed))
        if (encoded, counted) != (ids, len(ids)):
            return {"ids": "encode_part, count_part and encode_spans differ"}
    types = tokens.type_ids if len(texts) > 1 else None
    places = list(map(list, pairs_of(tokens.spans or ())))
    return {"ids": ids, "places": places, "types": types, "text": encoding.decode(ids)}


def leaves_open(file: Node, encoding: Encoding, part: str, answer: Node) -> bool:
    """Return whether the library's answer is not one to compare with."""
    model = file["model"]
    if part == "places":  # it counts the characters of a prefix or suffix, so that places go past the end of the text
        return bool(
            model.get("byte_fallback") and (model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"))
        )
    if part == "text":  # it has U+FFFD where bytes are no UTF-8, and its decoders see these, not the bytes
        return "\ufffd" in answer["text"] or "ByteFallback" in json.dumps(file["decoder"])
    # where it replaces empty text before a ByteLevel, its `encode` and its pre-tokenizer disagree, or it panics
    if MATCHES_NOTHING in json.dumps(file["normalizer"]) and "ByteLevel" in json.dumps(file["pre_tokenizer"]):
        return True
    # of two added tokens with the same normalized text it finds one, another each time that it reads the file
    rules: Any = encoding.tokenizer.rules
    normalized = [rules.normalized(token["content"]) for token in file["added_tokens"] if token["normalized"]]
    return len(set(normalized)) < len(normalized)


class Outcome(NamedTuple):
    """What came of a run: the number of answers compared, and a line for each difference."""

    compared: int
    different: list[str]


def fuzz(files: int, seed: int, folder: Path) -> Outcome:
    """Make files in a folder, and compare the answers to texts; a file that has a difference is left there."""
    compared, different = 0, []
    for number in range(files):
        maker, path = Maker(seed * 1_000_003 + number), folder / f"{seed}-{number}.json"
        file = maker.file()
        path.write_text(json.dumps(file))
        asked = [{"text": maker.text(), "pair": None, "add": maker.flag()} for _ in range(TEXTS)]
        asked += [{"text": maker.text(), "pair": maker.text(), "add": maker.flag()} for _ in range(PAIRS)]
        if number % LONG_EVERY == 0:
            asked.append({"text": maker.long_text(), "pair": None, "add": False})
        theirs, found = of_the_library(path, asked), []
        try:
            encoding = load_encoding(path)
        except TokcliError as error:
            if theirs is not None:
                different.append(f"{path}: refused: {error}")
            continue
        for one, answer in zip(asked, theirs or (), strict=False):
            if not answer or leaves_open(file, encoding, "ids", answer):
                continue
            ours = our_answer(encoding, one)
            found += [
                f"{path}: {part} of {json.dumps(one)[:300]}: {str(ours[part])[:300]}, not {str(answer[part])[:300]}"
                for part in ("ids", "types", "places", "text")
                if ours.get(part) != answer[part] and not leaves_open(file, encoding, part, answer)
            ][:1]
            compared += 1
        different += found
        if not found:
            path.unlink()
    return Outcome(compared, different)


def main(files: int, seed: int) -> None:
    """Print the differences of every hundred files, and the totals so far."""
    folder, compared, differ = Path(tempfile.mkdtemp()), 0, 0
    for at in range(0, files, 100):
        outcome = fuzz(min(100, files - at), seed + at, folder)
        compared, differ = compared + outcome.compared, differ + len(outcome.different)
        print(*outcome.different, f"{compared} answers compared, {differ} differ", sep="\n", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
