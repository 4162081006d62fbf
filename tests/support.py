"""What tests share: the reference library's encodings, made from our ranks; texts that are hard to split; the program."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tiktoken
from hypothesis import strategies as st

import tokcli
from tokcli.registry.catalog import CATALOG

ROOT = Path(__file__).resolve().parent.parent
NAMES = tuple(CATALOG)
FAMILIES = ("r50k_base", "cl100k_base", "o200k_base")  # one encoding for each pattern

# Where splitting goes wrong: apostrophes, white space of every kind, letters without case, marks, digits, joined signs
_HARD = [
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
    "'S",
    "'LL",
    "'Re",
    "’s",
    "'ſ",
    "'K",
    "\n",
    "\r",
    "\t",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x85",
    "\xa0",
    "\u1680",
    "\u2003",
    "\u2028",
    "\u202f",
    "\u3000",
    "\x1c",
    "\x1f",
    "\u200b",
    "\u200d",
    "\ufeff",
    "a",
    "b",
    "Z",
    "é",
    "ß",
    "ſ",
    "İ",
    "ı",
    "Ǆ",
    "ǅ",
    "ǆ",
    "ª",
    "º",
    "ʰ",
    "中",
    "文",
    "の",
    "ア",
    "ｱ",
    "한",
    "ก",
    "า",
    "ी",
    "्",
    "́",
    "̈",
    "⃝",
    "ा",
    "ً",
    "0",
    "1",
    "9",
    "²",
    "½",
    "Ⅷ",
    "٣",
    "०",
    "〇",
    "𝟘",
    ".",
    ",",
    "!",
    "?",
    "-",
    "_",
    "/",
    "//",
    "/\n",
    "\\",
    "(",
    ")",
    "<",
    ">",
    "|",
    "<|",
    "|>",
    "<|endoftext|>",
    "<|endofprompt|>",
    "$",
    "+",
    "=",
    "^",
    "`",
    "~",
    "©",
    "€",
    "😀",
    "👨\u200d👩\u200d👧",
    "🇩🇪",
    "𐐷",
    "𝒜",
    "𞤀",
    "𐵀",
    "�",
    "\x00",
    "\x7f",
    "\u0378",
    "\ue000",
    "\U0010ffff",
]
HARD_ATOMS = [*_HARD, " ", "  ", "   ", "\n\n", "\n \n", " \n", "the", "The", "THE", "hello world", "123", "4567"]

# Texts that would act on a page or a terminal which took them for more than text
MARKUP = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "--></style><img src=x onerror=alert(1)>",
    "]]>&lt;b&gt;&#x3c;i&#x3e;",
    "\u2028alert(1)\u2029",
    "javascript:alert(1)//{{script}}{{data}}${1}`",
    "\x1b[31m\u202eevil\u2066",
    '" onmouseover="alert(1)',
]


def hard_text(max_size: int = 12) -> st.SearchStrategy[str]:
    """Texts of what is hard to split, and of any characters."""
    atom = st.one_of(st.sampled_from(HARD_ATOMS), st.characters(exclude_categories=("Cs",)))
    return st.lists(atom, max_size=max_size).map("".join)


@cache
def reference(name: str) -> tiktoken.Encoding:
    """The reference library's encoding, from our ranks (whose sha256 tests/formats checks) and our catalog."""
    ours = tokcli.get_encoding(name)
    return tiktoken.Encoding(
        name,
        pat_str=ours._pat_str,
        mergeable_ranks=ours._mergeable_ranks,
        special_tokens=ours._special_tokens,
    )


def program() -> list[str]:
    """The installed `tokcli`; from a source tree without one, the module."""
    script = Path(sys.executable).parent / "tokcli"
    return [str(script)] if script.exists() else [sys.executable, "-m", "tokcli"]


@dataclass(frozen=True)
class Ran:
    """A finished process."""

    status: int
    out: bytes
    err: str


def without_coverage() -> dict[str, str]:
    """The environment for a process that is not measured.

    coverage holds a lock while it notes what ran: a Ctrl-C just then leaves it held, and the process never ends.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


def run_tokcli(
    *arguments: str | bytes | Path, data: bytes = b"", env: dict[str, str] | None = None, **more: object
) -> Ran:
    """`tokcli ARGUMENTS` with `data` on standard input, without the user's own settings."""
    kept = ("TOKCLI_BACKEND", "TOKCLI_CACHE_DIR")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TOKCLI_", "_TOKCLI")) or k in kept}
    clean |= {"TOKCLI_OFFLINE": "1", "NO_COLOR": "1", **(env or {})}
    if "FORCE_COLOR" in (env or {}):
        clean.pop("NO_COLOR")
    process = subprocess.run([*program(), *arguments], input=data, capture_output=True, env=clean, timeout=120, **more)
    return Ran(process.returncode, process.stdout, process.stderr.decode())


def on_terminal(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, bytes]:
    """(status, what appears) of a run whose standard output is a terminal of 24 lines and 80 columns."""
    import fcntl
    import pty  # no Windows has them
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    ours = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "PAGER", "LESS", "TOKCLI_ENCODING")
    clean = (
        {k: v for k, v in os.environ.items() if k not in ours} | {"TERM": "xterm-256color", "PAGER": ""} | (env or {})
    )
    process = subprocess.Popen([*program(), *arguments], stdin=subprocess.DEVNULL, stdout=slave, env=clean)
    os.close(slave)
    shown = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:  # Linux's way of saying that the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(master)
    return process.wait(30), shown.replace(b"\r\n", b"\n")
