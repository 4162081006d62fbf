"""Merges and ranks read by native code are those that Python reads."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, unless_refused

from tokcli.engine import backend
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.engine.bpe.pairs import MergeList, in_order
from tokcli.engine.bpe.ranks import Ranked, ranks_of_texts
from tokcli.engine.llama_cpp.string_bpe import WordsByMerges
from tokcli.engine.spec.models import LlamaModel
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatternsInTurn
from tokcli.engine.tiktoken.native_encoder import NativePieces
from tokcli.errors import VocabularyError
from tokcli.formats.huggingface.model_tables import read_merges
from tokcli.formats.strict_json import JsonNode

native = backend.native()
pytestmark = pytest.mark.skipif(native is None, reason="there is no native backend")
# of every width that Python holds text in, and around what one key of the native table holds
TOKENS = st.sampled_from(
    ["a", "b", "ab", "##b", "é", "\u0120", "\u0120a", "\u4e2d", "😀", "a" * 14, "a" * 15, "a" * 16]
)
LISTS = st.lists(st.tuples(TOKENS, TOKENS), max_size=8)
FORMS: list[Callable[[str, str], object]] = [lambda a, b: f"{a} {b}", lambda a, b: [a, b]]


def in_python(work: Callable[[], Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "native", lambda: None)
        return work()


def vocabulary(pairs: list[tuple[str, str]], prefix: int, is_whole: bool) -> dict[str, int]:
    texts = [text for left, right in pairs for text in (left, right, left + right[prefix:])]
    return {text: 7 * number for number, text in enumerate(dict.fromkeys(texts if is_whole else texts[:-1]))}


def outcome(work: Callable[[], Any]) -> object:
    try:
        return list(in_order(work()))
    except VocabularyError as error:
        return str(error)


@examples(300)
@given(
    pairs=LISTS,
    form=st.sampled_from(FORMS),
    prefix=st.sampled_from([0, 0, 2]),
    is_whole=st.booleans(),
    odd=st.sampled_from([None, None, "#version: 0.2", "a", "a b c", " a", "a ", ["a"], ["a", 1], 7, None, "\ud800 a"]),
)
def test_merges_of_a_tokenizer_json_are_read_alike(
    pairs: list[tuple[str, str]], form: Callable[[str, str], object], prefix: int, is_whole: bool, odd: object
) -> None:
    ids = vocabulary(pairs, prefix, is_whole)
    items = [form(left, right) for left, right in pairs]
    if odd is not None:
        items.insert(len(items) // 2, odd)
    read = lambda: read_merges(JsonNode(items, "x.json", "merges"), ids, prefix)  # noqa: E731
    assert outcome(read) == in_python(lambda: outcome(read))


@examples(200)
@given(pairs=LISTS, is_whole=st.booleans(), odd=st.sampled_from([None, None, b"", b"a", b"  b", b"a b\0c", b"\xff a", b"#version a"]))  # fmt: skip
def test_merges_of_a_gguf_file_are_read_alike(pairs: list[tuple[str, str]], is_whole: bool, odd: bytes | None) -> None:
    ids = vocabulary(pairs, 0, is_whole)
    lines = [f"{left} {right}".encode() for left, right in pairs] + ([] if odd is None else [odd])
    spec = TokenizerSpec(LlamaModel("gpt2", list(ids), (), (), merges=lines), splitter=(PatternsInTurn(()),))
    read = lambda: WordsByMerges(spec)._merges  # noqa: E731
    assert dict(read()) == dict(in_python(read))


def test_many_merges_are_looked_up_some_at_a_time() -> None:
    texts = [f"{left}{right}" for left in "abcdefgh" for right in "abcdefghijklm"]
    ids = {text: number for number, text in enumerate([*"abcdefghijklm", *texts])}
    found = MergeList.of(ids, [f"{text[0]} {text[1]}" for text in texts])
    assert found is not None
    assert list(found.ids) == [number for text in texts for number in (ids[text[0]], ids[text[1]], ids[text])]
    assert found[ids["a"] << 32 | ids["b"]] == (1, ids["ab"])
    assert len(found) == len(texts) == len(list(found))


def test_a_merge_that_stands_twice_is_left_to_python_where_the_last_one_counts() -> None:
    ids = {"a": 0, "b": 1, "ab": 2, "ba": 3}
    items = ["a b", "b a", "a b"]
    assert MergeList.of(ids, items) is None
    assert list(in_order(read_merges(JsonNode(items, "x.json"), ids, 0))) == [1, 0, 3, 0, 1, 2]


LETTERS = st.text("abc", min_size=2, max_size=5)


@examples(400)
@given(
    texts=st.lists(LETTERS, max_size=8, unique=True),
    order=st.randoms(use_true_random=False),
    missing=st.integers(0, 3),
    ignore_merges=st.booleans(),
)
def test_ranks_of_texts_are_found_alike(texts: list[str], order: Any, missing: int, ignore_merges: bool) -> None:
    singles = [CHAR_OF[byte] for byte in range(256) if not (missing and byte in (99, 200, 254)[:missing])]
    ids = {text: number for number, text in enumerate([*singles, "<not in the alphabet>\u3042", *texts])}
    triples = [
        (ids[text[:at]], ids[text[at:]], number)
        for text, number in ids.items()
        for at in range(1, len(text) if text in texts else 0)
        if text[:at] in ids and text[at:] in ids and order.random() < 0.8
    ]
    if order.random() < 0.3:
        order.shuffle(triples)
    merges = array("I", [number for triple in triples for number in triple])
    found = ranks_of_texts(ids, merges, ignore_merges=ignore_merges)
    expected: Ranked | None = in_python(lambda: ranks_of_texts(ids, merges, ignore_merges=ignore_merges))
    if found is None or expected is None:
        assert found is expected
        return
    assert list(found.ranks.items()) == list(expected.ranks.items())
    assert (found.whole_only, found.merges, found.missing) == (expected.whole_only, expected.merges, expected.missing)
    assert found.max_id == expected.max_id
    images = [native.Vocabulary(ranked.load_image()) for ranked in (found, expected)]  # type: ignore[union-attr]
    for text in ("abcabcacb", "aabbccabc", *texts):
        ids_of = [unless_refused(NativePieces(image).merge_piece, text.encode()) for image in images]
        assert ids_of[0] == ids_of[1]


def test_ids_too_large_for_an_image_still_have_ranks() -> None:
    ids = {CHAR_OF[byte]: byte for byte in range(256)} | {"ab": 1 << 25}
    found = ranks_of_texts(ids, array("I", [97, 98, 1 << 25]), ignore_merges=False)
    assert found is not None
    assert found.ranks[b"ab"] == 1 << 25
    with pytest.raises(ValueError):
        found.load_image()


@pytest.mark.parametrize(
    "arguments",
    [
        (["a"], array("I"), [], 0),  # as many ids as texts
        (["\ud800"], array("I", [1]), [], 0),
    ],
)
def test_tables_that_do_not_fit_are_refused(arguments: tuple[Any, ...]) -> None:
    assert native is not None
    with pytest.raises(ValueError):
        native.merge_ids(*arguments)


def test_merges_that_are_no_threes_or_point_nowhere_are_refused() -> None:
    assert native is not None
    with pytest.raises(ValueError):
        native.rank_merges(["a"], array("I", [0]), array("I", [0, 0]), False, False)
    texts, ids = ["a", "b", "ab"], array("I", [0, 1, 2])
    for merges in ([0, 1, 900], [0, 900, 2], [2**32 - 1, 1, 2], [0, 1, 0]):
        found = native.rank_merges(texts, ids, array("I", merges), False, False)
        assert found is None or array("I", found[3]) == array("I", [])
