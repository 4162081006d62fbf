"""Texts and tables at the edges of what native code is given: they take the branches that ordinary ones do not."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, ok

from tokcli.engine import backend
from tokcli.render.visible import visible_bytes

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
FORMATS = ROOT / "tests" / "data" / "formats"
SPACES = "\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


def ids(*numbers: int) -> array[int]:
    return array("I", numbers)


def numbers_in(data: bytes, kind: str = "Q") -> list[int]:
    return memoryview(data).cast("B").cast(kind).tolist()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_bytes_that_only_continue_characters_have_no_whole_one(size: int) -> None:
    assert native.valid_utf8(b"\x80" * size) == 0
    assert native.valid_utf8(b"\xe4\xb8\xad" + b"\x80" * size) == 3
    assert native.valid_utf8(b"a" * 64 + b"\xe4\xb8" * size) == 64


def test_spans_in_any_order_are_found() -> None:
    text = "aé中😀" * 40
    spans = [(150, 155), (3, 9), (155, 160), (0, 0), (7, 7)]
    expected = [len(text[:place].encode()) for span in spans for place in span]
    flat = array("Q", [place for span in spans for place in span])
    assert numbers_in(native.byte_spans(text.encode(), flat)) == expected


def test_ids_may_stand_without_anything_between_them() -> None:
    assert native.format_ids(ids(*range(40)), b"") == "".join(map(str, range(40))).encode()


def test_the_longest_of_no_texts_is_nowhere() -> None:
    for texts in ([], [b""]):
        assert native.LongestMatch(texts).find(b"ab", 2, 9) == b""
    assert numbers_in(native.LongestMatch([b"", b"ab", b"a"]).find(b"xaba", 4, 9)) == [1, 3, 3, 4]


def test_bytes_that_look_like_characters_and_are_none_are_shown_as_bytes() -> None:
    too_long, surrogate, too_large = b"\xe0\x80\x80\xf0\x80\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"
    data = too_long + "é".encode() + surrogate + too_large + "中".encode() + b"\xe4\xb8"
    shown, *_ = native.token_lines(data, array("Q", [len(data)]), [], False, 0, False)
    assert shown.decode() == visible_bytes(data)


@pytest.mark.parametrize("is_json", [False, True])
def test_no_bytes_that_claim_to_be_utf8_are_printed_as_a_control_or_a_quote(is_json: bool) -> None:
    for data in (
        b"\xc0\x9b[31m",
        b"\xc3\x1b[31m",
        b"\xe0\x82\x9b",
        b"\xc0\xa2",
        b"\xf5\x90\x80\x80",
        b"\xed\xa0\x80",
        b"\xe4",
    ):
        made = native.escape_pieces(data, array("Q", [len(data)]), b"", is_json).decode()
        assert made.isprintable()
        assert made.count('"') == 2 * is_json


def vocabulary_of(*tokens: bytes, drops_missing: bool = False) -> Any:
    sizes, numbers = ids(*map(len, tokens)), ids(*range(len(tokens)))
    image = native.build_image(b"".join(tokens), sizes, numbers, bytes(32), drops_missing=drops_missing)
    return native.Vocabulary(image)


def test_the_last_record_needs_no_separator() -> None:
    assert numbers_in(native.record_ends(b"a\nbc", 10)) == [2]
    assert numbers_in(native.record_ends(b"a\nbc\n", 10)) == [2, 5]
    assert numbers_in(native.record_ends(b"", 10)) == []


@pytest.mark.parametrize("drops_missing", [False, True])
def test_invalid_bytes_under_a_vocabulary_that_lacks_a_byte(drops_missing: bool) -> None:
    vocabulary = vocabulary_of(b"a", b" ", b"\xff", drops_missing=drops_missing)
    data, ends = b"a \xff", array("Q", [1, 3])
    whole = "a\xff".encode("latin-1")
    if drops_missing:  # which bytes are joined with the tokens before them is known of whole vocabularies only
        with pytest.raises(KeyError):
            vocabulary.encode_pieces(data, ends, True)
        return
    assert numbers_in(vocabulary.encode_pieces(data, ends, True)[0], "I") == [0, 1, 2]
    assert numbers_in(vocabulary.encode_pieces(whole, array("Q", [2]), True)[0], "I") == [0, 2]
    for text in (b"\x80\xff", b"a \x80", b"z\xff", b" z\xff"):
        with pytest.raises(KeyError):
            vocabulary.encode_pieces(text, array("Q", [len(text)]), True)


# --- whole tokenizers: the native answer is Python's -------------------------------------------------------------------


def answers(path: Path, text: str, *options: str) -> tuple[bytes, bytes]:
    """What `encode --json` prints for a text with native code, and without."""
    command = ["encode", "-q", "--json", "-e", path, "-t", text, *options]
    native_one, python_one = (ok(*command, env={"TOKCLI_BACKEND": name}) for name in ("native", "python"))
    return native_one, python_one


def changed(tmp_path: Path, name: str, **changes: Any) -> Path:
    """Write a tokenizer.json with other members; those of `model` are changed one by one."""
    file = json.loads((FORMATS / name).read_bytes())
    file["model"] |= changes.pop("model", {})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file | changes))
    return path


@pytest.mark.parametrize("left", [True, False])
def test_added_tokens_take_every_kind_of_space_beside_them(left: bool, tmp_path: Path) -> None:
    added = json.loads((FORMATS / "plain.tokenizer.json").read_bytes())["added_tokens"]
    number = max(token["id"] for token in added) + 1000
    token = {"id": number, "content": "<x>", "single_word": False, "lstrip": left, "rstrip": not left,
             "normalized": False, "special": True}  # fmt: skip
    path = changed(tmp_path, "plain.tokenizer.json", added_tokens=[*added, token])
    for space in [*SPACES, SPACES, "\u200b"]:
        text = f"a{space}<x>{space}b"
        native_one, python_one = answers(path, text, "--special", "allow", "--offsets", "char")
        assert native_one == python_one


@pytest.mark.parametrize("fuses", [True, False])
def test_unknown_characters_in_a_row_are_one_token_or_several(fuses: bool, tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "a": 1, "b": 2, "ab": 3}
    model = {"type": "BPE", "vocab": vocab, "merges": ["a b"], "unk_token": "<unk>", "fuse_unk": fuses,
             "byte_fallback": False, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "dropout": None, "ignore_merges": False}  # fmt: skip
    path = tmp_path / "tokenizer.json"
    nothing = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model, **nothing}))
    for text in ("zz", "azzbab", "中é😀a", "z"):
        native_one, python_one = answers(path, text)
        assert native_one == python_one
    assert json.loads(answers(path, "azzb")[0])["ids"] == [1, 0, 2] if fuses else [1, 0, 0, 2]
