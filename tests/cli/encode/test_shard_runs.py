"""`encode --shards` that ends before it is done, at any place, and is started again; and how inputs are dealt."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dying import DIED, status_of
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, finished, ok, program, refused, without_coverage

from tokcli.cli.encode.shards import layouts
from tokcli.cli.encode.shards.partition import Part, sections
from tokcli.cli.streams import Input

LIMIT = "700"
TEXTS = [*HARD_ATOMS, "", "long " * 1500, *reversed(HARD_ATOMS), "word " * 390, *HARD_ATOMS]
LAYOUTS = ["flat", "datatrove", "megatron", "npy"]


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all that a folder holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def corpus(folder: Path, texts: list[str]) -> list[Path]:
    """Write texts as JSON Lines to two files, and return them."""
    half = len(texts) // 3
    paths = [folder / "1.jsonl", folder / "2.jsonl"]
    for path, some in zip(paths, (texts[:half], texts[half:])):
        path.write_text("".join(f"{json.dumps({'text': text})}\n" for text in some))
    return paths


def asked_for(layout: str, *inputs: Path) -> list[str]:
    """Return the arguments of a run but for its folder."""
    more = ["--layout", layout, "--shard-tokens", LIMIT, "--append-special", "<|endoftext|>", "-q"]
    return [
        "encode",
        "--records",
        "jsonl",
        "--special",
        "text",
        "-e",
        "r50k_base",
        *more,
        *map(str, inputs),
        "--shards",
    ]


def dies_at(number: int, is_before: bool) -> str:
    """Return the fault that lets a run die at a call of os.replace, before or after it."""
    return f"replace-{'before' if is_before else 'after'}:{number}"


@pytest.mark.slow
@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_that_dies_at_any_change_of_the_folder_ends_with_the_same_bytes(
    layout: str, is_before: bool, tmp_path: Path
) -> None:
    asked = asked_for(layout, *corpus(tmp_path, TEXTS))
    ok(*asked, tmp_path / "whole")
    whole = files_in(tmp_path / "whole")
    number, died = 1, 0
    while True:
        folder = tmp_path / f"died{number}"
        if status_of([*asked, str(folder)], dies_at(number, is_before)) == 0:
            break
        assert "index.json" in files_in(folder) or set(files_in(folder)) - set(whole)  # what says how far it came
        assert status_of([*asked, str(folder)]) == 0
        assert files_in(folder) == whole
        number, died = number + 3, died + 1
    assert died > 5


@pytest.mark.slow
def test_a_run_that_dies_again_and_again_gets_on(tmp_path: Path) -> None:
    asked = asked_for("flat", *corpus(tmp_path, TEXTS))
    ok(*asked, tmp_path / "whole")
    tries = 0
    while status_of([*asked, str(tmp_path / "made")], dies_at(5, tries % 2 == 0)) != 0:
        tries += 1
        assert tries < 99
    assert tries > 3
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")


def test_a_long_document_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("some words and numbers 12345 " * 3000)
    asked = ["encode", "-q", "--shard-tokens", "999", str(tmp_path / "text"), "--shards"]
    ok(*asked, tmp_path / "whole")
    assert status_of([*asked, str(tmp_path / "made")], dies_at(11, True)) == DIED
    assert status_of([*asked, str(tmp_path / "made")]) == 0
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")


@pytest.mark.signals
@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    asked = asked_for("flat", *corpus(tmp_path, TEXTS * 60))
    began = time.monotonic()
    finished([*program(), *asked, tmp_path / "whole"], env=without_coverage())
    took = time.monotonic() - began
    whole, chance, killed, ended = files_in(tmp_path / "whole"), random.Random(14), 0, 0
    for _ in range(500):
        process = subprocess.Popen([*program(), *asked, tmp_path / "made"], env=without_coverage())
        time.sleep(chance.uniform(0, took))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:  # too late: it has ended, perhaps where others were killed
            assert files_in(tmp_path / "made") == whole
            shutil.rmtree(tmp_path / "made")
            ended += 1
        else:
            killed += 1
        if killed >= 50 and ended:
            return
    pytest.fail(f"{killed} runs killed, {ended} ended")


def test_a_resumed_run_of_other_options_or_inputs_is_refused(tmp_path: Path) -> None:
    paths = corpus(tmp_path, TEXTS)
    asked = asked_for("flat", *paths)
    assert status_of([*asked, str(tmp_path / "made")], dies_at(9, True)) == DIED
    died = files_in(tmp_path / "made")
    assert "append_special" in refused(
        *[x for x in asked if x not in ("--append-special", "<|endoftext|>")], tmp_path / "made"
    )
    assert "another run (encoding)" in refused(
        *["p50k_base" if x == "r50k_base" else x for x in asked], tmp_path / "made"
    )
    refused(*["npy" if x == "flat" else x for x in asked], tmp_path / "made")
    paths[1].write_bytes(paths[1].read_bytes() + b"\n")
    assert "another run (inputs)" in refused(*asked, tmp_path / "made")
    assert files_in(tmp_path / "made") == died


@pytest.mark.parametrize("change", [lambda data: data.replace(b'"shards": ', b'"shards": 1'),
                                    lambda _: b"", lambda _: b"[" * 99_999])  # fmt: skip
def test_a_state_that_was_changed_is_refused(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    asked = asked_for("flat", *corpus(tmp_path, TEXTS))
    assert status_of([*asked, str(tmp_path / "made")], dies_at(9, True)) == DIED
    state = tmp_path / "made" / ".tokcli-checkpoint" / "state.json"
    state.write_bytes(change(state.read_bytes()))
    died = files_in(tmp_path / "made")
    assert "not a valid checkpoint" in refused(*asked, tmp_path / "made")
    assert files_in(tmp_path / "made") == died


def test_a_stream_is_read_again_from_its_beginning(tmp_path: Path) -> None:
    data = b"".join(path.read_bytes() for path in corpus(tmp_path, TEXTS))
    asked = asked_for("flat")
    shorter = data[: data.index(b"\n", len(data) // 4) + 1]
    ok(*asked, tmp_path / "whole", data=shorter)

    assert status_of([*asked, str(tmp_path / "made")], dies_at(14, True), data) == DIED
    assert len(list((tmp_path / "made").glob("*.bin"))) > len(list((tmp_path / "whole").glob("*.bin")))
    ok(*asked, tmp_path / "made", data=shorter)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")


def test_a_full_disk_leaves_no_half_shard_and_the_run_goes_on_later(tmp_path: Path) -> None:
    asked = asked_for("datatrove", *corpus(tmp_path, TEXTS))
    ok(*asked, tmp_path / "whole")
    whole = files_in(tmp_path / "whole")

    assert status_of([*asked, str(tmp_path / "made")], "fsync-full:10") == 2
    left = {name: data for name, data in files_in(tmp_path / "made").items() if not name.startswith(".tokcli")}
    assert left
    assert all(whole[name] == data for name, data in left.items())
    assert status_of([*asked, str(tmp_path / "made")]) == 0
    assert files_in(tmp_path / "made") == whole


@pytest.mark.clock
def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\n")
    asked = ["encode", "-q", "--shards", str(tmp_path / "made")]
    first = subprocess.Popen([*program(), *asked], stdin=subprocess.PIPE)
    assert first.stdin is not None
    until = time.monotonic() + 30
    while not (tmp_path / "made" / ".tokcli-checkpoint" / "MARKER").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert "another run is using" in refused(*asked, tmp_path / "text")
    first.communicate(b"b")
    assert first.returncode == 0
    assert ok("decode", tmp_path / "made") == b"b"


@given(
    st.lists(st.lists(st.sampled_from([b"", b"a", b"bc", b"long" * 9]), max_size=6), max_size=5),
    st.booleans(),
    st.integers(1, 9),
)
def test_parts_hold_whole_records_and_each_once(files: list[list[bytes]], ends: bool, parts: int) -> None:
    datas = [b"\n".join(lines) + b"\n" * (ends and bool(lines)) for lines in files]
    inputs = [Input(name=f"{number}", data=data) for number, data in enumerate(datas)]
    total = sum(map(len, datas))
    found = [
        (section.number, b"".join(section.blocks()))
        for number in range(1, parts + 1)
        for section in sections(inputs, total, Part(number, parts), b"\n")
    ]
    for number, data in enumerate(datas):
        cut = [some for other, some in found if other == number]
        assert b"".join(cut) == data
        assert all(some.endswith(b"\n") for some in cut[:-1])
    assert [number for number, _ in found] == sorted(number for number, _ in found)
    whole = [s.number for n in range(1, parts + 1) for s in sections(inputs, total, Part(n, parts), None)]
    assert whole == list(range(len(inputs)))


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no advice about files")
@pytest.mark.parametrize("takes_advice", [True, False])
def test_a_shard_goes_to_the_disk_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, takes_advice: bool
) -> None:
    begun = []

    def advise(_: int, begin: int, size: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_DONTNEED
        begun.append((begin, size))
        if not takes_advice:
            raise OSError

    monkeypatch.setattr(os, "posix_fadvise", advise)
    monkeypatch.setattr(layouts, "UNSYNCED_BYTES", 100)
    file = layouts.HashedFile(str(tmp_path), "shard")
    for _ in range(8):
        file.write(bytes(40))
    file.commit()
    assert begun == [(0, 120), (0, 240)]  # what is on the disk meanwhile gives its memory back
    assert (tmp_path / "shard").read_bytes() == bytes(320)
