"""What could make the native models that are not byte-level slow, large, or wrong: long words, marks, odd tables."""

from __future__ import annotations

import time
from array import array
from concurrent.futures import ThreadPoolExecutor

import pytest
from sentencepiece_files import spec_of
from support import pipeline_of, took_less

from tokcli.engine import backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.bindings import sentencepiece_models  # noqa: F401 (it makes the twins)
from tokcli.engine.bindings.sentencepiece_models import rules_of_sentencepiece
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.bpe.pairs import SHIFT
from tokcli.engine.native_models import text_model
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.spec import normalizers as normalizer
from tokcli.engine.spec import splitters
from tokcli.engine.spec.models import Pairs, SpmPiece, Unigram, WordLevel, WordPiece
from tokcli.engine.spec.patterns import Characters

native = backend.native()
pytestmark = pytest.mark.skipif(native is None, reason="there is no native backend")
LONG = 400_000
BYTES = Pairs({byte_token(byte): byte for byte in range(256)}, {}, byte_fallback=True)


def sentencepiece(kind: str, pieces: list[str]) -> SentencePiece:
    table = [
        SpmPiece("<unk>", 0.0, "unknown"),
        *(SpmPiece(text, float(-at), "normal") for at, text in enumerate(pieces)),
    ]
    return rules_of_sentencepiece(spec_of(table, kind, add_dummy_prefix=False))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_long_word_is_encoded_in_time(kind: str) -> None:
    model = sentencepiece(kind, ["a" * (1 << power) for power in range(8)])
    assert model.native is not None
    ids = model.native.encode("a" * LONG, NONE)
    assert ids is not None
    assert sum(1 << (number - 1) for number in ids) == LONG


def test_a_long_word_of_merges_is_encoded_in_time() -> None:
    ids = {"a" * (1 << power): power for power in range(12)}
    merges = {power << SHIFT | power: (power, power + 1) for power in range(11)}
    parts = pipeline_of(Pairs(ids, merges, "a"))
    assert parts.native is not None
    assert parts.native.count("a" * LONG, NONE) == LONG // 2048 + (LONG % 2048).bit_count()


@pytest.mark.parametrize("text", ["\u0301" * LONG, "a\u0301" * LONG, "\u1100" * LONG])
def test_many_marks_are_one_run_or_few(text: str) -> None:
    parts = pipeline_of(BYTES, normalizer=(normalizer.UnicodeForm("NFD"),))
    assert parts.native is not None
    found = parts.native.encode_array(text, NONE)
    assert found is not None
    assert len(found) == len(text.encode())


def test_words_above_the_limit_are_unknown_and_below_it_are_not() -> None:
    model = WordPiece({"[UNK]": 0, "a": 1, "##a": 2}, "[UNK]", "##", 100)
    parts = pipeline_of(model, splitter=(splitters.Split(Characters("SPACE"), "Removed"),))
    assert parts.native is not None
    assert parts.native.encode("a" * 100 + " " + "a" * 101, NONE) == [1, *[2] * 99, 0]


def test_a_vocabulary_of_many_first_characters_is_built() -> None:
    tokens = [chr(0x100 + i) + chr(0x3000 + 37 * i % 0x5000) for i in range(40_000) if not 0xD800 <= 0x100 + i < 0xE000]
    model = Unigram([("<unk>", 0.0), *((token, -1.0) for token in tokens)], 0)
    parts = pipeline_of(model)
    assert parts.native is not None
    assert parts.native.encode(tokens[7] + tokens[-1], NONE) == [8, len(tokens)]


def test_a_token_of_every_word_hides_no_other() -> None:
    ids = {f"w{i}": i for i in range(70_000)}
    parts = pipeline_of(WordLevel(ids, "w0"), splitter=(splitters.Words(),))
    assert parts.native is not None
    assert parts.native.encode(" ".join(ids), NONE) == list(ids.values())


def words(*numbers: int) -> array[int]:
    return array("I", numbers)


def test_tables_that_do_not_fit_are_refused() -> None:
    assert native is not None
    for blob, sizes, ids in [
        (b"ab", words(1), words(0)),
        (b"ab", words(1, 1), words(0)),
        (b"aa", words(1, 1), words(0, 1)),
        (b"ab", b"\1", words(0)),
    ]:
        with pytest.raises(ValueError):
            native.TextModel(blob, sizes, ids)
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    with pytest.raises(ValueError, match="no model"):
        model.encode("a", b"", b"")
    for refused in (
        lambda: model.set_unknown(0, words(1, 2), False),
        lambda: model.use_pieces(words(1), b"\0\0"),
        lambda: model.use_pairs(array("Q", [1]), words(), words(), False, False, False, b"", b""),
        lambda: model.use_unigram(array("d", [1.0]), 0.0, 0),
        lambda: model.use_unigram(array("d", [1.0, 2.0]), 0.0, 7),
        lambda: model.set_words(3, b" ", False),
        lambda: model.set_words(0, b"", False),
        lambda: model.set_metaspace(True, False, 9),
        lambda: model.set_added(False, [(b"", 0, False, False, False)]),
        lambda: model.add_step(1, b"", b"", False, False),
        lambda: model.add_step(9, b"", b"", False, False),
        lambda: model.set_spaces(words(), b"no end", True, True, False, False, b" "),
        lambda: model.set_characters([("?", "")], b"", b"", b""),
        lambda: model.set_characters([("form", "NF")], b"", b"", b""),
        lambda: model.set_characters([("words", 4)], b"", b"", b""),
        lambda: model.set_characters([], words(), b"no end", b""),
        lambda: model.set_characters([], b"", b"", words(5, 4, 0)),
        lambda: model.set_characters([], b"", b"", words(1, 2, 0, 2, 3, 0)),
        lambda: model.set_groups([("class", "NONE", "Removed")]),
        lambda: model.set_groups([("class", "WORD", "MergedWithNext")]),
        lambda: model.set_groups([("words", "", "Removed")] * 7),
    ):
        with pytest.raises(ValueError):
            refused()
    model.use_whole(False)
    assert model.encode("a", b"", b"", 1, True) == [0]
    with pytest.raises(ValueError, match="state"):
        model.encode("a", b"\1", b"")


def test_a_charsmap_that_points_out_of_itself_changes_nothing() -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.use_whole(True)
    model.set_words(0, b" ", False)
    model.set_spaces(words(*[0xFFFFFFFF] * 256), b"\0", False, False, False, False, b" ")
    assert model.encode("ab", b"", b"", 1, True) == [0, 1]


def test_a_model_is_not_changed_once_a_text_was_encoded() -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.use_whole(True)
    model.set_words(0, b" ", False)
    assert model.encode("ab", b"", b"", 1, True) == [0, 1]
    for change in (
        lambda: model.set_unknown(0, b"", False),
        lambda: model.set_kept([b"a"]),
        lambda: model.use_pieces(words(1, 1), b"\0\0"),
        lambda: model.use_pairs(array("Q"), words(), words(), False, False, False, b"", b""),
        lambda: model.use_word_piece(b"", 100),
        lambda: model.use_whole(False),
        lambda: model.use_unigram(array("d", [1.0, 2.0]), 0.0, 0),
        lambda: model.set_words(0, b" ", False),
        lambda: model.set_metaspace(True, False, 0),
        lambda: model.set_added(False, [(b"a", 0, False, False, False)]),
        lambda: model.add_step(text_model.CHARS, b"", b"", False, False),
        lambda: model.set_spaces(words(), b"", True, True, False, False, b" "),
        lambda: model.set_characters([], b"", b"", b""),
        lambda: model.set_groups([]),
    ):
        with pytest.raises(ValueError, match="in use"):
            change()
    assert model.encode("ab", b"", b"", 1, True) == [0, 1]


def test_a_model_is_not_used_by_what_it_is_made_of() -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.use_whole(True)

    class Id:
        def __index__(self) -> int:
            return len(model.encode("ab", b"", b"", 1, True))

    with pytest.raises(ValueError, match="in use"):
        model.set_added(False, [(b"a", Id(), False, False, False)])


def test_threads_that_change_a_model_in_use_are_refused() -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.use_whole(True)
    model.set_words(0, b" ", False)
    model.add_step(text_model.CHARS, b"", b"", False, False)
    model.set_characters([("lower", "")], b"", b"", b"")
    text, refused, counts = "ab" * 100_000, 0, set[int]()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(1000):  # a busy machine may be done with all texts before this thread comes to its turn
            found = [pool.submit(model.count, text, b"", b"") for _ in range(8)]
            while not all(one.done() for one in found):
                try:
                    model.add_step(text_model.CHARS, b"", b"", False, False)
                except ValueError:
                    refused += 1
            counts |= {one.result() for one in found}
            if refused:
                break
    assert counts == {200_000}
    assert refused


@pytest.mark.clock
@pytest.mark.parametrize(("left", "right"), [(True, False), (False, True), (True, True)])
def test_white_space_around_many_added_tokens_is_looked_at_once(left: bool, right: bool) -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.set_added(False, [(b" ", 7, False, left, right)])
    model.use_whole(False)
    began = time.process_time()
    assert model.count(" " * LONG, b"\1", b"") == (1 if left and right else LONG)
    assert took_less(began, 4)


@pytest.mark.clock
def test_a_long_text_that_is_replaced_is_looked_for_in_time() -> None:
    assert native is not None
    model = native.TextModel(b"ab", array("I", [1, 1]), array("I", [0, 1]))
    model.set_words(0, b" ", False)
    model.set_unknown(0, array("I"), False)
    model.add_step(1, b"a" * 100_000 + b"b", b"b", False, False)
    model.use_whole(True)
    begin = time.process_time()
    assert model.count("a" * 1_000_000, b"", b"") == 1_000_000
    assert model.count("a" * 1_000_000 + "b", b"", b"") == 900_001
    assert time.process_time() - begin < 2  # it took as many steps as the product of the two


@pytest.mark.clock
def test_places_of_tokens_that_go_back_are_found_in_time() -> None:
    # The first token takes the white space after it, in which others are found: what they take ends earlier.
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.set_added(False, [(b"a", 7, False, False, True), (b" ", 8, False, False, False)])
    model.use_whole(False)
    model.set_unknown(0, b"", False)
    text, began = "\u00e9" + "a   " * LONG, time.process_time()
    found = model.encode_part(text, b"\1\1", b"", 1, True, True, 0.0, True)
    spans = memoryview(found[2]).cast("Q")
    assert spans[:10].tolist() == [0, 1, 1, 5, 2, 3, 3, 4, 4, 5]
    assert spans[-2:].tolist() == [4 * LONG, 4 * LONG + 1]
    assert took_less(began, 4)


def test_places_behind_a_space_that_is_put_there_blindly_are_left_to_python() -> None:
    assert native is not None
    model = native.TextModel(b"ab", words(1, 1), words(0, 1))
    model.use_whole(True)
    model.set_metaspace(False, True, text_model.NEVER)
    assert model.encode("ab", b"", b"", 1, True) == [0, 1]
    assert model.encode_part("ab", b"", b"", 1, True, True, 0.0, True) is None
