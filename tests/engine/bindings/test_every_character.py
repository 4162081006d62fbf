"""Native models read every character as the Python code does: alone, and where its neighbours may change it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from support import ROOT, pipeline_of, read_vocabulary, rounds

from tokcli.engine import backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.bindings import llama_models  # noqa: F401 (it makes the twins)
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.llama_cpp.words import LlamaWords
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.spec import normalizers as norm
from tokcli.engine.spec import splitters as split
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.models import LlamaModel, Pairs, WordLevel
from tokcli.engine.spec.normalizers import Bert
from tokcli.engine.spec.patterns import Characters, LiteralText
from tokcli.engine.spec.spec import TokenizerSpec

pytestmark = [pytest.mark.no_cover, pytest.mark.skipif(backend.native() is None, reason="there is no native backend")]

BYTES = {byte_token(byte): byte for byte in range(256)}
SHOWS_ALL = Pairs(BYTES, {}, byte_fallback=True, prefix="##")  # where pieces begin, and each of their bytes
# all of Unicode but planes, or most of one, in which no character is assigned or all are for private use
PLANES = [
    range(0xD800),
    range(0xE000, 0x18000),
    range(0x18000, 0x33500),
    range(0xDFF00, 0xE1100),
    range(0x10FF00, 0x110000),
]
BLOCK = 1024
# after and before a letter, marks of several classes, parts of Hangul, what joins grapheme clusters, line ends, ideographs
CONTEXTS = [
    "{}",
    "a{}b",
    "e{}\u0301",
    "\u0301\u0327{}\u0323 ",
    "\u1100{}\u1161{}\u11a8",
    "\uac00{}\uac01",
    "\u200d{}\u200d",
    "\r{}\n",
    "\u0600{}\u0915\u093c",
    "字{}{}字",
    " {} ",
]
HARD = (
    "aAeEıİßſﬁΣς 字한각\u1100\u1161\u11a8\u0301\u0327\u0323\u0308\u0345\u0600\u0915\u093c\u094d\u0e33\u200b\u200d"
    "\u2028\u3000\u00a0\ufeff\ufffd\u00ad\x01\x7f\x8f\t\r\n\u2581👩\U0001f1e6\U0001d15e\U0001d165\u0f73\u0f71\u1e9b\u212b"
)


def charsmap_of_sentencepiece() -> norm.Precompiled:
    model = read_vocabulary(ROOT / "tests" / "data" / "formats" / "unigram.model")
    assert isinstance(model, SentencePiece)
    return norm.Precompiled(model.normalizer.charsmap.blob)


def normalizers() -> dict[str, list[norm.Normalizer]]:
    lower, marks = norm.Lowercase(), norm.Without("MARK")
    return {
        "NFKC and lower case": [norm.UnicodeForm("NFKC"), lower],
        "BERT's": [norm.Bert(True, True, None, True)],
        "a charsmap": [charsmap_of_sentencepiece()],
        "NFC": [norm.UnicodeForm("NFC")],
        "NFD": [norm.UnicodeForm("NFD")],
        "NFKC": [norm.UnicodeForm("NFKC")],
        "NFKD": [norm.UnicodeForm("NFKD")],
        "lower case": [lower],
        "NFD without marks": [norm.UnicodeForm("NFD"), marks],
        "NFKD without marks in lower case": [norm.UnicodeForm("NFKD"), marks, lower],
        "without marks": [marks],
        "NMT": [norm.Nmt()],
        "NMT and NFKC": [norm.Nmt(), norm.UnicodeForm("NFKC")],
        "NMT and a charsmap": [norm.Nmt(), charsmap_of_sentencepiece()],
        "BERT's with accents": [norm.Bert(True, True, False, True)],
        "BERT's without accents": [norm.Bert(False, False, True, False)],
    }


SPLITTERS: dict[str, tuple[split.Splitter, ...]] = {
    "BERT's": (split.Split(Characters("SPACE"), "Removed"), split.Split(Characters("PUNCTUATION"), "Isolated")),
    "words": (split.Words(),),
    "numbers in a row": (split.Split(Characters("NUMERIC"), "Contiguous"),),
    "a letter and words": (split.Split(LiteralText("é"), "Isolated"), split.Words()),
    "spaces": (split.Split(LiteralText(" "), "Removed"),),
}


def texts_of_every_character(context: str, planes: Sequence[range] = tuple(PLANES)) -> Iterator[str]:
    """Yield texts of all characters, each in the context, and a line after each."""
    for plane in planes:
        for start in range(plane.start, plane.stop, BLOCK):
            points = range(start, min(start + BLOCK, plane.stop))
            yield "".join(f"{context.replace('{}', chr(point))}|" for point in points)


def assert_alike(parts: Pipeline, text: str) -> None:
    """The twin gives the ids of the Python code, and their places."""
    native = parts.native
    assert native is not None
    found, expected = native.encode_spans(text, NONE), parts.encode_spans(text, NONE)
    assert native.encode(text, NONE) == list(expected.ids), ascii(text)
    assert found is not None
    assert (found.ids, found.spans) == (expected.ids, expected.spans), ascii(text)


def normalizing(name: str) -> Pipeline:
    lines = (split.Split(LiteralText("|"), "Isolated"),)
    return pipeline_of(SHOWS_ALL, normalizer=tuple(normalizers()[name]), splitter=lines)


@pytest.mark.slow
@pytest.mark.parametrize("context", CONTEXTS, ids=ascii)
@pytest.mark.parametrize("name", normalizers())
def test_every_character_is_normalized_as_by_python_in_any_context(name: str, context: str) -> None:
    parts = normalizing(name)
    for text in texts_of_every_character(context):
        assert_alike(parts, text)


@pytest.mark.parametrize("name", normalizers())
def test_texts_of_characters_that_change_each_other_are_normalized_as_by_python(name: str) -> None:
    chosen, parts = random.Random(name), normalizing(name)
    for _ in range(rounds(500)):
        assert_alike(parts, "".join(chosen.choices(HARD, k=chosen.randrange(1, 14))))


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTERS)
def test_every_character_is_cut_as_by_python(name: str) -> None:
    parts = pipeline_of(WordLevel({"[UNK]": 0}, "[UNK]"), splitter=SPLITTERS[name])
    for text in texts_of_every_character("a{}1"):
        assert_alike(parts, text)


@pytest.mark.slow
def test_every_character_beside_a_token_that_stands_alone_is_part_of_a_word_as_in_python() -> None:
    added = (AddedToken("<m>", 300, single_word=True),)
    parts = pipeline_of(SHOWS_ALL, added=added)
    for text in texts_of_every_character("{}<m> <m>{}"):
        assert_alike(parts, text)


@pytest.mark.slow
@pytest.mark.parametrize(("lowercase", "strip_accents"), [(True, True), (True, False), (False, True), (False, False)])
def test_every_character_is_read_as_by_llama_cpps_bert(*, lowercase: bool, strip_accents: bool) -> None:
    # all characters are tokens, and the space before a word is one: the ids show all that becomes of a text
    known = ["[UNK]", "▁", *(chr(point) for plane in PLANES for point in plane if point not in (0, 0x2581))]
    settings = Bert(True, True, strip_accents, lowercase)
    model = LlamaWords(TokenizerSpec(LlamaModel("bert", known, (), (), 0), normalizer=(settings,)))
    native = model.native
    assert native is not None
    for text in texts_of_every_character("x {}x {}"):
        found = native.encode(text.replace("|", " a "), NONE)
        assert found == model.tokenize(text.replace("|", " a "))
