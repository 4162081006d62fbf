"""Writes completions/ from the program: `python tests/tools/make_completions.py`; with --check only says if it is stale.

An installation has these scripts where the shells look (pyproject.toml), and `tokcli --completion SHELL` prints them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tokcli.cli.completion.scripts import SCRIPTS

FOLDER = Path(__file__).resolve().parents[2] / "completions"
NAMES = {"bash": "tokcli.bash", "zsh": "_tokcli", "fish": "tokcli.fish"}


def main() -> None:
    """Writes or checks the three files."""
    written = {FOLDER / name: SCRIPTS[shell] for shell, name in NAMES.items()}
    if "--check" not in sys.argv[1:]:
        for path, text in written.items():
            path.write_text(text, "utf-8")
    elif any(not path.exists() or path.read_text("utf-8") != text for path, text in written.items()):
        raise SystemExit("completions/ is stale: run python tests/tools/make_completions.py")


if __name__ == "__main__":
    main()
