"""Tables that do not fit, numbers that are too large and objects of other kinds: the native module refuses each of them.

Nothing of ours gives it such arguments; they show that its checks work, whose branches no other test takes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import pytest
from support import Ranks

from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.pretokenizers.program_compiler import compile_program

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
MOST_COUNT = 2**62
SOURCE = bytes(32)
O200K = 2


def ids(*numbers: int) -> array[int]:
    return array("I", numbers)


def places(*numbers: int) -> array[int]:
    return array("Q", numbers)


def vocabulary() -> Any:
    return native.Vocabulary(native.build_image(bytes(range(256)), bytes([1]) * 256, ids(*range(256)), SOURCE))


def image_with(*merges: int) -> bytes:
    """The image of a, b, ab and abc, with merges (three ids each)."""
    made: bytes = native.build_image(b"ababcab", bytes([1, 1, 3, 2]), ids(0, 1, 2, 3), SOURCE, ids(*merges))
    return made


def model() -> Any:
    return native.TextModel(b"ab", ids(1, 1), ids(0, 1))


def table(*pieces: bytes, count: int = 1) -> Any:
    made = native.PieceTable()
    for piece in pieces:
        made.add(piece, count)
    return made


def trainer(vocab_size: int = 300, tokens: int = 256, byte_ids: int = 256) -> Any:
    return native.Trainer(vocab_size, 1, 100, False, 0, ids(*[1] * tokens), ids(*range(byte_ids)))


def row(text: str = "a", count: int = 1) -> bytes:
    """One row of a block: the block of one piece."""
    made = table(text.encode(), count=count)
    made.sort()
    block: bytes = made.next_block(100)
    return block


def merged_above_the_largest_count() -> None:
    sums = table(b"a", count=MOST_COUNT)
    sums.update(table(b"a", count=MOST_COUNT))


def added_blocks_above_the_largest_count() -> None:
    large = table(b"a", count=MOST_COUNT)
    large.sort()
    block = large.next_block(100)
    sums = table()
    for _ in range(2):
        sums.add_block(block)


def added_to_itself() -> None:
    one = table(b"a")
    one.update(one)


def stacks(tracks: Any) -> Any:
    return native.Stacks(b"text", tracks, None, b"", [], False)


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an image with more merges than tokens": (
        lambda: image_with(*[0, 1, 3] * 5),
        ValueError,
        "more merges than tokens",
    ),
    "an image whose merge has an id of no token": (lambda: image_with(0, 9, 3), ValueError, "not of two tokens"),
    "an image whose merge makes a longer token": (lambda: image_with(0, 1, 2), ValueError, "not of two tokens"),
    "an image whose merge begins otherwise": (lambda: image_with(1, 1, 3), ValueError, "not of two tokens"),
    "an image whose merge ends otherwise": (lambda: image_with(0, 0, 3), ValueError, "not of two tokens"),
    "an image with a merge twice": (lambda: image_with(0, 1, 3, 0, 1, 3), ValueError, "the same tokens"),
    "an image whose source is short": (lambda: native.build_image(b"a", b"\x01", ids(0), b"x"), ValueError, "32 bytes"),
    "sizes of other tokens": (lambda: native.build_image(b"a", ids(1, 1), ids(0), SOURCE), ValueError, "needs a size"),
    "sizes that are too small": (
        lambda: native.build_image(b"abc", ids(1, 1), ids(0, 1), SOURCE),
        ValueError,
        "do not add up",
    ),
    "ids of three bytes": (lambda: native.Decoder(vocabulary(), {}).decode(b"abc", 3), ValueError, "2 or 4 bytes"),
    "a special token that is no token": (
        lambda: native.Decoder(vocabulary(), {}).spans(ids(999), 0, True),
        KeyError,
        "999",
    ),
    "a choice below zero": (lambda: model().set_words(-1, b"_", False), ValueError, "no choice"),
    "a choice above the last": (lambda: model().set_words(3, b"_", False), ValueError, "no choice"),
    "steps that are no tuples": (lambda: model().set_characters([7], b"", b"", b""), TypeError, "tuple"),
    "groups of other sizes": (lambda: model().set_groups([("words", "")]), TypeError, "tuple"),
    "orders of other tokens": (lambda: model().use_pieces(ids(0), bytes(2)), ValueError, "an order and a flag"),
    "flags of other tokens": (lambda: model().use_pieces(ids(0, 1), bytes(3)), ValueError, "an order and a flag"),
    "ranks of other merges": (lambda: pairs(places(1), ids(), ids(0)), ValueError, "a rank and an id"),
    "results of other merges": (lambda: pairs(places(1), ids(0), ids()), ValueError, "a rank and an id"),
    "a pair of no tokens": (lambda: pairs(places(2**64 - 1), ids(0), ids(0)), ValueError, "too large"),
    "a rank that means none": (lambda: pairs(places(1), ids(NO_ID), ids(0)), ValueError, "too large"),
    "an added token that is no tuple": (lambda: model().set_added(True, [b"x"]), TypeError, "tuple"),
    "an added token without its flags": (lambda: model().set_added(True, [(b"x", 1)]), ValueError, "an added token is"),
    "no space": (
        lambda: model().set_spaces(ids(), b"", False, False, False, False, b""),
        ValueError,
        "the space is empty",
    ),
    "a column that is no tuple": (lambda: native.format_rows([b"x"]), TypeError, "tuple"),
    "a text that ends before it begins": (lambda: anything().split(b"abc", 4), ValueError, "before its beginning"),
    "pieces that end before they begin": (
        lambda: vocabulary().encode_pieces(b"abc", places(2, 1)),
        ValueError,
        "ascend",
    ),
    "pieces that end after the text": (lambda: vocabulary().encode_pieces(b"abc", places(4)), ValueError, "ascend"),
    "tokens without an end": (lambda: lines_of(b"text", places()), ValueError, "end of the text"),
    "a text that is none": (lambda: Ranks(vocabulary()).count(7), TypeError, "str"),
    "pieces that are no bytes": (lambda: vocabulary().encode_pieces("a", places(1)), TypeError, "bytes"),
    "rows that begin after the text": (lambda: stacks([]).rows(9, 1), ValueError, "before the row begins"),
    "a track that is no tuple": (lambda: stacks([b"x"]), ValueError, "a track is a tuple"),
    "a track without spans": (lambda: stacks([(b"x",)]), ValueError, "a track is a tuple"),
    "a count above the largest": (lambda: table().add(b"a", MOST_COUNT + 1), OverflowError, r"beyond 2\*\*62"),
    "a sum above the largest count": (merged_above_the_largest_count, OverflowError, r"beyond 2\*\*62"),
    "blocks above the largest count": (added_blocks_above_the_largest_count, OverflowError, r"beyond 2\*\*62"),
    "pieces above the largest count": (lambda: table(b"a", b"a", count=MOST_COUNT), OverflowError, r"beyond 2\*\*62"),
    "runs above the largest count": (lambda: merged(row(count=MOST_COUNT), row()), OverflowError, r"beyond 2\*\*62"),
    "a block of a run that does not exist": (lambda: native.RunMerger(1).feed(1, row()), ValueError, "damaged"),
    "a damaged block for a table": (lambda: table().add_block(row()[:-1] + b"\xff"), ValueError, "damaged"),
    "a table added to itself": (added_to_itself, ValueError, "to itself"),
    "a piece that does not exist": (lambda: table(b"a").item(1), IndexError, "not so many"),
    "a trainer of 255 bytes": (lambda: trainer(byte_ids=255), ValueError, "256 bytes"),
    "a trainer with too large a vocabulary": (lambda: trainer(2**30 + 1), ValueError, "too large"),
    "a trainer whose tokens do not fit": (lambda: trainer(255), ValueError, "more tokens"),
    "a piece of no tokens": (lambda: trainer().add(ids(256), 1), ValueError, "no token of the trainer"),
    "a piece that occurs too often": (
        lambda: trainer().add(ids(1, 2), MOST_COUNT + 1),
        OverflowError,
        r"beyond 2\*\*62",
    ),
    "a damaged block for a trainer": (lambda: trainer().add_block(row()[:-1] + b"\xff"), ValueError, "damaged"),
    "a damaged block among sorted ones": (lambda: merged(row()[:-1] + b"\xff"), ValueError, "damaged"),
    "blocks out of order": (lambda: merged(row("b") + row("a")), ValueError, "out of order"),
}


def pairs(pairs: array[int], ranks: array[int], made: array[int]) -> None:
    model().use_pairs(pairs, ranks, made, False, False, False, b"", b"")


def anything() -> Any:
    """A pattern that matches each character."""
    program = compile_program(r"[\s\S]")
    return native.Pattern(program.firsts, program.classes, program.sets, program.steps, program.start)


def lines_of(text: bytes, ends: array[int]) -> object:
    return native.token_lines(text, ends, [], False, 0, False)


def merged(*blocks: bytes) -> list[object]:
    """What a merger of runs of one block each returns."""
    merger, waiting = native.RunMerger(len(blocks)), dict(enumerate(blocks))
    found = []
    while (made := merger.merge(1000)) is not None:
        if isinstance(made, int):
            merger.feed(made, waiting.pop(made, b""))
        found.append(made)
    return found


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("merge", ["a \ud800", ["\ud800", "b"], ["a", "\ud800"], ["a"], ["a", 7], "a b c", "#version"])
def test_a_merge_of_other_texts_is_none(merge: Any) -> None:
    texts = ["a", "b", "ab"]
    assert native.merge_ids(texts, ids(0, 1, 2), ["a b"], 0) is not None
    assert native.merge_ids(texts, ids(0, 1, 2), [merge], 0) is None


def test_a_trainer_takes_no_pieces_after_its_first_merge() -> None:
    one = trainer()
    one.add(ids(97, 98), 5)
    assert one.run(0, 0) == (b"", True)
    one.add(ids(97, 98), 5)
    assert array("Q", one.run(1000, 9)[0]).tolist() == [97, 98, 10]
    for add in (lambda: one.add(ids(97, 98), 5), lambda: one.add_table(table(b"a"), True)):
        with pytest.raises(ValueError, match="after the first merge"):
            add()


def test_a_trainer_with_counts_that_are_too_large_says_so_whenever_it_is_asked() -> None:
    one = trainer()
    for _ in range(2):
        one.add(ids(97, 98, 99), MOST_COUNT)
    for _ in range(2):
        with pytest.raises(OverflowError):
            one.run(1000, 9)
