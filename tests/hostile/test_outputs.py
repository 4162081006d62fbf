"""Outputs that would destroy what is read, that are cut short, or that a killed run left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import ROOT, ok, program, refused, without_coverage

FORMATS = ROOT / "tests" / "data" / "formats"
MINE = ("-e", "./mine.tiktoken")

# what is written over what: the name of a file that the command reads, and the command
READ = {
    "an input": ("text", ["encode", "text", "-o", "OUT"]),
    "the second of several inputs": ("text", ["count", "more", "text", "-o", "OUT"]),
    "an input of decode": ("ids", ["decode", "ids", "-o", "OUT"]),
    "an input of a picture": ("text", ["encode", "--visualise", "text", "--svg", "OUT"]),
    "an input of a page": ("text", ["encode", "text", "--html", "OUT"]),
    "an input of a page of pieces": ("text", ["split", "text", "--html", "OUT"]),
    "an input of a comparison": ("text", ["encode", "--compare", "gpt2,r50k_base", "text", "-o", "OUT"]),
    "the list of names": ("names", ["count", "--files0-from", "names", "-o", "OUT"]),
    "a name in the list": ("text", ["count", "--files0-from", "names", "-o", "OUT"]),
    "the vocabulary": ("mine.tiktoken", ["count", *MINE, "text", "-o", "OUT"]),
    "the vocabulary of decode": ("mine.tiktoken", ["decode", *MINE, "ids", "-o", "OUT"]),
    "the vocabulary of a page": ("mine.tiktoken", ["encode", *MINE, "text", "--html", "OUT"]),
    "the vocabulary of its own page": ("mine.tiktoken", ["inspect-ranks", *MINE, "--html", "OUT"]),
    "the vocabulary looked up": ("mine.tiktoken", ["inspect-ranks", *MINE, "--id", "65", "-o", "OUT"]),
    "the vocabulary exported": ("mine.tiktoken", ["inspect-ranks", *MINE, "--export", "tiktoken", "-o", "OUT"]),
    "the sidecar": ("mine.tiktoken.json", ["count", *MINE, "text", "-o", "OUT"]),
    "one of two vocabularies compared": (
        "mine.tiktoken",
        ["inspect-ranks", "--diff", "gpt2", "./mine.tiktoken", "-o", "OUT"],
    ),
    "a vocabulary of --compare": (
        "mine.tiktoken",
        ["encode", "--compare", "gpt2, ./mine.tiktoken", "text", "-o", "OUT"],
    ),
    "the vocabulary of split --diff": ("mine.tiktoken", ["split", "--diff", "./mine.tiktoken", "text", "-o", "OUT"]),
    "the corpus of a coverage": ("text", ["inspect-ranks", *MINE, "--coverage", "text", "-o", "OUT"]),
    "the pattern file": ("pattern", ["split", "--pattern-file", "pattern", "text", "-o", "OUT"]),
    "the other file of a pair": ("pair/vocab.bpe", ["count", "-e", "./pair/encoder.json", "text", "-o", "OUT"]),
    "a file of the vocabulary's folder": ("pair/vocab.bpe", ["count", "-e", "./pair", "text", "-o", "OUT"]),
    "a model of SentencePiece": ("bpe.model", ["count", "-e", "./bpe.model", "text", "-o", "OUT"]),
    "a corpus": ("text", ["train", "text", "--vocab-size", "260", "-o", "OUT"]),
    "a corpus that is counted": ("text", ["train", "text", "--counts-only", "-o", "OUT"]),
    "a file of a corpus's folder": ("folder/a.txt", ["train", "-r", "folder", "--vocab-size", "260", "-o", "OUT"]),
    "the list of a corpus": ("names", ["train", "--files0-from", "names", "--vocab-size", "260", "-o", "OUT"]),
    "the counts": ("text.counts", ["train", "--counts", "text.counts", "--vocab-size", "260", "-o", "OUT"]),
    "the counts that are added up": (
        "text.counts",
        ["train", "--counts", "text.counts", "--counts-only", "-o", "OUT"],
    ),
    "the vocabulary that is extended": (
        "mine.tiktoken",
        ["train", "text", "--seed-vocab", "./mine.tiktoken", "--vocab-size", "280", "-o", "OUT"],
    ),
    "the sidecar of what is extended": (
        "mine.tiktoken.json",
        ["train", "text", "--seed-vocab", "./mine.tiktoken", "--vocab-size", "280", "-o", "OUT"],
    ),
}


def as_named(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder))


def through_a_symlink(path: Path, folder: Path) -> str:
    (folder / "link").symlink_to(path)
    return "link"


def through_a_hard_link(path: Path, folder: Path) -> str:
    (folder / "link").hardlink_to(path)
    return "link"


def through_another_folder(path: Path, folder: Path) -> str:
    (folder / "other").symlink_to(path.parent)
    return f"./other/./{path.name}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind that commands read."""
    folder = tmp_path_factory.mktemp("read")
    for name in ("text", "more", "folder/a.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("hello world, hello there\n" * 20)
    (folder / "ids").write_text("65 66\n")
    (folder / "names").write_bytes(b"more\0text\0")
    (folder / "pattern").write_text(r"\w+|\W+")
    shutil.copy(FORMATS / "bpe.model", folder)
    ok("train", "text", "--vocab-size", "270", "-q", "-o", "mine.tiktoken", cwd=folder)
    ok("train", "text", "--counts-only", "-o", "text.counts", cwd=folder)
    (folder / "pair").mkdir()
    ok("train", "text", "--format", "gpt2", "--vocab-size", "270", "-q", "-o", "pair/encoder.json", cwd=folder)
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


NAMINGS = [as_named, through_a_symlink, through_a_hard_link, through_another_folder]
LINKED = ("an input", "the vocabulary", "the list of names", "a file of the vocabulary's folder", "the sidecar",
          "the vocabulary that is extended", "an input of a page", "the counts", "the pattern file")  # fmt: skip


@pytest.mark.parametrize(
    ("read", "naming"), [(name, naming) for name in READ for naming in NAMINGS if naming is as_named or name in LINKED]
)
def test_nothing_that_is_read_is_written_over(
    read: str, naming: Callable[[Path, Path], str], files: Path, tmp_path: Path
) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    name, command = READ[read]
    output = naming(tmp_path / name, tmp_path)
    before = contents(tmp_path)
    said = refused(*(output if word == "OUT" else word for word in command), cwd=tmp_path)
    assert f"Error: {output}: is also an input" in said
    assert contents(tmp_path) == before


@pytest.mark.parametrize("command", ["encode text", "count text", "encode < text", "split --table more text"])
def test_an_output_that_is_appended_to_an_input_is_refused(command: str, files: Path, tmp_path: Path) -> None:
    """`encode text >> text` once wrote and read on until the disk was full."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    ran = shell(f'"$@" {command} >> text', tmp_path)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, b"Error: standard output: is also an input")
    assert (tmp_path / "text").read_bytes() == (files / "text").read_bytes()
    assert shell('"$@" encode text >> more', tmp_path).returncode == 0


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which "$@" is the program."""
    return subprocess.run(["bash", "-c", line, "bash", *program()], capture_output=True, timeout=60, cwd=folder)


@contextmanager
def writing(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run that writes `out`, and waits for more of its input."""
    before, until = leftovers(folder), time.monotonic() + 30
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a child ignores it where the tests do (nohup)
    command = [*program(), "encode", "-o", "out"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, env=without_coverage()) as process:
        while leftovers(folder) == before:
            assert time.monotonic() < until
            time.sleep(0.01)
        yield process


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".out.*"))


@pytest.mark.clock
@pytest.mark.signals
def test_what_killed_runs_left_is_swept_by_the_next_and_nothing_else_is(tmp_path: Path) -> None:
    own = [
        ".out.tmp",
        ".out.0123456789ab",
        ".out.0123456789AB.tmp",
        ".out.x123456789ab.tmp",
        ".out.0123456789ab.tmp.tmp",
    ]
    for name in own:
        (tmp_path / name).write_text("mine")
    for _ in range(3):
        with writing(tmp_path) as process:
            process.kill()
    assert len(leftovers(tmp_path)) > len(own)
    ok("encode", "-t", "hello", "-o", "out", cwd=tmp_path)
    assert leftovers(tmp_path) == sorted(own)
    assert (tmp_path / "out").read_bytes() == b"24912\n"


@pytest.mark.clock
@pytest.mark.signals
def test_a_file_that_is_being_written_is_not_swept(tmp_path: Path) -> None:
    with writing(tmp_path) as process:
        ok("encode", "-t", "hello", "-o", "out", cwd=tmp_path)
        process.communicate(b"hello hello", timeout=30)
    assert (process.returncode, (tmp_path / "out").read_bytes()) == (0, b"24912 40617\n")
    assert leftovers(tmp_path) == []


@pytest.mark.clock
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_file_behind(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with writing(tmp_path) as process:
        process.send_signal(number)
        began = time.monotonic()
        assert process.wait(timeout=30) == (130 if number == signal.SIGINT else -number)
        assert time.monotonic() - began < 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "old")]


# --- files that are open already -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "./link"])
@pytest.mark.parametrize("arrow", [">", ">>"])
def test_an_open_file_is_written_where_others_wrote_and_will_write(arrow: str, name: str, tmp_path: Path) -> None:
    """`-o /dev/stdout` once replaced the file, and what a shell wrote to it before and afterwards was lost."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    shell(f'(echo before; "$@" encode -t hello -o {name}; echo after) {arrow} out', tmp_path)
    assert (tmp_path / "out").read_bytes() == b"before\n24912\nafter\n"


@pytest.mark.parametrize("name", ["/dev/fd/3", "/proc/$BASHPID/fd/3"])
def test_an_open_file_without_a_name_gets_what_is_written(name: str, tmp_path: Path) -> None:
    """It was once written to a file that was called `out (deleted)`."""
    ran = shell(f'exec 3>out; rm out; "$@" encode -t hello -o {name} && cat /dev/fd/3', tmp_path)
    assert (ran.stdout, ran.stderr) == (b"24912\n", b"")
    assert list(tmp_path.iterdir()) == []


def test_training_into_standard_output_leaves_nothing_beside_it(tmp_path: Path) -> None:
    ran = shell('"$@" train -t abab --vocab-size 257 -q -o /dev/stdout > out', tmp_path)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes().count(b"\n") == 257
    assert not Path("/dev/stdout.json").exists()


@pytest.mark.parametrize(
    "line", ["-o /dev/stdout >&-", "-o /dev/fd/77", f"-o /dev/fd/{'7' * 30}", "-o /dev/stdin < /dev/null"]
)
def test_a_file_that_is_not_open_for_writing_is_an_error(line: str, tmp_path: Path) -> None:
    ran = shell(f'"$@" encode -t hello {line}', tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"Error: /dev/")
    assert b"internal error" not in ran.stderr


@pytest.mark.parametrize("form", ["minbpe", "gpt2", "tiktoken"])
@pytest.mark.parametrize("command", ["train text --vocab-size 257 --format", "inspect-ranks -e ENCODING --export"])
def test_two_files_are_written_to_no_device_or_pipe(command: str, form: str, files: Path, tmp_path: Path) -> None:
    """`--format minbpe -o /dev/null` once made /dev/null.model, and merges beside a pipe were lost."""
    shutil.copy(files / "text", tmp_path)
    asked = command.replace("ENCODING", str(files / "mine.tiktoken") if form == "minbpe" else "gpt2").split()
    pair = {"minbpe": ("m.model", "m.vocab"), "gpt2": ("vocab.json", "merges.txt"), "tiktoken": ("m", "m.json")}[form]
    for number, name in enumerate(pair):
        if (number, form) == (0, "tiktoken"):
            continue  # the file is whole without the other one
        os.mkfifo(tmp_path / name)
        before = sorted(tmp_path.iterdir())
        assert f"{name}: not a regular file" in refused(*asked, form, "-o", pair[0], cwd=tmp_path)
        assert sorted(tmp_path.iterdir()) == before
        (tmp_path / name).unlink()


@pytest.mark.parametrize("name", ["null", "stdout", "fifo", "folder", "folder/", "folder/."])
def test_a_file_whose_name_is_a_prefix_is_a_regular_file(name: str, files: Path, tmp_path: Path) -> None:
    """minbpe's files are called NAME.model and NAME.vocab: beside a device, and hidden in a folder."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "stdout").symlink_to("/dev/stdout")
    before = sorted(tmp_path.rglob("*"))
    said = refused("train", files / "text", "--vocab-size", "257", "--format", "minbpe", "-o", name, cwd=tmp_path)
    assert f"{name}: is a directory" in said or f"{name}: not a regular file" in said
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "wrong", [["--pattern", "("], ["--special", "Ġx"], ["missing"]], ids=["pattern", "token", "text"]
)
@pytest.mark.parametrize("folder", ["new", "a/b/new", "old", "./new/."])
def test_a_training_that_fails_leaves_no_new_folder(wrong: list[str], folder: str, files: Path, tmp_path: Path) -> None:
    """`train --format gpt2 -o new` once left the folder of the pair, empty."""
    (tmp_path / "old").mkdir()
    refused("train", files / "text", *wrong, "--vocab-size", "260", "--format", "gpt2", "-o", folder, cwd=tmp_path)
    assert list(tmp_path.rglob("*")) == [tmp_path / "old"]


# --- names of nothing ------------------------------------------------------------------------------------------------

NAMELESS = {
    "ids": ["encode", "-t", "a", "-o"],
    "a page": ["encode", "-t", "a", "--html"],
    "a picture": ["encode", "-t", "a", "--visualise", "--svg"],
    "a folder of shards": ["encode", "text", "--shards"],
    "a vocabulary": ["train", "text", "--vocab-size", "260", "-o"],
    "minbpe's files": ["train", "text", "--vocab-size", "260", "--format", "minbpe", "-o"],
    "a checkpoint": ["train", "text", "--vocab-size", "260", "-o", "out", "--checkpoint"],
    "an export": ["inspect-ranks", "-e", "gpt2", "--export", "tiktoken", "-o"],
    "a list": ["count", "--files0-from"],
    "a pattern": ["split", "-t", "a", "--pattern-file"],
}


@pytest.mark.parametrize("command", NAMELESS.values(), ids=NAMELESS.keys())
def test_an_empty_name_is_refused_and_writes_nothing(command: list[str], tmp_path: Path) -> None:
    """`train -o ''` once left a file called `.json`, and `--html ''` was ignored."""
    (tmp_path / "text").write_text("hello world")
    assert "the name is empty" in refused(*command, "", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize("name", ["", " ", "\n", "\t\u3000"])
@pytest.mark.parametrize(
    "command", ["count", "decode", "split", "count -r", "encode --shards made", "train -o out --vocab-size 260"]
)
def test_an_input_without_a_name_that_can_be_seen_is_quoted(command: str, name: str, tmp_path: Path) -> None:
    """`count ''` once said `Error: : no such file or directory`."""
    assert f"Error: {name!r}: no such file" in refused(*command.split(), name, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_encoding_is_no_encoding() -> None:
    assert "unknown encoding ''" in refused("count", "-t", "a", "-e", "")


@pytest.mark.parametrize("name", ["missing/.", "missing/..", "missing/", ".", ".."])
def test_a_name_that_only_a_folder_can_have_is_refused(name: str, tmp_path: Path) -> None:
    """`-o missing/.` once wrote a file called `missing`."""
    assert f"{name}: is a directory" in refused("encode", "-t", "a", "-o", name, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- standard streams that are closed or full ------------------------------------------------------------------------

SHOWN = ["encode text", "encode --json text", "encode --chunk 3 text", "decode ids", "split text", "split --table text",
         "split --why 3 text", "split --stats text", "split --lint", "count text", "inspect-ranks --id 5"]  # fmt: skip


@pytest.mark.parametrize("command", SHOWN)
def test_closed_standard_output_is_said_and_is_no_internal_error(command: str, files: Path) -> None:
    """`tokcli encode text >&-` once asked Python's missing stream whether it was a terminal."""
    ran = shell(f'"$@" {command} >&-', files)
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, b"Error: standard output: closed")


@pytest.mark.parametrize(
    "more", ["-t 'abab abab'", "--hold-back 2 text", "-t abab --checkpoint kept", "-t abab --progress plain"]
)
@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
def test_standard_error_that_takes_nothing_does_not_fail_a_training(
    redirect: str, more: str, files: Path, tmp_path: Path
) -> None:
    """With a full one, the vocabulary was once written and the exit status 2."""
    shutil.copy(files / "text", tmp_path)
    ran = shell(f'"$@" train {more} --vocab-size 257 -o out {redirect}', tmp_path)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert (tmp_path / "out").read_bytes().count(b"\n") == 257
