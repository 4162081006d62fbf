"""`--help` fits its reader: every option once, in groups, the most used first, in lines as wide as the screen."""

from __future__ import annotations

import re

import click
import pytest
from support import ok, refused

from tokcli.cli.declare.command import Command
from tokcli.cli.declare.option import GROUPS, Option
from tokcli.cli.main import COMMANDS, cli

MOST_LINES = {"encode": 95, "train": 80, "count": 80, "split": 80, "inspect-ranks": 60, "decode": 55}  # in 80 columns
MOST_HELP = 52  # characters of a help, which fits beside most names in 80 columns


def rows_of(name: str) -> list[Option]:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, Command)
    return [row for row in command.get_params(click.Context(command)) if isinstance(row, Option)]


def lines_of(name: str, width: int = 80) -> list[str]:
    return ok(name, "--help", env={"COLUMNS": str(width)}).decode().splitlines()


def listed(lines: list[str]) -> list[tuple[str, str]]:
    """Return each option that help lists, by its last name, with the heading above it."""
    found, heading = [], ""
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
        elif heading and (names := re.match(r"  (?:-\w, )?(--?[\w-]+)", line)):
            found.append((names[1], heading))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_listed_once_under_its_group_or_among_the_five_most_used(name: str) -> None:
    found = listed(lines_of(name))
    groups = {row.opts[-1]: row.group for row in rows_of(name)}
    assert sorted(option for option, _ in found) == sorted(groups)
    assert [heading for _, heading in found[:6]] == ["Most used"] * 5 + [found[5][1]]
    assert all(heading == groups[option] for option, heading in found[5:])
    headings = list(dict.fromkeys(heading for _, heading in found[5:]))
    assert headings == [group for group in GROUPS if group in headings]


@pytest.mark.parametrize("name", COMMANDS)
def test_rare_options_are_the_last_of_their_group(name: str) -> None:
    rare = {row.opts[-1] for row in rows_of(name) if row.is_rare}
    found = listed(lines_of(name))[5:]
    for group in GROUPS:
        are_rare = [option in rare for option, heading in found if heading == group]
        assert are_rare == sorted(are_rare)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_as_wide_as_the_screen_up_to_100_columns(name: str) -> None:
    widths = {width: max(map(len, lines_of(name, width))) for width in (80, 90, 100, 300)}
    assert all(used <= width for width, used in widths.items())
    assert widths[100] == widths[300]
    assert len(lines_of(name, 100)) <= len(lines_of(name)) <= MOST_LINES[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_short_and_its_last_line_names_the_man_page(name: str) -> None:
    assert all(len(row.help or "") <= MOST_HELP for row in rows_of(name))
    assert lines_of(name)[-1] == f"`man tokcli-{name}` says more of each option."


@pytest.mark.parametrize("name", COMMANDS)
def test_helps_begin_with_a_verb(name: str) -> None:
    other = re.compile(r"(In|On|At|The|An?|With|If|For|Of|Only|Never|Also|Whether|How|To|No|All|Each|\w*[^s]s)\b")
    assert [row.help for row in rows_of(name) if other.match(row.help or "")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_values_that_may_be_left_out_are_shown_alike(name: str) -> None:
    text = "\n".join(lines_of(name))
    for row in rows_of(name):
        if row.bare is not None:
            assert re.search(rf"{row.opts[-1]}\[=[A-Za-z|]+\]", text)


def test_the_programs_help_has_six_examples_with_truncation_and_chunks() -> None:
    lines = ok("--help", env={"COLUMNS": "80"}).decode().splitlines()
    examples = [line for line in lines if line.startswith("    tokcli ")]
    assert len(examples) == 6
    assert any(re.search(r"encode -n \d+ --as-text", line) for line in examples)
    assert any(re.search(r"encode --chunk \d+", line) for line in examples)
    assert len(lines) <= 24


@pytest.mark.parametrize("name", COMMANDS)
def test_aliases_mean_the_option_in_every_command_that_has_it(name: str) -> None:
    aliases = {alias: row.opts[-1] for row in rows_of(name) for alias in row.aliases}
    assert aliases["--colour"] == "--color"
    assert ("--visualize" in aliases) == any(row.opts[-1] == "--visualise" for row in rows_of(name))
    for alias, option in aliases.items():
        refusals = [refused(name, f"{given}=no-such-value", "-t", "1") for given in (alias, option)]
        assert refusals[0] == refusals[1]
        assert alias not in "\n".join(lines_of(name))


def test_decode_has_no_pattern_which_it_could_not_use() -> None:
    assert "No such option" in refused("decode", "--pattern", "x", "-t", "1")


def test_a_word_after_several_short_options_in_one_is_the_value_of_the_last() -> None:
    assert ok("encode", "-qt", "--visualise") == ok("encode", "--text=--visualise")
