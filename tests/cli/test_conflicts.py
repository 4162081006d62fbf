"""What cannot be combined: every row of every table names options that there are, and is refused in the same words."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from support import ok, refused

from tokcli.cli.declare.command import Command
from tokcli.cli.main import COMMANDS, cli


def command_named(name: str) -> Command:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, Command)
    return command


def choices_of(command: Command) -> dict[str, frozenset[str]]:
    """The names of a command's options, as they are typed, and the values that each may have."""
    found: dict[str, frozenset[str]] = {}
    for param in command.params:
        values = frozenset(map(str, param.type.choices)) if isinstance(param.type, click.Choice) else frozenset()
        is_option = isinstance(param, click.Option)
        found.update(dict.fromkeys(param.opts if is_option else [param.human_readable_name.strip("[].")], values))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_names_options_and_values_of_its_command(name: str) -> None:
    command = command_named(name)
    known = choices_of(command)
    named: list[str] = []
    for option, said in command.conflicts:
        named += [option, *said.others, *filter(None, said.unless.split("|"))]
    assert named
    for option in named:
        typed, _, values = option.partition("=")
        assert typed in known
        assert set(values.split("|")) - {""} <= known[typed]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["encode", "--format", "u16", "--json"], "--format u16 cannot be combined with --json"),
        (
            ["encode", "--format=npy", "--records", "nul", "--offsets", "byte", "--json"],
            "--format npy cannot be combined with --records, --json or --offsets",
        ),
        (["encode", "--ids"], "--ids needs --visualise=tokens"),
        (["encode", "--visualise=merges", "--ids"], "--ids needs --visualise=tokens"),
        (["count", "-t", "x", "--files0-from", "y", "z"], "--text cannot be combined with FILE or --files0-from"),
        (["encode", "-m", "gpt-4", "-e", "gpt2", "-t", "x"], "--model cannot be combined with --encoding"),
        (["decode", "--field", "x", "-t", "1"], "--field needs --records jsonl"),
        (["split", "--lint", "-t", "x"], "--lint cannot be combined with --text"),
        (["split", "--why", "0", "--stats", "-t", "x"], "--why cannot be combined with --stats"),
        (["split", "--lint", "--errors", "bytes"], "--lint cannot be combined with --errors"),
        (
            ["split", "--emit", "js", "--special", "allow", "--no-decompress"],
            "--emit cannot be combined with --no-decompress or --special",
        ),
        (
            ["split", "--find-witness", "--diff", "gpt2", "--add-special-tokens"],
            "--find-witness cannot be combined with --add-special-tokens",
        ),
        (
            ["split", "--identify", "--allow-special", "<|endoftext|>"],
            "--identify cannot be combined with --allow-special",
        ),
        (["count", "--json", "--jsonl", "-t", "x"], "--jsonl cannot be combined with --json"),
        (["inspect-ranks", "--json", "--csv"], "--json cannot be combined with --csv"),
        (["inspect-ranks", "--export", "gpt2"], "--export needs --output"),
        (["inspect-ranks", "--diff", "gpt2", "r50k_base", "-e", "gpt2"], "--diff cannot be combined with --encoding"),
        (
            ["train", "-t", "x", "--counts-only", "--format", "gpt2", "--min-frequency", "2", "-o", "y"],
            "--counts-only cannot be combined with --min-frequency or --format",
        ),
        (
            ["train", "-t", "x", "--counts-only", "--vocab-size", "300", "-o", "y"],
            "--counts-only cannot be combined with --vocab-size",
        ),
        (["train", "-t", "x", "-o", "y"], "--vocab-size is missing\nFor instance --vocab-size 4096"),
        (
            ["train", "a.txt", "32k", "-o", "y"],
            "--vocab-size is missing\nIf 32k is a number and no FILE, type --vocab-size 32k.",
        ),
        (["train", "300", "a.txt"], "--vocab-size is missing\nIf 300 is a number and no FILE, type --vocab-size 300."),
        (["train", "2", "a.txt"], "--vocab-size is missing\nFor instance --vocab-size 4096"),
        (["train", "-t", "x", "--vocab-size", "300"], "--output is missing"),
        (
            ["train", "-t", "x", "--preset", "basic", "--memory", "1M", "--vocab-size", "300", "-o", "y"],
            "--ties first cannot be combined with --memory",
        ),
    ],
)
def test_the_message_names_what_was_typed(arguments: list[str], said: str) -> None:
    assert refused(*arguments).startswith(f"Error: {said}\n")


@pytest.mark.parametrize("option", [("-e", "gpt2"), ("-e", "nonsense"), ("-m", "gpt-4"), ("--pattern", "(")])
def test_an_encoding_of_which_nothing_is_asked_is_refused(option: tuple[str, str]) -> None:
    assert " needs something to look up\n" in refused("inspect-ranks", *option)
    assert ok("inspect-ranks", env={"TOKCLI_ENCODING": "gpt2"}).startswith(b"name\t")


def test_the_values_of_a_preset_are_no_conflict_with_counting(tmp_path: Path) -> None:
    ok("train", "-q", "-t", "a b", "--counts-only", "--preset", "gpt4", "-o", tmp_path / "counts")
    assert (tmp_path / "counts").stat().st_size


def test_a_special_token_that_there_is_not_is_refused_beside_all_that_there_are() -> None:
    said = refused("count", "-t", "x", "--special", "allow", "--allow-special", "nonsense")
    assert said.startswith("Error: o200k_base has no special token 'nonsense'")


def test_a_default_that_is_typed_is_no_conflict() -> None:
    assert ok("encode", "--format", "text", "--visualise", "-q", "-t", "hello world") == "hello│·world\n".encode()


def test_the_encoding_of_the_environment_gives_way_to_a_model() -> None:
    assert ok("count", "-m", "gpt-4", "-t", "x", env={"TOKCLI_ENCODING": "gpt2"}) == b"1\n"
