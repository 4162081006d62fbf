"""A program written for tiktoken's modules gives the same answers when `tiktoken` in it is replaced by `tokcli`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken.core
import tiktoken.load
import tiktoken.model
import tiktoken.registry
from loopback import Answer, Server, serving

import tokcli
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.errors import DisallowedSpecialTokenError, NetworkError, VocabularyError
from tokcli.registry import registered

BYTES = {bytes([byte]): rank for rank, byte in enumerate(tokcli.load.BYTE_OF.values())}
RANKS = {**BYTES, b"he": 256, b"ll": 257, b"hell": 258}


def text_of(token: bytes) -> str:
    return "".join(CHAR_OF[byte] for byte in token)


MERGES = "#version: 0.2\nh e\nl l\nhe ll\n"
VOCAB = json.dumps({text_of(token): rank for token, rank in RANKS.items()} | {"<|endoftext|>": 259})
FILES = {
    "own.ranks": b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in RANKS.items()),
    "few.ranks": b"YQ== 0\r\n\nYg== 1\nYQ==\t7\n",
    "wrong.ranks": b"YQ== 0\nYg==\n",
    "vocab.bpe": MERGES.encode(),
    "encoder.json": VOCAB.encode(),
    "other.json": json.dumps({**json.loads(VOCAB), "h": 0}).encode(),
    "bytes.json": json.dumps({text_of(t): 255 - r if r < 256 else r for t, r in RANKS.items()}).encode(),
}


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """The url of a server on this machine that has FILES."""
    with serving() as server:
        for name, data in FILES.items():
            server.serve(f"/{name}", Answer(data))
        yield server.url("")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder that has FILES."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return str(tmp_path)


def kind_of(error: BaseException) -> list[type[BaseException]]:
    """The built-in kinds that an error is caught as, but for those of every error."""
    general = (BaseException, Exception, object)
    return [kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind not in general]


def answers(program: str, cache: Path, **names: Any) -> tuple[Any, Any]:
    """The value of a program's last line with tiktoken, and after `sed s/tiktoken/tokcli/g`, or the error it raises."""
    *lines, last = program.strip().splitlines()
    found = []
    for package in ("tiktoken", "tokcli"):
        os.environ["TIKTOKEN_CACHE_DIR"] = str(cache / package)
        space = dict(names)
        exec("\n".join(lines).replace("tiktoken", package), space)
        try:
            found.append(eval(last.replace("tiktoken", package), space))
        except (ValueError, KeyError, AssertionError, OSError) as error:
            found.append(error)
    return found[0], found[1]


@pytest.mark.parametrize(
    "program",
    [
        "import tiktoken\nsorted(n for n in ['Encoding', 'core', 'model', 'registry'] if hasattr(tiktoken, n))",
        "import tiktoken.model\ntiktoken.model.MODEL_TO_ENCODING",
        "import tiktoken.model\nlist(tiktoken.model.MODEL_PREFIX_TO_ENCODING.items())",
        "from tiktoken.model import encoding_name_for_model\nencoding_name_for_model('gpt-4o-mini')",
        "from tiktoken.model import encoding_name_for_model\nencoding_name_for_model('none')",
        "from tiktoken.registry import list_encoding_names\nlist_encoding_names()",
        "import tiktoken.registry\ntiktoken.registry.list_encoding_names() and list(tiktoken.registry.ENCODING_CONSTRUCTORS)",
        "from tiktoken import registry\nregistry.get_encoding('none')",
        "from tiktoken import registry\nregistry.get_encoding(3)",
        "from tiktoken.core import raise_disallowed_special_token\nraise_disallowed_special_token('<|x|>')",
        "from tiktoken.load import check_hash\ncheck_hash(b'a', EMPTY.upper()), check_hash(b'', EMPTY)",
        "from tiktoken.load import read_file\nread_file(folder + '/own.ranks'), read_file(web + '/vocab.bpe')",
        "from tiktoken.load import read_file\nread_file(folder + '/none')",
        "from tiktoken.load import load_tiktoken_bpe\nload_tiktoken_bpe(folder + '/own.ranks', OWN)",
        "from tiktoken.load import load_tiktoken_bpe\nload_tiktoken_bpe(web + '/few.ranks')",
        "from tiktoken.load import load_tiktoken_bpe\nload_tiktoken_bpe(web + '/few.ranks', OWN)",
        "from tiktoken.load import load_tiktoken_bpe\nload_tiktoken_bpe(folder + '/wrong.ranks')",
        "from tiktoken.load import *\ndata_gym_to_mergeable_bpe_ranks(web + '/vocab.bpe', web + '/encoder.json')",
        "from tiktoken.load import *\ndata_gym_to_mergeable_bpe_ranks(web + '/vocab.bpe', web + '/other.json')",
        "from tiktoken.load import *\ndata_gym_to_mergeable_bpe_ranks(web + '/vocab.bpe', web + '/bytes.json')",
        "from tiktoken.load import *\n"
        "data_gym_to_mergeable_bpe_ranks(web + '/vocab.bpe', web + '/bytes.json', clobber_one_byte_tokens=True)",
    ],
)
def test_a_program_gives_the_same_answers(
    program: str, web: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # which `answers` sets
    empty, own = hashlib.sha256().hexdigest(), hashlib.sha256(FILES["own.ranks"]).hexdigest()
    theirs, ours = answers(program, tmp_path, web=web, folder=folder, EMPTY=empty, OWN=own)
    if isinstance(theirs, Exception):
        assert isinstance(ours, tuple(kind_of(theirs)) or Exception), (theirs, ours)
    else:
        assert ours == theirs


def test_files_of_a_url_are_kept_where_tiktoken_keeps_them(web: str, tmp_path: Path, monkeypatch: Any) -> None:
    kept = {}
    for package in (tiktoken, tokcli):
        folder = tmp_path / package.__name__
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        for expected in (None, hashlib.sha256(MERGES.encode()).hexdigest()):
            assert package.load.read_file_cached(f"{web}/vocab.bpe", expected) == MERGES.encode()
        kept[package.__name__] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert kept["tokcli"] == kept["tiktoken"]
    (path,) = (tmp_path / "tokcli").iterdir()
    path.write_bytes(b"damaged")
    assert tokcli.load.read_file_cached(f"{web}/vocab.bpe") == b"damaged"
    assert tokcli.load.read_file_cached(f"{web}/vocab.bpe", expected) == MERGES.encode() == path.read_bytes()


def test_a_file_with_a_checksum_is_kept_in_our_cache(server: Server, cache: Path) -> None:
    url = server.serve("/own.ranks", Answer(FILES["own.ranks"]))
    expected = hashlib.sha256(FILES["own.ranks"]).hexdigest()
    for _ in range(2):
        assert tokcli.load.load_tiktoken_bpe(url, expected) == RANKS
    assert server.asked == ["/own.ranks"]
    with pytest.raises(ValueError, match="its SHA-256 is"):
        tokcli.load.read_file_cached(url, "0" * 64)


def test_a_url_that_may_not_be_read_is_an_error(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetworkError, match="only https"):
        tokcli.load.read_file("http://example.org/a")
    with pytest.raises(NetworkError, match="only https"):
        tokcli.load.read_file("gs://bucket/a")
    monkeypatch.setenv("TOKCLI_OFFLINE", "1")
    with pytest.raises(NetworkError, match="the network may not be used"):
        tokcli.load.read_file(f"{web}/vocab.bpe")


def test_ranks_that_are_written_are_read_by_tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    tokcli.load.dump_tiktoken_bpe(RANKS, str(tmp_path / "a.tiktoken"))
    assert (tmp_path / "a.tiktoken").read_bytes() == FILES["own.ranks"]
    assert tiktoken.load.load_tiktoken_bpe(str(tmp_path / "a.tiktoken")) == RANKS


@pytest.mark.parametrize("name", tokcli.list_encoding_names())
def test_a_constructor_makes_the_registered_encoding(name: str) -> None:
    arguments = tokcli.registry.ENCODING_CONSTRUCTORS[name]()
    made, found = tokcli.Encoding(**arguments), tokcli.registry.get_encoding(name)
    assert (made.name, made._pat_str, made._special_tokens, made.n_vocab) == (
        found.name, found._pat_str, found._special_tokens, found.n_vocab)  # fmt: skip
    assert made._mergeable_ranks is found._mergeable_ranks
    assert tokcli.registry.ENCODINGS[name] is found


def test_encodings_can_be_registered_as_with_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in (tiktoken, tokcli):
        package.registry.list_encoding_names()
        constructors = {**package.registry.ENCODING_CONSTRUCTORS}
        home = registered if package is tokcli else package.registry
        monkeypatch.setattr(home, "ENCODING_CONSTRUCTORS", constructors)
        constructors["mine"] = lambda: {
            "name": "mine", "pat_str": ".", "mergeable_ranks": RANKS, "special_tokens": {"<end>": 300}}  # fmt: skip
        made = package.registry.get_encoding("mine")
        assert package.registry.get_encoding("mine") is package.registry.ENCODINGS.pop("mine") is made
        assert made.encode("he<end>", allowed_special="all") == [BYTES[b"h"], BYTES[b"e"], 300]
        assert package.registry.list_encoding_names()[-1] == "mine"


def test_a_disallowed_token_is_the_error_of_encode() -> None:
    with pytest.raises(DisallowedSpecialTokenError, match=r"special token .<\|x\|>.") as caught:
        tokcli.core.raise_disallowed_special_token("<|x|>")
    assert caught.value.token == "<|x|>"


def test_the_names_are_lazy_and_listed() -> None:
    code = (
        "import sys, tokcli, tokcli.registry;"
        "assert not [m for m in sys.modules if m.startswith('tokcli.') and m != 'tokcli.registry'];"
        "assert {'core', 'load', 'model', 'registry'} <= set(dir(tokcli));"
        "assert {'ENCODINGS', 'get_encoding'} <= set(dir(tokcli.registry));"
        "assert tokcli.core.Encoding is tokcli.Encoding"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for module in (tokcli, tokcli.registry):
        with pytest.raises(AttributeError, match="has no attribute 'none'"):
            module.none  # noqa: B018


@pytest.mark.parametrize(
    ("merges", "ids", "said"),
    [
        (b"#\n\xff\n", b"{}", "vocab.bpe: not UTF-8 at byte 2"),
        (b"#\n", b"{", "encoder.json: not JSON"),
        (b"#\n", b"[" * 100_000, "encoder.json: not JSON"),
        (b"#\n", b"[1]", "encoder.json: expected a JSON object"),
    ],
)
def test_files_of_gpt2_that_are_none_are_named(merges: bytes, ids: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.bpe").write_bytes(merges)
    (tmp_path / "encoder.json").write_bytes(ids)
    with pytest.raises(VocabularyError, match=said):
        tokcli.load.data_gym_to_mergeable_bpe_ranks(str(tmp_path / "vocab.bpe"), str(tmp_path / "encoder.json"))
