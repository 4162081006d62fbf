"""The functions of `tiktoken.load`, which read and write files of ranks as tiktoken does.

They have the arguments and results of tiktoken's. Two things are safer: downloads have limits of time and size and must
use https (or come from this machine), and a file without a checksum is cached only in a folder that TIKTOKEN_CACHE_DIR
names. `tokcli.load_encoding` reads more formats and checks files more strictly.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from pathlib import Path

from tokcli.atomic import replace_file
from tokcli.engine.base import arguments
from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.errors import NetworkError, VocabularyError
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry.network.answers import check_sha256
from tokcli.registry.network.cache import fetch, tiktoken_cache_path
from tokcli.registry.network.download import ask, is_offline
from tokcli.registry.network.urls import shown_url

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "dump_tokcli_bpe",
    "load_tiktoken_bpe",
    "load_tokcli_bpe",
    "read_file",
    "read_file_cached",
]

_SPECIAL = (b"<|endoftext|>", b"<|startoftext|>")  # tokens that encoder.json lists and no merge makes


class PairMismatchError(VocabularyError, AssertionError):
    """The two files of GPT-2's format do not give the same ranks (AssertionError in tiktoken)."""


def read_file(blobpath: str) -> bytes:
    """Return the contents of a local file, or of a url, which is downloaded each time.

    A url that cannot be downloaded raises NetworkError, an OSError; so does one that is not https, unless it is on this
    machine. A local file that cannot be read raises the OSError of opening it.
    """
    arguments.check_text(blobpath, "blobpath")
    if "://" not in blobpath:
        return Path(blobpath).read_bytes()
    if is_offline():
        raise NetworkError(f"{shown_url(blobpath)}: the network may not be used", "TOKCLI_OFFLINE forbids it.")
    return ask(blobpath).data or b""


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Return whether `expected_hash` is the SHA-256 of the data, in 64 lower-case hexadecimal digits.

    >>> check_hash(b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    True
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise arguments.wrong_type("data", "bytes", data)
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Return the contents of a local file or of a url, which is downloaded only if it is not cached.

    The cache is the folder that TIKTOKEN_CACHE_DIR (or DATA_GYM_CACHE_DIR) names, where files are named after their url
    as tiktoken does; where neither is set, it is tokcli's own, which keeps only files whose SHA-256 is given. Contents
    with another SHA-256 than `expected_hash` (hexadecimal) raise ChecksumError, a ValueError.
    """
    arguments.check_text(blobpath, "blobpath")
    if expected_hash is not None:
        arguments.check_text(expected_hash, "expected_hash")
    if "://" not in blobpath:
        return _checked(blobpath, read_file(blobpath), expected_hash)
    path = tiktoken_cache_path(blobpath)
    if path is not None:
        if path.exists():
            data = path.read_bytes()
            if expected_hash is None or check_hash(data, expected_hash):
                return data
        data = _checked(blobpath, read_file(blobpath), expected_hash)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(str(path), data)
        return data
    if expected_hash and blobpath.startswith("https://") and _is_sha256(expected_hash):
        return fetch(blobpath, expected_hash)
    return _checked(blobpath, read_file(blobpath), expected_hash)


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def _checked(blobpath: str, data: bytes, expected_hash: str | None) -> bytes:
    if expected_hash:
        check_sha256(data, expected_hash, shown_url(blobpath) if "://" in blobpath else blobpath)
    return data


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Return the mergeable_ranks of GPT-2's two files: vocab.bpe, one merge per line, and encoder.json, ids by token.

    The ranks follow the order of the merges, after those of the 256 bytes; with `clobber_one_byte_tokens` bytes have
    the ranks that encoder.json gives them. The files are read by `read_file_cached` with their SHA-256. Files that do
    not give the same ranks raise PairMismatchError, an AssertionError; files of another form raise VocabularyError.
    """
    arguments.check_text(vocab_bpe_file, "vocab_bpe_file")
    arguments.check_text(encoder_json_file, "encoder_json_file")
    merges = _decoded(read_file_cached(vocab_bpe_file, vocab_bpe_hash), vocab_bpe_file).split("\n")[1:-1]
    ids = _object(read_file_cached(encoder_json_file, encoder_json_hash), encoder_json_file)
    tokens = [bytes((byte,)) for byte in BYTE_OF.values()]
    for number, line in enumerate(merges, 2):
        first, second = _pair(line, f"{vocab_bpe_file}:{number}")
        tokens.append(_bytes_of(first, vocab_bpe_file) + _bytes_of(second, vocab_bpe_file))
    expected = {_bytes_of(token, encoder_json_file): number for token, number in ids.items()}
    for special in _SPECIAL:
        expected.pop(special, None)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    if clobber_one_byte_tokens:
        ranks |= {token: rank for token, rank in expected.items() if len(token) == 1}
    if ranks != expected:
        raise PairMismatchError(f"{encoder_json_file}: its ids are not the order of the merges in {vocab_bpe_file}")
    return ranks


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{name}: not UTF-8 at byte {error.start}") from None


def _object(data: bytes, name: str) -> dict[str, int]:
    """Return the JSON object in a file."""
    try:
        ids = json.loads(_decoded(data, name))
    except (json.JSONDecodeError, RecursionError) as error:
        raise VocabularyError(f"{name}: not JSON: {error}") from None
    if type(ids) is not dict:
        raise VocabularyError(f"{name}: expected a JSON object of ids by token, found {type(ids).__name__}")
    return ids


def _pair(line: str, where: str) -> list[str]:
    pair = line.split()
    if len(pair) != 2:
        raise VocabularyError(f"{where}: expected two tokens, found {len(pair)}")
    return pair


def _bytes_of(token: str, name: str) -> bytes:
    try:
        return bytes([BYTE_OF[char] for char in token])
    except KeyError as error:
        raise VocabularyError(f"{name}: {error.args[0]!a} in a token stands for no byte") from None


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write ranks to a local .tiktoken file, a line `BASE64 RANK` for each token in the order of the ranks."""
    arguments.check_text(tiktoken_bpe_file, "tiktoken_bpe_file")
    bpe_ranks = arguments.ids_by_token(bpe_ranks, bytes, "bpe_ranks")
    Path(tiktoken_bpe_file).write_bytes(format_tiktoken(bpe_ranks))


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return the ranks in a .tiktoken file or url, read by `read_file_cached` with the SHA-256 `expected_hash`.

    It is as lenient as tiktoken: of lines with the same token the last one counts, and not every byte has to be a
    token. A line that is not a token in base64 and a number raises VocabularyError, a ValueError.
    """
    arguments.check_text(tiktoken_bpe_file, "tiktoken_bpe_file")
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(read_file_cached(tiktoken_bpe_file, expected_hash).splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except (ValueError, binascii.Error):
            shown = line[:40].decode("ascii", "backslashreplace")
            raise VocabularyError(
                f"{tiktoken_bpe_file}:{number}: expected a token in base64, a space and a rank, found {shown!r}"
            ) from None
    return ranks


# `sed s/tiktoken/tokcli/g` on a program also renames these two functions
dump_tokcli_bpe, load_tokcli_bpe = dump_tiktoken_bpe, load_tiktoken_bpe
