"""Models of any maker: each name has one tokenizer, or the reason why it has none."""

from __future__ import annotations

import json
import re

import pytest
from support import noted, ok, on_terminal, refused

from tokcli.errors import UnknownModelError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODEL_TO_ENCODING
from tokcli.registry.models.lookup import (
    all_rows,
    find_model,
    model_names,
    names_a_model,
    tokenizer_for_model,
    window_of_model,
)
from tokcli.registry.models.table import table


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
        ("qwen2.5-coder-7b", "Qwen/Qwen2.5-7B-Instruct"),
        ("Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"),
        ("mistral-7b-instruct-v0.2", "mistralai/Mistral-7B-v0.1"),
        ("gemini-2.5-pro", "google/gemma-3-4b-it"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("gpt-4.5", "o200k_base"),
        ("gpt-4.5-preview", "o200k_base"),
    ],
)
def test_a_name_that_people_type_has_its_tokenizer(name: str, tokenizer: str) -> None:
    found, about = tokenizer_for_model(name)
    assert found == tokenizer
    assert name in about or (found in CATALOG and not about)


# of which a shorter name, or the first row of a family, would be another tokenizer's
SPECIFIC = {
    "qwen3.5-27b": "Qwen/Qwen3.5-27B",
    "qwen3.6-27b": "Qwen/Qwen3.6-27B",
    "deepseek-r1-distill-qwen-7b": "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
    "deepseek-r1-distill-llama-70b": "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
    "deepseek-coder-v2-lite-instruct": "deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct",
    "phi-4-mini-instruct": "microsoft/Phi-4-mini-instruct",
    "phi-4-multimodal-instruct": "microsoft/Phi-4-multimodal-instruct",
    "phi-3-small-8k-instruct": "cl100k_base",
    "whisper-base.en": "openai/whisper-base.en",
    "nomic-embed-text-v2-moe": "nomic-ai/nomic-embed-text-v2-moe",
    "ft:gpt-4.1:acme::1": "o200k_base",  # by tiktoken's prefix ft:gpt-4, it would be cl100k_base
    "davinci:ft-acme-2023-01-01": "r50k_base",
}


@pytest.mark.parametrize("name", SPECIFIC)
def test_a_name_has_the_tokenizer_of_its_most_specific_row(name: str) -> None:
    assert tokenizer_for_model(name)[0] == SPECIFIC[name]


@pytest.mark.parametrize(
    ("tags", "tokenizer"),
    [
        ("deepseek-r1:1.5b deepseek-r1:7b deepseek-r1:32b-qwen-distill-q4_K_M", "DeepSeek-R1-Distill-Qwen-7B"),
        ("deepseek-r1 deepseek-r1:671b", "DeepSeek-R1"),
        ("deepseek-r1:8b deepseek-r1:latest ollama/deepseek-r1", "DeepSeek-R1-0528-Qwen3-8B"),
        ("deepseek-r1:70b deepseek-r1:8b-llama-distill-q4_K_M", "DeepSeek-R1-Distill-Llama-8B"),
        ("phi4:14b phi4:14b-q4_K_M phi4:latest", "phi-4"),
        ("phi4-mini:3.8b", "Phi-4-mini-instruct"),
        ("mistral:7b mistral:7b-instruct-v0.3-q4_0 mistral:latest ollama_chat/mistral", "Mistral-7B-v0.3"),
        ("mistral:7b-instruct-v0.2-q4_0 mistral:7b-instruct-q4_0 mistral:7b-text", "Mistral-7B-v0.1"),
        ("llama3.1:8b llama3.1:70b-instruct-q4_K_M", "Llama-3.1-8B"),
        ("qwen3:8b qwen3:30b-a3b-thinking-2507-q4_K_M", "Qwen3-8B"),
    ],
)
def test_the_tag_of_a_name_in_ollamas_library_says_which_tokenizer_it_is(tags: str, tokenizer: str) -> None:
    assert {tokenizer_for_model(name)[0].rpartition("/")[2] for name in tags.split()} == {tokenizer}


@pytest.mark.parametrize("name", ["deepseek-r1:9b", "llama3.1:9b", "qwen3:8b-foo", "phi4:mini", "gpt-oss:30b"])
def test_an_unknown_tag_is_refused(name: str) -> None:
    assert refused("count", "-m", name, "-t", "x").startswith(
        f"Error: no encoding is known for model '{name}'; did you"
    )


@pytest.mark.parametrize(
    ("spellings", "tokenizer"),
    [
        ("GPT-4O gpt_4o openai/gpt-4o azure/eu/gpt-4o-2024-08-06 openrouter/openai/gpt-4o:extended", "o200k_base"),
        ("gpt-35-turbo azure/gpt-35-turbo-16k GPT-3.5-Turbo", "cl100k_base"),
        ("Qwen3-8B qwen3_8b Qwen/Qwen3-8B-FP8 qwen/qwen3-8b:free unsloth/Qwen3-8B-GGUF", "Qwen/Qwen3-8B"),
        (
            "Meta-Llama-3.1-8B llama3.1-8b groq/llama-3.1-8b-instant meta.llama3-1-8b-instruct-v1:0 "
            "accounts/fireworks/models/llama-v3p1-8b-instruct @cf/meta/llama-3.1-8b-instruct-fp8 "
            "vertex_ai/meta/llama-3.1-405b-instruct-maas",
            "meta-llama/Llama-3.1-8B",
        ),
    ],
)
def test_spellings_and_who_serves_a_model_do_not_count(spellings: str, tokenizer: str) -> None:
    assert {tokenizer_for_model(name)[0] for name in spellings.split()} == {tokenizer}


CLOSED = (
    "claude-sonnet-4-5 anthropic/claude-3-opus grok-4 nova-pro us.anthropic.claude-opus-4-1-20250805-v1:0 "
    "vertex_ai/claude-opus-4-5@20251101 amazon.nova-pro-v1:0 anthropic/claude-opus-4.6 claude-3-5-sonnet-20240620"
)


@pytest.mark.parametrize("name", CLOSED.split())
def test_a_tokenizer_that_is_not_public_is_refused_with_the_truth(name: str) -> None:
    words = refused("count", "-m", name, "-t", "x")
    assert words.startswith(f"Error: {name}: its tokenizer is not public\n")
    assert "-e o200k_base" in words
    assert ("--estimate" in words) == ("claude" in name)


@pytest.mark.parametrize(
    "name", ["gpt-9", "lama-3", "", "o200k_base", "gpt-4.2", "qwen3-9b", "claude-opus-99", "a/b/c"]
)
def test_an_unknown_model_is_refused(name: str) -> None:
    with pytest.raises(UnknownModelError):
        tokenizer_for_model(name)


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    for more in ([], ["--exact-only"], ["--json"]):
        words = refused("count", "-m", "gpt-4oo", "-t", "x", *more)
        assert words.startswith("Error: no encoding is known for model 'gpt-4oo'; did you mean 'gpt-4o'")
    assert "'qwen3-8b'" in refused("encode", "-m", "qwen3-9b", "-t", "x")


def test_a_word_of_a_name_is_refused_with_names_that_have_it() -> None:
    assert "did you mean 'claude-sonnet-4'" in refused("count", "-m", "sonnet", "-t", "x")
    assert "did you mean 'chatgpt-4o-latest'" in refused("count", "-m", "chatgpt", "-t", "x")
    assert "did you mean" not in refused("count", "-m", "xyzzy", "-t", "x")


def test_names_with_a_comma_are_refused_with_what_to_type() -> None:
    words = refused("count", "-m", "gpt-4,gpt-4o", "-t", "x")
    assert words.endswith("Give each name its own -m, in `tokcli count`: -m gpt-4 -m gpt-4o.\n")


def test_an_unknown_repository_is_refused_with_the_option_that_reads_it() -> None:
    assert "read its tokenizer with -e acme/Acme-7B" in refused("count", "-m", "acme/Acme-7B", "-t", "x")


@pytest.mark.parametrize("name", ["gpt-4o-foo", "gpt-5foo", "openai/o3-foo", "ft:gpt-4-foo:acme::1"])
def test_a_note_tells_that_only_tiktokens_prefix_fits(name: str) -> None:
    ran = noted("count", "-m", name, "-t", "hello world")
    found = find_model(name)
    assert found is not None
    assert ran.out == ok("count", "-e", found.tokenizer, "-t", "hello world")
    assert ran.err == (
        f"Note: {name} is not a model that is known here: {found.tokenizer} is what tiktoken has for all names that "
        f"begin with {found.prefix}\n"
    )
    assert "is not a model that is known" in refused("count", "-m", name, "-t", "x", "--exact-only")


@pytest.mark.parametrize("name", ["acme/gpt-4-x-alpaca", "acme/gpt-4o-clone"])
def test_tiktokens_prefixes_are_not_for_repositories_of_others(name: str) -> None:
    assert find_model(name) is None


def test_a_window_is_that_of_the_row() -> None:
    assert window_of_model("llama-3.1-8b") == 131_072
    assert window_of_model("gpt-4o-2024-11-20") == 128_000
    assert window_of_model("gpt-4-0613") == 8_192
    assert window_of_model("GPT-4.1-mini") == 1_047_576


def test_names_for_completion_have_one_spelling_and_are_known() -> None:
    names = model_names()
    assert len(names) == len(set(names)) > 900
    assert all(find_model(name) is not None for name in names)
    assert not [name for name in names if set(name) & set("{}*/ ") or name.endswith("DATE")]


def test_all_models_are_listed_or_those_that_match() -> None:
    rows = ok("inspect-ranks", "--models").decode().splitlines()
    assert rows[0] == "group\tmodel\ttokenizer\twindow\tcounts\tplace\tsource\tdate"
    names = [model.name for row in all_rows() for word in row.names for model in row.models(word)]
    assert [row.split("\t")[1] for row in rows[1:]] == [name for name in names if not name.endswith("-DATE")]
    found = ok("inspect-ranks", "--models", "CLAUDE-OPUS-4.7$").decode().splitlines()
    assert [row.split("\t")[1:6] for row in found[1:]] == [
        ["claude-opus-4.7", "not public", "1000000", "estimate", "-"]
    ]
    assert ok("inspect-ranks", "--models=claude-opus-4.7$", "--csv").count(b"\n") == 2
    (listed,) = json.loads(ok("inspect-ranks", "--models", "^gpt-4o$", "--json"))["models"]
    known = {"model": "gpt-4o", "tokenizer": "o200k_base", "window": 128_000, "counts": "exact", "place": "inside"}
    assert known.items() <= listed.items()
    assert listed["source"]
    assert listed["date"] >= "2026"
    rows = ok("inspect-ranks", "--models", "inside").decode().splitlines()[1:]
    assert {row.split("\t")[5] for row in rows} == {"inside"}
    assert {"gpt-4o", "qwen3-8b", "deepseek-v3"} <= {row.split("\t")[1] for row in rows}
    assert noted("inspect-ranks", "--models", "nosuch").err == (
        "Note: 'nosuch' matches no name of a model and no tokenizer of one.\n"
    )
    assert refused("inspect-ranks", "--models", "(").startswith("Error: --models: not a regex")
    assert refused("inspect-ranks", "--models", "a", "b").startswith("Error: --models takes one regex")
    assert refused("inspect-ranks", "--models", "-m", "gpt-4").startswith("Error: --models cannot be combined")


def test_the_table_names_each_tokenizer_that_it_uses() -> None:
    used = {row.tokenizer for row in table().rows}
    assert {*table().repositories} <= used


def test_people_see_the_models_of_each_maker_together() -> None:
    status, shown = on_terminal("inspect-ranks", "--models", "^claude-opus-4.7$|^phi4:14b$", env={"PAGER": "cat"})
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r", "").split("\n")
    assert status == 0
    assert lines[0].startswith("Microsoft  huggingface.co/microsoft")
    assert re.fullmatch(r"  microsoft/phi-4, exact, (?:to be downloaded|in the package), 16,384 tokens", lines[1])
    assert lines[2:4] == ["      phi4:14b", ""]
    assert lines[4].startswith("Claude  ")
    assert "  not public, --estimate counts 1.53 times o200k_base, 1,000,000 tokens" in lines
    assert "      claude-opus-4.7" in lines


def test_a_tokenizer_has_the_name_that_rows_call_it_by() -> None:
    for arguments in (["-e", "qwen3"], ["-m", "qwen3-8b"]):
        ran = noted("count", *arguments, "--offline", "-t", "x")
        assert (ran.out, ran.err) == (b"1\n", f"Note: {arguments[1]}: the tokenizer of Qwen/Qwen3-8B\n")


def test_a_model_whose_name_is_that_of_its_repository_needs_no_note() -> None:
    ran = noted("count", "-m", "Qwen/Qwen3-8B", "--offline", "-t", "x")
    assert (ran.out, ran.err) == (b"1\n", "")


def test_models_may_be_named_wherever_encodings_are_compared() -> None:
    rows = ok("encode", "--compare", "gpt-4o,GPT-4,gpt2", "-t", "hello").decode().splitlines()
    assert [row.split("\t")[0] for row in rows if "\t" in row] == ["encoding", "gpt-4o", "GPT-4", "gpt2"]
    answer = json.loads(ok("encode", "--compare", "gpt-4o,gpt-4", "-t", "hello", "--json"))
    assert [side["encoding"] for side in answer["encodings"]] == ["gpt-4o", "gpt-4"]
    assert ok("split", "-q", "--diff", "gpt-4", "-t", "DON'T") == ok(
        "split", "-q", "--diff", "cl100k_base", "-t", "DON'T"
    )
    names = ("gpt2", "r50k_base"), ("GPT2", "davinci")
    encodings, models = (ok("inspect-ranks", "-q", "--diff", *pair, "--csv").splitlines() for pair in names)
    assert models[1:] == encodings[1:]
    assert "not public" in refused("encode", "--compare", "gpt-4o,claude-opus-4-6", "-t", "x")
    assert "takes at least two encodings or models" in refused("encode", "--compare", "gpt-4o", "-t", "x")


def test_a_misspelt_model_where_an_encoding_is_asked_for_is_hinted_at() -> None:
    for arguments in (["encode", "--compare", "gpt-4o,gpt-4oo"], ["count", "-e", "gpt-4oo"]):
        words = refused(*arguments, "-t", "x")
        assert words.startswith("Error: unknown encoding 'gpt-4oo'\nIf it is a model, did you mean 'gpt-4o', ")


def test_a_misspelt_name_of_a_tokenizer_is_refused_with_the_nearest() -> None:
    words = refused("count", "-e", "tekkenn", "-t", "x")
    assert words.startswith(
        "Error: unknown encoding 'tekkenn'\nOf the tokenizers that are known by name, did you mean 'tekken'?"
    )


def test_people_are_told_which_tokenizers_are_inside_as_well(capfd: pytest.CaptureFixture[str]) -> None:
    status, _ = on_terminal("inspect-ranks")
    assert status == 0
    assert "inside as well, by name: qwen3, qwen2.5, deepseek-v3" in " ".join(capfd.readouterr().err.split())
    assert noted("inspect-ranks").err == ""


def test_a_name_longer_than_any_model_has_is_unknown() -> None:
    assert find_model("qwen3-8b" + "-gguf" * 50) is not None
    for name in ("qwen3-8b" + "-gguf" * 20_000, "gpt-4o:" * 20_000, "meta-" * 20_000, "gpt-4o-" + "x" * 300):
        with pytest.raises(UnknownModelError, match="no encoding is known"):
            tokenizer_for_model(name)
