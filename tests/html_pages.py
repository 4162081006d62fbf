"""The pages of `--html` under test: made by the command line, once for all tests of a folder, and asked in JavaScript."""

from __future__ import annotations

from pathlib import Path

from tokcli.cli.main import run

Q = "document.querySelector"
CURRENT = f"{Q}('[aria-selected=true]')"
ABOUT = "document.getElementById('about').innerText"
HEADING = "document.getElementById('heading').textContent"
STATUS = "document.getElementById('status').textContent"
ACTIVE = "document.activeElement.id"


def page(folder: Path, *arguments: str | Path) -> Path:
    """The page of a command, made once."""
    path = folder / f"{abs(hash(arguments))}.html"
    if not path.exists():
        assert run([*map(str, arguments), "--html", str(path)]) == 0
        shown = " ".join(map(ascii, map(str, arguments)))[:80]
        print(f"\n  {path.stat().st_size / 1e6:.2f} MB: tokcli {shown} --html FILE")
    return path
