"""A checkpoint touches its own folder and nothing else, whatever is in DIR and whatever its files say."""

from __future__ import annotations

import fcntl
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoints import die_in_training, sealed
from support import failed, noted, refused

from tokcli.cli.checkpoint_folder import NAME
from tokcli.cli.main import run
from tokcli.cli.train.checkpoint import Checkpoint
from tokcli.errors import TokcliError

SIZE = "400"
USERS = ["my.counts", "1-0-5-run.counts", "notes.tmp", "run-abcdefgh.counts", "state.json",
         "tokens", "MARKER", "ranks.tiktoken", "tokcli-train-mine/kept", ".tokcli-checkpoints/state.json"]  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefgh世界", k=chance.randint(1, 9))) for _ in range(300)]
    path = tmp_path_factory.mktemp("corpus") / "text"
    path.write_text(" ".join(chance.choices(words, k=6000)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def expected(corpus: Path) -> bytes:
    return trained(corpus, corpus.parent / "expected")


def trained(corpus: Path, out: Path, *more: str | Path) -> bytes:
    noted("train", corpus, "--vocab-size", SIZE, "-o", out, *more)
    return out.read_bytes()


@pytest.fixture(scope="module")
def died(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a DIR whose training died after 40 merges; tests copy it."""
    folder = tmp_path_factory.mktemp("died") / "kept"
    die_in_training(folder, corpus, "--vocab-size", SIZE, after="40")
    return folder


@pytest.fixture
def kept(died: Path, tmp_path: Path) -> Path:
    """Return a DIR with a checkpoint of its own."""
    folder = tmp_path / "kept"
    (folder / NAME).mkdir(parents=True)
    for path in (died / NAME).iterdir():
        (folder / NAME / path.name).write_bytes(path.read_bytes())
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_users_files_in_the_folder_stay(corpus: Path, expected: bytes, tmp_path: Path) -> None:
    for name in USERS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"mine")
    before = snapshot(tmp_path)
    assert trained(corpus, tmp_path / "out", "--checkpoint", tmp_path, "--checkpoint-every", "0") == expected
    made = {name: data for name, data in snapshot(tmp_path).items() if name not in ("out", "out.json")}
    assert made == before
    assert not (tmp_path / NAME).exists()


def test_a_folder_that_was_there_stays_and_one_that_was_made_goes(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("there", "new"):
        trained(corpus, tmp_path / "out", "--checkpoint", tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.json", "there"]


def test_a_training_that_was_killed_is_resumed_beside_the_users_files(
    corpus: Path, expected: bytes, kept: Path
) -> None:
    (kept / "my.counts").write_bytes(b"mine")
    (kept / NAME / "run-00000000.counts").write_bytes(b"left by a run that was killed")
    (kept / NAME / "mine").write_bytes(b"mine")
    assert trained(corpus, kept / "out", "--checkpoint", kept) == expected
    assert set(snapshot(kept)) == {"my.counts", "out", "out.json", f"{NAME}/mine"}


@pytest.mark.parametrize("more", [["empty"], ["-r", "empty"], ["-r", "empty", "missing"]])
def test_an_empty_corpus_leaves_no_checkpoint(more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    assert "the corpus is empty" in refused("train", *more, "--checkpoint", "kept", "--vocab-size", SIZE, "-o", "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty"]


def test_the_second_of_two_trainings_at_once_says_so(corpus: Path, expected: bytes, kept: Path) -> None:
    before = snapshot(kept)
    with (kept / NAME / "MARKER").open("rb") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        message = refused("train", corpus, "--vocab-size", SIZE, "-o", kept / "out", "--checkpoint", kept)
        assert "another training is using this checkpoint" in message
    assert snapshot(kept) == before
    assert trained(corpus, kept / "out", "--checkpoint", kept) == expected


def test_no_output_is_written_into_the_folder_of_the_checkpoint(corpus: Path, kept: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(kept / NAME)
    for out in (kept / NAME / "tokens", tmp_path / "way" / "x"):
        message = refused("train", corpus, "--vocab-size", SIZE, "-o", out, "--checkpoint", kept)
        assert "is in the folder of the checkpoint" in message


def test_a_checkpoint_of_an_earlier_version_is_refused_and_left(corpus: Path, tmp_path: Path) -> None:
    old = {"version": 1, "plan": {}, "runs": ["1-0-0-x.counts"], "input": 0, "offset": 0}
    (tmp_path / "state.json").write_text(json.dumps(old))
    (tmp_path / "1-0-0-x.counts").write_bytes(b"x")
    before = snapshot(tmp_path)
    message = refused("train", corpus, "--vocab-size", SIZE, "-o", tmp_path / "out", "--checkpoint", tmp_path)
    assert "a checkpoint of an earlier version" in message
    assert snapshot(tmp_path) == before


# --- folders that somebody else has made -----------------------------------------------------------------------------


def a_link(folder: Path, victim: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def a_file(folder: Path, victim: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.write_bytes(b"x")


def without_a_marker(folder: Path, victim: Path) -> None:
    (folder / "MARKER").unlink()
    (folder / "mine").write_bytes(b"mine")


def planted(name: str, plant: Callable[[Path, Path], object]) -> Callable[[Path, Path], object]:
    def replace(folder: Path, victim: Path) -> None:
        (folder / name).unlink()
        plant(folder / name, victim)

    return replace


PLANTS: dict[str, Callable[[Path, Path], object]] = {
    "a symlink": lambda path, victim: path.symlink_to(victim),
    "a hard link": lambda path, victim: path.hardlink_to(victim),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
}
FOLDERS = {"the folder is a link": a_link, "it is a file": a_file, "it has no marker": without_a_marker} | {
    f"{name} is {what}": planted(name, plant)
    for name in ("MARKER", "state.json", "tokens")
    for what, plant in PLANTS.items()
    if (name, what) != ("MARKER", "a hard link")  # it is never written, and only its name is removed
}


@pytest.mark.parametrize("change", FOLDERS.values(), ids=FOLDERS.keys())
def test_a_planted_folder_is_refused_and_leads_to_no_other_file(
    change: Callable[[Path, Path], object], corpus: Path, kept: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")
    change(kept / NAME, victim)
    names = {path.name for path in kept.rglob("*")}
    refused("train", corpus, "--vocab-size", SIZE, "-o", tmp_path / "out", "--checkpoint", kept)
    assert victim.read_bytes() == b"victim"
    assert {path.name for path in kept.rglob("*")} == names


# --- state.json ------------------------------------------------------------------------------------------------------

NUMBERS = [-1, 2, 1 << 63, 10**400, 1.0, 1e999, True, "0", None, [], {}]
NAMES = ["../victim", "/etc/passwd", "x/../../victim", ".", "..", "", "\0", "run-abcdefgh.counts", "tokens", "MARKER",
         "run-../../x.counts", "run-ABCDEFGH.counts", "run-abcdefg\n.counts", "é" * 300, 1, None, ["x"]]  # fmt: skip
LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    **{f"run {name!r:.30}": lambda s, name=name: s.update(runs=[name]) for name in NAMES},  # type: ignore[misc]
    **{f"input {n!r:.30}": lambda s, n=n: s["position"].update(input=n) for n in NUMBERS},  # type: ignore[misc]
    **{f"offset {n!r:.30}": lambda s, n=n: s["position"].update(input=0, offset=n) for n in [1 << 40, *NUMBERS[2:]]},  # type: ignore[misc]
    **{f"left {n!r:.30}": lambda s, n=n: s["position"].update(left=n) for n in NUMBERS if n is not None},  # type: ignore[misc]
    "a run twice": lambda s: s.update(runs=s["runs"] * 2),
    "a thousand runs": lambda s: s.update(runs=s["runs"] * 1000),
    "runs that are a text": lambda s: s.update(runs=s["runs"][0]),
    "no runs": lambda s: s.pop("runs"),
    "no plan": lambda s: s.pop("plan"),
    "a plan of texts": lambda s: s.update(plan=["pattern"]),
    "no position": lambda s: s.pop("position"),
    "half a position": lambda s: s["position"].pop("left"),
    "a position of another name": lambda s: s["position"].update(more=1),
    "the version before": lambda s: s.update(version=1),
    "a version beyond": lambda s: s.update(version=10**30),
    "no version": lambda s: s.pop("version"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_state_that_lies_is_refused(lie: Callable[[dict[str, Any]], object], kept: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"victim")
    path = kept / NAME / "state.json"
    state = json.loads(path.read_bytes())
    lie(state)
    path.write_bytes(sealed(state))
    before = snapshot(tmp_path)
    plan = {"limit": None, "files": [["x", 10, 0, None]]}
    with pytest.raises(TokcliError, match="not a valid checkpoint"), Checkpoint(str(kept), plan, 0):
        pass
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[" * 100_000, b"[]", b"null", b"\xff", b'{"sha256": 1}', b'{"runs": [], "runs": []}',
             b'{"n": ' + b"9" * 5000 + b"}", b'{"a": "\\ud800"}', bytes(1 << 21)]
)  # fmt: skip
def test_a_state_that_is_no_state_is_refused(data: bytes, corpus: Path, kept: Path) -> None:
    (kept / NAME / "state.json").write_bytes(data)
    message = refused("train", corpus, "--vocab-size", SIZE, "-o", kept / "out", "--checkpoint", kept)
    assert "not a valid checkpoint" in message
    assert not (kept / "out").exists()


@pytest.mark.parametrize("name", ["state.json", "tokens", "run"])
def test_a_file_with_a_bit_flipped_is_refused_or_gives_the_same(
    name: str, corpus: Path, expected: bytes, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(path for path in (kept / NAME).iterdir() if path.name.startswith(name))
    whole = snapshot(kept)
    chance = random.Random(1)
    for _ in range(20):
        for other, data in whole.items():
            (kept / other).parent.mkdir(parents=True, exist_ok=True)
            (kept / other).write_bytes(data)
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        out = kept.parent / "out"
        out.unlink(missing_ok=True)
        status = run(["train", str(corpus), "--vocab-size", SIZE, "-o", str(out), "--checkpoint", str(kept)])
        message = capsys.readouterr().err
        assert "internal error" not in message
        assert (status, out.exists()) in ((2, False), (0, True)), message
        assert status or out.read_bytes() == expected


# --- the system fails ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "unlink", "write", "mkdir", "lstat"])
def test_a_call_of_the_system_that_fails_once_is_one_line(
    call: str, corpus: Path, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Each call below the checkpoint's DIR fails in its turn; the next run ends with the same bytes."""
    folder, out = tmp_path / "kept", tmp_path / "out"
    arguments = ["train", str(corpus), "--vocab-size", SIZE, "-o", str(out), "--checkpoint", str(folder)]
    arguments += ["--checkpoint-every", "0"]
    failing = getattr(os, call)
    calls = turn = 0

    def fails(path: Any, *given: Any, **more: Any) -> Any:
        nonlocal calls
        is_ours = isinstance(path, int) or str(folder) in os.fsdecode(path)
        calls += is_ours
        if is_ours and calls == turn:
            raise OSError(5, "Input/output error", None if isinstance(path, int) else os.fsdecode(path))
        return failing(path, *given, **more)

    for turn in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 40, 80):
        calls = 0
        out.unlink(missing_ok=True)
        with monkeypatch.context() as patched:
            patched.setattr(os, call, fails)
            status = run(arguments)
        message = capsys.readouterr().err
        assert "internal error" not in message
        assert status == (2 if calls >= turn and "Error: " in message else 0), message
        assert message.count("\n") <= 3
        assert not out.exists() or out.read_bytes() == expected
        assert run(arguments) == 0, capsys.readouterr().err
        assert out.read_bytes() == expected
        capsys.readouterr()


# --- what is resumed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", [("--limit", "9K"), ("--records", "lines"), ("--records", "lines", "--limit", "9K"), ("--hold-back", "20")]
)
def test_a_part_of_the_corpus_is_the_same_part_when_resumed(more: tuple[str, ...], tmp_path: Path) -> None:
    chance = random.Random(4)
    files = [tmp_path / f"{number}.txt" for number in range(6)]
    for file in files:
        file.write_text("".join(chance.choice(["ab", "cde", "fgh", " ", "\n"]) for _ in range(1500)))
    arguments = (*files, "--vocab-size", SIZE, *more)
    noted("train", *arguments, "-o", tmp_path / "whole")
    folder = tmp_path / "kept"
    die_in_training(folder, *arguments)
    state = folder / NAME / "state.json"
    for _ in range(3):  # killed after the third input
        saved = json.loads(state.read_bytes())
    assert saved["position"]["input"] == 6
    noted("train", *arguments, "-o", tmp_path / "resumed", "--checkpoint", folder)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_another_text_of_the_same_length_is_another_training(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    die_in_training(folder, "-t", "ab ab ab", "--vocab-size", SIZE)
    ran = failed("train", "-t", "cd cd cd", "--vocab-size", SIZE, "-o", tmp_path / "out", "--checkpoint", folder)
    assert "another training (files)" in ran.err
