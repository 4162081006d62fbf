"""The whole public API gives what tiktoken 0.14 gives: ids, bytes, exceptions, defaults."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, NAMES, examples, hard_text, reference

import tokcli

names = st.sampled_from(NAMES)


@examples(600)
@given(names, hard_text())
def test_ids_are_tiktokens(name: str, text: str) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert ours.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")
    assert ours.count(text) == len(theirs.encode_ordinary(text))
    assert list(ours.encode_array(text)) == theirs.encode_ordinary(text)


@examples(300)
@given(names, st.text(max_size=30))
def test_decode_of_encode_is_the_input(name: str, text: str) -> None:
    enc = tokcli.get_encoding(name)
    assert enc.decode(enc.encode(text, disallowed_special=())) == text
    assert "".join(enc.split(text)) == text


@examples(300)
@given(st.sampled_from(FAMILIES), st.lists(st.one_of(hard_text(3).map(str.encode), st.binary(max_size=5)), max_size=6))
def test_bytes_are_encoded_as_tiktokens_encode_bytes(name: str, parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert tokcli.get_encoding(name)._encode_bytes(data) == reference(name)._encode_bytes(data)


@given(names, st.lists(st.integers(0, 60_000), max_size=20))
def test_decoding_is_tiktokens(name: str, ids: list[int]) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    known = [i for i in ids if i in ours.tokenizer.token_bytes()]
    assert ours.decode_bytes(known) == theirs.decode_bytes(known)
    assert ours.decode(known) == theirs.decode(known)
    assert ours.decode_tokens_bytes(known) == theirs.decode_tokens_bytes(known)
    assert ours.decode_batch([known, []]) == theirs.decode_batch([known, []])
    assert ours.decode_bytes_batch([known]) == theirs.decode_bytes_batch([known])


@given(st.sampled_from(FAMILIES), hard_text())
def test_offsets_are_tiktokens(name: str, text: str) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    ids = theirs.encode(text, allowed_special="all")
    assert ours.decode_with_offsets(ids) == theirs.decode_with_offsets(ids)


@examples(60)
@given(st.sampled_from(FAMILIES), hard_text(4))
def test_unstable_completions_are_tiktokens(name: str, text: str) -> None:
    stable, ways = tokcli.get_encoding(name).encode_with_unstable(text, allowed_special="all")
    their_stable, their_ways = reference(name).encode_with_unstable(text, allowed_special="all")
    assert stable == their_stable
    assert {tuple(way) for way in ways} == {tuple(way) for way in their_ways}


@given(st.sampled_from(FAMILIES), st.text(st.characters(categories=("Cs", "L", "Zs")), max_size=8))
def test_lone_surrogates_are_treated_as_tiktoken_does(name: str, text: str) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert ours.encode(text) == theirs.encode(text)
    assert ours.encode_batch([text]) == theirs.encode_batch([text])


SPECIAL_CALLS = [
    {},
    {"allowed_special": "all"},
    {"allowed_special": {"<|endoftext|>"}},
    {"disallowed_special": ()},
    {"disallowed_special": {"<|endoftext|>"}},
    {"allowed_special": {"<|endofprompt|>"}, "disallowed_special": ()},
    {"allowed_special": "all", "disallowed_special": {"<|endoftext|>"}},
    {"allowed_special": {"no such token"}, "disallowed_special": ()},
]


@pytest.mark.parametrize("method", ["encode", "encode_to_numpy", "encode_with_unstable"])
@pytest.mark.parametrize("arguments", SPECIAL_CALLS)
def test_special_tokens_are_refused_and_allowed_as_in_tiktoken(method: str, arguments: dict[str, object]) -> None:
    text = "a <|endoftext|> b<|endofprompt|>"
    results = []
    for enc in (tokcli.get_encoding("cl100k_base"), reference("cl100k_base")):
        try:
            answer = getattr(enc, method)(text, **arguments)
            results.append(answer.tolist() if method == "encode_to_numpy" else answer[0] if "un" in method else answer)
        except ValueError:
            results.append(ValueError)
    assert results[0] == results[1]


def test_the_batches_are_what_single_calls_give() -> None:
    enc, theirs = tokcli.get_encoding("o200k_base"), reference("o200k_base")
    texts = ["hello world", "", "it's 2024\n", "中文"]
    assert enc.encode_ordinary_batch(texts) == theirs.encode_ordinary_batch(texts)
    assert enc.encode_batch(texts, num_threads=2) == theirs.encode_batch(texts, num_threads=2)
    assert enc.count_batch(texts) == [len(ids) for ids in theirs.encode_batch(texts)]
    ids, offsets = enc.encode_array_batch(texts)
    flat = [i for ids_of in theirs.encode_batch(texts) for i in ids_of]
    assert list(ids) == flat
    assert [list(ids[a:b]) for a, b in itertools.pairwise(offsets)] == theirs.encode_batch(texts)
    assert memoryview(ids).itemsize == 4
    assert memoryview(offsets).itemsize == 8


def test_numpy_arrays_are_uint32() -> None:
    array = tokcli.get_encoding("cl100k_base").encode_to_numpy("hello world")
    assert array.dtype == np.uint32
    assert array.tolist() == [15339, 1917]


@pytest.mark.parametrize("name", NAMES)
def test_the_vocabulary_is_described_as_in_tiktoken(name: str) -> None:
    ours, theirs = tokcli.get_encoding(name), reference(name)
    assert ours.name == theirs.name == name
    assert ours.n_vocab == theirs.n_vocab
    assert ours.max_token_value == theirs.max_token_value
    assert ours.eot_token == theirs.eot_token
    assert ours.special_tokens_set == theirs.special_tokens_set
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert all(ours.is_special_token(i) == theirs.is_special_token(i) for i in (0, 50256, 100257, 199999))
    assert repr(ours) == repr(theirs)


CALLS_THAT_FAIL = [
    ("encode_single_token", ["no such token at all"]),
    ("encode_single_token", [b"\xff\xfe\xfd"]),
    ("decode_single_token_bytes", [10**7]),
    ("decode_bytes", [[10**7]]),
    ("decode", [[10**7]]),
    ("decode_bytes", [[-1]]),
    ("decode_bytes", [[2**40]]),
    ("decode_with_offsets", [[10**7]]),
    ("encode", [b"bytes"]),
    ("encode_ordinary", [None]),
    ("encode_to_numpy", ["\ud800"]),
    ("encode_with_unstable", ["\ud800"]),
    ("decode_with_offsets", [[222]]),
]


@pytest.mark.parametrize(("method", "arguments"), CALLS_THAT_FAIL)
def test_what_fails_in_tiktoken_fails_alike(method: str, arguments: list[object]) -> None:
    with pytest.raises(Exception) as theirs:
        getattr(reference("cl100k_base"), method)(*arguments)
    with pytest.raises(theirs.type):
        getattr(tokcli.get_encoding("cl100k_base"), method)(*arguments)


def test_the_signatures_are_tiktokens() -> None:
    for name, theirs in inspect.getmembers(tiktoken.Encoding, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = inspect.signature(getattr(tokcli.Encoding, name)).parameters
        for parameter in inspect.signature(theirs).parameters.values():
            assert parameter.name in ours, f"{name} lacks {parameter.name}"
            assert ours[parameter.name].kind == parameter.kind
            assert (ours[parameter.name].default is inspect.Parameter.empty) == (
                parameter.default is inspect.Parameter.empty
            )


def test_pickling_gives_the_same_encoding_and_registered_ones_in_few_bytes() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    assert len(pickle.dumps(enc)) < 500
    assert pickle.loads(pickle.dumps(enc)) is enc
    own = tokcli.Encoding("own", pat_str="a|b", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens={"<x>": 2})
    again = pickle.loads(pickle.dumps(own))
    assert again.encode("ab<x>", allowed_special="all") == own.encode("ab<x>", allowed_special="all") == [0, 1, 2]
    assert copy.copy(own).encode("ba") == [1, 0]


def test_one_encoding_serves_many_threads() -> None:
    enc = tokcli.get_encoding("o200k_base")
    texts = [f"thread {i} wrote 'this' {i * 7919} times\n" * 20 for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(enc.encode_ordinary, texts)) == reference("o200k_base").encode_ordinary_batch(texts)


def test_an_encoding_whose_sizes_disagree_is_refused() -> None:
    ranks = {b"a": 0, b"b": 1}
    for size in (2, 4):
        with pytest.raises(AssertionError):
            tokcli.Encoding("x", pat_str="a|b", mergeable_ranks=ranks, special_tokens={"<x>": 2}, explicit_n_vocab=size)
    with pytest.raises(ValueError, match="pattern"):
        tokcli.Encoding("x", pat_str="(", mergeable_ranks=ranks, special_tokens={})
