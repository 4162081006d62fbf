"""The catalog and the models are those of tiktoken 0.14, from which the same ids come."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import tiktoken
import tiktoken.model

from tokcli.errors import UnknownModelError
from tokcli.formats.packed_ranks import read_tables, unpack
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry import model_names as models
from tokcli.registry import registered
from tokcli.registry.catalog import CATALOG

VOCAB = Path(registered.VOCAB)
PACKED = sorted({entry.packed for entry in CATALOG.values()})


@pytest.fixture(scope="module")
def tiktoken_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for tiktoken, filled from our own ranks, so that it needs no network either."""
    folder = tmp_path_factory.mktemp("tiktoken")
    for entry in CATALOG.values():
        if len(entry.sources) == 1:
            name = hashlib.sha1(entry.sources[0].url.encode()).hexdigest()
            if not (folder / name).exists():
                ranks = unpack((VOCAB / entry.packed).read_bytes())
                (folder / name).write_bytes(format_tiktoken(ranks))
    return folder


@pytest.mark.parametrize("name", sorted(CATALOG.keys() - {"gpt2"}))
def test_a_registered_encoding_is_tiktokens(name: str, tiktoken_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tiktoken_cache))
    theirs, ours = tiktoken.get_encoding(name), registered.get_encoding(name)
    assert ours._pat_str == theirs._pat_str
    assert ours._special_tokens == theirs._special_tokens
    assert ours._mergeable_ranks == theirs._mergeable_ranks
    assert (ours.name, ours.n_vocab, ours.max_token_value) == (theirs.name, theirs.n_vocab, theirs.max_token_value)


def test_gpt2_is_r50k_base_but_for_its_name() -> None:
    """tiktoken makes gpt2 from two other files; test_gpt2.py makes that pair again and gets the ranks back."""
    gpt2, r50k = CATALOG["gpt2"], CATALOG["r50k_base"]
    assert (gpt2.packed, gpt2.pat_str, gpt2.special_tokens) == (r50k.packed, r50k.pat_str, r50k.special_tokens)


def test_the_names_stand_in_tiktokens_order() -> None:
    assert registered.list_encoding_names() == tiktoken.list_encoding_names()


def test_models_are_tiktokens() -> None:
    assert models.MODEL_TO_ENCODING == tiktoken.model.MODEL_TO_ENCODING
    # The order counts: the first prefix that fits is taken.
    assert list(models.MODEL_PREFIX_TO_ENCODING.items()) == list(tiktoken.model.MODEL_PREFIX_TO_ENCODING.items())


@pytest.mark.parametrize("prefix", models.MODEL_PREFIX_TO_ENCODING)
def test_a_prefix_leads_where_tiktoken_goes(prefix: str) -> None:
    assert models.encoding_name_for_model(prefix + "x") == tiktoken.encoding_name_for_model(prefix + "x")


def test_an_unknown_model_is_a_key_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownModelError, match=r"'gpt-4p'; did you mean 'gpt-4'") as caught:
        models.encoding_name_for_model("gpt-4p")
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("file", PACKED)
def test_shipped_ranks_are_the_published_ones(file: str) -> None:
    packed = (VOCAB / file).read_bytes()
    text = format_tiktoken(unpack(packed))
    published = CATALOG[file.removesuffix(".ranks")].sources[0].sha256
    assert hashlib.sha256(text).hexdigest() == read_tables(packed).sha256.hex() == published


def test_the_notice_has_every_sha256() -> None:
    notice = (VOCAB / "NOTICE").read_text("utf-8")
    assert sorted({entry.packed for entry in CATALOG.values()}) == PACKED
    for file in PACKED:
        assert f"{hashlib.sha256((VOCAB / file).read_bytes()).hexdigest()}  {file}" in notice
        name = file.removesuffix(".ranks")
        assert f"{CATALOG[name].sources[0].sha256}  {name}.tiktoken" in notice
