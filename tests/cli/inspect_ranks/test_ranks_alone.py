"""A .tiktoken file without a pattern: what needs none works, and what needs one says how to give it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ok, refused

from tokcli.formats.tiktoken import format_tiktoken

RANKS = {bytes([value]): value for value in range(256)} | {b"he": 256, b"hell": 258, b"ll": 257}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.tiktoken"
    path.write_bytes(format_tiktoken(RANKS))
    return path


@pytest.mark.parametrize(
    "given",
    [["count"], ["encode"], ["encode", "--json"], ["split"], ["count", "-e", "gpt2"], ["inspect-ranks", "--not-self"],
     ["inspect-ranks", "--coverage", "own.tiktoken"], ["inspect-ranks", "--export", "huggingface", "-o", "made.json"],
     ["inspect-ranks", "--html", "made.html"]],
)  # fmt: skip
def test_what_needs_a_pattern_says_how_to_give_it(given: list[str], own: Path) -> None:
    assert refused(*given, "-e", "./own.tiktoken", data=b"hello") == (
        "Error: ./own.tiktoken: no pattern: ranks alone do not say how text is split\n"
        "Give --pattern P (a regex, or an encoding's name), or name it in the sidecar own.tiktoken.json: "
        '{"pat_str": "REGEX", "special_tokens": {"NAME": ID}}.\n'
    )
    assert sorted(own.parent.iterdir()) == [own]


@pytest.mark.parametrize(
    "given",
    [["--stats"], ["--merges"], ["--grep", "he"], ["--prefix", "h"], ["--longest", "3"], ["--not-utf8"], ["hell"],
     ["--id", "258"], ["--bytes"]],
)  # fmt: skip
def test_tokens_are_looked_at_without_a_pattern(given: list[str]) -> None:
    alone = ok("inspect-ranks", "-e", "own.tiktoken", *given)
    assert alone == ok("inspect-ranks", "-e", "own.tiktoken", "--pattern", "gpt2", *given)
    assert alone


def test_vocabularies_are_compared_decoded_and_extended_without_a_pattern() -> None:
    assert ok("inspect-ranks", "-q", "--diff", "own.tiktoken", "own.tiktoken").count(b"\n") == 1
    assert ok("decode", "-e", "own.tiktoken", "-t", "258 111") == b"hello"
    more = ("train", "-q", "--seed-vocab", "own.tiktoken", "--vocab-size", "260", "-o", "more.tiktoken")
    ok(*more, data=b"hello hello")
    assert ok("encode", "-e", "more.tiktoken", "-t", "hello") == b"259\n"


def test_a_pattern_of_the_command_line_is_for_one_run() -> None:
    assert ok("encode", "-e", "own.tiktoken", "--pattern", r"\w|\W", "-t", "hello") == b"104 101 108 108 111\n"
    assert ok("encode", "-e", "own.tiktoken", "--pattern", "gpt2", "-t", "hello") == b"258 111\n"
    assert "no pattern" in refused("encode", "-e", "own.tiktoken", "-t", "hello")
    Path("own.tiktoken.json").write_text('{"pat_str": "\\\\w|\\\\W"}')
    assert ok("encode", "-e", "own.tiktoken", "-t", "hell") == b"104 101 108 108\n"
