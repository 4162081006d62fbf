"""The decoders of a tokenizer.json, a few ids at a time: the bytes are those of all ids decoded together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples

from tokcli.engine.pipeline.decode_steps import StepDecoders
from tokcli.engine.pipeline.decoders import decoded
from tokcli.engine.spec import decoders as spec
from tokcli.engine.spec.decoders import Decoder
from tokcli.engine.spec.patterns import LiteralText
from tokcli.errors import UnknownTokenError

TEXTS = ["", "a", " ", "##b", "\u2581", "\u2581a", "<0xC3>", "<0xA9>", "<0x0A>", ".", "n't", "x", "</w>", "Ġ", "Ã", "é"]
decoders = st.sampled_from(
    [
        spec.ByteLevelDecoder(),
        spec.ByteFallback(),
        spec.Fuse(),
        spec.Spaced(),
        spec.StripDecoder(" ", 1, 0),
        spec.StripDecoder("a", 1, 1),
        spec.ReplaceDecoder(LiteralText("\u2581"), " "),
        spec.ReplaceDecoder(LiteralText("a"), "long text"),
        spec.WordPieceDecoder("##", cleanup=True),
        spec.MetaspaceDecoder("\u2581", is_prepended=True),
        spec.MetaspaceDecoder("\u2581", is_prepended=False),
        spec.BpeSuffix("</w>"),
        spec.Ctc("x", "|", cleanup=True),
    ]
)


@given(
    st.lists(decoders, max_size=4),
    st.lists(st.lists(st.integers(0, len(TEXTS) - 1), max_size=6), max_size=5),
)
@examples(600)
def test_ids_that_come_a_few_at_a_time_decode_as_all_together(steps: Sequence[Decoder], parts: list[list[int]]) -> None:
    texts = dict(enumerate(TEXTS))
    stream = StepDecoders(texts, steps).stream()
    made = b"".join([*map(stream.add, parts), stream.finish()])
    assert made == decoded([id for ids in parts for id in ids], texts, steps)


def test_an_id_without_a_text_is_an_error_and_changes_nothing() -> None:
    steps = [spec.WordPieceDecoder("##", cleanup=True)]
    stream = StepDecoders({1: "a", 2: "##b"}, steps).stream()
    for before in ([], [1]):
        stream.add(before)
        for wrong in ([2, 7], [-1], [2**40]):
            with pytest.raises(UnknownTokenError, match=str(wrong[-1])):
                stream.add(wrong)
    assert stream.add([1, 2]) + stream.finish() == b" ab"
