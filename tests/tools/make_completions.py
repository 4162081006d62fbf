"""Writes completions/ from the program: `python tests/tools/make_completions.py`; with --check only says if it is stale.

The scripts ask the program itself (`_TOKCLI_COMPLETE`), so they change only when click's way of asking does.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from click.shell_completion import get_completion_class

from tokcli.cli.main import COMPLETE, PROGRAM, cli

FOLDER = Path(__file__).resolve().parents[2] / "completions"
HEADER = f"Written by tests/tools/make_completions.py with click {'.'.join(version('click').split('.')[:2])}."
OTHER_CLICK = 3  # the exit status of --check where the scripts cannot be compared
NAMES = {"bash": "tokcli.bash", "zsh": "_tokcli", "fish": "tokcli.fish"}


def script(shell: str) -> str:
    """The completion script for a shell."""
    made = get_completion_class(shell)
    if made is None:
        raise SystemExit(f"click knows no completion for {shell}")
    lines = [line.rstrip() for line in made(cli, {}, PROGRAM, COMPLETE).source().strip().splitlines()]
    lines.insert(1 if lines[0].startswith("#compdef") else 0, f"# {HEADER}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes or checks the three files."""
    stale = False
    for shell, name in NAMES.items():
        path, wanted = FOLDER / name, script(shell)
        if "--check" in sys.argv[1:]:
            if path.exists() and HEADER not in path.read_text("utf-8"):
                print(f"{name} was made with another release of click: nothing to compare", file=sys.stderr)
                raise SystemExit(OTHER_CLICK)
            stale |= not path.exists() or path.read_text("utf-8") != wanted
        else:
            path.write_text(wanted, "utf-8")
    if stale:
        raise SystemExit("completions/ is stale: run python tests/tools/make_completions.py")


if __name__ == "__main__":
    main()
