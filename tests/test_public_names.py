"""The public names are those of tiktoken and a few more, and each of ours does what it says for every family."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
from support import HARD_ATOMS, ROOT

import tokcli
from tokcli.errors import DisallowedSpecialTokenError, InputError

FORMATS = ROOT / "tests" / "data" / "formats"
FILES = ["byte-level.tokenizer.json", "plain.tokenizer.json", "wordpiece.tokenizer.json", "unigram.tokenizer.json",
         "bpe.model", "unigram.model", "word.model", "char.model"]  # fmt: skip
TEXTS = ["", "hello world", "  it's 2024, wörld! \n", "日本語\U0001f642", "<|endoftext|>", "".join(HARD_ATOMS)]
TIKTOKENS = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")}
OURS = {"count", "count_batch", "count_file", "count_files", "encode_array", "encode_array_batch", "encode_files",
        "encode_stream", "save", "split"}  # fmt: skip


@pytest.fixture(scope="module", params=["cl100k_base", *FILES])
def encoding(request: pytest.FixtureRequest) -> tokcli.Encoding:
    name: str = request.param
    return tokcli.load_encoding(FORMATS / name) if name in FILES else tokcli.get_encoding(name)


def test_the_package_has_tiktokens_names_and_a_few_more() -> None:
    names = {name for name in tiktoken.__all__ if name != "__version__"} if hasattr(tiktoken, "__all__") else set()
    ours = {"Encoding", "TextChunk", "TokcliError", "chunks", "encoding_for_model", "encoding_name_for_model", "get_encoding",
            "list_encoding_names", "load_encoding", "train"}  # fmt: skip
    assert set(tokcli.__all__) - {"__version__"} == ours
    assert names <= ours
    assert all(getattr(tokcli, name) for name in ours)
    seen = {name for name in dir(tokcli) if not name.startswith("__")}
    assert seen == {*ours, "core", "load", "model", "registry"}
    assert not hasattr(tokcli, "annotations")


def test_an_encoding_has_every_public_name_of_tiktokens(encoding: tokcli.Encoding) -> None:
    assert set(dir(encoding)) >= TIKTOKENS | OURS


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'nope'"):
        _ = tokcli.nope  # type: ignore[attr-defined]


def test_a_count_is_the_number_of_ids(encoding: tokcli.Encoding, tmp_path: Path) -> None:
    sizes = [len(encoding.encode_ordinary(text)) for text in TEXTS]
    assert [encoding.count(text) for text in TEXTS] == sizes
    assert encoding.count_batch(TEXTS) == sizes
    for text, size in zip(TEXTS, sizes, strict=True):
        (tmp_path / "text").write_bytes(text.encode())
        assert encoding.count_file(tmp_path / "text") == encoding.count_file(str(tmp_path / "text")) == size


def test_a_file_of_many_blocks_has_the_count_of_its_text(tmp_path: Path) -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    text = "".join(random.Random(7).choices([*HARD_ATOMS, "word ", " and another\n"], k=150_000))
    (tmp_path / "text").write_bytes(text.encode())
    assert encoding.count_file(tmp_path / "text") == len(encoding.encode_ordinary(text))


def test_a_file_that_is_not_utf_8_is_an_error_with_its_byte(encoding: tokcli.Encoding, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"bad \xff")
    with pytest.raises(InputError, match="at byte 4"):
        encoding.count_file(tmp_path / "bad")
    with pytest.raises(FileNotFoundError):
        encoding.count_file(tmp_path / "nope")


@pytest.mark.parametrize("threads", [1, 3])
def test_files_have_the_ids_of_their_texts_in_order(encoding: tokcli.Encoding, threads: int, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(len(TEXTS))]
    for path, text in zip(paths, TEXTS, strict=True):
        path.write_bytes(text.encode())
    ids = [encoding.encode_ordinary(text) for text in TEXTS]
    assert encoding.count_files(paths, num_threads=threads) == list(map(len, ids))
    assert [buffer.tolist() for buffer in encoding.encode_files(map(str, paths), num_threads=threads)] == ids


def test_a_file_that_is_not_utf_8_is_named(encoding: tokcli.Encoding, tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(b"good")
    (tmp_path / "bad").write_bytes(b"bad \xff")
    read = encoding.encode_files([tmp_path / "good", tmp_path / "bad"], num_threads=2)
    assert next(read).tolist() == encoding.encode_ordinary("good")
    with pytest.raises(InputError, match="at byte 4") as caught:
        next(read)
    assert caught.value.where == str(tmp_path / "bad")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_has_the_ids_of_its_text_whatever_its_blocks(encoding: tokcli.Encoding, size: int) -> None:
    data = "".join(TEXTS).encode()
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    found = [token for buffer in encoding.encode_stream(blocks) for token in buffer]
    assert found == encoding.encode_ordinary("".join(TEXTS))
    assert list(encoding.encode_stream([])) == [] or not any(map(len, encoding.encode_stream([])))


def test_arrays_have_the_ids(encoding: tokcli.Encoding) -> None:
    ids = [encoding.encode_ordinary(text) for text in TEXTS]
    for text, expected in zip(TEXTS, ids, strict=True):
        found = encoding.encode_array(text)
        assert (found.format, found.tolist()) == ("I", expected)
        assert encoding.encode_array(text.encode()).tolist() == expected
    buffer, offsets = encoding.encode_array_batch(TEXTS, num_threads=2)
    assert (buffer.format, offsets.format, offsets[0], len(offsets)) == ("I", "Q", 0, len(TEXTS) + 1)
    assert [buffer[start:end].tolist() for start, end in pairwise(offsets)] == ids


def test_pieces_joined_are_the_text() -> None:
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        for text in TEXTS:
            assert "".join(tokcli.get_encoding(name).split(text)) == text


def test_all_errors_of_ours_are_one_kind() -> None:
    with pytest.raises(tokcli.TokcliError) as raised:
        tokcli.get_encoding("cl100k_base").encode("<|endoftext|>")
    assert isinstance(raised.value, DisallowedSpecialTokenError)
    with pytest.raises(tokcli.TokcliError):
        tokcli.load_encoding(FORMATS / "nope")


def test_train_gives_an_encoding_of_the_size_that_was_asked_for() -> None:
    encoding = tokcli.train(["ab ab ab"], vocab_size=258)
    assert encoding.n_vocab == 258
    assert encoding.encode("ab") == [256]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tokcli.train("abc", 300), TypeError, "corpus: expected several texts, such as a list of str, not one str"),
        (lambda: tokcli.train(b"abc", 300), TypeError, "corpus: expected several texts"),  # type: ignore[arg-type]
        (lambda: tokcli.train(3, 300), TypeError, "corpus: expected a list of texts, not int"),  # type: ignore[arg-type]
        (lambda: tokcli.train(["a"], 3), ValueError, "vocab_size 3: too small"),
        (lambda: tokcli.train(["a"], "300"), TypeError, "vocab_size: expected an int, not str"),  # type: ignore[arg-type]
        (lambda: tokcli.train(["a"], 300, special_tokens="<x>"), TypeError, "special_tokens: expected several texts"),
        (lambda: tokcli.train(["a"], 300, name=3), TypeError, "name: expected a str, not int"),  # type: ignore[arg-type]
        (lambda: tokcli.get_encoding(3), ValueError, "encoding_name: expected a str, not int"),  # type: ignore[arg-type]
        (lambda: tokcli.get_encoding("gpt2").count_batch("abc"), TypeError, "texts: expected several texts"),
        (lambda: tokcli.get_encoding("gpt2").encode_array_batch("abc"), TypeError, "texts: expected several texts"),
        (lambda: tokcli.get_encoding("gpt2").encode("a", dropout=2), ValueError, "dropout: expected a probability from 0 to 1"),
        (lambda: tokcli.get_encoding("gpt2").encode("a", seed="x"), TypeError, "seed: expected an int, not str"),  # type: ignore[arg-type]
        (lambda: tokcli.chunks(tokcli.get_encoding("gpt2"), "a", 0), ValueError, "max_tokens: expected 1 or more, not 0"),
        (lambda: tokcli.chunks(tokcli.get_encoding("gpt2"), "a", 2, overlap=2), ValueError, "overlap: expected 0 or more and less"),
        (lambda: tokcli.chunks(tokcli.get_encoding("gpt2"), "a", 2, boundary="x"), ValueError, "boundary: expected one of token"),  # type: ignore[arg-type]
        (lambda: tokcli.load.read_file(3), TypeError, "blobpath: expected a str, not int"),  # type: ignore[arg-type]
        (lambda: tokcli.load.check_hash("a", "b"), TypeError, "data: expected bytes, not str"),  # type: ignore[arg-type]
        (lambda: tokcli.load.load_tiktoken_bpe(3), TypeError, "tiktoken_bpe_file: expected a str, not int"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_an_error_names_the_argument(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
