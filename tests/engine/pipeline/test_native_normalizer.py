"""Normalizing natively: every character, alone and among marks, becomes what the normalizers of Python make of it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, hard_text

from tokcli.engine import backend
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.native_normalizer import native_normalizer
from tokcli.engine.pipeline.normalizers import Lowercase, Normalizer, NormalizerSequence, Strip, UnicodeForm, Without

pytestmark = pytest.mark.skipif(backend.native() is None, reason="Python does the work")

NFC, NFD, NFKC, NFKD = (UnicodeForm(form) for form in ("NFC", "NFD", "NFKC", "NFKD"))
NORMALIZERS: list[Normalizer] = [
    NFC,
    NFD,
    NFKC,
    NFKD,
    Lowercase(),
    NormalizerSequence((NFD, Lowercase())),
    NormalizerSequence((NFD, Without("MARK"), Lowercase())),
    NormalizerSequence((NFKC, NormalizerSequence((Lowercase(), NFC)))),
    NormalizerSequence((Without("MARK"), NFKD, NFKC)),
]
NATIVE = [native_normalizer(normalizer) for normalizer in NORMALIZERS] if backend.native() else []
# marks that compose, reorder or stay, parts of Hangul, letters that grow in lower case, compatibility characters
PARTS = [*"aAeEoİſßﬁ½㎏가각", "\u0301", "\u0323", "\u0345", "\u3099", "か", "\u1100", "\u1161", "\u11a8", "\u0f71\u0f72",
         "\u09c7", "\u09be", "\U00011935", "\U00011930", "\U0001d165", "ก", "ำ", " ", "."]  # fmt: skip


def in_python(normalizer: Normalizer, text: str) -> str:
    aligned = Aligned(text)
    normalizer(aligned)
    return aligned.text


@examples(400)
@given(st.integers(0, len(NORMALIZERS) - 1), st.one_of(hard_text(12), st.lists(st.sampled_from(PARTS)).map("".join)))
def test_text_becomes_what_python_makes_of_it(which: int, text: str) -> None:
    native = NATIVE[which]
    assert native is not None
    assert native(text) in (None, in_python(NORMALIZERS[which], text))


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("which", range(len(NORMALIZERS)))
def test_every_character_is_normalized_among_others(which: int) -> None:
    native, refused = NATIVE[which], 0
    assert native is not None
    points = [point for point in range(0x20, sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    points = [point for point in points if point < 0x3400 or 0xA000 <= point < 0x20000 or point % 97 == 0]
    for at in range(0, len(points), 512):
        chars = [chr(point) for point in points[at : at + 512]]
        for text in (" ".join(chars), "".join(f"e{char}\u0323\u0301 A{char} " for char in chars)):
            made = native(text)
            refused += made is None
            if made is not None:
                assert made == in_python(NORMALIZERS[which], text)
    assert refused < len(points) // 512 // 4


def test_text_is_not_left_to_python_for_capitals_and_accents() -> None:
    text = "Où est la BIBLIOTHÈQUE à côté de l'École ? 안녕하세요 세계. " * 50
    for native, normalizer in zip(NATIVE, NORMALIZERS, strict=True):
        assert native is not None
        assert native(text) == in_python(normalizer, text)


def test_what_looks_further_is_left_to_python() -> None:
    assert native_normalizer(None) is None
    assert native_normalizer(NormalizerSequence((NFC, Strip(True, True)))) is None
    assert NATIVE[0] is not None
    assert NATIVE[0]("a\ud800\u0301") is None
