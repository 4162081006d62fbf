"""Tokenizer files that mean harm or are damaged: one line that names file and place, no crash, no memory eaten."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import struct
from pathlib import Path

import pytest
from support import ROOT, parse_vocabulary, read_vocabulary, refused

from tokcli.errors import TokcliError, VocabularyError
from tokcli.registry.encodings import load_encoding

FOLDER = ROOT / "tests" / "data" / "formats"


def tokenizer_json(**changes: object) -> bytes:
    top: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    }
    return json.dumps(top | changes).encode()


def bpe(**changes: object) -> dict[str, object]:
    return {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]} | changes


def added(**changes: object) -> dict[str, object]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": 3, "content": "<x>", **flags, "special": True} | changes


def nested(depth: int) -> object:
    node: object = {"type": "NFC"}
    for _ in range(depth):
        node = {"type": "Sequence", "normalizers": [node]}
    return node


@pytest.mark.parametrize(
    ("what", "data", "named"),
    [
        ("a merge of a token that is not there", tokenizer_json(model=bpe(merges=["a c"])), "merges[0]"),
        ("a merge longer than any token", tokenizer_json(model=bpe(merges=[["ab", "ab"]])), "merges[0]"),
        ("a merge of three", tokenizer_json(model=bpe(merges=["a b c"])), "merges[0]"),
        ("FixedLength 0", tokenizer_json(pre_tokenizer={"type": "FixedLength", "length": 0}), "pre_tokenizer.length"),
        ("no charsmap", tokenizer_json(normalizer={"type": "Precompiled", "precompiled_charsmap": None}), "charsmap"),
        ("a charsmap that lies", tokenizer_json(normalizer={"type": "Precompiled", "precompiled_charsmap": "/////w=="}), "charsmap"),
        ("parts a hundred deep", tokenizer_json(normalizer=nested(100)), "too deep"),
        ("a type that is none", tokenizer_json(decoder={"type": "Evil"}), "decoder.type"),
        ("an id that is huge", tokenizer_json(model=bpe(vocab={"a": 10**30})), "vocab"),
        ("two tokens of one id", tokenizer_json(model=bpe(vocab={"a": 0, "b": 0, "ab": 2})), "vocab"),
        ("a pattern that does not compile", tokenizer_json(pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}), "pattern"),
        ("an empty text to find", tokenizer_json(normalizer={"type": "Replace", "pattern": {"String": ""}, "content": "x"}), "pattern"),
        ("a template of a token that is not there", tokenizer_json(post_processor={"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [], "special_tokens": {}}), "single[0]"),
        ("a score that is no number", tokenizer_json(model={"type": "Unigram", "unk_id": 0, "vocab": [["a", None]]}), "vocab[0]"),
        ("an unknown id beyond the tokens", tokenizer_json(model={"type": "Unigram", "unk_id": 9, "vocab": [["a", 0.0]]}), "unk_id"),
        ("no model", tokenizer_json(model=None), "model"),
        ("half of a surrogate pair", tokenizer_json(model={"type": "Unigram", "vocab": [["\ud800", 0.0]]}), "surrogate"),
        ("a merge with a prefix longer than a token", tokenizer_json(model=bpe(continuing_subword_prefix="###")), "merges[0]"),
        ("an added token with an id of text", tokenizer_json(added_tokens=[{"id": 1, "content": None}]), "added_tokens[0]"),
        ("a negative id", tokenizer_json(model=bpe(vocab={"a": -1})), "vocab"),
        ("a pre-tokenizer that is a text", tokenizer_json(pre_tokenizer="ByteLevel"), "pre_tokenizer"),
        ("a sequence of no list", tokenizer_json(pre_tokenizer={"type": "Sequence"}), "pre_tokenizer.pretokenizers"),
        ("a charsmap that is not base64", tokenizer_json(normalizer={"type": "Precompiled", "precompiled_charsmap": "é"}), "charsmap: not base64"),
        ("an added token with a negative id", tokenizer_json(added_tokens=[added(id=-5)]), "added_tokens[0].id"),
        ("an added token with an id beyond 32 bits", tokenizer_json(added_tokens=[added(id=1 << 32)]), "added_tokens[0].id"),
        ("an added token with an id that is a text", tokenizer_json(added_tokens=[added(id="3")]), "added_tokens[0].id"),
        ("an added token without an id", tokenizer_json(added_tokens=[added(id=None)]), "added_tokens[0].id"),
        ("added tokens that are null", tokenizer_json(added_tokens=None), "added_tokens"),
        ("another version", tokenizer_json(version="2.0"), "version"),
        ("a version that is a number", tokenizer_json(version=1.0), "version"),
        ("a member that nobody knows", tokenizer_json(evil=1), "evil"),
        ("a truncation that is a number", tokenizer_json(truncation=3), "truncation"),
        ("a padding that is a list", tokenizer_json(padding=[]), "padding"),
        ("a dropout above 1", tokenizer_json(model=bpe(dropout=1.5)), "model.dropout"),
        ("a dropout that is a text", tokenizer_json(model=bpe(dropout="x")), "model.dropout"),
        ("an empty charsmap", tokenizer_json(normalizer={"type": "Precompiled", "precompiled_charsmap": ""}), "charsmap"),
        ("a BertNormalizer that says nothing", tokenizer_json(normalizer={"type": "BertNormalizer"}), "normalizer.clean_text"),
        ("a pattern of two kinds", tokenizer_json(normalizer={"type": "Replace", "pattern": {"String": "a", "Regex": "b"}, "content": "c"}), "normalizer.pattern"),
        ("a ByteLevel that says nothing", tokenizer_json(pre_tokenizer={"type": "ByteLevel"}), "pre_tokenizer.trim_offsets"),
        ("a Metaspace that contradicts itself", tokenizer_json(pre_tokenizer={"type": "Metaspace", "replacement": "_", "add_prefix_space": False}), "add_prefix_space"),
        ("Digits that say nothing", tokenizer_json(pre_tokenizer={"type": "Digits"}), "individual_digits"),
        ("a decoder that says nothing", tokenizer_json(decoder={"type": "ByteLevel"}), "decoder.add_prefix_space"),
        ("a WordPiece decoder that says nothing", tokenizer_json(decoder={"type": "WordPiece"}), "decoder.prefix"),
        ("a CTC decoder that says nothing", tokenizer_json(decoder={"type": "CTC"}), "decoder.pad_token"),
        ("a ByteLevel processor that says nothing", tokenizer_json(post_processor={"type": "ByteLevel"}), "post_processor.trim_offsets"),
        *((f"a template with {what}", tokenizer_json(post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {"id": text, "type_id": 0}} for text in texts], "pair": [], "special_tokens": {}}), "post_processor.single: expected the Sequence A, and no other")
          for what, texts in (("no text", ""), ("the text of a pair", "B"), ("two texts", "AB"))),
        ("a template's token without a name", tokenizer_json(post_processor={"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {"X": {"ids": [1], "tokens": ["a"]}}}), "special_tokens.X.id"),
        ("a score beyond any", tokenizer_json(model={"type": "Unigram", "unk_id": 0, "vocab": [["a", 1e999]]}), "vocab[0]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_tokenizer_json_with(what: str, data: bytes, named: str) -> None:
    with pytest.raises(VocabularyError) as raised:
        parse_vocabulary(data, "x.json")
    assert str(raised.value).startswith("x.json")
    assert named in str(raised.value)


LENGTH = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}  # fmt: skip
FLAGS = {"add_prefix_space": True, "trim_offsets": True}
WORDS = {"unk_token": "u", "continuing_subword_prefix": "#", "max_input_chars_per_word": 9, "vocab": {"u": 0}}
PARTS: dict[str, tuple[str, dict[str, object]]] = {
    "WordLevel": ("model", {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}),
    "WordPiece": ("model", {"type": "WordPiece", **WORDS}),
    "Unigram": ("model", {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0]], "byte_fallback": False}),
    "BPE": ("model", bpe(dropout=None, unk_token=None, fuse_unk=False, byte_fallback=False, ignore_merges=False)),
    "BPE's ends": ("model", bpe(continuing_subword_prefix=None, end_of_word_suffix=None)),
    "ByteLevel": ("pre_tokenizer", {"type": "ByteLevel", **FLAGS, "use_regex": True}),
    "Split": ("pre_tokenizer", {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False}),
    "Metaspace": ("pre_tokenizer", {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True}),
    "Punctuation": ("pre_tokenizer", {"type": "Punctuation", "behavior": "Isolated"}),
    "FixedLength": ("pre_tokenizer", {"type": "FixedLength", "length": 5}),
    "a ByteLevel decoder": ("decoder", {"type": "ByteLevel", **FLAGS, "use_regex": True}),
    "a Metaspace decoder": (
        "decoder",
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True},
    ),
    "a ByteLevel processor": ("post_processor", {"type": "ByteLevel", **FLAGS, "use_regex": True}),
    "truncation": ("truncation", LENGTH),
    "padding": ("padding", PADDING),
    "padding to a length": ("padding", PADDING | {"strategy": {"Fixed": 3}, "pad_to_multiple_of": 8}),
}


@pytest.mark.parametrize("what", PARTS)
def test_what_may_be_null_or_missing_is_what_the_library_allows(what: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    place, part = PARTS[what]
    changed = [part, *({**part, name: None} for name in part), *({**part, name: "x"} for name in part)]
    changed += [{name: value for name, value in part.items() if name != left_out} for left_out in part]
    for some in changed:
        if some.get("type") is None and place in ("decoder", "post_processor"):
            continue  # the library guesses the type, and we refuse to
        data = tokenizer_json(**{place: some})
        try:
            tokenizers.Tokenizer.from_str(data.decode())
            is_read = True
        except Exception:  # noqa: BLE001 - the library raises nothing more exact
            is_read = False
        assert reads(data) == is_read, some


def reads(data: bytes) -> bool:
    try:
        parse_vocabulary(data, "x.json")
    except VocabularyError:
        return False
    return True


def test_bytes_for_a_suffix_stand_in_the_last_character() -> None:
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
    model = bpe(vocab=vocab, merges=[], byte_fallback=True, end_of_word_suffix="</w>")
    tokenizer = parse_vocabulary(tokenizer_json(model=model), "x.json")
    tokens = tokenizer.encode_spans("ab", frozenset())  # type: ignore[union-attr]
    assert list(tokens.ids) == list(b"ab</w>")
    assert list(tokens.spans[-2:]) == [1, 2]


def test_json_nested_a_million_deep_is_refused() -> None:
    with pytest.raises(VocabularyError):
        parse_vocabulary(b'{"version": "1", "model": ' + b"[" * 1_000_000, "x.json")


@pytest.mark.clock
def test_a_pattern_that_backtracks_ends_at_the_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "slow.json"
    split = {"type": "Split", "pattern": {"Regex": "(a|aa|aaa)+$"}, "behavior": "Isolated", "invert": False}
    path.write_bytes(tokenizer_json(pre_tokenizer=split))
    assert "more than 0.2 s" in refused("count", "-e", path, "--timeout", "0.2", "-t", "a" * 60 + "b")


@pytest.mark.parametrize("name", ["bpe.model", "unigram.model", "plain.tokenizer.json", "wordpiece.tokenizer.json"])
def test_a_file_cut_off_or_damaged_anywhere_is_read_or_refused(name: str, tmp_path: Path) -> None:
    data = (FOLDER / name).read_bytes()
    dice = random.Random(7)
    for _ in range(40):
        damaged = bytearray(data[: dice.randrange(len(data))] if dice.random() < 0.5 else data)
        for _ in range(dice.randrange(1, 6)):
            if damaged:
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path = tmp_path / name
        path.write_bytes(damaged)
        with contextlib.suppress(TokcliError):
            load_encoding(path).encode_ordinary("Hello, wörld 東京")


@pytest.mark.parametrize("model_type", [1, 2, 3, 4])
def test_scores_at_the_ends_of_a_float_overflow_quietly(model_type: int) -> None:
    pieces = [("<unk>", 0.0, 2), ("a", 3e38, 1), ("b", -3e38, 1), ("ab", 3.4e38, 4), ("\u2581", -3.4e38, 1)]
    data = b""
    for text, score, kind in pieces:
        piece = b"\n" + bytes([len(text.encode())]) + text.encode() + b"\x15" + struct.pack("<f", score)
        piece += b"\x18" + bytes([kind])
        data += b"\n" + bytes([len(piece)]) + piece
    model = parse_vocabulary(data + b"\x12\x02\x18" + bytes([model_type]), "x.model", "a SentencePiece model")
    assert model.encode("ab b a c" * 9, frozenset())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "data",
    [
        b"\n\x05\n\x03abc\n\xff\xff\xff\xff\x0f",  # a length beyond the file
        b"\n\x05\n\x03abc" + b"\xff" * 12,  # a number without an end
        b"\n\x05\n\x03abc\n\x03\x0b\x0b\x0b",  # groups
    ],
)
def test_a_protobuf_that_lies_about_lengths_is_refused(data: bytes) -> None:
    with pytest.raises(VocabularyError, match=r"at byte \d+"):
        parse_vocabulary(data, "x.model", "a SentencePiece model")


def gguf(*values: bytes, count: int | None = None, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(values) if count is None else count) + b"".join(values)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("nothing but its name", b"GGUF"),
        ("version 1", gguf(version=1)),
        ("more values than there can be", gguf(count=2**63)),
        ("a text longer than the file", gguf(struct.pack("<Q", 2**62) + b"x")),
        ("a list of 2**61 numbers", gguf(text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 2**61))),
        ("a list of lists", gguf(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 9, 1))),
        ("a value of no kind", gguf(text("x") + struct.pack("<I", 99))),
        ("no vocabulary", gguf()),
        ("a model that is none", gguf(text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("evil"))),
        ("no tokens", gguf(text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("llama"))),
    ],
)
def test_a_gguf_file_with(what: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(VocabularyError, match=r"x\.gguf"):
        read_vocabulary(path)


def test_only_the_header_of_a_gguf_file_is_read(tmp_path: Path) -> None:
    tokens = ["<unk>", "<s>", "</s>", "\u2581", "a", *[f"<0x{byte:02X}>" for byte in range(256)]]
    listed = struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(text, tokens))
    path = tmp_path / "large.gguf"
    with path.open("wb") as file:
        file.write(
            gguf(
                text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("llama"),
                text("tokenizer.ggml.tokens") + listed,
            )
        )
        file.truncate(20 << 30)  # a hole where tensors would be
    assert load_encoding(path).encode_ordinary("a") == [3, 4]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"minbpe v2\n\n0\n", 1),
        (b"minbpe v1\n\n9\n", 3),
        (b"minbpe v1\n\n0\n300 1\n", 4),
        (b"minbpe v1\n\n0\n1 2\n1 2\n", 5),
        (b"minbpe v1\n\n1\n<end>\n", 4),
        (b"minbpe v1\n\n0\n" + b"".join(b"%d %d\n" % (n, n) for n in [97, *range(256, 300)]), 20),
    ],
)
def test_a_minbpe_model_that_does_not_add_up_is_refused(data: bytes, line: int) -> None:
    with pytest.raises(VocabularyError, match=rf"x\.model:{line}:"):
        parse_vocabulary(data, "x.model", "a minbpe model")


@pytest.mark.memory
@pytest.mark.parametrize("number", [1 << 21, 1 << 26])
def test_a_few_tokens_with_a_large_id_take_no_memory_for_the_ids_below_it(number: int, tmp_path: Path) -> None:
    model = {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
    path = tmp_path / "tokenizer.json"
    path.write_bytes(tokenizer_json(model=model | {"vocab": {"u": 0, "a": number}}))
    encoding = load_encoding(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert encoding.encode("a") == [number]
    assert encoding.encode_batch(["a", "b"]) == [[number], [0]]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
