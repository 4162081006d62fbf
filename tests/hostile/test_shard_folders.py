"""Folders of shards that somebody else has made, or that were damaged: one line, and no file or server outside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkpoints import sealed
from dying import DIED, status_of
from loopback import Answer, serving
from support import first_in_gate, ok, refused

from tokcli.cli.checkpoint_folder import NAME

Said = dict[str, Any]
ASKED = ("encode", "-q", "-e", "r50k_base", "--records", "lines", "--shard-tokens", "100", "docs", "--shards")
READERS = (["decode", "-e", "r50k_base"], ["inspect-ranks", "--shards"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with documents, with their shards (`whole`), and with a run that died after four shards."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "docs").write_text("".join(f"document {number} is here\n" for number in range(300)))
    ok(*ASKED, "whole", cwd=folder)
    asked = [str(folder / "docs") if word == "docs" else word for word in ASKED]
    assert status_of([*asked, str(folder / "died")], "replace-after:12") == DIED
    assert len(list((folder / "died").glob("*.bin"))) == 4
    return folder


@pytest.fixture
def whole(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "whole", tmp_path / "whole"))


@pytest.fixture
def died(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "died", tmp_path / "died"))


def lines_of(index: Path) -> list[bytes]:
    return index.read_bytes().splitlines(keepends=True)


def with_head(index: Path, **changes: object) -> None:
    first, *rest = lines_of(index)
    head = json.loads(first.rstrip(b",\n") + b"}") | changes
    index.write_bytes(json.dumps(head).encode()[:-1] + b",\n" + b"".join(rest))


def with_shard(index: Path, change: Callable[[Said], object]) -> None:
    lines = lines_of(index)
    at = lines.index(b'"shards": [\n') + 1
    said = json.loads(lines[at].rstrip(b",\n"))
    change(said)
    ends = said.pop("ends")
    lines[at] = json.dumps(said).encode()[:-1] + b', "ends": ' + json.dumps(ends).encode() + b"},\n"
    index.write_bytes(b"".join(lines))


@pytest.mark.parametrize("value", [[], {}, None, 1, 1e999, "x", ["flat"]])
@pytest.mark.parametrize("member", ["layout", "dtype", "format", "version"])
def test_a_head_of_an_index_may_hold_anything(member: str, value: object, whole: Path, tmp_path: Path) -> None:
    if (member, value) == ("version", 1):
        return
    with_head(whole / "index.json", **{member: value})
    for reader in READERS:
        assert "not an index of shards" in refused(*reader, whole)
    ok("encode", "-q", "--shards", tmp_path / "other", "-r", whole, "-g", "*.json")


SHARDS: dict[str, Callable[[Said], object]] = {
    "a name that is a number": lambda said: said.update(file=5),
    "a name that is a list": lambda said: said.update(file=[]),
    "a name of many digits": lambda said: said.update(file=f"shard-{'0' * 5000}.bin"),
    "another folder": lambda said: said.update(file="../docs"),
    "a path": lambda said: said.update(file="/etc/passwd"),
    "beside a number": lambda said: said.update(beside=5),
    "beside a text": lambda said: said.update(beside="abc"),
    "beside another folder": lambda said: said.update(beside=[{"file": "../docs", "sha256": ""}]),
    "more tokens": lambda said: said.update(tokens=said["tokens"] + 1),
    "tokens without end": lambda said: said.update(tokens=10**400),
    "ends that go back": lambda said: said["ends"].insert(0, 50),
    "an end beyond 32 bits": lambda said: said["ends"].append(1 << 40),
    "no tokens": lambda said: said.pop("tokens"),
    "tokens that are no whole number": lambda said: said.update(tokens=float(said["tokens"])),
    "more documents": lambda said: said.update(documents=said["documents"] + 1),
    "no documents": lambda said: said.pop("documents"),
    "ends of more documents": lambda said: said["ends"].append(said["ends"][-1]),
    "ends of fewer documents": lambda said: said["ends"].pop(0),
    "ends of other documents": lambda said: said.update(continues=True),
    "continues a number": lambda said: said.update(continues=0),
}


@pytest.mark.parametrize("lie", SHARDS.values(), ids=SHARDS.keys())
def test_an_index_that_lies_about_a_shard_is_refused(lie: Callable[[Said], object], whole: Path) -> None:
    with_shard(whole / "index.json", lie)
    for reader in READERS:
        assert "not an index of shards" in refused(*reader, whole)


@pytest.mark.parametrize("member", ["tokens", "documents"])
def test_an_index_whose_sums_are_not_those_of_its_shards_is_refused(member: str, whole: Path) -> None:
    index = whole / "index.json"
    with_head(index, **{member: json.loads(index.read_bytes())[member] + 1})
    for reader in READERS:
        assert "not an index of shards" in refused(*reader, whole)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("plant", [a_pipe, an_endless_device, a_folder])
def test_a_shard_that_is_no_file_is_refused_and_not_waited_for(plant: Callable[[Path], None], whole: Path) -> None:
    (whole / "shard-00000.bin").unlink()
    plant(whole / "shard-00000.bin")
    for reader in (*READERS, ["decode", "--records", "lines"]):
        assert "shard-00000.bin: not a regular file" in refused(*reader, whole)


@pytest.mark.parametrize("change", [lambda data: data[:-2], lambda data: data + b"\0\0", lambda _: b""])
def test_a_shard_of_another_size_is_not_decoded(change: Callable[[bytes], bytes], whole: Path) -> None:
    path = whole / "shard-00000.bin"
    path.write_bytes(change(path.read_bytes()))
    assert "ids that the index says" in refused("decode", whole)


def test_an_index_names_no_file_and_no_server_to_be_asked(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as hub:
        hub.answers["*"] = [Answer(b"{}")]
        monkeypatch.setenv("HF_ENDPOINT", hub.url(""))
        monkeypatch.setenv("TOKCLI_OFFLINE", "")
        for name in ("org/name", "/dev/zero", f"{hub.url('/f')}#sha256={'0' * 64}"):
            with_head(whole / "index.json", encoding=name)
            assert "which is no registered encoding" in refused("decode", whole)
        assert hub.asked == []


@pytest.mark.parametrize("name", ["index.json", "shard-00000.bin"])
@pytest.mark.parametrize("command", [["decode"], ["decode", "--records", "lines"], ["inspect-ranks", "--shards"]])
def test_shards_that_are_read_are_not_written_over(command: list[str], name: str, whole: Path) -> None:
    before = (whole / name).read_bytes()
    assert "is also an input" in refused(*command, whole, "-o", whole / name)
    assert (whole / name).read_bytes() == before


# --- what a run that died has left -----------------------------------------------------------------------------------

NUMBERS = [-1, 1 << 70, 10**30, 1.0, True, None, "0", [], {}]
PROGRESS: dict[str, Callable[[Said], object]] = {
    **{f"{key} {n!r:.20}": lambda p, key=key, n=n: p.update({key: n})  # type: ignore[misc]
       for key in ("shards", "tokens", "documents", "status", "position") for n in [*NUMBERS, 5, 1 << 40]},
    **{f"place {at} {n!r:.20}": lambda p, at=at, n=n: p["position"].__setitem__(at, n)  # type: ignore[misc]
       for at in range(4) for n in NUMBERS},
    "half a position": lambda p: p["position"].pop(),
    "more of a position": lambda p: p["position"].append(0),
    "no shards": lambda p: p.pop("shards"),
}  # fmt: skip


@pytest.mark.parametrize("lie", first_in_gate(list(PROGRESS), 12))
def test_a_state_of_a_run_that_lies_is_refused(lie: str, died: Path, made: Path) -> None:
    """A number of shards of 2**40 once took all memory, an offset of 2**70 was an internal error."""
    path = died / NAME / "state.json"
    state = json.loads(path.read_bytes())
    PROGRESS[lie](state["progress"])
    path.write_bytes(sealed(state))
    if state["progress"] == json.loads((made / "died" / NAME / "state.json").read_bytes())["progress"]:
        return
    said = refused(*asked_in(made), died)
    assert "not a valid checkpoint" in said
    assert said.count("\n") <= 2


PLACES: dict[str, list[int]] = {
    "an input that is not there": [1, 0, 0, 0],
    "the middle of a document": [0, 5, 0, 0],
    "the end of the input": [0, 6690, 0, 0],
    "after the end": [0, 1 << 40, 0, 0],
    "more documents than there are": [0, 0, 301, 0],
    "a document that was cut": [0, 0, 100, 50],
    "a cut document in shards that have none": [0, 0, 0, 1],
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_place_that_no_run_was_saved_at_is_refused(place: list[int], died: Path, made: Path) -> None:
    """Such a run once ended with status 0 and an index of other documents."""
    path = died / NAME / "state.json"
    state = json.loads(path.read_bytes())
    state["progress"]["position"] = place
    path.write_bytes(sealed(state))
    before = files_of(died)
    assert "not a valid checkpoint" in refused(*asked_in(made), died)
    assert files_of(died) == before


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("place", [[2, 0, 1, 0], [4, 0, 0, 0], [1, 3, 0, 0], [1, 0, 2, 0]])
def test_files_that_are_documents_are_counted(place: list[int], tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(9)]
    for name in names:
        (tmp_path / name).write_text("five words are in here\n")
    asked = ["encode", "-q", "--shard-tokens", "10", *(str(tmp_path / name) for name in names), "--shards"]
    assert status_of([*asked, str(tmp_path / "died")], "replace-after:6") == DIED
    path = tmp_path / "died" / NAME / "state.json"
    state = json.loads(path.read_bytes())
    right = state["progress"]["position"]
    state["progress"]["position"] = place
    path.write_bytes(sealed(state))
    assert place != right and "not a valid checkpoint" in refused(*asked, tmp_path / "died")
    state["progress"]["position"] = right
    path.write_bytes(sealed(state))
    ok(*asked, tmp_path / "died")


LINES: dict[str, Callable[[bytes], bytes]] = {
    "ends that go back": lambda line: line.replace(b"[4, 8", b"[8, 4"),
    "one end less": lambda line: line.replace(b"[4, ", b"["),
    "an end that is no number": lambda line: line.replace(b"[4, ", b"[x, "),
    "an end twice": lambda line: line.replace(b"[4, ", b"[4, 4, "),
    "ends in another form": lambda line: line.replace(b"[4, ", b"[04, "),
    "another line": lambda line: line.replace(b'"tokens"', b'\n"tokens"'),
    "another member": lambda line: line.replace(b'"tokens"', b'"x": 1, "tokens"'),
    "more after it": lambda line: line + b',\n{"file": "shard-00009.bin"}',
    "no end": lambda line: line[:-2],
    "a cut": lambda line: line.replace(b', "ends"', b', "continues": true, "ends"'),
}


@pytest.mark.parametrize("lie", LINES.values(), ids=LINES.keys())
def test_what_is_kept_of_a_shard_is_read_before_it_becomes_the_index(
    lie: Callable[[bytes], bytes], died: Path, made: Path
) -> None:
    """The ends of documents were once copied unread."""
    path = died / NAME / "shard-00001.json"
    line = path.read_bytes()
    assert lie(line) != line
    path.write_bytes(lie(line))
    assert "not a valid checkpoint" in refused(*asked_in(made), died)


@pytest.mark.parametrize("layout", ["flat", "npy", "datatrove", "megatron"])
def test_a_shard_of_another_size_is_missed_by_the_run_that_goes_on(layout: str, made: Path, tmp_path: Path) -> None:
    asked = [*asked_in(made), "died", "--layout", layout]
    asked[-3] = str(tmp_path / "died")
    assert status_of(asked, "replace-after:13") == DIED
    files = [path for path in (tmp_path / "died").iterdir() if "shard-00001" in path.name or "00001_" in path.name]
    assert files
    for path in files:
        data = path.read_bytes()
        for other in (data[:-2], data + bytes(2), b""):
            path.write_bytes(other)
            assert f"{path.name} has {len(other)} bytes, not {len(data)}" in refused(*asked)
        path.write_bytes(data)
    ok(*asked)


def asked_in(folder: Path) -> list[str]:
    return [str(folder / "docs") if word == "docs" else word for word in ASKED]


@pytest.mark.parametrize("plant", [None, a_pipe, an_endless_device, a_folder])
@pytest.mark.parametrize("name", ["shard-00001.bin", f"{NAME}/shard-00001.json"])
def test_a_shard_that_was_removed_or_replaced_is_missed_by_the_run_that_goes_on(
    name: str, plant: Callable[[Path], None] | None, died: Path, made: Path
) -> None:
    """An index once named a shard that was not there any more, and held whatever a link led to."""
    (died / name).unlink()
    if plant is not None:
        plant(died / name)
    assert "not a valid checkpoint" in refused(*asked_in(made), died)
    assert not (died / "index.json").exists()


def test_a_run_that_died_goes_on_where_nothing_was_touched(died: Path, made: Path) -> None:
    ok(*asked_in(made), died)
    whole = {path.name: path.read_bytes() for path in (made / "whole").glob("*.bin")}
    assert {path.name: path.read_bytes() for path in died.glob("*.bin")} == whole


def test_a_shard_that_was_made_just_before_a_run_died_is_none_of_another_run(made: Path, tmp_path: Path) -> None:
    """It once stayed beside an index without shards, for whoever opens `*.bin`."""
    (tmp_path / "nothing").touch()
    assert status_of([*asked_in(made), str(tmp_path / "died")], "replace-after:1") == DIED
    assert [path.name for path in (tmp_path / "died").glob("*.bin")] == ["shard-00000.bin"]
    ok(*ASKED[:-2], tmp_path / "nothing", "--shards", tmp_path / "died")
    assert [path.name for path in (tmp_path / "died").iterdir()] == ["index.json"]


FULL = """
import errno, io, sys
from pathlib import Path
from tokcli.cli.main import run

class Full(io.FileIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

Path.open = lambda path, mode: Full(path, mode)
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["encode -t abab --shards", "train -t abab --vocab-size 257 -o out --checkpoint"])
def test_a_folder_that_there_is_no_room_for_is_not_left(command: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FULL, *command.split(), "made"],
        capture_output=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 2
    assert b"no space left on device\nFree some space, and run the same command again.\n" in ran.stderr
    assert list(tmp_path.iterdir()) == []
