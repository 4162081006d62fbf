"""Large inputs: -j and batches change nothing but the time, and who waits for an answer gets it."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from support import failed, first_in_gate, ok, program, refused, run_tokcli, without_coverage

from tokcli.cli import streams
from tokcli.cli.main import COMMANDS
from tokcli.cli.request import LARGE_BYTES, InputRequest
from tokcli.engine import backend
from tokcli.engine.stream.chunks import BLOCK_BYTES

LINES = "".join(f"line {i} of the té中xt, isn't it?  {i * 7919 % 1000}\n" for i in range(12_000)).encode()


@pytest.mark.parametrize(
    "command",
    [
        ["count"],
        ["encode"],
        ["encode", "--format", "u32"],
        ["encode", "--format", "json"],
        ["encode", "--format", "npy"],
        ["encode", "--format", "u16", "-e", "r50k_base"],
        ["encode", "-n", "50000"],
        ["count", "--records", "lines"],
        ["encode", "--records", "lines", "--json"],
        ["count", "--records", "lines", "--total"],
    ],
)
def test_jobs_change_nothing(command: list[str]) -> None:
    one = ok(*command, "-j", "1", data=LINES)
    assert ok(*command, "-j", "3", data=LINES) == one
    if "u16" not in command and "npy" not in command:
        assert ok(*command, data=LINES, env={"TOKCLI_BACKEND": "python"}) == one


@pytest.mark.parametrize("may_wait", [True, False])
def test_threads_share_from_its_first_part_what_is_known_to_be_long(may_wait: bool) -> None:
    request = InputRequest[Any](None)
    vars(request).update(threads=2, may_wait=may_wait)
    meets = threading.Barrier(2, timeout=60)

    def work(_: int) -> int:
        if is_shared:
            meets.wait()  # each item needs two threads at work
        return threading.get_ident()

    def threads_for(known: int) -> set[int]:
        return set(request.shared(work, iter([1] * 8), lambda size: size, known=known))

    caller, is_shared = threading.get_ident(), False
    assert threads_for(0) == {caller}
    is_shared = True
    assert (caller in threads_for(LARGE_BYTES)) is not may_wait


def test_only_inputs_that_are_files_are_known_not_to_wait(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"text")
    os.mkfifo(tmp_path / "pipe")

    def may_wait(*names: str) -> bool:
        request = InputRequest[Any](None)
        vars(request)["inputs"] = [streams.Input(name=str(tmp_path / name)) for name in names]
        return request.may_wait

    assert [may_wait("text"), may_wait("text", "pipe"), may_wait("missing")] == [False, True, True]


@pytest.mark.parametrize("command", [["count"], ["encode"], ["encode", "--offsets", "byte"], ["encode", "-n", "9"]])
def test_a_file_and_a_pipe_have_the_same_answer(command: list[str], tmp_path: Path) -> None:
    """Of a file the size is known before it is read."""
    (tmp_path / "lines").write_bytes(LINES)
    assert ok(*command, "-j", "3", str(tmp_path / "lines")) == ok(*command, "-j", "3", data=LINES)


def test_what_is_wrong_in_a_long_file_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(LINES + b"\xff" + LINES)
    message = refused("count", "-j", "3", str(tmp_path / "lines"))
    assert f"byte {len(LINES)}" in message.replace(",", "")


@pytest.mark.parametrize("form", ["text", "json", "u32", "npy"])
def test_large_ids_come_back(form: str) -> None:
    ids = ok("encode", "--format", form, data=LINES)
    back = ["--format", form] if form not in ("text", "json") else []
    for jobs in ("1", "3"):
        assert ok("decode", *back, "-j", jobs, data=ids) == LINES


def test_an_unknown_id_behind_many_is_named_by_any_number_of_threads() -> None:
    ids = b"64 " * 300_000 + b"999999"
    for jobs in ("1", "3"):
        assert refused("decode", "-j", jobs, data=ids).startswith(
            "Error: standard input: 999999 is not an id of o200k_base"
        )


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_what_is_wrong_far_in_is_named_by_its_byte(jobs: str) -> None:
    ran = failed("count", "-j", jobs, data=LINES + b"\xff" + LINES)
    assert ran.out == b""
    assert f"not UTF-8 at byte {len(LINES)}: 0xff" in ran.err
    assert f"at byte {len(LINES)}" in refused(
        "encode", "-j", jobs, "--format", "u32", data=LINES + b"<|endoftext|>" + LINES
    )


RECORDS = [
    ("lines", b"one\n\ntwo three\nlast"),
    ("lines", b"one\n\xff\nthree\n"),
    ("lines", b"one\n<|endoftext|>\nthree\n"),
    ("nul", b"one\0two\n\0\0"),
    ("jsonl", b'{"text": "one"}\n\n{"text": "t\\ud800o <|endofprompt|>"}\n'),
    ("jsonl", b'{"text": "one"}\n{"text": "two"}\n{"txt": "three"}\n{"text": "four"}\n'),
    ("jsonl", b'{"text": "one"}\n{"text": 2}\n'),
    ("jsonl", b'{"text": "one"}\n{]\n'),
    ("jsonl", b'{]\n{"text": "one"}\n'),
    ("jsonl", b"\n \n"),
    ("lines", b""),
]


@pytest.mark.parametrize(("kind", "data"), RECORDS)
@pytest.mark.parametrize(
    "command",
    first_in_gate([["count"], ["encode", "--json"], ["encode"], ["encode", "-n", "1"], ["count", "--json"]], 2),
)
def test_records_in_batches_are_answered_as_one_by_one(command: list[str], kind: str, data: bytes) -> None:
    batches = run_tokcli(*command, "--records", kind, data=data)
    assert batches == run_tokcli(*command, "--records", kind, data=data, env={"TOKCLI_BACKEND": "python"})
    assert bool(batches.out) == (b"one" in data and not data.startswith(b"{]"))
    assert not batches.status or any(f"record {number}" in batches.err for number in (1, 2, 3))


@pytest.mark.parametrize("special", ["allow", "error"])
def test_a_special_token_is_none_where_two_records_only_together_have_it(special: str) -> None:
    """The texts of JSON objects are one after the other in memory."""
    data = b'{"text": "one <|endof"}\n{"text": "text|> two"}\n'
    alone = ok("encode", "--special", "text", "-t", "one <|endof") + ok(
        "encode", "--special", "text", "-t", "text|> two"
    )
    assert ok("encode", "--records", "jsonl", "--special", special, data=data) == alone


@pytest.mark.parametrize("command", [["count"], ["encode"], ["decode"]])
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_who_waits_for_the_answer_to_a_record_gets_it(command: list[str], jobs: str) -> None:
    process = subprocess.Popen(
        [*program(), *command, "--records", "lines", "-j", jobs], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"TOKCLI_OFFLINE": "1"},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        for records in (1, 1, BLOCK_BYTES // 2, 1):  # also as many as fill a pipe
            process.stdin.write(b"6\n" * records)
            process.stdin.flush()
            for _ in range(records):
                assert process.stdout.readline()
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0
    finally:
        watchdog.cancel()
        process.stdout.close()


@pytest.mark.clock
def test_ctrl_c_ends_threads_that_wait_for_input() -> None:
    process = subprocess.Popen(
        [*program(), "count", "-j", "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=without_coverage(),
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(LINES)
    process.stdin.flush()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    status = process.wait(timeout=10)
    took = time.monotonic() - sent
    with suppress(BrokenPipeError):
        process.stdin.close()
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert (status, process.stdout.read(), process.stderr.read()) == (130, b"", b"")
    assert took < 1


@pytest.mark.skipif(backend.native() is None, reason="Python splits with regex")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (["count", "-t", "hello world"], "2\n"),
        (
            ["count", "--json", "-t", "hello world"],
            '{"files": [{"tokens": 2, "bytes": 11, "path": "--text"}], "total": 2, "count": 2}\n',
        ),
        (["encode", "--json", "--offsets", "char", "-t", "a"], '{"ids": [64], "offsets": [[0, 1]]}\n'),
    ],
)
def test_counting_loads_no_more_than_it_needs(line: list[str], answer: str) -> None:
    code = (
        "import importlib, os, sys\n"
        "loaded, load = [], importlib.import_module\n"
        "importlib.import_module = lambda name: loaded.append(name) or load(name)\n"
        "from tokcli.__main__ import main\n"
        "os._exit = sys.exit\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    loaded += [name for name in sys.modules if sys.modules[name].__spec__]\n"
        "    print(*loaded, file=sys.stderr)\n"
    )
    ok("count", "-t", "the image is made by the first run")
    # (what stands in for a module that is seldom used has no spec, and loads that by `import_module`)
    ran = subprocess.run(
        [sys.executable, "-c", code, *line], capture_output=True, text=True, timeout=60, env=without_coverage()
    )
    assert ran.stdout == answer
    loaded = set(ran.stderr.split())
    heavy = {"regex", "rich", "requests", "platformdirs", "dataclasses", "pathlib", "json", "tempfile", "hashlib",
             "importlib.metadata", "locale", "numpy", "filelock", "dis", "platform", "uuid", "datetime", "gettext",
             "tokcli.engine.bpe.merges", "tokcli.cluster.tasks"}  # fmt: skip
    assert heavy & loaded == set()


def test_help_needs_no_cleaning_for_which_click_would_load_more() -> None:
    commands: list[click.Command] = [import_module(module).command for module, _ in COMMANDS.values()]
    helps = {param.help for command in commands for param in command.params if isinstance(param, click.Option)}
    assert len(helps) > 50
    assert [text for text in helps if not text or inspect.cleandoc(text) != text] == []


def test_a_module_that_is_seldom_used_is_loaded_when_something_of_it_is_used() -> None:
    code = (
        "import sys; from tokcli.__main__ import _load_when_used as seldom; seldom('colorsys'); import colorsys\n"
        "unused = 'hsv_to_rgb' in vars(sys.modules['colorsys']); from colorsys import hsv_to_rgb\n"
        "print(unused, 'hsv_to_rgb' in vars(sys.modules['colorsys']), colorsys.hsv_to_rgb is hsv_to_rgb)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], env=without_coverage()) == b"False True True\n"


def test_what_is_known_of_such_a_module_does_not_load_it() -> None:
    code = (
        "import sys; from tokcli.__main__ import _load_when_used as seldom; seldom('colorsys', ONE_SIXTH='known')\n"
        "import colorsys; from colorsys import ONE_SIXTH as known\n"
        "loaded = known != colorsys.ONE_SIXTH or 'hsv_to_rgb' in vars(sys.modules['colorsys'])\n"
        "from colorsys import hsv_to_rgb; import colorsys; print(loaded, known, colorsys.ONE_SIXTH == 1 / 6)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], env=without_coverage()) == b"False known True\n"


def test_a_module_of_which_click_needs_a_name_is_whole_for_all_others() -> None:
    code = (
        "import os, sys\n"
        "from tokcli.__main__ import main\n"
        "os._exit = sys.exit\n"
        "try:\n    main()\n"
        "except SystemExit:\n    import datetime, gettext, uuid\n"
        "    print(uuid.UUID(int=5).int, datetime.datetime(2026, 1, 2).day, callable(gettext.find))\n"
    )
    line = [sys.executable, "-c", code, "count", "-t", "hello world"]
    assert subprocess.check_output(line, text=True, env=without_coverage()) == "2\n5 2 True\n"
