"""A cache that others may write to, that is damaged, full or raced for: the right answer, and one note where it matters."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from support import ROOT, first_in_gate, noted, ok, program, run_tokcli

from tokcli.engine import backend
from tokcli.registry.compiled import container as containers
from tokcli.registry.encodings import load_encoding

FORMATS = ROOT / "tests" / "data" / "formats"
FILES = ("byte-level.tokenizer.json", "unigram.model", "wordpiece.tokenizer.json", "bpe.model")
AS_ROOT = os.geteuid() == 0
native_only = pytest.mark.skipif(backend.native() is None, reason="without native code nothing is kept")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of this test, which does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(folder))
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("encoding", [["-e", "r50k_base"], ["-e", str(FORMATS / FILES[0])]])
@pytest.mark.parametrize("mode", [0o777, 0o1702])
def test_a_cache_that_anybody_may_write_to_is_not_used_and_a_note_says_so(
    mode: int, encoding: list[str], cache: Path
) -> None:
    cache.mkdir()
    cache.chmod(mode)
    ran = noted("count", *encoding, "-t", "hello world")
    assert ran.out == ok("count", *encoding, "-t", "hello world", env={"TOKCLI_CACHE_DIR": str(cache.parent / "good")})
    assert ran.err == f"Note: the cache is not used: {cache} may be written by anybody (mode {mode:04o})\n"
    assert list(cache.iterdir()) == []
    assert ok("count", "-q", *encoding, "-t", "hello world") == ran.out


def test_a_cache_of_a_private_group_is_used(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o775)
    ok("count", "-e", "r50k_base", "-t", "x")


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder to another user")
def test_a_cache_of_another_user_is_not_used_and_a_note_says_so(cache: Path) -> None:
    cache.mkdir()
    os.chown(cache, 12345, 12345)
    ran = noted("count", "-e", "r50k_base", "-e", "gpt2", "-t", "hello world")
    assert ran.err == f"Note: the cache is not used: {cache} belongs to another user\n"
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("kind", ["symlink", "dangling", "file", "fifo"])
def test_a_cache_that_is_no_folder_is_not_used_and_a_note_says_so(kind: str, cache: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    if kind in ("symlink", "dangling"):
        cache.symlink_to(target if kind == "symlink" else tmp_path / "missing")
    elif kind == "file":
        cache.write_bytes(b"mine")
    else:
        os.mkfifo(cache)
    what = "is a symlink" if kind in ("symlink", "dangling") else "is not a folder"
    for encoding in ("r50k_base", str(FORMATS / FILES[0])):
        assert noted("count", "-e", encoding, "-t", "x").err == f"Note: the cache is not used: {cache} {what}\n"
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("ending", ["/", "//"])
def test_a_slash_after_the_name_of_the_cache_changes_nothing(
    ending: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was once made for everybody, and a symlink was followed."""
    monkeypatch.setenv("TOKCLI_CACHE_DIR", f"{cache}{ending}")
    ok("count", "-e", "r50k_base", "-t", "x")
    assert not cache.exists() or stat.S_IMODE(cache.stat().st_mode) == 0o700  # Python alone keeps nothing
    shutil.rmtree(cache, ignore_errors=True)
    (tmp_path / "target").mkdir()
    cache.symlink_to(tmp_path / "target")
    assert f"{cache} is a symlink" in noted("count", "-e", "r50k_base", "-t", "x").err
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.parametrize(
    "variable", ["TOKCLI_CACHE_DIR", "XDG_CACHE_HOME", "TIKTOKEN_CACHE_DIR", "HF_HUB_CACHE", "HF_HOME"]
)
@pytest.mark.parametrize(
    "place",
    first_in_gate(["x/" * 1500, "x/" * 3000, "x" * 5000, b"\xff", "new\nline", "/dev/null", "/dev/zero/x", "."], 3),
)
def test_a_place_of_a_cache_that_cannot_be_one_only_costs_time(
    variable: str, place: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place of many folders once ended in a RecursionError, a long one of the hub's in an error about it."""
    shown = place if isinstance(place, str) else os.fsdecode(place)
    monkeypatch.delenv("TOKCLI_CACHE_DIR", raising=False)
    env = {"HOME": str(tmp_path), variable: shown}
    for encoding in ("r50k_base", str(FORMATS / FILES[0])):
        assert noted("count", "-e", encoding, "-t", "x", env=env, cwd=tmp_path).out == b"1\n"
    ran = run_tokcli("count", "-e", f"org/name@{'a' * 40}", "-t", "x", env=env, cwd=tmp_path)
    assert ran.status == 2
    assert "and the network may not be used" in ran.err


@pytest.mark.parametrize("name", ["images", "compiled", "locks"])
def test_a_folder_in_the_cache_that_is_a_symlink_is_not_written_to(name: str, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    cache.mkdir()
    (cache / name).symlink_to(tmp_path / "target")
    for encoding in ("r50k_base", str(FORMATS / FILES[0])):
        ok("count", "-e", encoding, "-t", "x")
    assert list((tmp_path / "target").iterdir()) == []


def test_a_user_without_a_home_has_no_cache_and_no_folder_called_tilde(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "TOKCLI_CACHE_DIR")}
    for home in ("~", "~nobody-of-this-name/x"):
        done = subprocess.run(
            [*program(), "count", "-e", "r50k_base", "-t", "x"], env=environment | {"XDG_CACHE_HOME": home},
            cwd=tmp_path, capture_output=True,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HF_HOME", "HF_TOKEN_PATH", "XDG_CACHE_HOME"])
def test_a_home_of_nobody_in_a_variable_of_the_hub_is_no_internal_error(variable: str, cache: Path) -> None:
    ran = run_tokcli("count", "-e", "org/name", "-t", "x", env={variable: "~nobody-of-this-name/x"})
    assert ran.status == 2
    assert "internal error" not in ran.err
    assert "network may not be used" in ran.err


# runs the program, and adds a line to a log for each image that is built and each file that is compiled
COUNTED = """
import sys
from tokcli.registry import images
from tokcli.registry.compiled import compile as compiling
def counted(function):
    def called(*given):
        with open(sys.argv[1], "a") as log:
            log.write("built ")
        return function(*given)
    return called
images.build_image = counted(images.build_image)
compiling._compile = counted(compiling._compile)
from tokcli.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.process
@native_only
@pytest.mark.parametrize("name", ["r50k_base", FILES[0], FILES[1]])
def test_processes_that_race_on_a_cold_cache_build_once_and_answer_alike(
    name: str, cache: Path, tmp_path: Path
) -> None:
    spec = str(FORMATS / name) if "." in name else name
    command = [sys.executable, "-c", COUNTED, str(tmp_path / "log"), "encode", "-e", spec, "-t", "Hello world, hello"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(10)]
    answers = Counter((*process.communicate(timeout=120), process.returncode) for process in running)
    assert len(answers) == 1
    (out, err, status), _ = answers.popitem()
    assert (out, err, status) == (ok("encode", "-e", spec, "-t", "Hello world, hello"), b"", 0)
    assert (tmp_path / "log").read_text() == "built "
    assert not [file for file in files_in(cache) if file.endswith(".tmp")]


@pytest.mark.clock
@pytest.mark.signals
@native_only
@pytest.mark.parametrize("name", ["r50k_base", FILES[0], FILES[1]])
def test_a_run_that_is_killed_anywhere_leaves_a_whole_cache_or_none(name: str, cache: Path) -> None:
    spec = str(FORMATS / name) if "." in name else name
    command = [*program(), "encode", "-e", spec, "-t", "Hello world, hello"]
    expected = subprocess.check_output(command)
    delays = random.Random(4)
    for _ in range(8):
        shutil.rmtree(cache)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delays.uniform(0.03, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = subprocess.run(command, capture_output=True)
        assert (done.stdout, done.stderr, done.returncode) == (expected, b"", 0)
        subprocess.run(command, check=True, capture_output=True)
        assert not [file for file in files_in(cache) if file.endswith(".tmp")]


def damaged(data: bytes, how: str) -> bytes:
    middle = len(data) // 2
    return {
        "empty": b"",
        "cut": data[:middle],
        "one byte": data[:1],
        "longer": data + b"x" * 100,
        "zeros": bytes(len(data)),
        "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "noise": random.Random(1).randbytes(len(data)),
    }[how]


@native_only
@pytest.mark.parametrize("how", ["empty", "cut", "one byte", "longer", "zeros", "flipped", "noise"])
@pytest.mark.parametrize("name", ["r50k_base", FILES[0], FILES[1]])
def test_a_damaged_cache_only_costs_time(name: str, how: str, cache: Path) -> None:
    spec = str(FORMATS / name) if "." in name else name
    expected = ok("encode", "-e", spec, "-t", "Hello world, hello")
    for file in files_in(cache):
        (cache / file).write_bytes(damaged((cache / file).read_bytes(), how) if "locks" not in file else b"")
    assert ok("encode", "-e", spec, "-t", "Hello world, hello") == expected


@native_only
def test_files_of_the_cache_that_were_swapped_are_noticed(cache: Path) -> None:
    given = {name: ok("encode", "-e", name, "-t", "Hello world, hello") for name in ("r50k_base", "cl100k_base")}
    first, second = sorted(path for path in (cache / "images").iterdir())
    first.rename(cache / "kept")
    second.rename(first)
    (cache / "kept").rename(second)
    assert {name: ok("encode", "-e", name, "-t", "Hello world, hello") for name in given} == given


@native_only
@pytest.mark.parametrize("kind", ["fifo", "folder", "symlink", "zero"])
@pytest.mark.parametrize("name", ["r50k_base", FILES[0]])
def test_what_is_no_file_in_the_cache_is_not_read(kind: str, name: str, cache: Path, tmp_path: Path) -> None:
    spec = str(FORMATS / name) if "." in name else name
    expected = ok("encode", "-e", spec, "-t", "Hello world, hello")
    for file in files_in(cache):
        path = cache / file
        path.rename(tmp_path / "kept")
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero" if kind == "zero" else tmp_path / "kept")
    assert ok("encode", "-e", spec, "-t", "Hello world, hello") == expected


@pytest.mark.memory
@pytest.mark.parametrize("name", ["r50k_base", FILES[0]])
def test_a_full_or_read_only_cache_only_costs_time(name: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = str(FORMATS / name) if "." in name else name
    expected = ok("encode", "-e", spec, "-t", "Hello world, hello")
    shutil.rmtree(cache, ignore_errors=True)  # Python alone keeps nothing there
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *program()]  # no file may grow
    done = subprocess.run([*limited, "encode", "-e", spec, "-t", "Hello world, hello"], capture_output=True)
    assert (done.stdout, done.stderr, done.returncode) == (expected, b"", 0)
    assert not [file for file in files_in(cache) if not file.startswith("locks")]


@native_only
@pytest.mark.parametrize("name", first_in_gate(FILES, 2))
def test_a_container_whose_checksums_fit_is_still_checked(name: str, cache: Path) -> None:
    """Whatever a header says, only our own errors come out, and the ids of text that is encoded are the file's."""
    expected = load_encoding(FORMATS / name).encode_ordinary("Hello world, hello")
    (kept,) = [path for path in (cache / "compiled").iterdir() if path.suffix != ".file" and path.suffix != ".rules"]
    container = containers.unpack(memoryview(kept.read_bytes()))
    assert container is not None
    header, sections = container.header, container.sections
    wrong = [None, -1, 1 << 70, "x", [], {}, [[]], {"a": -1}, True, 1.5, ["x"], [1 << 40]]
    data = {key: bytes(value) for key, value in sections.items()}
    for member in header:
        for value in wrong:
            if type(value) is type(header[member]) and type(value) in (bool, str):
                continue  # another flag, or another name of the same kind: nobody can tell
            kept.write_bytes(containers.pack(header | {member: value}, data))
            assert load_encoding(FORMATS / name).encode_ordinary("Hello world, hello") == expected, (member, value)


def test_modes_of_the_cache_are_the_users_alone(cache: Path) -> None:
    for encoding in ("r50k_base", str(FORMATS / FILES[0])):
        ok("count", "-e", encoding, "-t", "x", umask=0)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (cache, *cache.rglob("*")) if path.is_dir()} <= {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in cache.rglob("*") if path.is_file()} <= {0o600}


@native_only
@pytest.mark.parametrize("name", ["byte-level.tokenizer.json", "plain.tokenizer.json", "unigram.model", "bpe.model"])
@pytest.mark.parametrize("how", ["cut", "noise"])
def test_a_file_of_the_cache_that_changes_in_use_changes_no_answer(name: str, how: str, cache: Path) -> None:
    """All but images of megabytes, which are mapped, are read before they are used."""
    code = (
        "import os, sys; from pathlib import Path; from tokcli.registry.encodings import load_encoding\n"
        "expected = load_encoding(sys.argv[1]).encode_ordinary('Hello world, hello')\n"
        "made = load_encoding(sys.argv[1])\n"
        "for path in Path(os.environ['TOKCLI_CACHE_DIR'], 'compiled').iterdir():\n"
        "    size = path.stat().st_size\n"
        "    os.truncate(path, 0)\n"
        "    if sys.argv[2] == 'noise':\n"
        "        path.write_bytes(os.urandom(size))\n"
        "assert made.encode_ordinary('Hello world, hello') == expected\n"
        "print(made.decode(expected))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(FORMATS / name), how], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "Hello world, hello\n")


@pytest.mark.clock
@native_only
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="asks Linux what a process has mapped")
def test_an_image_that_is_cut_off_while_it_is_mapped_ends_the_run_with_an_error(cache: Path) -> None:
    """Reading beyond the end of a mapped file is SIGBUS, which killed the process."""
    ok("count", "-e", "r50k_base", "-t", "x")
    image = max(cache.rglob("images/*"), key=lambda path: path.stat().st_size)
    with subprocess.Popen(
        [*program(), "encode", "-e", "r50k_base"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        until = time.monotonic() + 30
        while str(image) not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        os.truncate(image, 0)
        _, words = process.communicate(b"hello world, it's 2024\n")
    assert process.returncode == 2
    assert words.startswith(b"Error: a vocabulary in the cache was cut off while it was in use\n")
    ok("count", "-e", "r50k_base", "-t", "hello world")
