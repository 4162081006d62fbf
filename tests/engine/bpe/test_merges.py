"""Recovered merges: native and Python agree, trees end in what nothing merges into, and other models answer, too."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

import tokcli
from tokcli.analysis.merge_tree import MAX_TREE_NODES, merge_tree
from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.bpe import bpe, merges
from tokcli.engine.bpe.pairs import SHIFT, PairBpe
from tokcli.engine.minbpe.model import MinBpe
from tokcli.engine.spec.models import Pairs
from tokcli.engine.tokenizer import Tokenizer
from tokcli.errors import VocabularyError
from tokcli.formats.minbpe import spec_of_pairs

DATA = ROOT / "tests" / "data" / "formats"


def test_every_token_of_gpt2_but_bytes_and_the_special_one_has_a_merge_of_lower_ids() -> None:
    found = list(tokcli.get_encoding("gpt2").tokenizer.all_parents().in_order())
    assert [made for made, _, _ in found] == list(range(256, 50256))
    assert all(max(left, right) < made for made, left, right in found)


@st.composite
def encodings(draw: st.DrawFn) -> dict[bytes, int]:
    tokens = draw(st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), unique=True, max_size=20))
    ranks = draw(st.permutations(range(2, 2 + len(tokens))))
    return {b"a": 0, b"b": 1, **dict(zip(tokens, ranks, strict=True))}  # c is no token


@given(encodings())
def test_native_and_python_recover_the_same_merges_also_where_a_byte_is_missing(ranks: dict[bytes, int]) -> None:
    encoding = tokcli.Encoding("e", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={"<s>": 30})
    found = encoding.tokenizer.all_parents()
    expected = [bpe.parents(ranks, token) for token in sorted(ranks, key=ranks.__getitem__)]
    assert [found.of(number) for number in range(len(ranks))] == expected
    assert [encoding.tokenizer.parents(number) for number in range(len(ranks))] == expected
    assert found.of(30) is None and found.of(31) is None and len(found.left) == encoding.n_vocab


@given(encodings())
def test_the_last_two_parts_are_what_merging_by_definition_joins_last(ranks: dict[bytes, int]) -> None:
    for token in ranks:
        *_, before, last = [None, *(step.parts for step in bpe.merge_steps(ranks, token))]
        made = before if last == (token,) and len(token) > 1 else None
        assert bpe.last_two(ranks, token) == made


def test_a_tree_goes_down_to_bytes_and_shows_every_part() -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    tree = merge_tree(encoding, encoding.encode_single_token(" world"))
    assert [part.token for part in tree.parts] == [b" w", b"orld"]
    assert [part.token for part in tree.parts[1].parts] == [b"or", b"ld"]
    assert not tree.parts[1].parts[1].parts[0].parts


def test_a_tree_of_a_thousand_merges_in_a_row_is_cut_and_not_recursive() -> None:
    chain = [(97, 97), *((number, 97) for number in range(256, 3000))]
    encoding = tokcli.Encoding.of("deep", Tokenizer("deep", MinBpe(spec_of_pairs(chain, {}, None))))
    tree, depth = merge_tree(encoding, 256 + len(chain) - 1), 0
    while tree.parts:
        tree, depth = tree.parts[0], depth + 1
    assert depth == MAX_TREE_NODES // 2 + 1
    assert tree.is_cut


def test_ids_too_far_apart_for_a_table_are_an_error_and_no_memory() -> None:
    far = tokcli.Encoding("far", pat_str=".", mergeable_ranks={b"a": 0, b"b": 2**31 - 1}, special_tokens={})
    with pytest.raises(VocabularyError, match="too far apart"):
        far.tokenizer.all_parents()


def test_children_are_the_tokens_of_which_one_is_a_part() -> None:
    table = merges.ParentTable(array("I", [NO_ID] * 2 + [0, 1]), array("I", [NO_ID] * 2 + [1, 2]))
    assert table.children(1) == [2, 3]


def test_merges_by_a_list_are_those_that_happen_to_the_tokens_own_text() -> None:
    ids = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}
    listed = [(0, 1, 3), (1, 2, 4), (0, 4, 5), (3, 2, 5)]  # a + bc never happens: ab merges before bc
    model = PairBpe(Pairs(ids, {left << SHIFT | right: (n, made) for n, (left, right, made) in enumerate(listed)}))
    assert [model.parents(number) for number in range(6)] == [None, None, None, (0, 1), (1, 2), (3, 2)]


def test_merges_of_a_suffix_model_end_in_its_suffix() -> None:
    encoding = tokcli.load_encoding(DATA / "suffix.tokenizer.json")
    found = list(encoding.tokenizer.all_parents().in_order())
    assert found
    for made, left, right in found:
        parts = [encoding.decode_single_token_bytes(number) for number in (left, right)]
        assert b"".join(parts) == encoding.decode_single_token_bytes(made)


@pytest.mark.parametrize(("name", "has_merges"), [("bpe.model", True), ("unigram.model", False), ("char.model", False),
                                                  ("wordpiece.tokenizer.json", False),
                                                  ("byte-level.tokenizer.json", True)])  # fmt: skip
def test_models_that_do_not_merge_have_no_merges(name: str, has_merges: bool) -> None:
    encoding = tokcli.load_encoding(DATA / name)
    found = encoding.tokenizer.all_parents()
    assert bool(list(found.in_order())) == has_merges
    assert len(found.left) == encoding.n_vocab
    assert [found.of(number) for number in range(encoding.n_vocab)] == [
        encoding.tokenizer.parents(number) if number in encoding.tokenizer.token_bytes() else None
        for number in range(encoding.n_vocab)
    ]


@pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
def test_a_damaged_table_of_merges_gives_only_ids_of_the_vocabulary() -> None:
    native = backend.native()
    assert native is not None
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257}
    image = bytearray(
        native.build_image(b"".join(ranks), array("I", map(len, ranks)), array("I", range(258)), bytes(32))
    )
    for at in range(0, len(image), 8):
        changed = bytearray(image)
        changed[at : at + 8] = bytes([255, 0, 3, 7, 1, 9, 0, 1])
        try:
            vocabulary = native.Vocabulary(bytes(changed))
        except ValueError:
            continue
        if at > len(image) // 2:
            assert all(n < 258 or n == NO_ID for n in array("I", vocabulary.parents()))
