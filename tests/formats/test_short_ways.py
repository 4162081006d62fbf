"""What is read in a shorter way where a file is as usual comes to the same as the long way."""

from __future__ import annotations

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st
from support import ROOT

from tokcli.engine.pipeline.finders import PatternFinder
from tokcli.engine.unicode import classes
from tokcli.formats import sentencepiece, strict_json
from tokcli.formats.strict_json import serde_float

FOLDER = ROOT / "tests" / "data" / "formats"
CLASSES: tuple[classes.Class, ...] = (
    "MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "WORD", "SPACE", "EXTEND", "PREPEND",
)  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_a_character_is_asked_for_as_by_a_pattern(name: classes.Class) -> None:
    bounds = {
        max(0, min(0x10FFFF, bound + step))
        for pair in classes.ranges_of(name)
        for bound in pair
        for step in (-1, 0, 1, 2)
    }
    one = classes.one(name)
    for code in bounds | set(range(128)):
        assert classes.has(name, chr(code)) == bool(one.match(chr(code)))
    text = "".join(map(chr, range(128)))
    assert classes.without(name, text) == one.sub("", text)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,18})\.[0-9]{1,20}", fullmatch=True))
@example("-0.0")
@example("0.0000000000000000001")
@example("1844674407370955161.5")
@example("-7.2233899651048645")
def test_a_number_of_few_digits_is_the_same(text: str) -> None:
    found = serde_float(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "_SHORT", 0)
        assert repr(serde_float(text)) == repr(found)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.model")), ids=lambda path: path.name)
def test_pieces_are_those_that_are_read_field_by_field(path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()  # type: ignore[attr-defined]
    pieces, at = sentencepiece.usual_pieces(data)
    assert pieces and data[at : at + 1] != b"\n"
    monkeypatch.setattr(sentencepiece, "usual_pieces", lambda _: ([], 0))
    assert sentencepiece.parse_sentencepiece(data, "x").model.pieces == pieces


@pytest.mark.parametrize("end", range(2, 40))
def test_a_file_that_ends_within_a_piece_is_read_up_to_it(end: int) -> None:
    data = b"\n\x0a\n\x03abc\x15\0\0\0\0" + b"\n\x0c\n\x03abd\x15\0\0\0\0\x18\x03" + b"\n\x0a\n\x03abe\x15\0\0\0\0"
    _, at = sentencepiece.usual_pieces(data[:end])
    assert at == max(size for size in (0, 12, 26, 38) if size <= end)


@pytest.mark.parametrize("pattern", [" {2,}", "a", "ab{3,}", "  ", "b{1,}"])
@given(text=st.text("ab ", max_size=12))
def test_a_pattern_that_is_hardly_more_than_a_text_is_looked_for_first(pattern: str, text: str) -> None:
    assert PatternFinder(pattern).find(text) == [match.span() for match in regex.finditer(pattern, text)]
