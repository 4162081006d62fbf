"""What a shell is answered: read from the words before the cursor as the command will read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import NAMES, ok

from tokcli.cli.completion.answer import Offer
from tokcli.cli.completion.complete import complete
from tokcli.cli.completion.shells import for_zsh
from tokcli.cli.completion.typed import quoted, words_of
from tokcli.cli.completion.values import Value
from tokcli.cli.main import COMMANDS, cli
from tokcli.registry.models.lookup import tokenizer_for_model

FILES, FOLDERS, NOTHING = ("file", []), ("folder", []), ("none", [])


def raw(shell: str, *arguments: str) -> list[str]:
    found = complete(shell, list(arguments), cli, {name: line for name, (_, line) in COMMANDS.items()})
    assert found is not None
    return found.splitlines()


def offered(*words: str) -> tuple[str, list[str]]:
    """Return the paths that fish is to add, and the words that it is offered; the last word is being typed."""
    paths, _, *lines = raw("fish", *words)
    return paths, [line.partition("\t")[0] for line in lines]


def test_commands_are_offered_first_and_after_help() -> None:
    assert offered("") == ("none", [*COMMANDS, "help"])
    assert offered("help", "") == ("none", [*COMMANDS])
    assert offered("help", "count", "") == NOTHING


@pytest.mark.parametrize(
    "words", [("--",), ("-q", "-t", "--", "--"), ("-e", "gpt2", "--"), ("--tree", "2", "--"), ("-", "--")]
)
def test_options_are_offered_wherever_one_may_stand(words: tuple[str, ...]) -> None:
    assert "--json" in offered("count", *words)[1]


def test_an_option_that_was_given_is_not_offered_again_unless_it_may_be_repeated() -> None:
    before = ("-e", "gpt2", "--glob=*.py", "--colour", "never", "-qr")
    left = offered("count", *before, "--")[1]
    assert {"--encoding", "--glob"} <= set(left)
    assert not {"--color", "--colour", "--quiet", "--recursive"} & set(left)
    assert "--encoding" not in offered("encode", "-e", "gpt2", "--")[1]


def test_another_spelling_is_offered_once_it_alone_has_been_begun() -> None:
    assert "--visualize" in offered("encode", "--visualiz")[1]
    assert "--visualize" not in offered("encode", "--v")[1]
    assert offered("encode", "--visualize=")[1] == ["--visualize=tokens", "--visualize=merges"]


def test_only_files_are_offered_after_two_dashes() -> None:
    assert offered("count", "--", "") == offered("count", "--", "-") == offered("count", "--", "--sort", "") == FILES
    assert offered("count", "a", "") == offered("decode", "") == FILES
    assert offered("inspect-ranks", "") == NOTHING


def test_a_value_that_may_be_left_out_is_offered_beside_files_and_only_once() -> None:
    assert offered("count", "--sort", "") == ("file", ["name", "tokens"])
    assert offered("count", "--sort", "name", "") == offered("count", "--sort=name", "") == FILES
    assert offered("count", "--tree", "") == offered("count", "--tree", "3", "") == FILES
    assert offered("count", "--sort=") == ("none", ["--sort=name", "--sort=tokens"])


def test_a_value_is_read_as_a_value_whatever_it_looks_like() -> None:
    assert offered("count", "-t", "--sort", "") == FILES
    assert offered("inspect-ranks", "--diff", "gpt2", "") == ("file", list(NAMES))
    assert offered("inspect-ranks", "--diff", "gpt2", "r50k_base", "") == NOTHING
    assert offered("count", "-qe", "") == offered("count", "-e", "") == ("file", list(NAMES))
    assert offered("count", "-qegpt2", "") == FILES


@pytest.mark.parametrize("words", [("--max", ""), ("--max=",), ("--nosuch=",), ("--json=",), ("-t", ""), ("-nosuch",)])
def test_nothing_is_offered_where_nothing_is_known(words: tuple[str, ...]) -> None:
    assert offered("count", *words)[0] == "none"
    assert not [word for word in offered("count", *words)[1] if not word.startswith("--")]


def test_folders_are_offered_where_a_folder_is_written_or_read() -> None:
    assert offered("encode", "--shards", "") == offered("train", "--checkpoint", "") == FOLDERS
    assert offered("inspect-ranks", "--shards=") == FOLDERS


def test_an_element_of_a_list_is_offered_once() -> None:
    assert offered("encode", "--compare", "gpt2,")[1][:1] == ["gpt2,r50k_base"]
    assert not [
        word for word in offered("encode", "--compare=gpt2,r50k_base,")[1] if word.endswith((",gpt2", ",r50k_base"))
    ]


def test_models_are_offered_where_encodings_may_stand_and_none_is_meant() -> None:
    assert offered("split", "--diff", "") == offered("split", "--diff", "c") == ("file", list(NAMES))
    assert "gpt-4o" in offered("split", "--diff", "gpt-")[1]
    assert "gpt2,gpt-4o" in offered("encode", "--compare", "gpt2,gpt-")[1]
    assert "gpt-4o" not in offered("count", "-e", "gpt-")[1]
    assert "qwen3\tQwen/Qwen3-8B" in raw("fish", "count", "-e", "qw")


def test_special_tokens_are_those_of_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered("count", "-e", "gpt2", "--allow-special", "") == ("none", ["<|endoftext|>"])
    assert "<|fim_prefix|>" in offered("encode", "-m", "gpt-4", "--append-special", "")[1]
    assert len(offered("count", "-e", "o200k_harmony", "--allow-special", "")[1]) < 20
    assert (
        offered("count", "-e", "./file", "--allow-special", "")
        == offered("count", "-m", "qwen3", "--allow-special", "")
        == NOTHING
    )
    monkeypatch.setenv("TOKCLI_ENCODING", "gpt2")
    assert offered("count", "--allow-special", "") == ("none", ["<|endoftext|>"])


def test_models_are_offered_that_have_a_tokenizer_and_with_it() -> None:
    lines = raw("fish", "count", "-m", "")[2:]
    assert {"gpt-4o\to200k_base", "qwen3\tQwen/Qwen3-8B"} <= set(lines)
    assert len(lines) > 100
    for name, tokenizer in (line.split("\t") for line in lines):
        assert tokenizer == "with --estimate" or tokenizer_for_model(name)[0] == tokenizer
    assert "claude-opus-4.7\twith --estimate" in lines
    assert not [line for line in lines if line.startswith("grok")]


def test_the_case_of_models_is_ignored_as_the_commands_do() -> None:
    assert raw("bash", "tokcli count -m QWQ-", "QWQ-", "9", "80")[3:] == ["qwq-32b", "qwq-32b-preview"]
    assert raw("zsh", "count", "-m", "QWQ")[0].split()[2:] == ["case"]


def test_redirections_are_no_words_of_the_command() -> None:
    line = "tokcli count 2>/dev/null -e gpt2 > "
    assert raw("bash", line, "", "9", "80") == ["file", "", ""]
    assert raw("bash", f"{line}out --enc", "--enc", "9", "80")[3:] == ["--encoding"]


def test_colons_end_no_description_and_no_value() -> None:
    assert for_zsh(lambda *_: Offer(values=[Value("llama3:8b", "of: x")]), "")[1:] == ["llama3\\:8b:of: x"]


# what people have on their lines, and what is hostile
_PARTS = st.sampled_from([*" '\"\\=,:$~`!*?<>|&;()[]{}#-\t\n", "tokcli", "count", "encode", "--", "-e", "--compare", "gpt2", "é", "\udcff", "a"])  # fmt: skip


@given(st.lists(_PARTS, max_size=12).map("".join), st.integers(0, 12))
def test_any_line_is_answered(line: str, back: int) -> None:
    for typed in (line, f"tokcli count {line}", f"tokcli encode --compare={line}"):
        assert len(raw("bash", typed, typed[len(typed) - back :], "63", "80")) >= 3
        assert len(raw("zsh", *typed.split(" ")[1:], "")[0].split()) >= 2
        assert len(raw("fish", *typed.split(" "))) >= 2


@given(st.text(st.characters(exclude_characters="\0"), max_size=8), st.sampled_from(["", "'", '"']))
def test_a_shell_reads_back_what_is_quoted(text: str, quote: str) -> None:
    word = words_of(f"tokcli {quote}{quoted(text, quote)}")[-1]
    assert (word.value, word.quote) == (text, quote)


def test_the_help_says_how_to_load_completions() -> None:
    assert 'eval "$(tokcli --completion bash)"' in ok("--help").decode()
