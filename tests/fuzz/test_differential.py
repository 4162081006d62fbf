"""The native backend and the Python backend give the same answers, or the same errors, to everything one can ask.

`HYPOTHESIS_PROFILE=long` for some hundred times the inputs; how many there were is printed at the end.
"""

from __future__ import annotations

import itertools
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, HARD_ATOMS, Twin, examples, hard_text

import tokcli
from tokcli.engine import backend
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.tiktoken.native_encoder import FAMILY_OF

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
ran: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def say_how_many(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\nfuzz: {sum(ran.values())} inputs, native against Python: {dict(ran)}")


def twins(pat_str: str, ranks: dict[bytes, int], special: dict[str, int]) -> tuple[tokcli.Encoding, tokcli.Encoding]:
    """The same encoding twice: with native code, and without."""
    native, python = (
        tokcli.Encoding("fuzz", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special) for _ in range(2)
    )
    assert native.tokenizer.is_native
    with pytest.MonkeyPatch.context() as patch:  # a tokenizer asks once whether there is native code
        patch.setattr(backend, "native", lambda: None)
        assert not python.tokenizer.is_native
    return native, python


@cache
def registered(name: str) -> tuple[tokcli.Encoding, tokcli.Encoding]:
    enc = tokcli.get_encoding(name)
    return twins(enc._pat_str, enc._mergeable_ranks, enc._special_tokens)


@cache
def few_tokens(pat_str: str) -> tuple[tokcli.Encoding, tokcli.Encoding]:
    ranks = registered("r50k_base")[0]._mergeable_ranks
    return twins(pat_str, {token: rank for token, rank in ranks.items() if rank < 2000}, {"<|endoftext|>": 2000})


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, as plain values; an error is its type and text."""
    try:
        value = call()
    except Exception as error:  # noqa: BLE001 - whatever one backend raises, the other has to
        return type(error), str(error)
    if isinstance(value, tuple):
        return tuple(v.tolist() if isinstance(v, memoryview) else v for v in value)
    return value.tolist() if hasattr(value, "tolist") else value


def same(pair: tuple[tokcli.Encoding, tokcli.Encoding], ask: Callable[[tokcli.Encoding], Any]) -> Any:
    native, python = (outcome(lambda enc=enc: ask(enc)) for enc in pair)
    assert native == python
    return native


def stream(enc: tokcli.Encoding, blocks: list[bytes], errors: Any) -> tuple[list[int], int, list[bytes]]:
    chunks = list(enc.tokenizer.read_chunks(blocks, ReadOptions(errors=errors, allowed=frozenset(["<|endoftext|>"]))))
    ids = list(itertools.chain.from_iterable(map(enc.tokenizer.encode_part, chunks)))
    pieces = list(itertools.chain.from_iterable(map(enc.tokenizer.split_chunk, chunks)))
    return ids, sum(enc.tokenizer.count_part(chunk, threads=2) for chunk in chunks), pieces


def compare_text(pair: tuple[tokcli.Encoding, tokcli.Encoding], text: str) -> None:
    ids = same(pair, lambda enc: enc.encode_ordinary(text))
    for _ in range(2):  # the second time, pieces are known
        assert same(pair, lambda enc: enc.encode_array(text)) == ids
        count = same(pair, lambda enc: enc.count(text))
        assert count == (len(ids) if isinstance(ids, list) else ids)
    same(pair, lambda enc: enc.encode(text))
    same(pair, lambda enc: enc.encode(text, allowed_special="all"))
    if isinstance(ids, list) and ids:
        assert same(pair, lambda enc: enc.decode(ids)) == text.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )
        same(pair, lambda enc: enc.decode_bytes(ids))
        same(pair, lambda enc: enc.decode_with_offsets(ids[1:]))


texts = st.lists(st.one_of(hard_text(8), st.sampled_from(["\0", "\0\0\0", "!!", "\ud800", "\udfff"])), max_size=4).map(
    "".join
)
data = st.one_of(texts.map(lambda t: t.encode("utf-8", "surrogatepass")), st.binary(max_size=12), st.just(b"\xe4\xb8"))


@st.composite
def vocabularies(draw: st.DrawFn, text: str) -> dict[bytes, int]:
    """Parts of a text, and some others, as tokens; ids in any order, with gaps; perhaps a byte is missing."""
    source = text.encode("utf-8", "replace") + b"\0\0 aaabab"
    spans = st.tuples(st.integers(0, len(source) - 1), st.integers(2, 30))
    tokens = {source[start : start + size] for start, size in draw(st.lists(spans, max_size=40))}
    order = draw(st.permutations([bytes([i]) for i in range(256)] + sorted(t for t in tokens if len(t) > 1)))
    step = draw(st.sampled_from([1, 1, 3, 1000]))
    missing = draw(st.one_of(st.none(), st.sampled_from(sorted(set(source)))))
    return {token: step * i for i, token in enumerate(order) if missing is None or token != bytes([missing])}


@examples(150)
@given(st.sampled_from(FAMILIES), texts)
def test_a_text_has_the_same_ids_in_both_backends(name: str, text: str) -> None:
    ran["texts"] += 1
    compare_text(registered(name), text)


@examples(200)
@given(st.sampled_from(sorted(FAMILY_OF)), texts, st.data())
def test_any_vocabulary_gives_the_same_ids_in_both_backends(pat_str: str, text: str, more: st.DataObject) -> None:
    ran["vocabularies"] += 1
    ranks = more.draw(vocabularies(text))
    special = {"<|endoftext|>": max(ranks.values()) + 1}
    compare_text(twins(pat_str, ranks, special), text)


@examples(150)
@given(st.sampled_from(sorted(FAMILY_OF)), st.lists(data, max_size=5), st.sampled_from(["strict", "replace", "bytes"]))
def test_bytes_that_are_no_text_are_treated_alike(pat_str: str, blocks: list[bytes], errors: str) -> None:
    ran["streams"] += 1
    pair = few_tokens(pat_str)
    same(pair, lambda enc: stream(enc, blocks, errors))
    same(pair, lambda enc: enc.encode_array(b"".join(blocks)))
    same(pair, lambda enc: enc._encode_bytes(b"".join(blocks)))


@examples(100)
@given(st.sampled_from(sorted(FAMILY_OF)), st.lists(texts, max_size=6), st.integers(-1, 5))
def test_batches_are_the_same(pat_str: str, batch: list[str], threads: int) -> None:
    ran["batches"] += 1
    pair = few_tokens(pat_str)
    lists = same(pair, lambda enc: enc.encode_ordinary_batch(batch, num_threads=threads))
    same(pair, lambda enc: enc.encode_batch(batch, num_threads=threads, allowed_special="all"))
    same(pair, lambda enc: enc.count_batch(batch))
    flat = same(pair, lambda enc: enc.encode_array_batch(batch, num_threads=threads))
    if isinstance(lists, list):
        assert flat == (list(itertools.chain(*lists)), [0, *itertools.accumulate(map(len, lists))])


@examples(150)
@given(st.sampled_from(FAMILIES), st.lists(st.one_of(st.integers(0, 60_000), st.integers(-2, 2**33)), max_size=8))
def test_any_ids_decode_to_the_same(name: str, ids: list[int]) -> None:
    ran["decodings"] += 1
    same(registered(name), lambda enc: enc.decode_bytes(ids))
    same(registered(name), lambda enc: enc.decode(ids))


@pytest.mark.slow
@examples(12)
@given(st.sampled_from(sorted(FAMILY_OF)), st.integers(0, 10**6), st.integers(2, 5))
def test_threads_cut_a_large_text_without_a_difference(pat_str: str, seed: int, threads: int) -> None:
    ran["large texts"] += 1
    native, python = few_tokens(pat_str)
    text = "".join(random.Random(seed).choices(HARD_ATOMS, k=200_000))
    expected = array("I", python.encode_ordinary(text))
    assert native.tokenizer.is_native
    assert Twin(native).encode_array(text, threads) == memoryview(expected)
    assert Twin(native).count(text, threads) == len(expected)
