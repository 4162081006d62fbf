"""`tokcli._educational` prints and returns what tiktoken's module does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken._educational as theirs

import tokcli
import tokcli._educational as ours

TEXTS = ["hello world", "", "naïve 日本\U0001f642\U0001f642", "aaaaaaaaaaaaaaaa", "  a\n\n  b", "<|endoftext|>"]
CORPUS = "ab ab abc aaaa aaaaa abab babab abbba bbaab xyz xyz xy, yz; " * 4


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[object, str]]:
    def of(function: Callable[..., object], *arguments: object, **named: object) -> tuple[object, str]:
        capsys.readouterr()
        result = function(*arguments, **named)
        return result, capsys.readouterr().out

    return of


@pytest.mark.parametrize("visualise", ["colour", "color", "simple", "other", "", None])
@pytest.mark.parametrize("text", TEXTS)
def test_encoding_returns_and_prints_the_same(
    text: str, visualise: str | None, printed: Callable[..., tuple[object, str]]
) -> None:
    encoding = tokcli.get_encoding("gpt2")
    expected = theirs.SimpleBytePairEncoding.from_tiktoken(encoding)
    found = ours.SimpleBytePairEncoding.from_tiktoken("gpt2")
    assert printed(found.encode, text, visualise) == printed(expected.encode, text, visualise)
    assert found.encode(text, None) == encoding.encode_ordinary(text)


def test_decoding_gives_the_same() -> None:
    found = ours.SimpleBytePairEncoding.from_tiktoken("gpt2")
    expected = theirs.SimpleBytePairEncoding.from_tiktoken(tokcli.get_encoding("gpt2"))
    for ids in ([31373, 995], [], [220, 255, 1]):
        assert found.decode(ids) == expected.decode(ids)
        assert found.decode_bytes(ids) == expected.decode_bytes(ids)
        assert found.decode_tokens_bytes(ids) == expected.decode_tokens_bytes(ids)
    with pytest.raises(KeyError, match="no token has the id 99999"):
        found.decode([99999])


@pytest.mark.parametrize("visualise", ["colour", "simple", None])
@pytest.mark.parametrize("pattern", [r"\w+|\W", r"[ab]+", r"\S+\s*"])
def test_training_learns_and_prints_the_same(
    pattern: str, visualise: str | None, printed: Callable[..., tuple[object, str]]
) -> None:
    for size in (256, 261, 264):
        arguments = CORPUS, size, pattern, visualise
        assert printed(ours.bpe_train, *arguments) == printed(theirs.bpe_train, *arguments)


def test_training_on_runs_of_one_character_learns_the_same() -> None:
    text = " ".join("a" * size for size in range(1, 24))
    assert ours.bpe_train(text, 272, r"\w+", None) == theirs.bpe_train(text, 272, r"\w+", None)


def test_the_example_of_the_readme_learns_hello_world(printed: Callable[..., tuple[object, str]]) -> None:
    encoding, out = printed(ours.train_simple_encoding)
    assert isinstance(encoding, ours.SimpleBytePairEncoding)
    assert "So we made b' world' our" in out and "encode 'hello world':" in out
    assert len(encoding.mergeable_ranks) == 600
    ids = [encoding.mergeable_ranks[token] for token in (b"hello", b" world")]
    assert encoding.encode("hello world", None) == ids


def test_a_star_import_brings_tiktokens_names() -> None:
    names: dict[str, object] = {}
    exec("from tokcli._educational import *", names)
    assert {"SimpleBytePairEncoding", "bpe_encode", "bpe_train", "train_simple_encoding", "visualise_tokens"} <= set(
        names
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ours.bpe_train("ab", 255, "a"), ValueError, "vocab_size: must be at least 256"),
        (lambda: ours.bpe_train("ab", 300, "a", None), ValueError, "nothing to merge in data"),
        (lambda: ours.bpe_train(3, 300, "a"), TypeError, "data: expected a str, not int"),  # type: ignore[arg-type]
        (lambda: ours.bpe_encode({}, "ab"), TypeError, "input: expected bytes, not str"),  # type: ignore[arg-type]
        (lambda: ours.bpe_encode({b"a": 0}, b"b", None), KeyError, "no token for the byte 0x62"),
        (lambda: ours.SimpleBytePairEncoding.from_tiktoken(Path()), TypeError, "encoding: expected an Encoding"),  # type: ignore[arg-type]
        (lambda: ours.SimpleBytePairEncoding.from_tiktoken("nope"), ValueError, "unknown encoding 'nope'"),
    ],
)
def test_an_error_names_the_argument(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
