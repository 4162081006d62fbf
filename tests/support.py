"""What tests share: the reference library's encodings, made from our ranks; texts that are hard to split; the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from fork_server import server
from hypothesis import settings
from hypothesis import strategies as st

import tokcli
from tokcli.engine.base.arguments import NONE
from tokcli.engine.native_models.text_model import Refused, model_of
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.roles.rules import rules_of
from tokcli.engine.spec import models
from tokcli.engine.spec.decoders import Fuse
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.stream.parallel import allow_inner_threads
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.formats import limits, read
from tokcli.formats.sources import sources_of_bytes
from tokcli.registry.catalog import CATALOG

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60.0  # for a process of ours: a limit against hanging, not a measurement
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


def examples(number: int) -> settings:
    """Return hypothesis's settings for a number of examples; the gate takes a tenth of them, or 20, and always the same.

    HYPOTHESIS_PROFILE=random, which .ci/full sets, takes them all, and others each time.
    """
    is_gate = settings.default.derandomize
    return settings(max_examples=min(number, max(number // 10, 20)) if is_gate else number)


def rounds(number: int) -> int:
    """Return how many random texts a loop tries: the number; in the gate a fifth of it, of the same ones each time."""
    return max(number // 5, 1) if settings.default.derandomize else number


def first_in_gate(values: Iterable[Any], number: int = 1) -> list[Any]:
    """Return values for `parametrize`, tuples for several arguments: the gate tries the first of them, .ci/full all."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=[pytest.mark.slow] if i >= number else []) for i, row in enumerate(rows)]


# every code point, 65,536 at a time
PLANES = first_in_gate(range(17))


def hard_text(max_size: int = 12) -> st.SearchStrategy[str]:
    """Return texts of what is hard to split, and of any characters."""
    atom = st.one_of(st.sampled_from(HARD_ATOMS), st.characters(exclude_categories=("Cs",)))
    return st.lists(atom, max_size=max_size).map("".join)


@cache
def reference(name: str) -> tiktoken.Encoding:
    """Return the reference library's encoding, made of our ranks (whose sha256 tests/formats checks) and our catalog."""
    ours = tokcli.get_encoding(name)
    return tiktoken.Encoding(
        name,
        pat_str=ours._pat_str,
        mergeable_ranks=ours._mergeable_ranks,
        special_tokens=ours._special_tokens,
    )


def unless_refused(work: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """Return what `work` returns; None where a native twin refuses the text."""
    try:
        return work(*given, **more)
    except Refused:
        return None


class Twin:
    """The native twin of an encoding for ordinary text, asked with a number of threads; None is for a refused text."""

    def __init__(self, encoding: tokcli.Encoding) -> None:
        assert encoding.tokenizer.twin is not None
        self.native = encoding.tokenizer.twin(NONE)

    def encode(self, text: str) -> Any:
        return unless_refused(self.native.encode, text, NONE)

    def encode_array(self, text: str | bytes, threads: int = 1) -> Any:
        given = memoryview(text) if isinstance(text, bytes) else text
        return self._in_threads(self.native.encode_array, given, threads)

    def count(self, text: str, threads: int = 1) -> Any:
        return self._in_threads(self.native.count, text, threads)

    def _in_threads(self, work: Callable[..., Any], given: Any, threads: int) -> Any:
        return allow_inner_threads(lambda some: unless_refused(work, some, NONE), threads)(given)

    def encode_batch(self, texts: list[str], threads: int) -> Any:
        return unless_refused(self.native.encode_array_batch, texts, threads)

    def encode_batch_lists(self, texts: list[str], threads: int) -> Any:
        return unless_refused(self.native.encode_batch, texts, threads)


class Ranks:
    """A native model of ranks without other stages, by a native vocabulary and the number of a family of patterns."""

    def __init__(self, vocabulary: Any, family: int = 1) -> None:
        self.model = model_of({})
        self.model.use_ranks(vocabulary, family, None, b"", False)

    def encode(self, text: Any, as_list: bool = False, threads: int = 1) -> Any:
        return self.model.encode(text, b"", b"", threads, as_list)

    def count(self, text: Any, threads: int = 1) -> Any:
        return self.model.count(text, b"", b"", threads)

    def encode_batch(self, texts: list[str], threads: int, as_lists: bool = False) -> Any:
        return self.model.encode_batch(texts, b"", b"", threads, as_lists)


def program() -> list[str]:
    """Return the command that runs the installed `tokcli`; where none is installed, the module of the source tree."""
    script = Path(sys.executable).parent / "tokcli"
    return [str(script)] if script.exists() else [sys.executable, "-m", "tokcli"]


@dataclass(frozen=True)
class Ran:
    """A finished process."""

    status: int
    out: bytes
    err: str


def without_coverage() -> dict[str, str]:
    """Return the environment for a process whose coverage is not measured.

    coverage holds a lock while it notes what ran: a Ctrl-C just then leaves it held, and the process never ends.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


def took_less(began: float, seconds: float) -> bool:
    """Return whether less processor time has passed, or nobody can tell: coverage takes several times as long.

    .ci/run runs the tests without coverage as well.
    """
    return "COVERAGE_PROCESS_CONFIG" in os.environ or time.process_time() - began < seconds


def run_tokcli(
    *arguments: str | bytes | Path, data: bytes = b"", env: dict[str, str] | None = None, **more: Any
) -> Ran:
    """Run `tokcli ARGUMENTS` with `data` on standard input, without the user's own settings."""
    kept = ("TOKCLI_BACKEND", "TOKCLI_CACHE_DIR")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TOKCLI_", "_TOKCLI")) or k in kept}
    clean |= {"TOKCLI_OFFLINE": "1", "NO_COLOR": "1", **(env or {})}
    if "FORCE_COLOR" in (env or {}):
        clean.pop("NO_COLOR")
    forks = server(clean)
    if forks is not None and not more.keys() - {"cwd"}:
        status, out, err = forks.run(arguments, data, clean, more.get("cwd", Path.cwd()))
        return Ran(status, out, err.decode())
    return finished([*program(), *arguments], data, env=clean, **more)


def finished(line: Sequence[str | bytes | Path], data: bytes = b"", seconds: float = SECONDS, **more: Any) -> Ran:
    """Return a process that has ended; one that hangs is killed with all that it has started, and what it said is shown."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(line, start_new_session=True, **streams, **more) as process:
        try:
            out, err = process.communicate(data, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"hangs after {seconds:g} s: {line}: {out[-500:]!r} {err[-500:]!r}") from None
    return Ran(process.returncode, out, err.decode())


def ok(*arguments: str | bytes | Path, **more: Any) -> bytes:
    """Return the output of a run that ends with status 0 and writes nothing to standard error."""
    ran = noted(*arguments, **more)
    assert ran.err == "", ran
    return ran.out


def noted(*arguments: str | bytes | Path, **more: Any) -> Ran:
    """Return a run that ends with status 0, whatever notes it writes to standard error."""
    ran = run_tokcli(*arguments, **more)
    assert ran.status == 0, ran
    assert "Error: " not in ran.err, ran
    return ran


def refused(*arguments: str | bytes | Path, **more: Any) -> str:
    """Return the standard error of a run that `failed`."""
    return failed(*arguments, **more).err


def failed(*arguments: str | bytes | Path, status: int = 2, **more: Any) -> Ran:
    """Return a run that ends with `status` and writes its notes, then one error of one or two short harmless lines."""
    ran = run_tokcli(*arguments, **more)
    assert ran.status == status, ran
    assert "internal error" not in ran.err
    _, found, message = f"\n{ran.err}".rpartition("\nError: ")
    assert found, ran.err
    assert message.count("\n") <= 2 and message.endswith("\n"), ran.err
    assert len(message) < 1000, ran.err
    assert all(char.isprintable() or char == "\n" for char in ran.err), ran.err
    return ran


def on_terminal(*arguments: str | Path, env: dict[str, str] | None = None, is_input: bool = False) -> tuple[int, bytes]:
    """Return the status of a run whose output is a terminal of 24 lines and 80 columns, and what appears there.

    With `is_input`, its input is the terminal, too, where nobody types.
    """
    import fcntl
    import pty  # no Windows has them
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    ours = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "PAGER", "LESS", "TOKCLI_ENCODING")
    clean = {name: value for name, value in os.environ.items() if name not in ours}
    clean |= {"TERM": "xterm-256color", "PAGER": ""} | (env or {})
    shown: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # so Linux says that the other end is closed
            while block := os.read(master, 65536):
                shown.append(block)
        os.close(master)

    if forks := server(clean):
        streams = os.dup(slave) if is_input else os.open(os.devnull, os.O_RDONLY), slave, os.dup(2)
        status = forks.run_on(streams, read, arguments, clean, Path.cwd())
    else:
        stdin = slave if is_input else subprocess.DEVNULL
        process = subprocess.Popen([*program(), *arguments], stdin=stdin, stdout=slave, env=clean)
        os.close(slave)
        read()
        status = process.wait(60)
    return status, b"".join(shown).replace(b"\r\n", b"\n")


def read_vocabulary(path: str | os.PathLike[str]) -> TokenizerSpec | TextTokenizer:
    """Return the vocabulary in a file or a folder, without the cache."""
    return _with_rules(read.parse_sources(read.read_sources(path)))


def _with_rules(found: TokenizerSpec) -> TokenizerSpec | TextTokenizer:
    return found if isinstance(found.model, models.Ranks) else rules_of(found)


def pipeline_of(model: models.TokenizerJsonModel, **stages: Any) -> Pipeline:
    """Return the rules of a tokenizer.json with this model, with other stages than the model if these are given."""
    made = rules_of(TokenizerSpec(model, decoder=(Fuse(),), **stages))
    assert isinstance(made, Pipeline)
    return made


def parse_vocabulary(data: bytes, name: str, form: str | None = None) -> TokenizerSpec | TextTokenizer:
    """Return the vocabulary in the bytes of one file, called `name` in errors, of the format `form` if it is given."""
    form = form or read.format_of(data[: limits.HEAD_BYTES], name).name
    return _with_rules(read.parse_sources(sources_of_bytes(form, [(Path(name), data)])))
