"""Random command lines, and the rule that each must keep: a status of the contract, few and harmless words, whole files.

`python tests/command_lines.py NUMBER [SEED]` runs many and prints those that break the rule.
"""

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click
from children import status_within

FORMATS = Path(__file__).resolve().parent / "data" / "formats"
SECONDS = 60  # for a run; a pattern may take 5 for each block
STATUSES = {0, 1, 2}
MAX_LINES = 5  # of standard error
NO_END = {"--watch", "--step", "--dask", "--device", "--help", "--version"}  # wait for people, or for other machines

TEXTS = [b"", b"a", b"hello world, it's 2024\n", b"\xff\xfe", "caf\u00e9 \u4e2d\u6587 \U0001f642\n".encode(), b"\0\0", b"1 2 3\n",
         b"[1, 2, 3]", b'{"text": "a b"}\n{"text": ""}\n', b'{"ids": [1, 2]}\n', b"<|endoftext|>", b"\xef\xbb\xbfa",
         b"a\r\nb\r\n\x0b", b"\x1b[31mred\x1b]0;t\x07", b"4294967296", b"-1", b" " * 300, b"x" * 5000, b'{"text": 1}\n',
         b'{"text": "\\ud800", "text_pair": "b"}\n', b"a\0b\0", b'[{"role": "user", "content": "hi"}]\n',
         b'{"messages": [{"content": [{"type": "x", "y": "z"}]}], "tools": [{"name": "f", "input_schema": {"items": {}}}]}\n']  # fmt: skip
WORDS = ["", "a", "-", "--", ".", "..", "/", "/dev/null", "/dev/zero", "/dev/full", "missing", "folder", "folder/", "text", "ids",
         "names", "new", "new/x", "text\n", "\x1b[31m", "\u202e", os.fsdecode(b"\xff\xfe"), "x" * 300, "y" * 5000,
         "\u4e2d\u6587", "0", "1", "-1", "99999999999999999999", "1e9", "nan", "inf", "0x10", "\u0663", "1_000", " 1", "true",
         "o200k_base", "gpt2", "gpt-4", "org/name", "https://x/y#sha256=00", "http://[", "file:///etc/passwd", "a,b", ",", "gpt2,gpt2",
         "r50k_base,o200k_base", "<|endoftext|>", "$HOME", "%s%n", "{}", "[bold]x[/bold]", "*", "\\", "\"'", "a=b", "=", "512K", "1T"]  # fmt: skip
PATTERNS = [r"\w+|\W+", "(", "a{1,99999999}", "", ".", r"(?s:.)", r"\p{L}+|.", "[", "(?R)", "\\", r"(a*)*b|.", "a|", r"(?=a)", "(?i)x|(?s:.)",
            "\\p{Nope}", "(?<n>a)|.", "\n", ".*.*.*x", r"\s+(?!\S)|\S+|\s"]  # fmt: skip


TEXT_INPUTS = ["text", "empty", "a b", "jsonl", "ids", "folder/a.txt", "link"]
INPUTS = {"decode": ["ids", "empty", "u32", "ids.npy"], "inspect-ranks": ["a", " the", "\\n", "65"]}


class CommandLine(NamedTuple):
    """Arguments, and what standard input holds."""

    arguments: list[str]
    data: bytes


def commands() -> dict[str, click.Command]:
    """Return the commands by name."""
    from tokcli.cli.main import COMMANDS

    return {name: importlib.import_module(module).command for name, (module, _) in COMMANDS.items()}


def make_files(folder: Path) -> None:
    """Write files of each kind that commands read."""
    from tokcli.engine.stream import npy

    contents = {
        "text": b"hello world, it's 2024\n" * 40, "empty": b"", "bytes": bytes(range(256)), "ids": b"1 2 3 40\n",
        "names": b"text\0ids\0", "bad names": b"text\0\0", "jsonl": b'{"text": "a b", "ids": [1]}\n' * 3, "pattern": b"\\w+|\\W+\n",
        "ids.npy": npy.header(2) + b"\1\0\0\0\2\0\0\0", "u32": b"\1\0\0\0", "u16": b"\1\0\2\0", "folder/a.txt": b"abc " * 50,
        "a b": b"a b", "-x": b"minus", "mine.tiktoken": b"".join(b"%s %d\n" % (_base64(bytes([i])), i) for i in range(256)),
        "mine.tiktoken.json": b'{"pat_str": "\\\\w+|\\\\W+"}',
    }  # fmt: skip
    for name, data in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    for path in FORMATS.iterdir():
        if path.suffix in (".json", ".model") and path.name != "golden.json":
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / "link").symlink_to("text")
    (folder / "broken link").symlink_to("nowhere")


def _base64(data: bytes) -> bytes:
    from base64 import b64encode

    return b64encode(data)


def command_line(choose: random.Random, names: list[str], known: dict[str, click.Command]) -> CommandLine:
    """Make a command line: mostly options that the command has, with values that they may take, and some that are odd."""
    name = choose.choice(list(known)) if choose.random() < 0.99 else choose.choice(WORDS)
    arguments = [name]
    options = [param for param in known[name].params if isinstance(param, click.Option)] if name in known else []
    options = [option for option in options if not NO_END & set(option.opts)]
    for option in choose.sample(options, min(len(options), choose.choice([0, 1, 1, 1, 1, 2, 2, 3, 5]))):
        arguments += _given(choose, option, names)
    if name == "train" and choose.random() < 0.8:
        arguments += [
            "--vocab-size",
            choose.choice(["256", "258", "300"]),
            "-o",
            choose.choice(["new", "new.model", "folder"]),
        ]
    if choose.random() < 0.02:
        arguments.append(choose.choice(["--nope", "-Z", "--js", "-", "--", "---", "-o", "-e"]))
    if choose.random() < 0.6:  # a command line that is likely to be taken
        inputs = INPUTS.get(name, TEXT_INPUTS)
        return CommandLine([*arguments, *choose.sample(inputs, choose.choice([0, 1, 1, 1, 2]))], choose.choice(TEXTS))
    for _ in range(choose.choice([0, 0, 1, 1, 1, 2, 3])):
        arguments.insert(choose.randrange(1, len(arguments) + 1), choose.choice([*names, *names, *WORDS]))
    if choose.random() < 0.03:
        arguments.insert(0, choose.choice(["-h", "--version", "--nope", ""]))
    return CommandLine(
        [word.replace("\0", "") for word in arguments], choose.choice(TEXTS) * choose.choice([1, 1, 1, 3, 400])
    )


def _given(choose: random.Random, option: click.Option, names: list[str]) -> Iterator[str]:
    """Yield an option as it is typed."""
    typed = choose.choice(option.opts)
    if option.is_flag:
        yield typed
        return
    values = [_value(choose, option, names) for _ in range(option.nargs)]
    if len(values) == 1 and typed.startswith("--") and choose.random() < 0.3:
        yield f"{typed}={values[0]}"
    else:
        yield from (typed, *values)


def _value(choose: random.Random, option: click.Option, names: list[str]) -> str:
    if choose.random() < 0.08:
        return choose.choice(WORDS)
    if isinstance(option.type, click.Choice):
        return str(choose.choice(list(option.type.choices)))
    if isinstance(option.type, (click.types.IntRange, click.types.FloatRange)):
        return str(choose.choice([0, 1, 2, 3, 5, 17, 100, 256, 300, 0.5, 1.5]))
    if option.name in ("pattern", "grep", "diff"):
        return choose.choice([*PATTERNS, *WORDS])
    if option.name in ("encoding", "seed_vocab"):
        return choose.choice([*names, "gpt2", "r50k_base", "o200k_base", "./mine.tiktoken", "folder", "."])
    if option.name == "text":
        return choose.choice([*WORDS, "hello world", "<|endoftext|>", "1 2 3"])
    if option.name in ("output", "html", "svg", "checkpoint"):
        return choose.choice(["new", "new", "new", "text", "folder", *names, *WORDS])
    return choose.choice([*names, *WORDS])


# --- one run ---------------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, with what is in them."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink() or path.is_file():
            found[str(path.relative_to(folder))] = (
                os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            )
    return found


def run_forked(line: CommandLine, folder: Path) -> tuple[int, bytes]:
    """Run a command line in a fork of this process, in a folder; return the status and standard error."""
    with tempfile.TemporaryFile() as data, tempfile.TemporaryFile() as said:
        data.write(line.data)
        data.seek(0)
        child = os.fork()
        if child == 0:
            _be_the_program(line.arguments, folder, data.fileno(), said.fileno())
        status = status_within(child, SECONDS)
        said.seek(0)
        return (-signal.SIGKILL if status is None else status), said.read()


def _be_the_program(arguments: list[str], folder: Path, data: int, said: int) -> None:
    status = 99
    try:
        os.chdir(folder)
        os.dup2(data, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(said, 2)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        from tokcli.cli.main import run

        status = run(arguments)
        sys.stderr.flush()
    finally:
        os._exit(status)


def run_program(line: CommandLine, folder: Path) -> tuple[int, bytes]:
    """Run a command line as a process of its own; return the status and standard error."""
    command = [sys.executable, "-m", "tokcli", *map(os.fsencode, line.arguments)]
    ran = subprocess.run(command, input=line.data, capture_output=True, cwd=folder, timeout=SECONDS, check=False)
    return ran.returncode, ran.stderr


def broken_rule(line: CommandLine, status: int, said: bytes, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Return which part of the rule a run broke; "" for none."""
    text = said.decode("utf-8", "replace")
    if status == -signal.SIGKILL and {"/dev/zero", "/dev/full"} & set(line.arguments):  # which never end
        return ""
    if status not in STATUSES:
        return f"status {status}"
    if "Traceback" in text or "internal error" in text:
        return "internal error"
    most = MAX_LINES + 4 * ("--hold-back" in " ".join(line.arguments))  # a line for each encoding it is compared with
    # of several inputs, each that cannot be read; what can be is used
    if reports_each := bool({"count", "-r", "--recursive"} & set(line.arguments)):
        most = 2 * len(line.arguments) + text.count("\nError: ") * bool({"-r", "--recursive"} & set(line.arguments))
    if {"-v", "--verbose"} & set(line.arguments):
        most += text.count(": binary, skipped\n")
    usage = "Usage:" in text  # a command without arguments shows its help
    if not usage and text.count("\n") > most:
        return f"{text.count(chr(10))} lines"
    if any(not char.isprintable() and char != "\n" for char in text):
        return "control characters"
    if status == 2 and "Error: " not in text and not usage:
        return "no error is said"
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if any(name.endswith(".tmp") for name in changed):
        return f"temporary files: {changed}"
    if any(word.startswith("--shards") for word in line.arguments):  # whole shards are kept, to go on with
        resumed = tuple(name.partition(".tokcli-checkpoint/")[0] for name in after if ".tokcli-checkpoint/" in name)
        changed = {name for name in changed if not (resumed and name.startswith(resumed))}
    if status == 2 and not reports_each and (lost := changed & before.keys()):
        return f"files changed by a run that failed: {lost}"
    if status == 2 and changed and not reports_each:  # what could be counted is written
        return f"files of a run that failed: {changed}"
    return ""


class Fuzzer:
    """Runs command lines in a folder of its own, and puts its files back after each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.choose, self.known = folder / "a" / "b", random.Random(seed), commands()
        self.folder.mkdir(parents=True)  # so that `..` has no other files
        self.statuses: Counter[int] = Counter()
        make_files(self.folder)
        self.before = contents(self.folder)
        self.names = [*self.before, "folder"]

    def broken(self, number: int, *, forked: bool) -> Iterator[str]:
        """Run many command lines; yield what is wrong, with the command line."""
        for _ in range(number):
            line = command_line(self.choose, self.names, self.known)
            began = time.monotonic()
            status, said = (run_forked if forked else run_program)(line, self.folder)
            self.statuses[status] += 1
            after = contents(self.folder)
            if wrong := broken_rule(line, status, said, self.before, after):
                seconds = time.monotonic() - began
                yield f"{wrong} after {seconds:.1f} s: {line.arguments} < {line.data[:60]!r}: {said[-300:]!r}"
            if after != self.before:
                self.restore()

    def restore(self) -> None:
        """Put back all files as they were."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            with suppress(OSError):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        make_files(self.folder)


if __name__ == "__main__":
    os.environ.update(TOKCLI_OFFLINE="1", COLUMNS="80")
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as name:
        fuzzer, wrong = Fuzzer(Path(name), seed), 0
        for found in fuzzer.broken(int(sys.argv[1]), forked=True):
            wrong += 1
            print(found, flush=True)
    print(f"{sys.argv[1]} command lines, seed {seed}: {wrong} broken; statuses {dict(fuzzer.statuses)}")
