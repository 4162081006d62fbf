"""Claims about the lines of merge steps for pipes."""

from __future__ import annotations

from tokcli.engine.bpe.bpe import MergeStep, merge_steps
from tokcli.render.merges import plain_merge_steps


def test_merge_steps_of_the_engine_are_shown_one_a_line() -> None:
    ranks = {b"el": 417, b"ell": 616}
    assert list(plain_merge_steps(merge_steps(ranks, b"hello"))) == [
        "         h│e│l│l│o",
        "    417  h│el│l│o",
        "    616  h│ell│o",
    ]


def test_merge_steps_of_hostile_bytes_stay_on_their_line() -> None:
    (line,) = plain_merge_steps([MergeStep((b"\n", b"\x1b", b"\xf0", b"\x9f", b"[b]"), None, None)])
    assert line == "         ⏎│␛│⟨f0⟩│⟨9f⟩│[b]"
    (text,) = plain_merge_steps([MergeStep((b"\n", b"\x1b", b"[b]"), 10_000_000, 0)])
    assert text == "10000000  ⏎│␛│[b]"
