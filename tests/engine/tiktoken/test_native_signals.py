"""What the native module raises: TypeError for a wrong type and for nothing else, else what _native.pyi says."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from support import Ranks

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

TOKENS = [bytes([i]) for i in range(255)] + [b"he"]  # all bytes but 255
CL100K = 1


def image(*, largest: int = 255) -> bytes:
    ids = array("I", [*range(255), largest])
    made: bytes = native.build_image(b"".join(TOKENS), array("I", map(len, TOKENS)), ids, bytes(32))
    return made


class Index:
    """An int that is none by type, as numpy's are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@pytest.fixture(scope="module")
def vocabulary() -> Any:
    return native.Vocabulary(image())


@pytest.mark.parametrize("name", ["decode", "decode_str"])
@pytest.mark.parametrize(
    "ids", [[104, 255], (104, 255), array("I", [104, 255]), range(104, 256, 151), [Index(104), 255]]
)
def test_any_sequence_of_ints_is_decoded(vocabulary: Any, name: str, ids: Any) -> None:
    assert bytes(getattr(vocabulary, name)(ids), *["utf-8"] * (name == "decode_str")) == b"hhe"


@pytest.mark.parametrize("name", ["decode", "decode_str"])
@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ([104, 256], KeyError),
        ([2**32 - 1], KeyError),
        ([-1], OverflowError),
        ([2**32], OverflowError),
        ([2**100], OverflowError),
        ([Index(-(2**100))], OverflowError),
        ([104, "a"], TypeError),
        ([1.0], TypeError),
        ("he", TypeError),
        (7, TypeError),
        (None, TypeError),
    ],
)
def test_an_id_that_cannot_be_decoded_says_why(vocabulary: Any, name: str, ids: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(vocabulary, name)(ids)


def test_a_key_error_has_the_id(vocabulary: Any) -> None:
    for call in (
        lambda: vocabulary.decode([104, 300]),
        lambda: native.Decoder(vocabulary, {}).decode(array("I", [104, 300]), 4),
    ):
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value.args == (300,)


def test_a_list_that_changes_while_it_is_decoded_is_read_as_it_was(vocabulary: Any) -> None:
    ids: list[Any] = [104] * 100

    class Emptying:
        def __index__(self) -> int:
            ids.clear()
            return 105

    ids.insert(50, Emptying())
    assert vocabulary.decode(ids) == b"h" * 50 + b"i" + b"h" * 50


@pytest.mark.parametrize(
    "wide", ["", "\x7f", "\x80", "\xe9", "\xff", "\u0100", "\u4e2d", "\uffff", "\U00010000", "\U0010ffff"]
)
@pytest.mark.parametrize("before", [0, 1, 7, 8, 9, 64, 5000])
def test_a_decoded_str_is_the_one_that_python_makes(wide: str, before: int) -> None:
    every_byte = native.Vocabulary(
        native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
    )
    for data in ("a" * before + wide, wide * 3 + "b" * before + wide + "\xe9\u4e2d"[: before % 3]):
        made = every_byte.decode_str(list(data.encode()))
        assert made == data
        assert hash(made) == hash(data)
        assert sys.getsizeof(made) <= sys.getsizeof(data)  # as narrow as its characters allow
        assert made.isascii() == data.isascii()
    for broken in (b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80\xff", b"\xe4\xb8"):
        data_bytes = b"a" * before + wide.encode() + broken
        assert every_byte.decode_str(list(data_bytes)) == data_bytes.decode("utf-8", "replace")


NUMBERS: dict[str, Callable[[Any, Any], object]] = {
    "family": Ranks,
    "threads": lambda vocabulary, number: Ranks(vocabulary).count("a", number),
    "separator_size": lambda vocabulary, number: vocabulary.encode_invalid(
        b"a\n", array("Q", [2]), number, CL100K, True
    ),
    "limit": lambda _, number: native.format_records(array("I", [1]), array("Q", [0, 1]), b" ", b"\n", number),
    "begin": lambda _, number: native.pack_records(array("I", [1]), array("Q", [0, 1]), number, None, True),
    "separator": lambda _, number: native.record_ends(b"a\n", number),
    "width": lambda vocabulary, number: native.Decoder(vocabulary, {}).decode(b"", number),
    "special id": lambda vocabulary, number: native.Decoder(vocabulary, {number: b"x"}),
    "split": lambda _, number: native.split("a", number),
    "prefix": lambda _, number: native.merge_ids(["a"], array("I", [1]), [], number),
    "count": lambda _, number: native.PieceTable().add(b"a", number),
    "item": lambda _, number: native.PieceTable().item(number),
    "block": lambda _, number: native.PieceTable().next_block(number),
    "runs": lambda _, number: native.RunMerger(number),
    "vocab_size": lambda _, number: native.Trainer(number, 1, 0, False, 0, b"", array("I", range(256))),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", [2**64, -(2**64)])
def test_an_int_that_does_not_fit_is_an_overflow(vocabulary: Any, name: str, number: int) -> None:
    with pytest.raises(OverflowError, match="does not fit"):
        NUMBERS[name](vocabulary, number)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", ["1", 1.0, None])
def test_what_is_no_int_is_a_type_error(vocabulary: Any, name: str, number: object) -> None:
    with pytest.raises(TypeError):
        NUMBERS[name](vocabulary, number)


def test_a_text_of_another_type_is_named(vocabulary: Any) -> None:
    model = Ranks(vocabulary)
    for call in (model.count, model.encode):
        with pytest.raises(TypeError, match="bytes-like"):
            call(7)
    with pytest.raises(TypeError, match="expected str, not bytes"):
        model.encode_batch([b"a"], 1)
    with pytest.raises(TypeError, match="expected Vocabulary, not str"):
        native.Decoder("o200k_base", {})
    with pytest.raises(TypeError, match="bytes-like"):
        vocabulary.encode_pieces("a", array("Q", [1]))
    with pytest.raises(TypeError, match="bytes-like"):
        native.split(7, CL100K)
    assert native.split(b"a b", CL100K) == native.split("a b", CL100K)


def test_a_byte_that_is_no_token_is_a_key_error(vocabulary: Any) -> None:
    for keeps_ids in (True, False):
        with pytest.raises(KeyError):
            vocabulary.encode_pieces(b"h\xff", array("Q", [2]), keeps_ids=keeps_ids)
    with pytest.raises(KeyError):
        vocabulary.encode_invalid(b"h \xff", array("Q", [3]), 0, CL100K, False)


def test_an_image_of_too_large_an_id_is_a_value_error() -> None:
    assert native.Vocabulary(image(largest=2**21 - 258)).decode([2**21 - 258]) == b"he"
    with pytest.raises(ValueError, match="too large"):
        image(largest=2**21 - 257)
