"""Each option is one row, which has all that the parser, the help, man pages and completions need."""

from __future__ import annotations

from typing import get_args

import click
import pytest

from tokcli.cli.declare.command import Command
from tokcli.cli.declare.option import GROUPS, Argument, Completed, Option
from tokcli.cli.main import COMMANDS, cli


def command_named(name: str) -> Command:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, Command)
    return command


def rows_of(name: str) -> list[Option]:
    """Return all options of a command, --help among them."""
    command = command_named(name)
    return [row for row in command.get_params(click.Context(command)) if isinstance(row, Option)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_is_a_row(name: str) -> None:
    command = command_named(name)
    rest = [row for row in command.get_params(click.Context(command)) if not isinstance(row, Option)]
    assert all(isinstance(row, Argument) and row.help for row in rest)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_has_a_group_and_a_help_that_begins_with_a_verb(name: str) -> None:
    for row in rows_of(name):
        assert row.group in GROUPS
        assert row.help[0].isupper()
        assert row.help.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_with_a_value_says_how_it_is_completed_and_no_other(name: str) -> None:
    for row in rows_of(name):
        assert (row.completes is None) == (row.is_flag or row.count), row.opts
        assert row.completes is None or row.completes in get_args(Completed)
        assert (row.value == "") == (row.completes is None)
        assert "VALUE" not in row.value


@pytest.mark.parametrize("name", COMMANDS)
def test_each_spelling_is_of_one_option_only(name: str) -> None:
    spellings = [spelling for row in rows_of(name) for spelling in (*row.opts, *row.aliases)]
    assert sorted(set(spellings)) == sorted(spellings)
