"""Numbers of tokens with a unit, wherever an option takes one: k is 1000, Ki is 1024."""

from __future__ import annotations

import pytest
from support import noted, ok, refused

WORDS = "hello " * 3000  # 3000 tokens and one more


@pytest.mark.parametrize(
    ("given", "tokens"), [("1k", 1000), ("1K", 1000), ("1Ki", 1024), ("1.5k", 1500), ("1,500", 1500), ("1000", 1000)]
)
def test_options_that_take_tokens_take_units(given: str, tokens: int) -> None:
    assert len(ok("encode", "-n", given, "-t", WORDS).split()) == tokens
    first, *_ = ok("encode", "--chunk", given, "--overlap", "0.1k", "-t", WORDS).splitlines()
    assert len(first.split()) == tokens
    assert ok("count", "--max", "3.1k", "-t", WORDS) == b"3001\n"


def test_a_note_says_what_the_k_of_a_window_is() -> None:
    ran = noted("count", "--budget", "--window", "128k", "-t", "hello")
    assert (ran.out, ran.err) == (b"127999\n", "Note: 128k is 128,000 tokens; for 131,072, type 128Ki.\n")
    assert noted("count", "--budget", "--window", "128Ki", "-t", "hello").err == ""
    assert noted("count", "--budget", "--window", "128k", "-q", "-t", "hello").err == ""


@pytest.mark.parametrize("arguments", [("--max", "-1k"), ("--chunk", "0k"), ("--shard-tokens", "3G")])
def test_a_number_out_of_range_is_refused_with_its_unit_resolved(arguments: tuple[str, str]) -> None:
    command = "count" if arguments[0] == "--max" else "encode"
    assert arguments[0] in refused(command, *arguments, "-t", "x")
