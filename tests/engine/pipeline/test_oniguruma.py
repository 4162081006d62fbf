"""Patterns of a tokenizer.json mean what they mean in Oniguruma, as Hugging Face's tokenizers has it."""

from __future__ import annotations

import pytest

from tokcli.engine.pipeline.finders import PatternFinder
from tokcli.engine.pretokenizers.known_patterns import CL100K
from tokcli.formats.strict_json import serde_float

TEXT = "12345 ab² x\u200dy ⓐ٣ AB\n\nß_`+ Ⅷ!\r\n½"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"\p{N}{1,3}+", ["12345", "²", "٣", "Ⅷ", "½"]),  # a repeat of a repeat
        (r"1{1}?2", ["12"]),
        (r"(?:1|2){2,3}+3", ["123"]),
        (r"\w+", ["12345", "ab²", "x", "y", "ⓐ٣", "AB", "ß_", "Ⅷ", "½"]),  # no joiner; ² and ½ outside of brackets
        (r"[\w]+", ["12345", "ab", "x", "y", "ⓐ٣", "AB", "ß_", "Ⅷ"]),
        (r"\w\b", ["5", "²", "x", "y", "٣", "B", "_", "Ⅷ", "½"]),
        (r"[[:punct:]]+", ["ⓐ", "_`+", "!"]),
        (r"\p{Punct}+", ["_", "!"]),
        (r"[[:alnum:]]*٣", ["ⓐ٣"]),
        (r"(?m)B.", ["B\n"]),
        (r"^.", ["1", "ß", "½"]),
    ],
)
def test_a_pattern_finds_what_oniguruma_finds(pattern: str, found: list[str]) -> None:
    assert [TEXT[a:b] for a, b in PatternFinder(pattern).find(TEXT)] == found
    tokenizers = pytest.importorskip("tokenizers")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    assert [piece for piece, _ in split.pre_tokenize_str(TEXT)] == found


def test_the_pattern_of_cl100k_takes_all_digits_at_once_in_a_tokenizer_json() -> None:
    assert PatternFinder(CL100K).find("12345") == [(0, 5)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-18.401728698654438", -18.40172869865444),
        ("-2.6747742956938206e-07", -2.674774295693821e-07),
        ("-3.50008063608377835337406812415", -3.5000806360837786),
        ("-8.25", -8.25),
        ("1e400", float("inf")),
        ("123456789012345678901234567890.5", 1.2345678901234568e29),
    ],
)
def test_scores_are_read_as_by_serde_which_errs_in_the_last_bit(text: str, value: float) -> None:
    assert serde_float(text) == value
