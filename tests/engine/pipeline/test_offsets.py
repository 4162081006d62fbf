"""Offsets of tokenizer.json files are Hugging Face's: compiled or not, with templates, and shared by threads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, examples, hard_text

from tokcli.engine import backend
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import Chunk
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.engine.tokens import Tokens, pairs_of
from tokcli.registry.encodings import load_encoding

pytest.importorskip("tokenizers")
from tokenizers import Tokenizer

Change = Callable[[dict[str, Any]], None]
FOLDER = ROOT / "tests" / "data" / "formats"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 401], "cls": ["<s>", 402], "add_prefix_space": False}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [402], "tokens": ["<s>"]}},
}
ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def with_parts(**parts: Any) -> Change:
    def change(top: dict[str, Any]) -> None:
        top |= parts
        tokens = {"</s>": 401, "<s>": 402}
        top["added_tokens"] += [{"id": number, "content": text, **ADDED} for text, number in tokens.items()]

    return change


VARIANTS: dict[str, tuple[str, Change]] = {
    "a prefix before each text, trimmed": (
        "plain",
        with_parts(pre_tokenizer=BYTE_LEVEL, post_processor={"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}),
    ),
    "tokens that take spaces with them": ("byte-level", with_parts(normalizer=None, post_processor={**ROBERTA, "trim_offsets": True})),
    "lower case": ("byte-level", with_parts(normalizer={"type": "Lowercase"}, post_processor=None)),
    "compatibility forms": ("plain", with_parts(normalizer={"type": "NFKC"})),
    "marks taken apart": ("plain", with_parts(normalizer={"type": "NFD"})),
    "BERT": ("wordpiece", with_parts()),
    "BERT with case": (
        "wordpiece",
        with_parts(normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": False}),
    ),
    "a charsmap": ("unigram", with_parts()),
    "spaces that are stripped": (
        "unigram",
        with_parts(normalizer={"type": "Sequence", "normalizers": [
            {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "▁▁"},
            {"type": "Replace", "pattern": {"String": "é"}, "content": "e\u0301"}, {"type": "NFC"}]}),
    ),
    "a suffix": ("suffix", with_parts()),
}  # fmt: skip
TEXTS = st.lists(
    st.one_of(hard_text(), st.sampled_from(["<mask>", " <mask> ", "<s>", "the", " the ", "\x01", "ﬁ\x01", "e\u0301\u0323", "\u0301"])),
    max_size=6,
).map("".join)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[list[Encoding], Tokenizer]]:
    """A function that gives the encodings of a variant, as it is read and as it is compiled, and the reference."""
    folder, kept = tmp_path_factory.mktemp("variants"), {}

    def make(name: str) -> tuple[list[Encoding], Tokenizer]:
        if name not in kept:
            file, change = VARIANTS[name]
            top = json.loads((FOLDER / f"{file}.tokenizer.json").read_text("utf-8"))
            change(top)
            path = folder / f"{len(kept)}.tokenizer.json"
            path.write_text(json.dumps(top), "utf-8")
            kept[name] = [load_encoding(path), load_encoding(path)], Tokenizer.from_file(str(path))
        return kept[name]

    return make


def tokens_of(encoding: Encoding, text: str, add: bool) -> Tokens:
    tokenizer = encoding.tokenizer
    found = tokenizer.encode_spans(Chunk(text, 0, allowed=frozenset(encoding.special_tokens_set)))
    return tokenizer.finish([found], add)


@pytest.mark.parametrize("name", VARIANTS)
@examples(40)
@given(text=TEXTS, add=st.booleans())
def test_offsets_are_those_of_hugging_face(
    made: Callable[[str], tuple[list[Encoding], Tokenizer]], name: str, text: str, add: bool
) -> None:
    encodings, reference = made(name)
    expected = reference.encode(text, add_special_tokens=add)
    for encoding in encodings:
        found = tokens_of(encoding, text, add)
        assert (found.ids.tolist(), pairs_of(found.spans or ())) == (expected.ids, expected.offsets)


@pytest.mark.slow
@pytest.mark.skipif(backend.native() is None, reason="Python shares no text among threads")
@pytest.mark.parametrize("name", ["BERT", "a charsmap", "compatibility forms", "tokens that take spaces with them"])
def test_threads_find_the_same_places_in_a_long_text(
    made: Callable[[str], tuple[list[Encoding], Tokenizer]], name: str
) -> None:
    encodings, _ = made(name)
    text = "The mask, wörld <mask> ﬁne e\u0301 漢字 the 12.5\n" * 14_000  # more than two threads' parts
    alone = tokens_of(encodings[-1], text, False)
    shared = allow_inner_threads(lambda given: tokens_of(encodings[-1], given, False), 3)(text)
    assert (shared.ids, shared.spans) == (alone.ids, alone.spans)


def test_a_compiled_file_is_not_read_for_offsets(tmp_path: Path) -> None:
    for name in ("plain", "wordpiece"):
        path = tmp_path / f"{name}.json"
        path.write_bytes((FOLDER / f"{name}.tokenizer.json").read_bytes())
        before = load_encoding(path).encode_with_offsets("The mask, the end")
        encoding = load_encoding(path)
        if backend.native() is not None:
            path.unlink()
        assert encoding.encode_with_offsets("The mask, the end") == before


@pytest.mark.parametrize("text", ["a b", "É b", "", " a", "éa a", "<s>a b"])
def test_a_text_of_nothing_that_is_put_first_takes_the_place_of_the_first_character(text: str, tmp_path: Path) -> None:
    top = json.loads((FOLDER / "wordpiece.tokenizer.json").read_text())
    top |= {"normalizer": {"type": "Prepend", "prepend": ""}}
    top["added_tokens"] = [{"id": 0, "content": "<s>", **ADDED}]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(top))
    expected = Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False)
    assert load_encoding(path).encode_with_offsets(text, allowed_special="all") == (expected.ids, expected.offsets)


@pytest.mark.parametrize("name", VARIANTS)
@examples(40)
@given(text=TEXTS)
def test_utf8_has_the_places_of_its_text(
    made: Callable[[str], tuple[list[Encoding], Tokenizer]], name: str, text: str
) -> None:
    for encoding in made(name)[0]:
        place = encoding.tokenizer.encode_spans
        text_, utf8 = place(Chunk(text, 0)), place(memoryview(text.encode()))
        assert (utf8.ids.tolist(), pairs_of(utf8.spans or ())) == (text_.ids.tolist(), pairs_of(text_.spans or ()))


def test_places_in_a_word_do_not_depend_on_words_before_whose_sizes_add_up_by_chance(tmp_path: Path) -> None:
    """The merged token <0xC3><0xA9> has 12 bytes of text and stands for two: as many as é and ten letters have."""
    vocab = {"a": 0, "<0xC3>": 1, "<0xA9>": 2, "<0xC3><0xA9>": 3, " ": 4}
    model = {"type": "BPE", "unk_token": None, "byte_fallback": True, "vocab": vocab, "merges": ["<0xC3> <0xA9>"]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}))
    encoding = load_encoding(path)
    reference = Tokenizer.from_str(path.read_text())
    for text in ("ézzzzzzzzzz ézzzzzzzzzz a", "ézzzzzzzzzz a", "é a é", "éa éa éa", "ézzzzzzzzzzé ézzzzzzzzzzé"):
        expected = reference.encode(text)
        for _ in range(2):
            ids, places = encoding.encode_with_offsets(text)
            assert (ids, places) == (expected.ids, expected.offsets), text
