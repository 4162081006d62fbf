"""What `train` writes, tokcli reads: in every format, with any special tokens and any text; else it writes nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, refused

import tokcli
from tokcli.cli.main import run

FORMS = ("tiktoken", "minbpe", "gpt2", "huggingface")
ODD = ["\u2028", "\u2029", "\r", "\x85", "\x0b", "\x1c", "\x00", "\t", "Ġ", "Ċ", "é", "<|end|>", "#version: 0.2", "\ufeff",
       "\\", '"', "'", "256", "\x1b[2J", "AA== 0", "ab", "a", "İ", "\ud800", "\udcff", "x" * 70_000]  # fmt: skip
names = st.lists(st.sampled_from([*ODD, *HARD_ATOMS]), min_size=1, max_size=3).map("".join)
special_tokens = st.lists(
    st.one_of(names, names.map("<{}>".format), names.map("[{}]".format)), min_size=1, max_size=3, unique=True
)
texts = st.lists(st.sampled_from([*HARD_ATOMS, "ab", "abab ", "\u2028"]), min_size=3, max_size=40).map("".join)
patterns = st.sampled_from(
    [None, None, "none", "cl100k_base", "r50k_base", r"\w+|\W", "\u2028|[\\s\\S]", " ?a|[\\s\\S]\t?"]
)


def trained(form: str, special: list[str], text: str, pattern: str | None, out: Path) -> int:
    """Return the status of a run of `train`."""
    arguments = ["train", "-q", "--format", form, "--vocab-size", "270", "-o", str(out), f"--text={text}"]
    arguments += [f"--special={name}" for name in special] + ([f"--pattern={pattern}"] if pattern else [])
    return run(arguments)


def written_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@given(st.sampled_from(FORMS), special_tokens, texts, patterns)
def test_what_is_written_is_read(form: str, special: list[str], text: str, pattern: str | None) -> None:
    """GPT-2's pair once had special tokens, with U+2028 for one, that it could not be read with."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        status = trained(form, special, text, pattern, folder / "out")
        if status == 2:
            assert not written_in(folder)
            return
        assert status == 0
        encoding = tokcli.load_encoding(folder / ("out.model" if form == "minbpe" else "out"))
        assert set(special) == encoding.special_tokens_set
        for token in special:
            number = encoding._special_tokens[token]  # `encode_single_token` looks among the ranks first, as tiktoken
            assert encoding.encode(token, allowed_special={token}, disallowed_special=()) == [number]
            assert encoding.decode_bytes([number]) == token.encode()
        if form != "gpt2" or pattern in (None, "r50k_base"):
            assert encoding.decode(encoding.encode_ordinary(text)) == text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [b"\xff", b"<\xed\xa0\x80>"])
def test_a_special_token_that_is_not_utf_8_is_refused(form: str, name: bytes, tmp_path: Path) -> None:
    """It once was an internal error."""
    arguments = ("train", "--format", form, "--vocab-size", "300", "-o", tmp_path / "out", "-t", "ab ab")
    assert "is not UTF-8" in refused(*arguments, b"--special=" + name)
    assert "is not UTF-8" in refused("train", "--counts-only", "-o", tmp_path / "out", b"--special=" + name, "-t", "a")
    assert not list(tmp_path.iterdir())


def test_no_token_is_longer_than_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"a" * 300_000)
    arguments = [str(tmp_path / "long"), "--pattern", "none", "--vocab-size", "300", "-o", str(tmp_path / "out")]
    assert run(["train", "-q", *arguments]) == 0
    tokens = tokcli.load_encoding(tmp_path / "out")._mergeable_ranks
    assert max(map(len, tokens)) == 1 << 16
