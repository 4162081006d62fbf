"""Training, saving, loading, and an encoding made by hand, as tiktoken's README extends one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import tokcli
from tokcli import Encoding, TokcliError
from tokcli.core import Encoding as CoreEncoding
from tokcli.load import dump_tiktoken_bpe, load_tiktoken_bpe


def lines() -> Iterator[str]:
    yield from ["low lower lowest"] * 10


def log(index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:
    assert left + right == token and index >= 0 and count > 0


own: Encoding = tokcli.train(lines(), vocab_size=262, special_tokens=["<end>"], on_merge=log)
longer: CoreEncoding = tokcli.train([b"low low"], 263, seed=own, ties="rank", num_threads=2)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "own.tiktoken"
    names: tuple[str, ...] = own.save(path)
    assert tokcli.load_encoding(names[0]).encode("lower") == own.encode("lower")
    (json_name,) = own.save(Path(folder) / "tokenizer.json", format="huggingface")
    assert tokcli.load_encoding(json_name, name="mine").name == "mine"
    for form in ("tiktoken", "huggingface"):
        own.save(Path(folder) / form, format=form)
    ranks: dict[bytes, int] = load_tiktoken_bpe(str(path))
    dump_tiktoken_bpe(ranks, str(path))
    try:
        tokcli.load_encoding(Path(folder) / "missing")
    except TokcliError as error:
        hint: str = error.hint
        where: str | None = error.where

base = tokcli.get_encoding("cl100k_base")
extended = tokcli.Encoding(
    name="cl100k_im",
    pat_str=base._pat_str,
    mergeable_ranks=base._mergeable_ranks,
    special_tokens={**base._special_tokens, "<|im_start|>": 100264, "<|im_end|>": 100265},
)
assert extended.encode("<|im_start|>", allowed_special="all") == [100264]
