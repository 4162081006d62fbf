"""Names, paths and urls become encodings."""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from loopback import Answer, Server
from support import first_in_gate, reference

from tokcli.cli.inspect_ranks.inspect_ranks import describe_encodings
from tokcli.errors import NetworkError, UnknownEncodingError, VocabularyError
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry import registered
from tokcli.registry.catalog import CATALOG
from tokcli.registry.encodings import encoding_for_model, load_encoding, resolve_encoding, resolve_pattern
from tokcli.registry.registered import get_encoding

RANKS = {bytes([b]): b for b in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258, b"hello": 300}
TEXT = format_tiktoken(RANKS)


@pytest.fixture
def ranks_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.tiktoken"
    path.write_bytes(TEXT)
    return path


def test_an_encoding_is_made_once_whatever_threads_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "ENCODINGS", {})
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(get_encoding("r50k_base"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_encodings_of_one_vocabulary_share_its_ranks() -> None:
    assert get_encoding("o200k_base")._mergeable_ranks is get_encoding("o200k_harmony")._mergeable_ranks


def test_a_registered_encoding_pickles_as_its_name() -> None:
    encoding = get_encoding("gpt2")
    assert len(pickle.dumps(encoding)) < 200
    assert pickle.loads(pickle.dumps(encoding)) is encoding


def test_an_unknown_name_is_a_value_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownEncodingError, match="'o200k'; did you mean 'o200k_base'") as caught:
        get_encoding("o200k")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [None, 3, b"gpt2"])
def test_a_name_that_is_no_text_is_a_value_error(name: Any) -> None:
    with pytest.raises(ValueError, match="encoding_name: expected a str"):
        get_encoding(name)


def test_a_models_encoding() -> None:
    assert encoding_for_model("gpt-4o") is get_encoding("o200k_base")


def test_a_registered_name_wins_over_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gpt2").write_bytes(TEXT)
    assert resolve_encoding("gpt2") is get_encoding("gpt2")
    assert resolve_encoding("./gpt2", pattern="gpt2").encode("hello") == [300]


@pytest.mark.parametrize("sidecar", [None, "{}", '{"special_tokens": {"<end>": 400}}'])
def test_ranks_without_a_pattern_are_refused_whatever_was_read_before(ranks_file: Path, sidecar: str | None) -> None:
    if sidecar is not None:
        ranks_file.with_name("own.tiktoken.json").write_text(sidecar)
    assert load_encoding(ranks_file, pattern="gpt2").encode("hello") == [300]
    for load in (load_encoding, resolve_encoding):
        with pytest.raises(VocabularyError, match="no pattern: ranks alone do not say how text is split") as caught:
            load(str(ranks_file))
        assert caught.value.where == str(ranks_file)
        assert "pattern=" in caught.value.hint
        assert "own.tiktoken.json" in caught.value.hint


def test_tokens_are_decoded_without_a_pattern(ranks_file: Path) -> None:
    encoding = resolve_encoding(str(ranks_file), needs_pattern=False)
    assert (encoding.name, encoding.decode([300, 104])) == ("own", "helloh")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with OpenAI's .tiktoken files, under names that say nothing."""
    folder = tmp_path_factory.mktemp("published")
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        path = folder / f"ranks of {name}"
        path.write_bytes(format_tiktoken(get_encoding(name)._mergeable_ranks))
        assert hashlib.sha256(path.read_bytes()).hexdigest() == CATALOG[name].ranks_sha256
    return folder


@pytest.mark.parametrize("name", first_in_gate(["o200k_base", "cl100k_base", "p50k_base", "r50k_base"]))
def test_a_published_file_is_the_encoding_of_that_name(published: Path, name: str) -> None:
    encoding = load_encoding(published / f"ranks of {name}")
    assert encoding._pat_str == get_encoding(name)._pat_str
    assert encoding._special_tokens == get_encoding(name)._special_tokens
    text = "it's 2024, DON'T<|endoftext|>"
    expected = reference(name).encode(text, allowed_special="all")
    assert encoding.encode(text, allowed_special="all") == expected


@pytest.mark.parametrize(
    ("sidecar", "pat_str", "special"),
    [
        ({"pat_str": r"\w|\W"}, r"\w|\W", CATALOG["r50k_base"].special_tokens),
        ({"special_tokens": {"<end>": 50300}}, CATALOG["r50k_base"].pat_str, {"<end>": 50300}),
        ({"pat_str": r"\w|\W", "special_tokens": {}}, r"\w|\W", {}),
    ],
)
def test_what_a_sidecar_says_wins_over_what_is_known_of_a_published_file(
    published: Path, tmp_path: Path, sidecar: dict[str, Any], pat_str: str, special: dict[str, int]
) -> None:
    path = tmp_path / "own.tiktoken"
    path.write_bytes((published / "ranks of r50k_base").read_bytes())
    before = load_encoding(path)
    path.with_name("own.tiktoken.json").write_text(json.dumps(sidecar))
    encoding = load_encoding(path)
    assert (encoding._pat_str, encoding._special_tokens) == (pat_str, special)
    path.with_name("own.tiktoken.json").unlink()
    assert load_encoding(path)._special_tokens == before._special_tokens == CATALOG["r50k_base"].special_tokens


def test_packed_ranks_are_those_of_the_published_file() -> None:
    path = registered.packed_path(CATALOG["r50k_base"])
    assert load_encoding(path).encode("it's 2024") == get_encoding("r50k_base").encode("it's 2024")


def test_a_sidecar_has_pattern_and_special_tokens(ranks_file: Path) -> None:
    ranks_file.with_name("own.tiktoken.json").write_text(
        json.dumps({"pat_str": r"\w|\W", "special_tokens": {"<end>": 400}})
    )
    encoding = load_encoding(ranks_file)
    assert encoding.encode("hell<end>", allowed_special="all") == [104, 101, 108, 108, 400]
    assert load_encoding(ranks_file, pattern="gpt2")._pat_str == get_encoding("gpt2")._pat_str


@pytest.mark.parametrize(
    ("sidecar", "what"),
    [
        ("[]", "expected an object"),
        ('{"pattern": "x"}', "nothing else"),
        ('{"pat_str": 3}', "pat_str is not a text"),
        ('{"pat_str": "a", "pat_str": "b"}', "'pat_str' occurs twice"),
        ('{"special_tokens": {"<a>": 256}}', "'<a>' has the id 256, which another token has"),
        ('{"special_tokens": {"<a>": 400, "<b>": 400}}', "'<b>' has the id 400, which '<a>' has already"),
        ('{"special_tokens": {"<a>": true}}', "'<a>' is not a whole number"),
        ('{"special_tokens": {"": 400}}', "a token of 0 characters"),
    ],
)
def test_a_wrong_sidecar_is_an_error(sidecar: str, what: str, ranks_file: Path) -> None:
    ranks_file.with_name("own.tiktoken.json").write_text(sidecar)
    with pytest.raises(VocabularyError, match=what):
        load_encoding(ranks_file)


def test_a_pattern_overrides_a_registered_one_by_regex_or_by_name() -> None:
    by_regex = resolve_encoding("r50k_base", pattern=r"\w|\W")
    assert by_regex.split("ab") == ["a", "b"]
    assert by_regex is not get_encoding("r50k_base")
    assert resolve_encoding("r50k_base", pattern="o200k_base")._pat_str == get_encoding("o200k_base")._pat_str


def test_special_tokens_and_name_can_be_given(ranks_file: Path) -> None:
    encoding = load_encoding(ranks_file, pattern="gpt2", special_tokens={"<x>": 301}, name="mine")
    assert (encoding.name, encoding.special_tokens_set) == ("mine", {"<x>"})
    with pytest.raises(VocabularyError, match="both have the id 400"):
        load_encoding(ranks_file, special_tokens={"<x>": 400, "<y>": 400})


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownEncodingError, match="no such file"):
        resolve_encoding(str(tmp_path / "none.tiktoken"))
    with pytest.raises(VocabularyError, match="no such file"):
        load_encoding(tmp_path / "none.tiktoken")


def test_a_url_with_its_sha256_is_an_encoding(server: Server) -> None:
    spec = server.serve("/own.tiktoken", Answer(TEXT)) + "#sha256=" + hashlib.sha256(TEXT).hexdigest().upper()
    encoding = resolve_encoding(spec, pattern="gpt2")
    assert (encoding.name, encoding.encode("hello")) == ("own", [300])
    assert resolve_encoding(spec, pattern=r"\w|\W", offline=True).encode("he") == [104, 101]
    with pytest.raises(VocabularyError, match=r"own\.tiktoken: no pattern"):
        resolve_encoding(spec)


@pytest.mark.parametrize("fragment", ["", "#", "#sha256=12", "#sha256=" + "g" * 64, "#md5=" + "0" * 32])
def test_a_url_without_a_sha256_is_refused(fragment: str) -> None:
    with pytest.raises(NetworkError, match="refused: no checksum given"):
        resolve_encoding("https://localhost/a.tiktoken" + fragment)


def test_a_url_without_tls_is_refused() -> None:
    with pytest.raises(NetworkError, match="only https"):
        resolve_encoding("http://localhost/a.tiktoken#sha256=" + "0" * 64)


def test_ranks_that_were_not_shipped_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = format_tiktoken(get_encoding("r50k_base")._mergeable_ranks)
    monkeypatch.setattr(registered, "VOCAB", str(tmp_path))
    monkeypatch.setattr(registered, "_ranks", {})
    with pytest.raises(NetworkError, match="the network may not be used"):
        resolve_encoding("r50k_base", pattern="gpt2", offline=True)
    source = CATALOG["r50k_base"].sources[0]
    (tmp_path / hashlib.sha1(source.url.encode()).hexdigest()).write_bytes(text)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert resolve_encoding("r50k_base", pattern="gpt2", offline=True).encode("hello world") == [31373, 995]


def test_an_encoding_is_described_as_it_is() -> None:
    for row in describe_encodings():
        assert row.n_vocab == get_encoding(row.name).n_vocab
        assert (row.source, row.here) == ("shipped", True)


def test_a_pattern_is_a_name_or_itself() -> None:
    assert resolve_pattern("gpt2") == get_encoding("gpt2")._pat_str
    assert resolve_pattern(r"\w+|\W") == r"\w+|\W"
