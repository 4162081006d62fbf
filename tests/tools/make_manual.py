"""Writes the man pages: `python tests/tools/make_manual.py`; with --check only says if they are stale.

A page is made of its command's rows, of the command's help, and of a text in Markdown beside the command's module:
`tokcli/cli/count/count.md` for `tokcli/cli/count/count.py`, and `tokcli/cli/main.md` for `tokcli(1)`. In these texts, `#` is a
section of the page, and `##` a part of it; what comes before the first heading belongs to DESCRIPTION. The sections of
main.md named in SHARED are on every page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import man_markup as man

from tokcli import __version__
from tokcli.cli.declare.command import Command
from tokcli.cli.declare.conflicts import Excludes, NoEffectWith, Requires
from tokcli.cli.declare.help import in_groups
from tokcli.cli.declare.option import Argument, Option
from tokcli.cli.main import COMMANDS, PROGRAM, cli

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "completions" / "man1"
TEXTS = ROOT / "tokcli" / "cli"
SHARED = ("Exit status", "Environment", "Files")
DATE = "2026-11-27"  # of pages whose version has no date in CHANGELOG.md yet


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    made = {f"{PROGRAM}.1": program_page(), **{f"{PROGRAM}-{name}.1": command_page(name) for name in COMMANDS}}
    return {name: re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", text, flags=re.MULTILINE) for name, text in made.items()}


def texts() -> dict[str, Path]:
    """Where the text of each page is in the tree: "" is the program's."""
    modules = {"": "tokcli.cli.main", **{name: module for name, (module, _) in COMMANDS.items()}}
    return {name: ROOT / f"{module.replace('.', '/')}.md" for name, module in modules.items()}


def program_page() -> str:
    """tokcli.1: the commands, and what they have in common."""
    description, examples = help_of(cli)
    parts = [head("", description[0])]
    parts.append(f".SH SYNOPSIS\n\\fB{PROGRAM}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n.br\n")
    parts.append(f"\\fB{PROGRAM} help\\fR \\fICOMMAND\\fR\n")
    before, sections = text_of("")
    parts += [".SH DESCRIPTION\n", *map(man.filled, description[:1]), *before, ".SH COMMANDS\n"]
    parts += [man.item(f"\\fB{PROGRAM}\\-{man.literal(name)}\\fR(1)", line) for name, (_, line) in COMMANDS.items()]
    parts += [".SH OPTIONS\n", *(option(row, []) for row in rows_of(cli)), ".SH EXAMPLES\n", man.code(examples)]
    parts += [body for name, body in sections.items() if name not in SHARED] + [sections[name] for name in SHARED]
    return "".join([*parts, see_also("")])


def command_page(name: str) -> str:
    """The page of a command."""
    command = import_module(COMMANDS[name][0]).command
    assert isinstance(command, Command)
    description, examples = help_of(command)
    arguments = " ".join(row.metavar or "" for row in command.params if isinstance(row, Argument))
    before, sections = text_of(name)
    parts = [head(name, COMMANDS[name][1])]
    parts.append(f".SH SYNOPSIS\n\\fB{PROGRAM} {man.literal(name)}\\fR [\\fIOPTION\\fR]... {man.value(arguments)}\n")
    parts += [".SH DESCRIPTION\n", *(f".PP\n{man.filled(text)}" for text in description), *before]
    parts += [
        man.item(man.value((row.metavar or "").strip("[].")), row.help)
        for row in command.params
        if isinstance(row, Argument)
    ]
    parts.append(".SH OPTIONS\n")
    for group, rows in in_groups(rows_of(command)):
        parts += [f".SS {group}\n", *(option(row, rules_of(command, row)) for row in rows)]
    parts += [".SH EXAMPLES\n", man.code(examples), *sections.values()]
    return "".join([*parts, *(text_of("")[1][shared] for shared in SHARED), see_also(name)])


def head(name: str, line: str) -> str:
    """The head of a page, and its section NAME."""
    title = f"{PROGRAM}-{name}".strip("-")
    found = re.search(r"^## .*?(\d{4}-\d\d-\d\d)", (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")[1])
    date = found[1] if found else DATE
    said = line[0].lower() + line[1:].rstrip(".")
    return (
        f'.\\" Written by tests/tools/make_manual.py.\n.TH {man.literal(title.upper())} 1 {date} "{PROGRAM} {__version__}" '
        f'"{PROGRAM} manual"\n.ad l\n.SH NAME\n{man.literal(title)} \\- {man.prose(said)}\n'
    )


def help_of(command: click.Command) -> tuple[list[str], str]:
    """The paragraphs of a command's help, and its examples."""
    parts = re.split(r"\n\s*\n", (command.help or "").strip())
    examples = [part.partition("\b\n")[2] for part in parts if part.lstrip().startswith("\b")]
    return [part for part in parts if not part.lstrip().startswith("\b")], "\n".join(examples)


def rows_of(command: click.Command) -> list[Option]:
    """All options of a command, --help among them."""
    return [row for row in command.get_params(click.Context(command)) if isinstance(row, Option)]


def option(row: Option, rules: list[str]) -> str:
    """The paragraph of an option."""
    names = ", ".join(f"\\fB{man.word(name)}\\fR" for name in row.opts)
    said = [" ".join((row.help or "").split())]
    if row.multiple and "repeated" not in said[0]:
        said.append("This option may be repeated.")
    if row.default_shown:
        said.append(f"The default is {row.default_shown}.")
    said += [row.more] if row.more else []
    if isinstance(row.envvar, str):
        said.append(f"The environment variable `{row.envvar}` sets it, too.")
    if row.aliases:
        said.append(f"Another spelling is {' or '.join(row.aliases)}.")
    return man.item(names + man.value(row.value), " ".join([*said, *rules]))


def rules_of(command: Command, row: Option) -> list[str]:
    """What an option needs, and what it cannot be combined with, in sentences."""
    apart: list[str] = []
    needed: list[str] = []
    for option, rule in command.conflicts:
        if isinstance(rule, Requires) and option in row.opts and not rule.phrase:
            needed.append(either(rule.others))
        elif isinstance(rule, Excludes) and not isinstance(rule, NoEffectWith) and not rule.unless:
            is_other = any(name in row.opts for name in rule.others)
            apart += rule.others if option in row.opts else [option] * is_other
    needs = [f"It needs {' and '.join(needed)}."] if needed else []
    return needs + ([f"It cannot be combined with {either(tuple(dict.fromkeys(apart)))}."] if apart else [])


def either(names: tuple[str, ...]) -> str:
    """Names of options joined by "or", with their values after a space."""
    shown = [f"`{name.replace('=', ' ', 1)}`" if "=" in name else name for name in names]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def text_of(name: str) -> tuple[list[str], dict[str, str]]:
    """What the text of a page has before its first section, and its sections by name."""
    path = texts()[name]
    before: list[str] = []
    sections: dict[str, str] = {}
    for part in re.split(r"^(?=# )", path.read_text("utf-8") if path.exists() else "", flags=re.MULTILINE):
        made = list(man.blocks(part))
        if part.startswith("# "):
            sections[part.partition("\n")[0][2:]] = "".join(made)
        else:
            before += made
    return before, sections


def see_also(name: str) -> str:
    """The section with the names of the other pages."""
    names = [f"{PROGRAM}-{other}".strip("-") for other in ("", *COMMANDS) if other != name]
    return ".SH SEE ALSO\n" + ",\n".join(f"\\fB{man.word(other)}\\fR(1)" for other in names) + "\n"


def stale() -> Iterator[str]:
    """The names of pages that are not what the program says now."""
    made = pages()
    for path in {*FOLDER.glob("*"), *(FOLDER / name for name in made)}:
        if not path.exists() or path.read_text("utf-8") != made.get(path.name):
            yield path.name


def main() -> None:
    """Writes or checks the pages."""
    if "--check" in sys.argv[1:]:
        if names := sorted(stale()):
            raise SystemExit(f"stale: {' '.join(names)}: run python tests/tools/make_manual.py")
        return
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
