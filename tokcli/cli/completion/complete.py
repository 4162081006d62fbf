"""The answer to a shell that asks what may follow on its line: the program's commands and options, or those of one."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tokcli.cli.completion.answer import Offer, answer
from tokcli.cli.completion.shells import SHELLS
from tokcli.cli.completion.values import Value

HELP = Value("help", "Show the help of a command.")


def complete(shell: str, arguments: list[str], program: click.Group, commands: Mapping[str, str]) -> str | None:
    """Return the answer for a shell, or None where no script of ours has asked; `commands` has a line of help each."""
    names = [Value(name, line) for name, line in commands.items()]
    context = click.Context(program)

    def asked(words: list[str], current: str) -> Offer:
        place = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
        command = program.get_command(context, words[place]) if place < len(words) else None
        if command is not None:
            return answer(command, words[place + 1 :], current)
        if words[place:] == [HELP.text]:
            return Offer(values=names)
        found = answer(program, words, current)
        is_name = place == len(words) and not found.values and not current.startswith("-")
        return Offer(values=[*names, HELP]) if is_name else found

    try:
        lines = SHELLS[shell](asked, *arguments)
    except (KeyError, TypeError, ValueError):  # another shell, or not the arguments that our script gives
        return None
    return "".join(f"{line}\n" for line in lines)
