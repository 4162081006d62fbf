"""One row makes all that is said of an option: it is in `--help`, in the man page, and in what each shell is answered."""

from __future__ import annotations

import re
import sys
from functools import cache

import click
import pytest
from support import ROOT, ok

from tokcli.cli.completion.complete import complete
from tokcli.cli.declare.option import Option
from tokcli.cli.main import COMMANDS, cli

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import make_manual

ALL = ("", *COMMANDS)  # "" is the program itself


def rows_of(name: str) -> list[Option]:
    """Return the options of a command, --help among them."""
    command = cli.get_command(click.Context(cli), name) if name else cli
    assert command is not None
    return [row for row in command.get_params(click.Context(command)) if isinstance(row, Option)]


def answer(shell: str, *arguments: str) -> list[str]:
    found = complete(shell, list(arguments), cli, {name: line for name, (_, line) in COMMANDS.items()})
    assert found is not None
    return found.splitlines()


@cache
def page(name: str) -> str:
    """Return a man page as it is made now, without its macros, on one line."""
    text = make_manual.pages()[f"{f'tokcli-{name}'.rstrip('-')}.1"]
    plain = re.sub(r"\\\[u(\w+)\]", lambda match: chr(int(match[1], 16)), re.sub(r"\\f[BIR]|\\%|\\&", "", text))
    for sign, written in make_manual.man.ESCAPES.items():
        plain = plain.replace(written, sign)
    return " ".join(plain.split())


@pytest.mark.parametrize("name", ALL)
def test_the_help_has_every_option(name: str) -> None:
    words = set(re.findall(r"(?<![\w-])--?[\w-]+", ok(*([name] if name else []), "--help").decode()))
    assert {spelling for row in rows_of(name) for spelling in row.opts} <= words


@pytest.mark.parametrize("name", ALL)
def test_the_page_has_every_option_with_its_help(name: str) -> None:
    for row in rows_of(name):
        head = f"{', '.join(row.opts)}{row.value}"
        assert f".TP {head} {_plain(row.help)}" in page(name)
        assert all(alias in page(name) for alias in row.aliases)
        assert _plain(row.more) in page(name)


@pytest.mark.parametrize("name", ALL)
def test_each_shell_is_told_every_option_with_its_help(name: str) -> None:
    before = [name] if name else []
    for row in rows_of(name):
        long, said = row.opts[-1], " ".join((row.help or "").split())
        line = f"{' '.join(['tokcli', *before])} {long[:-1]}"
        assert long in answer("bash", line, long[:-1], "9", "100")
        listed = answer("bash", line, long[:-1], "63", "999")
        assert any(re.fullmatch(rf"{long}  +{re.escape(said)}", found) for found in listed)
        assert f"{long}:{said}" in answer("zsh", *before, "-")
        assert f"{long}\t{said}" in answer("fish", *before, "-")


def _plain(text: str | None) -> str:
    return " ".join((text or "").replace("`", "").split())


def test_every_choice_is_completed() -> None:
    for name in COMMANDS:
        for row in rows_of(name):
            if isinstance(row.type, click.Choice):
                assert answer("fish", name, row.opts[-1], "")[2:] >= [f"{choice}\t" for choice in row.type.choices]
                assert answer("zsh", name, f"{row.opts[-1]}=")[1:] == [f"{choice}" for choice in row.type.choices]
