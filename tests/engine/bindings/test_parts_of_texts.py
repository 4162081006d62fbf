"""Long texts are cut before spaces, and each part is normalized and encoded by a thread: the ids and places are the same."""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from gguf_files import BOOL, INT32, llama, t5
from gguf_files import BYTES as BYTE_TOKENS
from sentencepiece_files import BPE, NORMAL, UNIGRAM, charsmap_of, model_file, rule_for
from support import HARD_ATOMS, ROOT, first_in_gate
from text_pipelines import CUTS, MODELS, STEPS

from tokcli.engine import backend
from tokcli.engine.stream.chunks import Chunk
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.registry.encodings import load_encoding

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native code here"),
]

FORMATS = ROOT / "tests/data/formats"
SIZE = 3 << 16  # of a text that three threads share
WORDS = [
    "the",
    "Ab",
    "x",
    "12",
    "a",
    "b",
    "K",
    "ab,",
    "\u212a",
    "caf\xe9",
    "e\u0301",
    "\u4e2d\u6587",
    "ab\u0301",
    "``",
    "▁a",
]
ALL = [(steps, cuts, model) for model in MODELS for cuts in CUTS for steps in STEPS]
random.Random(1).shuffle(ALL)  # the gate tries a few of each


def long_text(seed: int) -> str:
    """Words with a space between them, and now and then something else."""
    rnd = random.Random(seed)
    gaps = [" "] * 12 + ["  ", "\n", "\t", "", " \u0301", "\u00a0", *HARD_ATOMS[:6]]
    text = "".join(
        word + gap for word, gap in zip(rnd.choices(WORDS, k=90_000), rnd.choices(gaps, k=90_000), strict=True)
    )
    assert len(text.encode()) > SIZE
    return text


TEXT = long_text(7)


def spans_with(tokenizer: Any, text: str, threads: int) -> tuple[bytes, bytes]:
    found = allow_inner_threads(tokenizer.encode_spans, threads)(Chunk(text, 0, allowed=frozenset()))
    return bytes(found.ids), bytes(found.spans)


def parts_spans(tokenizer: Any, text: str, size: int) -> tuple[int, tuple[bytes, bytes]]:
    """The number of parts, and the ids and places of all of them."""
    data, ids, spans, begin, at = memoryview(text.encode()), array("I"), array("Q"), 0, 0
    ends = list(tokenizer.part_ends(data, size))
    for end in ends:
        found = tokenizer.encode_part_spans(data[begin:end], begins=begin == 0, ends=end == len(data))
        ids.extend(found.ids)
        spans.extend(at + place for place in found.spans)
        at += len(str(data[begin:end], "utf-8"))
        begin = end
    assert not ends or begin == len(data)
    return len(ends), (bytes(ids), bytes(spans))


@pytest.mark.parametrize(("steps", "cuts", "model"), first_in_gate(ALL, 15))
def test_parts_have_the_ids_and_places_of_the_whole(steps: str, cuts: str, model: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    normalizer = {"type": "Sequence", "normalizers": STEPS[steps]} if STEPS[steps] else None
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "normalizer": normalizer,
                "pre_tokenizer": CUTS[cuts],
                "model": MODELS[model],
            }
        )
    )
    encoding = load_encoding(path)
    tokenizer = encoding.tokenizer
    assert tokenizer.is_native
    ids = bytes(encoding.encode_array(TEXT))
    for threads in (2, 3):
        assert bytes(allow_inner_threads(encoding.encode_array, threads)(TEXT)) == ids
    whole = spans_with(tokenizer, TEXT, 1)
    assert spans_with(tokenizer, TEXT, 3) == whole
    count, found = parts_spans(tokenizer, TEXT, SIZE // 40)
    assert count == 0 or found == whole
    for threads in (1, 3):
        assert allow_inner_threads(encoding.split, threads)(TEXT) == tokenizer.inner.whole.split(TEXT)


@pytest.mark.parametrize("name", ["bpe.model", "word.model", "char.model", "unigram.model", "wordpiece.tokenizer.json"])
def test_files_have_the_ids_and_places_of_the_whole(name: str) -> None:
    tokenizer = load_encoding(FORMATS / name).tokenizer
    whole = spans_with(tokenizer, TEXT, 1)
    assert spans_with(tokenizer, TEXT, 3) == whole
    count, found = parts_spans(tokenizer, TEXT, SIZE // 40)
    assert (count > 20, found if count else whole) == (name == "wordpiece.tokenizer.json", whole)


@pytest.mark.parametrize("text", [f"{'the a ' * 40}<mask>{' the a' * 40}", "x", ""])
def test_text_with_an_added_token_or_of_one_part_is_encoded_whole(text: str, tmp_path: Path) -> None:
    token = {"id": 99, "content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
    made = {"version": "1.0", "added_tokens": [token | {"special": False}], "pre_tokenizer": CUTS["words"]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(made | {"model": MODELS["WordPiece"]}))
    tokenizer = load_encoding(tmp_path / "tokenizer.json").tokenizer
    assert parts_spans(tokenizer, text, 20)[0] == (1 if text == "x" else 0)
    assert parts_spans(tokenizer, text.replace("<mask>", ""), 20)[0] >= min(1, len(text))


def test_threads_that_share_sums_through_the_whole_text_give_its_ids() -> None:
    """Sums begin at 0 again, unknown characters are one id across parts, and some words are too long for the cache."""
    encoding = load_encoding(FORMATS / "unigram.model")
    text = TEXT * 4 + "the" * 40_000 + " \U00012000" * 60_000 + (" " + "er" * 500) * 400 + " " + TEXT
    ids = bytes(encoding.encode_array(text))
    for threads in (2, 3):
        assert bytes(allow_inner_threads(encoding.encode_array, threads)(text)) == ids
        assert allow_inner_threads(encoding.count, threads)(text) == len(ids) // 4
    assert spans_with(encoding.tokenizer, text, 2) == spans_with(encoding.tokenizer, text, 1)


@pytest.mark.parametrize("most", [-0.3, 40.3])
def test_words_that_depend_on_the_sum_before_them_have_the_ids_of_that_sum(most: float, tmp_path: Path) -> None:
    """Paths through "▁ab" are so close that rounding decides, each time anew; some scores may be above 0."""
    path = tmp_path / "x.model"
    scores = {"▁": -2.1, "a": -2.2, "b": -3.7, "▁a": -1.4, "ab": -3.0, "▁ab": -5.1, "▁c": most}
    pieces = [(piece.encode(), NORMAL) for piece in scores]
    path.write_bytes(model_file(pieces, UNIGRAM, scores=tuple(scores.values())))
    encoding = load_encoding(path)
    rnd = random.Random(3)
    text = "".join(rnd.choices([" ab", " c", " a", " \U00012000", " " + "ab" * 20], [9, 2, 2, 1, 1], k=200_000))
    ids = bytes(encoding.encode_array(text))
    assert len({tuple(encoding.encode(" c" * n + " ab")[n:]) for n in range(1, 40_000, 997)}) > 1
    for threads in (2, 3):
        assert bytes(allow_inner_threads(encoding.encode_array, threads)(text)) == ids
        assert allow_inner_threads(encoding.count, threads)(text) == len(ids) // 4


@pytest.mark.parametrize("model_type", [BPE, UNIGRAM])
@pytest.mark.parametrize(
    ("rule", "makes", "ids"),
    [
        (b"ba b", b"x", [3, 4, 3]),  # no rule begins at "a": the text was cut after it
        (b"ba", b"x ", [3, 4, 3, 4, 2]),  # the space that it makes and the next one are one
        (b"ba", b"", [3, 4, 2]),  # the spaces before and after it are one
        (b"ba", b"a", [3, 4, 1, 4, 2]),
    ],
)
def test_rules_around_a_space_are_applied_in_all_of_a_long_text(
    rule: bytes, makes: bytes, ids: list[int], model_type: int, tmp_path: Path
) -> None:
    path = tmp_path / "x.model"
    pieces = [(letter.encode(), NORMAL) for letter in ("a", "b", "x", "▁")]
    path.write_bytes(model_file(pieces, model_type, charsmap_of(rule_for(rule), makes + b"\0")))
    encoding = load_encoding(path)
    assert encoding.encode("x ba b") == ids
    assert encoding.encode("x ba b " * 60_000) == [*ids, 4] * 59_999 + ids


@pytest.mark.parametrize(("prefix", "trims"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_parts_of_a_text_have_the_spaces_of_llama_cpp(more: int, prefix: bool, trims: bool, tmp_path: Path) -> None:
    path = t5(tmp_path / "t5.gguf", add_space_prefix=(prefix, BOOL), remove_extra_whitespaces=(trims, BOOL))
    encoding = load_encoding(path)
    text = "  " * more + "hello wo  how hello " * 30_000 + "hello" * 9 + " <x> hello"  # no added token in the long part
    ids = encoding.tokenizer.inner.whole.encode(text, frozenset())
    assert encoding.encode(text) == ids
    assert allow_inner_threads(encoding.encode_array, 2)(text).tolist() == ids


ADDED: dict[str, tuple[str, dict[str, bool], str]] = {  # a token, and a text whose words hold it
    "takes the space after it": ("ab", {"rstrip": True}, "ab "),
    "takes the space before it": ("ab", {"lstrip": True}, "ab x "),
    "holds a space": ("b a", {}, "b a "),
    "begins with a space": (" a", {}, "a b "),
    "is one word with a space": (" a", {"single_word": True}, "a b "),
    "is one word with what a space becomes": ("▁a", {"single_word": True}, "a b "),
    "is one word": ("a", {"single_word": True}, "a ab "),
}


@pytest.mark.parametrize("what", ADDED)
@pytest.mark.parametrize("cuts", ["spaces", "a metaspace before each", "nothing"])
def test_parts_have_the_added_tokens_of_the_whole(what: str, cuts: str, tmp_path: Path) -> None:
    content, flags, text = ADDED[what]
    path = tmp_path / "tokenizer.json"
    replaces = STEPS["a character in the place of spaces"][0] if "▁" in content else None
    token = {"id": 99, "content": content, "normalized": True, "special": False}
    token |= {"single_word": False, "lstrip": False, "rstrip": False, **flags}
    made = {"version": "1.0", "added_tokens": [token], "normalizer": replaces, "pre_tokenizer": CUTS[cuts]}
    path.write_text(json.dumps(made | {"model": MODELS["BPE"]}))
    tokenizer = load_encoding(path).tokenizer
    long = text * (SIZE // len(text) + 1)
    expected = tokenizer.inner.whole.encode_spans(long, frozenset())
    assert tokenizer.encode_array(long) == memoryview(array("I", expected.ids))
    for threads in (1, 2):
        assert spans_with(tokenizer, long, threads) == (
            bytes(array("I", expected.ids)),
            bytes(array("Q", expected.spans)),
        )


@pytest.mark.parametrize("space", "\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000")
def test_a_token_takes_every_white_space_around_it(space: str, tmp_path: Path) -> None:
    token = {"id": 99, "content": "ab", "lstrip": True, "rstrip": True, "single_word": False, "normalized": False}
    made = {"version": "1.0", "added_tokens": [token | {"special": False}], "model": MODELS["BPE"]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    tokenizer = load_encoding(tmp_path / "tokenizer.json").tokenizer
    assert spans_with(tokenizer, f"b{space}{space}ab{space}b", 1)[1] == bytes(array("Q", [0, 1, 1, 6, 6, 7]))


@pytest.mark.parametrize("name", ["bpe.model", "unigram.tokenizer.json", "wordpiece.tokenizer.json"])
def test_a_text_and_its_utf8_have_the_same_ids(name: str) -> None:
    tokenizer = load_encoding(FORMATS / name).tokenizer
    for text in ("", "a", "Hello, wörld! 😀", "é漢字\0 x", TEXT):
        parts = list(tokenizer.read_parts([text.encode()]))
        assert all(isinstance(part, memoryview) for part in parts)
        assert b"".join(map(tokenizer.encode_part, parts)) == bytes(tokenizer.encode_array(text))
        assert sum(map(tokenizer.count_part, parts)) == tokenizer.count(text)


def test_bytes_that_are_not_utf8_are_refused_by_native_code() -> None:
    native = backend.native()
    assert native is not None
    model = native.TextModel(b"ab", b"\1\0\0\0\1\0\0\0", b"\0\0\0\0\1\0\0\0")
    model.use_whole(True)
    for ask in (model.encode, model.count):
        with pytest.raises(ValueError, match="not UTF-8"):
            ask(b"ab\xc3", b"", b"")
        with pytest.raises(TypeError):
            ask(1, b"", b"")
    assert model.encode(b"ab", b"", b"", 1, True) == [0, 1]


@pytest.mark.parametrize("allowed", [frozenset(), frozenset({"<s>"})])
def test_gguf_texts_with_and_without_special_tokens_are_counted_as_encoded(
    tmp_path: Path, allowed: frozenset[str]
) -> None:
    kinds = [2, 3, 3, *[6] * 256, 1, 1, 4]  # <unk>, <s>, </s>, bytes, pieces, a token that the user has defined
    tokens = ["<unk>", "<s>", "</s>", *BYTE_TOKENS, "▁", "a", "[U]"]
    path = llama(tmp_path / "spm.gguf", tokens=tokens, token_type=(kinds, INT32))
    tokenizer = load_encoding(path).tokenizer
    for text in ("a", " a ab", "ab<s>a b", "<s><s>", "[U]a[U]", "é <s>[U] ab", TEXT):
        ids = tokenizer.encode(text, allowed)
        assert tokenizer.count(text, allowed) == len(ids)
        assert tokenizer.encode_array(text, allowed).tolist() == ids
        if not allowed:
            assert b"".join(map(tokenizer.encode_part, tokenizer.read_parts([text.encode()]))) == bytes(
                tokenizer.encode_array(text)
            )
