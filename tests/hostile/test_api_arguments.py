"""Wrong arguments of the Python API: an error of the caller's kind that names the argument, as tiktoken where it has one."""

from __future__ import annotations

import inspect
import itertools
import os
import re
from array import array
from collections.abc import Callable, Sized
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, examples, reference

import tokcli
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.errors import TokcliError

BYTES = {bytes([byte]): byte for byte in range(256)}
ENC = tokcli.get_encoding("cl100k_base")
FILES = ("byte-level.tokenizer.json", "unigram.tokenizer.json", "unigram.model", "bpe.model")


def shown(value: object) -> str:
    """A name for a test; Python itself does not print numbers of thousands of digits."""
    try:
        return repr(value)[:20]
    except ValueError:
        return "huge"


def made(**changed: Any) -> tokcli.Encoding:
    given: dict[str, Any] = {"pat_str": r"\w+|\W+", "mergeable_ranks": BYTES, "special_tokens": {}}
    return tokcli.Encoding(changed.pop("name", "x"), **{**given, **changed})


# --- vocabularies ----------------------------------------------------------------------------------------------------

WRONG_IDS = [
    (-1, OverflowError),
    (-(2**70), OverflowError),
    (2**32, OverflowError),
    (2**70, OverflowError),
    (10**5000, OverflowError),
    (1.0, TypeError),
    (float("nan"), TypeError),
    ("1", TypeError),
    (b"1", TypeError),
    (None, TypeError),
    ([1], TypeError),
]


@pytest.mark.parametrize("argument", ["special_tokens", "mergeable_ranks"])
@pytest.mark.parametrize(("number", "kind"), WRONG_IDS, ids=shown)
def test_an_id_that_is_none_is_refused_with_its_token(argument: str, number: Any, kind: type[Exception]) -> None:
    tokens = {"<end>": 300, "<x>": number} if argument == "special_tokens" else {**BYTES, b"<x>": number}
    with pytest.raises(kind, match=rf"^{argument}\[b?'<x>'\]: "):
        made(**{argument: tokens})


@pytest.mark.parametrize("argument", ["special_tokens", "mergeable_ranks"])
@pytest.mark.parametrize("tokens", [None, 5, "ab", [], [("a", 1)], {5: 300}, {None: 300}, {("a",): 300}], ids=repr)
def test_a_vocabulary_of_other_things_is_refused(argument: str, tokens: Any) -> None:
    with pytest.raises(TypeError, match=f"^{argument}: "):
        made(**{argument: tokens})


def test_bytes_and_text_are_not_taken_for_each_other() -> None:
    with pytest.raises(TypeError, match=r"^special_tokens: expected str as tokens, not bytes"):
        made(special_tokens={b"<end>": 300})
    with pytest.raises(TypeError, match=r"^mergeable_ranks: expected bytes as tokens, not str"):
        made(mergeable_ranks={"a": 0})
    for pat_str in (None, 5, b"a+", ["a"]):
        with pytest.raises(TypeError, match=r"^pat_str: "):
            made(pat_str=pat_str)


def test_the_largest_id_and_numbers_of_other_types_are_ids() -> None:
    assert made(special_tokens={"<end>": 2**32 - 1}).encode("<end>", allowed_special="all") == [2**32 - 1]
    enc = made(
        mergeable_ranks={token: np.uint32(rank) for token, rank in BYTES.items()}, special_tokens={"<x>": np.int64(300)}
    )
    ids = enc.encode("a<x>", allowed_special="all")
    assert ids == [97, 300]
    assert all(type(number) is int for number in ids)


def test_two_tokens_of_one_rank_are_refused_where_they_are_given() -> None:
    with pytest.raises(ValueError, match=r"same rank 97: b'a' and b'ab'"):
        made(mergeable_ranks={**BYTES, b"ab": 97})
    with pytest.raises(ValueError, match="same rank 1"):
        made(mergeable_ranks={**BYTES, b"ab": True})


@pytest.mark.parametrize("changed", [{"special_tokens": {"\ud800": 300}}, {"pat_str": "\ud800|."}], ids=repr)
def test_text_without_utf8_is_refused_as_tiktoken_does(changed: dict[str, Any]) -> None:
    with pytest.raises(UnicodeEncodeError, match=next(iter(changed))):
        made(**changed)
    with pytest.raises(UnicodeEncodeError):
        tiktoken.Encoding("x", **{"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {}, **changed})


# --- methods ---------------------------------------------------------------------------------------------------------

WRONG_TEXTS = [None, 5, 1.5, True, b"ab", bytearray(b"ab"), ["a"], ("a",), {"a"}, {}, object(), memoryview(b"ab")]
TEXT_METHODS = [
    "encode",
    "encode_ordinary",
    "encode_to_numpy",
    "encode_with_unstable",
    "_encode_only_native_bpe",
    "count",
    "split",
]


@pytest.mark.parametrize("method", TEXT_METHODS)
@pytest.mark.parametrize("text", WRONG_TEXTS, ids=lambda value: type(value).__name__)
def test_what_is_no_text_is_named(method: str, text: Any) -> None:
    with pytest.raises(TypeError, match=rf"^text: expected a str, not {type(text).__name__}$"):
        getattr(ENC, method)(text)


@pytest.mark.parametrize("method", ["encode_array", "encode_single_token", "_encode_single_piece"])
@pytest.mark.parametrize("value", [5, -1, 2**70, True, None, 1.5, [97], (97,), {97}, range(3), np.zeros(3)], ids=repr)
def test_a_number_is_no_text_of_so_many_nulls(method: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"^text_or_bytes: expected a str or bytes, not "):
        getattr(ENC, method)(value)


def test_bytes_of_any_kind_are_an_array_of_ids() -> None:
    for data in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
        assert ENC.encode_array(data).tolist() == ENC.encode("ab")


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("encode_batch", "text"),
        ("encode_ordinary_batch", "text"),
        ("count_batch", "texts"),
        ("encode_array_batch", "texts"),
    ],
)
def test_a_batch_names_the_first_that_is_no_text(method: str, name: str) -> None:
    call = getattr(ENC, method)
    for texts in (["a", None], ("a", 5), iter(["a", b"b"]), itertools.chain("a", itertools.count())):
        with pytest.raises(TypeError, match=rf"^{name}\[1\]: expected a str, not "):
            call(texts)
    for texts in (None, 5, 1.5, object()):
        with pytest.raises(TypeError, match=rf"^{name}: expected a list of str, not "):
            call(texts)


THREADED = {
    "encode_batch": ["ab"],
    "encode_ordinary_batch": ["ab"],
    "encode_array_batch": ["ab"],
    "decode_batch": [[1]],
    "decode_bytes_batch": [[1]],
}


@pytest.mark.parametrize("method", THREADED)
def test_a_number_of_threads_is_at_least_one(method: str) -> None:
    call, batch = getattr(ENC, method), THREADED[method]
    for threads in (0, -1, -(10**5000)):
        with pytest.raises(ValueError, match=r"^num_threads: expected 1 or more, not "):
            call(batch, num_threads=threads)
    for threads in ("2", b"2", [2], 1.5, object(), {2}):
        with pytest.raises(TypeError, match=r"^num_threads: expected an int, not "):
            call(batch, num_threads=threads)
    for threads in (1, True, None, 2**31, 10**5000):
        call(batch, num_threads=threads)


WRONG_IDS_OF_TEXT = [
    [1, -1],
    [1, 2**32],
    [1, 2**70],
    [1, 10**5000],
    [1, 1.0],
    [1, None],
    [1, "1"],
    [1, [1]],
    [1, b"1"],
    [100257, 1.0],
]


@pytest.mark.parametrize("name", ["cl100k_base", *FILES])
@pytest.mark.parametrize("method", ["decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"])
@pytest.mark.parametrize("tokens", WRONG_IDS_OF_TEXT, ids=shown)
def test_the_first_thing_that_is_no_id_is_named(name: str, method: str, tokens: list[Any]) -> None:
    kind = OverflowError if type(tokens[1]) is int else TypeError
    with pytest.raises(kind, match=r"^tokens\[1\]: "):
        getattr(encoding(name), method)(tokens)


@pytest.mark.parametrize("name", ["cl100k_base", *FILES])
@pytest.mark.parametrize("tokens", [None, 5, 1.5, "", "ab", {1}, {1: 1}, iter([1]), object(), {1: 1}.keys()], ids=shown)
def test_ids_without_an_order_are_no_sequence(name: str, tokens: Any) -> None:
    for method in ("decode", "decode_bytes"):
        with pytest.raises(TypeError, match=r"^tokens: expected a sequence of ints, not "):
            getattr(encoding(name), method)(tokens)


@pytest.mark.parametrize("token", [None, "a", b"a", 1.0, [1], object(), {1}], ids=shown)
def test_one_id_is_an_int(token: Any) -> None:
    with pytest.raises(TypeError, match=r"^token: expected an int, not "):
        ENC.decode_single_token_bytes(token)
    for kind in (TypeError, AssertionError):  # AssertionError, since tiktoken raises that
        with pytest.raises(kind, match=r"^token: expected an int, not "):
            ENC.is_special_token(token)


def test_ids_that_say_their_number_are_ids() -> None:
    class Five:
        def __index__(self) -> int:
            return 5

    for five in (Five(), np.int64(5), np.uint8(5)):
        assert ENC.decode([five]) == ENC.decode_tokens_bytes([five])[0].decode() == "&"
        assert ENC.decode_single_token_bytes(five) == b"&"
    assert ENC.decode(np.array([5, 5], dtype=np.uint32)) == "&&"


@pytest.mark.parametrize("name", ["cl100k_base", *FILES])
def test_ids_are_decoded_alike_whatever_holds_them(name: str) -> None:
    text, enc = "Hello, wörld! the the", encoding(name)
    ids = enc.encode_ordinary(text)
    for held in (tuple(ids), [np.int64(id) for id in ids], np.array(ids), array("H", ids), enc.encode_array(text)):
        assert enc.decode(held) == enc.decode(ids)  # type: ignore[arg-type]
        assert enc.decode_bytes(held) == enc.decode_bytes(ids)  # type: ignore[arg-type]


def offsets_or_error(name: str, ids: list[int] | tuple[int, ...]) -> object:
    try:
        return encoding(name).decode_with_offsets(ids)
    except (UnicodeDecodeError, KeyError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ["cl100k_base", *FILES])
@examples(50)
@given(ids=st.lists(st.integers(0, 300) | st.sampled_from([5, 100257, 100300, 2**32 - 1]), max_size=8), text=st.text())
def test_offsets_of_a_list_are_those_of_its_ids_one_by_one(name: str, ids: list[int], text: str) -> None:
    for given_ids in (ids, encoding(name).encode_ordinary(without_surrogates(text))):
        assert offsets_or_error(name, given_ids) == offsets_or_error(name, tuple(given_ids))


@pytest.mark.parametrize("method", ["encode", "encode_batch", "encode_with_unstable", "encode_to_numpy"])
def test_special_tokens_are_all_or_a_set_of_names(method: str) -> None:
    call = getattr(ENC, method)
    text: Any = ["a<|endoftext|>"] if method == "encode_batch" else "a<|endoftext|>"
    for allowed in (None, 5, b"all", "ab", ["<|endoftext|>"], ("<|endoftext|>",), {"<|endoftext|>": 1}, {5}, {None}):
        with pytest.raises(TypeError, match=r"^allowed_special: "):
            call(text, allowed_special=allowed, disallowed_special=())
    for disallowed in (5, True, 1.5, {None}, {5}, [b"a"], object()):
        with pytest.raises(TypeError, match=r"^disallowed_special: "):
            call(text, disallowed_special=disallowed)
    call(text, disallowed_special=["z"])


def test_how_errors_are_taken_is_text() -> None:
    for errors in (None, 5, b"strict", ["strict"]):
        with pytest.raises(TypeError, match=r"^errors: "):
            ENC.decode([1], errors)  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        ENC.decode([255], "no such way")


@pytest.mark.parametrize("path", [1, 2, True, -1, 2**70, None, 1.5, ["a"]], ids=repr)
def test_a_number_is_no_file_and_no_open_file_is_closed(path: Any) -> None:
    with pytest.raises(TypeError, match=r"^path: expected a path, not "):
        ENC.count_file(path)
    assert os.fstat(1)
    assert os.fstat(2)


WRONG_TRAINING = {
    "corpus": [None, 5, b"ab", [5], [None], object(), range(3)],
    "vocab_size": [None, 1.5, "258", [258], 2**70, 10**5000],
    "min_frequency": [None, 1.5, "1", 2**70],
    "max_token_bytes": [1.5, "1", -1, 2**70],
    "pat_str": [None, 5, b"a", ["a"]],
    "special_tokens": [None, 5, b"ab", [b"a"], [None]],
    "ties": [None, 5, "last", ["rank"]],
    "seed": [5, "cl100k_base", {}],
    "num_threads": [0, -1, "2", 1.5],
    "on_merge": [5, "print"],
}


@pytest.mark.parametrize(
    ("argument", "value"), [(name, value) for name, some in WRONG_TRAINING.items() for value in some], ids=shown
)
def test_training_names_the_argument_that_is_wrong(argument: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=rf"^{argument}\b"):
        tokcli.train(**{"corpus": ["ab ab ab"], "vocab_size": 258, argument: value})


@pytest.mark.parametrize("token", [None, 5, "", b"a", ["a"], {"a": 1}, object()], ids=shown)
def test_a_special_token_that_is_refused_by_hand_may_be_anything(token: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(token))):
        tokcli.core.raise_disallowed_special_token(token)


# --- any method, any value -------------------------------------------------------------------------------------------


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-1, 0, 255, 2**32 - 1, 2**32, 2**63, 2**64]),
    st.floats(),
    st.text(max_size=5),
    st.text(st.characters(min_codepoint=0xD700, max_codepoint=0xE010), max_size=3),
    st.binary(max_size=5),
    st.sampled_from(["all", "replace", "<|endoftext|>", "a\0b"]),
    st.builds(object),
    st.complex_numbers(),
    st.sampled_from([int, len, ..., NotImplemented, range(3), np.array([1.5]), np.array([[1]]), np.float32(1)]),
)
VALUES = st.recursive(
    ODD,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.frozensets(ODD.filter(_is_hashable), max_size=3),
        st.dictionaries(ODD.filter(_is_hashable), inner, max_size=3),
    ),
    max_leaves=4,
)
METHODS = sorted(
    name
    for name, method in vars(tokcli.Encoding).items()
    if inspect.isfunction(method) and (name[0] != "_" or name in ("_encode_bytes", "_encode_single_piece"))
)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_encoding": tokcli.get_encoding,
    "encoding_for_model": tokcli.encoding_for_model,
    "encoding_name_for_model": tokcli.encoding_name_for_model,
    "load_encoding": tokcli.load_encoding,
    "Encoding": tokcli.Encoding,
    "chunks": tokcli.chunks,
}
GOOD: dict[str, dict[str, Any]] = {
    "Encoding": {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {}},
    "chunks": {"encoding": ENC, "text": "a b", "max_tokens": 2},
}


@cache
def encoding(name: str) -> tokcli.Encoding:
    path = ROOT / "tests" / "data" / "formats" / name
    return tokcli.load_encoding(path) if path.exists() else tokcli.get_encoding(name)


@examples(2000)
@given(st.data(), st.sampled_from(["cl100k_base", *FILES]), st.sampled_from(METHODS))
def test_any_value_is_answered_or_refused_by_the_name_of_an_argument(
    data: st.DataObject, name: str, method: str
) -> None:
    call = getattr(encoding(name), method)
    parameters = inspect.signature(call).parameters
    values = {
        one: data.draw(VALUES, one) for one, p in parameters.items() if p.default is p.empty or data.draw(st.booleans())
    }
    refused_with_care(call, values, set(parameters))


@examples(600)
@given(st.data(), st.sampled_from(sorted(FUNCTIONS)))
def test_any_value_is_answered_or_refused_by_every_function(data: st.DataObject, name: str) -> None:
    call = FUNCTIONS[name]
    parameters = [one for one in inspect.signature(call).parameters if one not in ("note", "explicit_n_vocab")]
    odd = data.draw(st.sampled_from(parameters))
    values = {
        one: data.draw(VALUES, one)
        for one in parameters
        if one == odd or one in ("path", "model_name", "name", "encoding_name")
    }
    refused_with_care(call, {**GOOD.get(name, {}), **values}, set(parameters))


def refused_with_care(call: Callable[..., Any], values: dict[str, Any], names: set[str]) -> None:
    try:
        call(**values)
    except TokcliError as error:
        assert str(error)
    except (TypeError, OverflowError) as error:
        assert any(re.match(rf"{name}\b", str(error)) for name in names), repr(error)
    except (ValueError, LookupError, OSError):
        pass


@examples(1500)
@given(
    st.data(),
    st.sampled_from(
        [m for m in METHODS if hasattr(tiktoken.Encoding, m) and m not in ("is_special_token", "token_byte_values")]
    ),
)
def test_what_tiktoken_refuses_is_refused_with_an_error_of_its_kind(data: st.DataObject, method: str) -> None:
    first = next(iter(inspect.signature(getattr(ENC, method)).parameters))
    value = data.draw(VALUES, first)
    if method == "_encode_single_piece" and value in ("", b""):
        return  # tiktoken panics
    try:
        getattr(reference("cl100k_base"), method)(value)
    except Exception as expected:  # noqa: BLE001 - whatever it raises
        # of two mistakes in one list, either may be named
        others = (TypeError, LookupError) if isinstance(value, Sized) and len(value) > 1 else ()
        with pytest.raises((type(expected), *others)):
            getattr(ENC, method)(value)


def test_a_path_may_be_bytes_where_files_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"hello world")
    for path in (file, str(file), os.fsencode(file)):
        assert ENC.count_file(path) == 2


@pytest.mark.parametrize(("tokens", "kind"), [((100261, -1), KeyError), ((-1, 100261), OverflowError)])
def test_of_several_wrong_ids_the_first_is_named(tokens: tuple[int, ...], kind: type[Exception]) -> None:
    for encoding in (ENC, reference("cl100k_base")):
        with pytest.raises(kind):
            encoding.decode_tokens_bytes(tokens)
