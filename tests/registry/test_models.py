"""Models of any maker: each name has one tokenizer, or the reason why it has none."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import pytest
from support import noted, ok, refused

from tokcli.errors import UnknownModelError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODEL_TO_ENCODING
from tokcli.registry.models import NOT_PUBLIC, all_models, families, names_a_model, tokenizer_for_model, window_of_model
from tokcli.registry.network.hub_files import parse_id


def test_every_family_has_a_repository_and_names_that_a_lower_case_name_can_fit() -> None:
    for model in families():
        assert model.name == model.name.lower()
        assert model.tokenizer == NOT_PUBLIC or parse_id(model.tokenizer) is not None, model
        assert model.window is None or model.window > 0


def test_no_family_is_hidden_by_one_before_it() -> None:
    rows = families()
    for at, model in enumerate(rows):
        name = model.name.replace("*", "-1")
        assert next(row for row in rows if fnmatchcase(name, row.name)) is rows[at], model


def test_openais_names_are_those_of_tiktoken() -> None:
    for name, encoding in MODEL_TO_ENCODING.items():
        assert tokenizer_for_model(name) == (encoding, "")
        assert names_a_model(name)


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("Llama-3-70B-Instruct", "meta-llama/Meta-Llama-3-8B"),
        ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("qwen2.5-coder-7b", "Qwen/Qwen2.5-7B"),
        ("Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"),
        ("mistral-7b-instruct-v0.2", "mistralai/Mistral-7B-v0.1"),
        ("gemini-2.5-pro", "google/gemma-3-4b-it"),
        ("deepseek-chat", "deepseek-ai/DeepSeek-V3"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("gpt-4.2", "cl100k_base"),
    ],
)
def test_a_name_that_people_type_has_its_tokenizer(name: str, tokenizer: str) -> None:
    found, about = tokenizer_for_model(name)
    assert found == tokenizer
    assert name in about or (found in CATALOG and not about)


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "anthropic/claude-3-opus", "grok-4", "nova-pro"])
def test_a_tokenizer_that_is_not_public_is_refused_with_the_truth(name: str) -> None:
    words = refused("count", "-m", name, "-t", "x")
    assert words.startswith(f"Error: {name}: its tokenizer is not public\n")
    assert "-e o200k_base" in words


@pytest.mark.parametrize("name", ["gpt-9", "lama-3", "", "o200k_base"])
def test_an_unknown_model_is_refused(name: str) -> None:
    with pytest.raises(UnknownModelError):
        tokenizer_for_model(name)


def test_a_note_says_what_an_unknown_gpt_is_taken_for() -> None:
    ran = noted("count", "-m", "gpt-4.2", "-t", "hello world")
    assert ran.out == ok("count", "-m", "gpt-4", "-t", "hello world")
    assert ran.err == "Note: gpt-4.2 is not known: cl100k_base is that of gpt-4, the nearest name\n"


def test_a_window_is_that_of_the_family() -> None:
    assert window_of_model("llama-3.1-8b") == 131_072
    assert window_of_model("gpt-4o-2024-11-20") == 128_000


def test_all_models_are_listed_or_those_that_match() -> None:
    rows = ok("inspect-ranks", "--models").decode().splitlines()
    assert rows[0] == "model\ttokenizer\twindow\tsource"
    assert [row.split("\t")[0] for row in rows[1:]] == [model.name for model in all_models()]
    found = ok("inspect-ranks", "--models", "CLAUDE").decode().splitlines()
    assert [row.split("\t")[:2] for row in found[1:]] == [["claude*", "not public"]]
    assert ok("inspect-ranks", "--models=claude", "--csv").count(b"\n") == 2
    listed = json.loads(ok("inspect-ranks", "--models", "^gpt-4o", "--json"))["models"]
    assert {"model": "gpt-4o", "tokenizer": "o200k_base", "window": 128_000, "source": "tiktoken 0.14"} in listed


def test_a_list_of_models_takes_one_regex_and_nothing_else() -> None:
    assert refused("inspect-ranks", "--models", "(").startswith("Error: --models: not a regex")
    assert refused("inspect-ranks", "--models", "a", "b").startswith("Error: --models takes one regex")
    assert refused("inspect-ranks", "--models", "-m", "gpt-4").startswith("Error: --models cannot be combined")
