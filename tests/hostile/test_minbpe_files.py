"""Files of minbpe that mean harm: what they make is bounded, and reading them takes as long as they are."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from support import ok, parse_vocabulary, took_less

from tokcli.engine.minbpe.model import MinBpe
from tokcli.errors import VocabularyError
from tokcli.formats.minbpe import spec_of_pairs
from tokcli.registry.encodings import load_encoding


def test_merges_that_make_much_together_are_refused() -> None:
    """Each line may make a token of 64 kB: 60 kB of lines took 500 MB."""
    pairs = [(97, 97), *((number, number) for number in range(256, 270))]
    pairs += [(270, number % 256) for number in range(256)]
    pairs += [(number, byte) for number in range(271, 280) for byte in range(256)]
    lines = "".join(f"{left} {right}\n" for left, right in pairs)
    with pytest.raises(VocabularyError, match=r"x\.model:[0-9]+: tokens of [0-9]+ bytes together; at most 67108864"):
        parse_vocabulary(f"minbpe v1\n\n0\n{lines}".encode(), "x.model", "a minbpe model")


def hides(names: list[str]) -> bool:
    """Whether a name is the beginning of a later one, by the definition."""
    return any(name != later and later.startswith(name) for at, name in enumerate(names) for later in names[at:])


def test_special_tokens_that_hide_others_are_known() -> None:
    rnd = random.Random(5)
    seen = set()
    for _ in range(3000):
        names = list({"".join(rnd.choices("ab", k=rnd.randint(1, 5))): None for _ in range(4)})
        model = MinBpe(spec_of_pairs([], {name: 256 + number for number, name in enumerate(names)}, None))
        assert model._hides_specials == hides(names), names
        seen.add(hides(names))
        text = "".join(rnd.choices("abc", k=20))
        parts = re.split(f"({'|'.join(map(re.escape, names))})", text)  # as minbpe does
        expected = [[model.special_tokens[part]] if at % 2 else list(part.encode()) for at, part in enumerate(parts)]
        assert model.encode(text, frozenset(names)) == [number for part in expected for number in part]
    assert seen == {True, False}


@pytest.mark.clock
def test_long_special_tokens_are_read_in_time(tmp_path: Path) -> None:
    """Each of their beginnings was looked up."""
    path = tmp_path / "x.model"
    path.write_bytes(b"minbpe v1\n\n2\n" + b"x" * 400_000 + b" 300\n" + b"y" * 400_000 + b" 301\n97 98\n97 99\n")
    began = time.process_time()
    assert load_encoding(path).encode("ab") == [256]
    assert took_less(began, 3)


@pytest.mark.clock
def test_the_beginning_of_a_long_special_token_is_searched_in_linear_time() -> None:
    model = MinBpe(spec_of_pairs([], {"x" * 400_000: 300, "xx": 301, "xxx": 302}, None))
    began = time.process_time()
    assert model.encode("x" * 300_001, frozenset(model.special_tokens)) == [301] * 150_000 + [ord("x")]
    assert took_less(began, 6)


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("special", ["", "<|end|> 258\n"])
def test_a_basic_model_takes_bytes_that_are_no_text(tmp_path: Path, backend: str, special: str) -> None:
    model, text = tmp_path / "x.model", tmp_path / "text"
    model.write_bytes(f"minbpe v1\n\n{len(special.split()) // 2}\n{special}97 98\n256 255\n".encode())
    text.write_bytes(b"ab\xff\xfeab\xffb")
    env = {"TOKCLI_BACKEND": backend}
    assert ok("encode", "-e", model, "--errors", "bytes", text, env=env) == b"257 254 257 98\n"
    assert ok("count", "-e", model, "--errors", "bytes", "--records", "lines", text, env=env) == b"4\n"
