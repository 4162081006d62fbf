"""tiktoken's README, with the package's name changed."""

import contextlib
import io

import tokcli
from tokcli._educational import *  # noqa: F403
from tokcli._educational import SimpleBytePairEncoding, bpe_encode

with contextlib.redirect_stdout(io.StringIO()):
    enc = train_simple_encoding()  # noqa: F405
    tokens: list[int] = enc.encode("hello world aaaaaaaaaaaa")
    enc = SimpleBytePairEncoding.from_tiktoken("cl100k_base")
    enc.encode("hello world aaaaaaaaaaaa")
again = SimpleBytePairEncoding.from_tiktoken(tokcli.get_encoding("gpt2"))
assert again.decode(again.encode("hello", visualise=None)) == "hello"
assert bpe_encode(again.mergeable_ranks, b"hi", visualise=None)
