"""The examples of README.md and of the manual's texts: found for tests, which run them, and written again by this script.

    python tests/tools/readme_examples.py        puts what the commands print now into these files

An example is a block of ```console: lines that begin with "$ " are commands (a "\\" at the end goes on), what follows is
what they print, on both streams. They run in order, by bash, in one empty folder for each block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).resolve().parent.parent.parent / "README.md"
MANUAL = sorted((README.parent / "tokcli" / "cli").rglob("*.md"))  # the texts of the man pages
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A command of the README, and what it is said to print."""

    command: str
    printed: str


def blocks(text: str) -> list[list[Example]]:
    """The examples of each block, in order."""
    return [_examples(match[1]) for match in _BLOCK.finditer(text)]


def _examples(block: str) -> list[Example]:
    found: list[Example] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        end = next(i for i, line in enumerate(lines) if not line.endswith("\\\n")) + 1
        found.append(Example("".join(lines[:end]).rstrip("\n"), "".join(lines[end:])))
    return found


def environment(folder: str) -> dict[str, str]:
    """The variables of a person who works in a folder, without settings of their own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TOKCLI_", "TIKTOKEN_")) or k == "TOKCLI_BACKEND"}
    env |= {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "TOKCLI_OFFLINE": "1", "NO_COLOR": "1"}
    return env | {"COLUMNS": "100", "TOKCLI_CACHE_DIR": f"{folder}.cache"}


def run_block(examples: list[Example], folder: str) -> list[str]:
    """What the commands of a block print, as a person in a folder of their own would see it in a pipe."""
    env, printed = environment(folder), []
    for example in examples:
        done = subprocess.run(
            ["bash", "-c", example.command + "\n"], cwd=folder, env=env, capture_output=True, timeout=60
        )
        out = (done.stdout + done.stderr).decode()
        printed.append(out if not out or out.endswith("\n") else out + "\n")
    return printed


def main() -> None:
    def again(match: re.Match[str]) -> str:
        examples = _examples(match[1])
        with tempfile.TemporaryDirectory() as folder:
            printed = run_block(examples, folder)
        body = "".join(f"$ {e.command}\n{out}" for e, out in zip(examples, printed, strict=True))
        return f"```console\n{body}```"

    for path in (README, *MANUAL):
        path.write_text(_BLOCK.sub(again, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
