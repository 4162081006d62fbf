"""The tokenizers of open models that ship: their files come out to the byte, and their ids are those of tokenizers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from support import first_in_gate, noted, ok

import tokcli
from tokcli.errors import VocabularyError
from tokcli.formats.packed_tokenizer import tekken_json, tokenizer_json
from tokcli.formats.read import sources_of
from tokcli.registry.compiled.compile import unpacked
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.inside import INSIDE, NAMES
from tokcli.registry.models.table import table
from tokcli.registry.registered import VOCAB

NOTICE = (Path(VOCAB) / "NOTICE").read_text()
GOLDEN = Path(__file__).parents[1] / "data" / "golden.jsonl"
# of repositories that have the same file, the first
ONCE = [repository for at, repository in enumerate(INSIDE) if INSIDE[repository] not in [*INSIDE.values()][:at]]
OF_TOKENIZERS = [repository for repository in ONCE if INSIDE[repository].file == "tokenizer.json"]
TEKKEN = [repository for repository in ONCE if INSIDE[repository].file == "tekken.json"]
NAME_OF = {repository: name for name, repository in NAMES.items()}


@lru_cache(maxsize=1)
def file_of(repository: str) -> bytes:
    return unpacked(INSIDE[repository])


@lru_cache(maxsize=1)
def theirs(repository: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(file_of(repository))


@lru_cache(maxsize=1)
def mistral_common(repository: str) -> tiktoken.Encoding:
    """Return what mistral-common makes of a tekken.json; it adds the number of special tokens to each id."""
    file = json.loads(file_of(repository))
    config = file["config"]
    number = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(item["token_bytes"]): item["rank"] for item in file["vocab"][:number]}
    return tiktoken.Encoding(repository, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})


def reference_ids(repository: str, text: str) -> list[int]:
    if INSIDE[repository].file == "tekken.json":
        return [number + 1000 for number in mistral_common(repository).encode_ordinary(text)]
    found: list[int] = theirs(repository).encode(text, add_special_tokens=False).ids
    return found


@lru_cache(maxsize=1)
def texts() -> list[str]:
    found = {json.loads(line)["text"] for line in GOLDEN.read_text().splitlines()}
    return sorted(found)


@pytest.mark.parametrize("repository", ONCE)
def test_a_tokenizer_that_ships_is_its_makers_file_to_the_byte(repository: str) -> None:
    inside, data = INSIDE[repository], file_of(repository)
    assert hashlib.sha256(data).hexdigest() == inside.sha256
    assert sources_of({inside.file: data}).sha256 == inside.key
    merges = [f"{inside.ranks}.merges"] if inside.file == "tokenizer.json" else []
    for file in (f"{inside.name}.template", f"{inside.ranks}.ranks", *merges):
        digest = hashlib.sha256((Path(VOCAB) / file).read_bytes()).hexdigest()
        assert re.search(rf"{digest}  {re.escape(file)}\n", NOTICE), (file, digest)
    assert re.search(rf"{inside.sha256}  {inside.file} of {re.escape(repository)}\n", NOTICE)


@pytest.mark.parametrize("repository", OF_TOKENIZERS)
def test_its_ids_are_those_of_tokenizers(repository: str) -> None:
    ours = resolve_encoding(repository, offline=True)
    differing = []
    for text in texts():
        expected = theirs(repository).encode(text, add_special_tokens=False)
        if ours.encode(text, allowed_special="all") != expected.ids:
            differing.append(text)
    assert not differing


@pytest.mark.parametrize("repository", first_in_gate(OF_TOKENIZERS, 3))
def test_its_offsets_are_those_of_tokenizers(repository: str) -> None:
    ours = resolve_encoding(repository, offline=True)
    differing = []
    for text in texts():
        expected = theirs(repository).encode(text, add_special_tokens=False)
        if ours.encode_with_offsets(text, allowed_special="all") != (expected.ids, expected.offsets):
            differing.append(text)
    assert not differing


@pytest.mark.parametrize("repository", OF_TOKENIZERS)
def test_its_template_adds_what_that_of_tokenizers_adds(repository: str) -> None:
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts()).encode()
    printed = ok(
        *("encode", "-e", repository, "--records", "jsonl", "--json", "--special", "allow", "--add-special-tokens"),
        data=records,
    )
    expected = [theirs(repository).encode(text).ids for text in texts()]
    assert [json.loads(line)["ids"] for line in printed.splitlines()] == expected


@pytest.mark.slow
@pytest.mark.parametrize("repository", OF_TOKENIZERS)
def test_the_python_backend_gives_its_ids_too(repository: str) -> None:
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts()).encode()
    command = ("encode", "-e", repository, "--records", "jsonl", "--json", "--special", "allow", "--offsets", "char")
    assert ok(*command, data=records, env={"TOKCLI_BACKEND": "python"}) == ok(*command, data=records)


@pytest.mark.parametrize("repository", OF_TOKENIZERS)
def test_its_added_tokens_are_those_of_tokenizers(repository: str) -> None:
    reference = theirs(repository)
    added = [token.content for token in reference.get_added_tokens_decoder().values()]
    text = " x ".join(added) + "".join(added) + "x".join(added)
    ours = resolve_encoding(repository, offline=True)
    assert ours.encode(text, allowed_special="all") == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("repository", TEKKEN)
def test_its_ids_are_those_of_mistral_common(repository: str) -> None:
    ours = resolve_encoding(repository, offline=True)
    assert [text for text in texts() if ours.encode_ordinary(text) != reference_ids(repository, text)] == []


@pytest.mark.parametrize("repository", ONCE)
def test_it_answers_by_name_and_by_repository_without_the_network(
    repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKCLI_OFFLINE", "1")
    expected = " ".join(map(str, reference_ids(repository, "Grüße, 你好 123!")))
    for named in filter(None, (NAME_OF.get(repository), repository)):
        assert noted("encode", "-e", named, "-t", "Grüße, 你好 123!").out.decode().strip() == expected


def test_the_names_of_tiktoken_stay_seven() -> None:
    assert not {*INSIDE, *NAMES} & {*tokcli.list_encoding_names()}


def test_the_names_mean_the_repositories_that_the_table_of_models_has_for_them() -> None:
    named = table().repositories
    assert {name: named[name] for name in NAMES if name in named} == {n: r for n, r in NAMES.items() if n in named}
    assert named.keys() & NAMES.keys()


def test_packed_files_that_do_not_fit_are_refused() -> None:
    with pytest.raises(VocabularyError, match="x: "):
        tokenizer_json(b"{}\n", (Path(VOCAB) / "r50k_base.ranks").read_bytes(), b"", "x")
    with pytest.raises(VocabularyError, match="x: "):
        tokenizer_json(b"  @vocab\n  @merges\n", b"damaged", b"", "x")
    with pytest.raises(VocabularyError, match="x: "):
        tekken_json(b"{}\n", (Path(VOCAB) / "r50k_base.ranks").read_bytes(), "x")
    with pytest.raises(VocabularyError, match="x: "):
        tekken_json(b"  @tekken\n", b"damaged", "x")


@pytest.mark.slow
@pytest.mark.parametrize("repository", OF_TOKENIZERS)
def test_every_code_point_has_the_ids_of_tokenizers(repository: str) -> None:
    reference, ours = theirs(repository), resolve_encoding(repository, offline=True)
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for form in ("{}", "a{}1 ", " {}\n", "e{0}{0}"):
        for start in range(0, len(characters), 20_000):
            some = [form.format(char) for char in characters[start : start + 20_000]]
            expected = [found.ids for found in reference.encode_batch(some, add_special_tokens=False)]
            found = ours.encode_ordinary_batch(some)
            assert [text for text, a, b in zip(some, found, expected) if a != b] == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}", "a{}1 ", " {}\n", "e{0}{0}"])
@pytest.mark.parametrize("repository", TEKKEN)
def test_every_code_point_has_the_ids_of_mistral_common(repository: str, form: str) -> None:
    reference, ours = mistral_common(repository), resolve_encoding(repository, offline=True)
    some = [form.format(chr(code)) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    expected = [[number + 1000 for number in ids] for ids in reference.encode_ordinary_batch(some, num_threads=1)]
    assert [text for text, a, b in zip(some, ours.encode_ordinary_batch(some), expected) if a != b] == []
