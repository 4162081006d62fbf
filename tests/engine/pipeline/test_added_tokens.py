"""Added tokens that meet: the ids that Hugging Face's tokenizers gives."""

from __future__ import annotations

import json
import time
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, parse_vocabulary, took_less

from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID, NONE
from tokcli.engine.native_models.text_model import WHOLE, NativeText, model_of
from tokcli.engine.pipeline.added_tokens import AddedTokenFinder
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.tokenizer import Tokenizer
from tokcli.registry.encodings import load_encoding

VOCAB = {"a": 0, "b": 1, " ": 2, "<": 3, ">": 4}


def added(content: str, number: int, flags: str) -> dict[str, object]:
    names = {"w": "single_word", "l": "lstrip", "r": "rstrip", "n": "normalized", "s": "special"}
    return {"id": number, "content": content} | {name: flag in flags for flag, name in names.items()}


def file_of(tokens: list[dict[str, object]]) -> str:
    return json.dumps({
        "version": "1.0", "added_tokens": tokens, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": {"type": "BPE", "vocab": VOCAB, "merges": []},
    })  # fmt: skip


def ids_here_and_there(tokens: list[dict[str, object]], text: str, loads: int = 1) -> tuple[list[int], list[list[int]]]:
    """Return our ids of a text, and those of the library each time that it loads the file."""
    file = file_of(tokens)
    ours = parse_vocabulary(file.encode(), "x.json")
    tokenizers = pytest.importorskip("tokenizers")
    theirs = [tokenizers.Tokenizer.from_str(file).encode(text).ids for _ in range(loads)]
    return ours.encode(text, frozenset(ours.special_tokens)), theirs  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        ([added("<x>", 5, "r"), added("  ", 6, "l")], "<x>  a", [5, 0]),  # the spaces are taken already
        ([added(" ", 5, "lr")], "a   b", [0, 2, 1]),
        ([added("<X>", 5, ""), added("<x>", 6, "n")], "<X><x>", [5, 6]),
    ],
)
def test_tokens_that_meet_become_what_the_library_makes_of_them(
    tokens: list[dict[str, object]], text: str, ids: list[int]
) -> None:
    assert ids_here_and_there(tokens, text) == (ids, [ids])


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        ([added("<X>", 5, "n"), added("<x>", 6, "ns")], "<x>a", [6, 0]),
        ([added("<X>", 5, "n"), added("<x>", 6, "n")], "<X>a", [5, 0]),
    ],
)
def test_of_two_tokens_that_are_one_when_normalized_one_is_always_chosen(
    tokens: list[dict[str, object]], text: str, ids: list[int]
) -> None:
    # the library walks a hash map seeded anew: each load gives one or the other
    here, there = ids_here_and_there(tokens, text, loads=64)
    assert here == ids
    assert ids in there


CONTENTS = st.text("abé \u1680\u2005\u2028\u2029\u202f\u205f", min_size=1, max_size=3)
FOUND = st.builds(
    AddedToken, CONTENTS, st.integers(0, 9), st.booleans(), st.booleans(), st.booleans(), special=st.booleans()
)


@pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
@examples(200)
@given(
    tokens=st.lists(FOUND, min_size=1, max_size=6),
    text=st.text("abé_ \u1680\u2005\u2028\u2029\u202f\u205f\u4e2d", max_size=20),
    ignores=st.booleans(),
)
def test_native_code_finds_the_tokens_that_python_finds(tokens: list[AddedToken], text: str, ignores: bool) -> None:
    ignored = frozenset(token.content for token in tokens if token.special and ignores)
    finder = AddedTokenFinder([(token.content, token) for token in tokens], ignored)
    model = model_of({})
    model.set_unknown(NO_ID, array("I", range(1000, 1256)), False)  # other text becomes its bytes
    model.use_whole(True)
    model.set_words(WHOLE, b" ", False)
    found = finder.tokens
    flags = [(t.encode(), one.id, one.single_word, one.lstrip, one.rstrip) for t, one in found.items()]
    model.set_added(False, flags)
    twin = NativeText(model, [(one.content, one.content in ignored) for one in found.values()])
    for whole in (text, text * 300 + "x"):
        expected: list[int] = []
        for begin, end, number in finder.find(whole):
            expected += [1000 + byte for byte in whole[begin:end].encode()] if number is None else [number]
        assert twin.encode(whole, NONE) == expected


@pytest.mark.clock
def test_white_space_around_many_tokens_is_looked_at_once() -> None:
    finder = AddedTokenFinder([(" ", AddedToken(" ", 7, rstrip=True))])
    size, began = 200_000, time.process_time()
    assert list(finder.find(" " * size)) == [(place, size, 7) for place in range(size)]
    assert took_less(began, 4)


@pytest.mark.parametrize("flags", ["n", "nw", "nl", "nr", "ns", "nlr"])
@pytest.mark.parametrize("text", ["aabb", " a  b ", "<x><x>a", "", "x", "  "])  # of others the library never ends
def test_a_token_of_which_nothing_is_left_cuts_text(flags: str, text: str) -> None:
    tokens = [added("x", 5, flags), added("<y>", 6, "n"), added("bb", 7, "nw")]
    file = json.loads(file_of(tokens))
    file["normalizer"] = {"type": "Replace", "pattern": {"String": "x"}, "content": ""}
    file["model"] |= {"merges": [["a", "a"]], "vocab": {**VOCAB, "aa": 8}}
    tokenizers = pytest.importorskip("tokenizers")
    ours = parse_vocabulary(json.dumps(file).encode(), "x.json")
    expected = tokenizers.Tokenizer.from_str(json.dumps(file)).encode(text).ids
    assert ours.encode(text, frozenset(ours.special_tokens)) == expected  # type: ignore[union-attr]
    assert Tokenizer("x", ours).encode(text, frozenset(ours.special_tokens)) == expected


@pytest.mark.parametrize("flags", [("n", ""), ("n", "n"), ("", "n"), ("n", "s", "lr"), ("s", "ns", "s")])
def test_a_token_that_comes_twice_decodes_to_the_text_that_the_library_gives(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(file_of([added("<X>", 5, some) for some in flags]))
    library = tokenizers.Tokenizer.from_file(str(path))
    for _ in range(2):  # read, and opened from the cache
        encoding = load_encoding(path)
        assert encoding.decode([5, 0]) == library.decode([5, 0], skip_special_tokens=False)
        for text in ("<X>a", "b<x>"):
            assert encoding.encode(text, allowed_special="all") == library.encode(text).ids


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}],
        [{"type": "Fuse"}],
        [{"type": "CTC", "pad_token": "", "word_delimiter_token": "", "cleanup": True}],
        [{"type": "Replace", "pattern": {"Regex": "x*"}, "content": "y"}],
    ],
)
@pytest.mark.parametrize("first", [[], [{"type": "Fuse"}]])
def test_no_ids_decode_to_what_the_decoder_makes_of_them(
    first: list[dict[str, object]], parts: list[dict[str, object]]
) -> None:
    file = json.loads(file_of([]))
    file["decoder"] = {"type": "Sequence", "decoders": [*first, *parts]}
    tokenizers = pytest.importorskip("tokenizers")
    ours = parse_vocabulary(json.dumps(file).encode(), "x.json")
    expected = tokenizers.Tokenizer.from_str(json.dumps(file)).decode([])
    assert ours.decode([]) == expected.encode()  # type: ignore[union-attr]
