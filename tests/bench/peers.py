"""How each library does each operation in the fastest way that it offers. Imported in measured processes only.

A loader takes the name of an encoding and a folder with its `.tiktoken` file, and gives the operations that there are:
array(text) -> ids in a buffer; list(text) -> list[int]; count(text) -> int; batch(documents) -> list[list[int]] on two
threads; decode(list[int]) -> str.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Operations = dict[str, Callable[[Any], Any]]
THREADS = 2


def _lists(ids: Any, offsets: Any) -> list[list[int]]:
    flat = array("I", bytes(ids)).tolist()
    return [flat[a:b] for a, b in pairwise(memoryview(offsets).cast("B").cast("q"))]


def tokcli(name: str, folder: str) -> Operations:
    import tokcli

    enc = tokcli.get_encoding(name)
    return {
        "array": enc.encode_array,
        "list": enc.encode_ordinary,
        "count": enc.count,
        "batch": lambda documents: enc.encode_ordinary_batch(documents, num_threads=THREADS),
        "decode": enc.decode,
    }


def tiktoken(name: str, folder: str) -> Operations:
    import tiktoken  # finds the file by TIKTOKEN_CACHE_DIR

    enc = tiktoken.get_encoding(name)
    return {
        "array": enc.encode_ordinary,  # a list: encode_to_numpy also looks for special tokens, and is no faster
        "list": enc.encode_ordinary,
        "count": lambda text: len(enc.encode_ordinary(text)),
        "batch": lambda documents: enc.encode_ordinary_batch(documents, num_threads=THREADS),
        "decode": enc.decode,
    }


def tokenizers(name: str, folder: str) -> Operations:
    from huggingface import tokenizer_of

    enc = tokenizer_of(name)

    def encode(text: str) -> list[int]:
        ids: list[int] = enc.encode_batch_fast([text], add_special_tokens=False)[0].ids
        return ids

    return {
        "list": encode,
        "count": lambda text: len(enc.encode_batch_fast([text], add_special_tokens=False)[0]),
        "batch": lambda documents: [e.ids for e in enc.encode_batch_fast(documents, add_special_tokens=False)],
        "decode": enc.decode,
    }


def gigatoken(name: str, folder: str) -> Operations:
    from gigatoken import Tokenizer

    pattern = {"r50k_base": "gpt2", "cl100k_base": "gpt4", "o200k_base": "o200k"}[name]
    enc = Tokenizer.from_tiktoken(f"{folder}/{name}.tiktoken", pretokenizer=pattern, special_tokens={})
    return {
        "array": enc.encode,
        "list": lambda text: enc.encode(text).tolist(),
        "count": lambda text: len(enc.encode(text)),
        "batch": lambda documents: enc.encode_batch_list(documents, parallel=True),
        "decode": lambda ids: enc.decode(ids).decode(),
    }


def fastokens(name: str, folder: str) -> Operations:
    from fastokens import Tokenizer

    enc = Tokenizer.from_tiktoken(f"{folder}/{name}.tiktoken", encoding=name)

    def flat(documents: list[str]) -> Any:
        return enc.encode_batch_flat(documents, add_special_tokens=False, split_special_tokens=True)

    return {
        "array": lambda text: flat([text])[0],
        "list": lambda text: enc.encode_ordinary(text).ids,
        "count": lambda text: len(flat([text])[0]) // 4,
        "batch": lambda documents: _lists(*flat(documents)),
        "decode": enc.decode,
    }


def toktok(name: str, folder: str) -> Operations:
    from toktok import _encoding

    return _with_encode_batch(_encoding(name))


def quicktok(name: str, folder: str) -> Operations:
    from quicktok import get_encoding

    return _with_encode_batch(get_encoding(name))


def _with_encode_batch(enc: Any) -> Operations:
    return {
        "array": lambda text: enc.encode_batch([text], 1)[0],
        "list": enc.encode_ordinary,
        "count": enc.count,
        "batch": lambda documents: _lists(*enc.encode_batch(documents, THREADS)),
        "decode": enc.decode,
    }


def splintr(name: str, folder: str) -> Operations:
    from splintr import Tokenizer

    enc = Tokenizer.from_pretrained(name)
    return {
        "array": enc.encode_flat,
        "list": enc.encode_ordinary,
        "count": lambda text: len(enc.encode_flat(text)) // 4,
        "batch": lambda documents: _lists(*enc.encode_batch_flat(documents)),
        "decode": enc.decode,
    }


def rs_bpe(name: str, folder: str) -> Operations:
    from rs_bpe.bpe import openai

    enc = getattr(openai, name)()
    return {"list": enc.encode, "count": enc.count, "decode": enc.decode}


def snaptokens(name: str, folder: str) -> Operations:
    from huggingface import file_of
    from snaptokens import Tokenizer

    enc = Tokenizer.from_file(str(file_of(name)))
    return {
        "array": lambda text: enc.encode_batch_flat([text])[0],
        "list": lambda text: enc.encode(text).ids,
        "count": lambda text: len(enc.encode_batch_flat([text])[0]) // 4,
        "batch": lambda documents: [e.ids for e in enc.encode_batch(documents)],
        "decode": enc.decode,
    }


def tuetoken(name: str, folder: str) -> Operations:
    from huggingface import file_of
    from tuetoken import Tokenizer

    enc = Tokenizer(str(file_of(name)))
    return {
        "array": enc.encode_to_bytes,
        "list": enc.encode_ordinary,
        "count": enc.count_tokens,
        "batch": lambda documents: enc.encode_ordinary_batch(documents, num_threads=THREADS),
        "decode": enc.decode,
    }


def basetenkenizer(name: str, folder: str) -> Operations:
    from basetenkenizer import Tokenizer
    from huggingface import file_of

    enc = Tokenizer.from_file(str(file_of(name)))
    return {
        "list": lambda text: enc.encode(text).ids,
        "count": lambda text: len(enc.encode(text)),
        "batch": lambda documents: [e.ids for e in enc.encode_batch(documents)],
        "decode": enc.decode,
    }


PEERS = {
    loader.__name__: loader
    for loader in (tokcli, tiktoken, tokenizers, gigatoken, fastokens, toktok, quicktok, splintr, rs_bpe, snaptokens,
                   tuetoken, basetenkenizer)
}  # fmt: skip
