"""`encode --visualise=merges`: how each piece became its tokens, for ranks and for tokenizers with lists of merges."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ROOT, noted, ok, program, refused, without_coverage

from tokcli import load_encoding

FORMATS = ROOT / "tests" / "data" / "formats"
MERGES = ("encode", "--visualise=merges")


def test_a_pipe_gets_a_line_for_each_step() -> None:
    assert ok(*MERGES, "-e", "cl100k_base", "-t", "happily").decode() == (
        "         h│a│p│p│i│l│y\n    321  h│a│p│p│il│y\n    391  h│ap│p│il│y\n    680  h│app│il│y\n   1570  h│app│ily\n"
        " greedy  hap│pi│ly  38910 2554 398\n"
    )


def test_the_longest_and_the_fewest_tokens_are_told_where_they_differ() -> None:
    """Merging need not take the longest token: ` B` merges first, and tears ` BP`."""
    given = (*MERGES, "-e", "cl100k_base", "-t", " BPE")
    assert ok(*given).decode().splitlines()[-2:] == ["   1777  ·B│PE", " greedy  ·BP│E  30167 36"]
    made = json.loads(ok(*given, "--json"))["pieces"][0]
    assert (made["ids"], made["greedy"]) == ([426, 1777], {"parts": [" BP", "E"], "ids": [30167, 36]})
    assert "fewest" not in made  # two tokens, too
    shown = ok(*given, "--color=always").decode()
    assert "with the longest token at each place: " in shown and "30167 36" in shown


def test_the_fewest_tokens_are_told_where_merging_leaves_more(tmp_path: Path) -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b"bc", b"ab", b"cd"]
    path = tmp_path / "x.tiktoken"
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)))
    given = (*MERGES, "-e", path, "--pattern", ".+", "-t", "abcd")
    assert ok(*given).decode().splitlines()[1:] == [
        "    256  a│bc│d",
        " greedy  ab│cd  257 258",
        " fewest  ab│cd  257 258",
    ]
    assert json.loads(ok(*given, "--json"))["pieces"][0]["fewest"] == {"parts": ["ab", "cd"], "ids": [257, 258]}
    assert len(ok(*given[:-1], "ab").splitlines()) == 2  # nothing to tell


@pytest.mark.parametrize("name", ["bpe.model", "plain.tokenizer.json", "suffix.tokenizer.json", "unigram.model"])
def test_other_ways_cover_the_piece_with_its_tokens(name: str) -> None:
    encoding = load_encoding(FORMATS / name)
    made = json.loads(ok(*MERGES, "--json", "-e", FORMATS / name, "-t", "the brown 東京 jumps again 5"))["pieces"]
    ways = [(piece, piece[way]) for piece in made for way in ("greedy", "fewest") if way in piece]
    for piece, way in ways:
        assert way["ids"] != piece["ids"]
        assert [encoding.decode_single_token_bytes(number).decode() for number in way["ids"]] == way["parts"]
        assert "".join(way["parts"]).lstrip() == piece["text"].lstrip()


def test_json_has_the_pair_of_each_step_and_the_ids() -> None:
    made = json.loads(ok(*MERGES, "--json", "-e", "cl100k_base", "-t", "aily 日"))["pieces"]
    assert made[0]["start"][:2] == ["a", "i"]
    last = made[0]["steps"][-1]
    assert set(last) == {"rank", "pair", "parts"}
    assert "".join(last["pair"]) in last["parts"]
    assert {"bytes_hex": "e6"} in made[1]["start"]


@pytest.mark.parametrize(
    "name", ["bpe.model", "suffix.tokenizer.json", "byte-level.tokenizer.json", "plain.tokenizer.json"]
)
def test_merges_of_other_formats_lead_to_their_tokens(name: str) -> None:
    text = "Hello World, hello  world 日本"
    made = json.loads(ok(*MERGES, "--json", "-e", FORMATS / name, "-t", text))["pieces"]
    assert [i for piece in made for i in piece["ids"]] == list(
        map(int, ok("encode", "-e", FORMATS / name, "-t", text).split())
    )
    for piece in made:
        assert len(piece["steps"][-1]["parts"] if piece["steps"] else piece["start"]) == len(piece["ids"])
    assert any(piece["steps"] for piece in made)


def test_ranks_of_a_replay_are_those_of_merging_itself(tmp_path: Path) -> None:
    """A vocabulary as a tokenizer.json plays the same merges as its ranks do."""
    noted(
        "train", "--vocab-size", "320", "-o", tmp_path / "a.tiktoken", data=b"the cat sat on the mat, the cat ran " * 20
    )
    noted("inspect-ranks", "-e", tmp_path / "a.tiktoken", "--export", "huggingface", "-o", tmp_path / "tokenizer.json")
    made = []
    for name in ("a.tiktoken", "tokenizer.json"):
        found = json.loads(ok(*MERGES, "--json", "-q", "-e", tmp_path / name, "-t", "the cat that ran"))["pieces"]
        made.append(
            [(piece["text"], piece["ids"], [(s["pair"], s["parts"]) for s in piece["steps"]]) for piece in found]
        )
    assert made[0] == made[1]
    assert len(made[0]) == 4


@pytest.mark.parametrize("name", ["unigram.model", "unigram.tokenizer.json"])
def test_a_best_path_has_scores(name: str) -> None:
    made = json.loads(ok(*MERGES, "--json", "-e", FORMATS / name, "-t", "Hello"))["pieces"]
    assert all(len(piece["scores"]) == len(piece["ids"]) and not piece["steps"] for piece in made)
    shown = ok(*MERGES, "--color=always", "-e", FORMATS / name, "-t", "Hello").decode()
    assert "on the best path, with a score of -" in shown


def test_words_have_no_merges() -> None:
    shown = ok(*MERGES, "--color=always", "-e", FORMATS / "wordpiece.tokenizer.json", "-t", "Hello").decode()
    assert "1 token, no merges: " in shown


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_table_fits_the_screen_and_data_in_it_cannot_act(width: int) -> None:
    text = "\x1b[31mred\x9b2J\u202e [bold]日本語🫠 unhappily antidisestablishmentarianism"
    made = ok(*MERGES, "--color=always", "-t", text, env={"COLUMNS": str(width)}).decode()
    assert "\u202e" not in made and "\x9b" not in made
    parts = made.split("\x1b[")
    assert all(rest.lstrip("0123456789;").startswith("m") for rest in parts[1:])
    from rich.cells import cell_len

    plain = parts[0] + "".join(rest.partition("m")[2] for rest in parts[1:])
    assert max(map(cell_len, plain.splitlines())) <= width
    assert ("u + n" in plain) == (width >= 40) or "n + h" in plain


def test_a_token_at_once_says_so() -> None:
    made = ok(*MERGES, "--color=always", "-e", "cl100k_base", "-t", "a hello").decode()
    assert "already one token (24748); merging gives the same" in made


def test_a_piece_with_too_many_merges_is_refused() -> None:
    assert "a piece of 5000 bytes" in refused(*MERGES, "--json", data=b"a" * 5000)


@pytest.mark.parametrize(
    "options", [["--step"], ["--visualise", "--step"], ["--visualise=merges", "--step"], ["--step", "--json"]]
)
def test_step_is_for_merges_on_a_terminal(options: list[str]) -> None:
    refused("encode", "-t", "hello", *options)


@pytest.mark.parametrize("options", [["-n", "1"], ["--add-special-tokens"]])
def test_options_that_change_no_merge_are_refused(options: list[str]) -> None:
    assert "--visualise" in refused(*MERGES, "-t", "hello", *options)


def stepping(keys: Callable[[int, int], None], *more: str) -> tuple[int, str, bool]:
    """(status, what appears, whether the terminal is as it was) of a run on a terminal where keys are pressed."""
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    clean = {k: v for k, v in without_coverage().items() if k not in ("FORCE_COLOR", "COLUMNS", "TOKCLI_ENCODING")}
    process = subprocess.Popen(
        [*program(), *MERGES, "--step", "-e", "cl100k_base", "-t", "happily", *more],
        stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal, env=clean | {"NO_COLOR": "1"},
    )  # fmt: skip
    shown = b""
    while "p│p│i".encode() not in shown:
        shown += os.read(master, 4096)
    keys(master, process.pid)
    os.set_blocking(master, False)
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        shown += _available(master)
    shown += _available(master)
    is_same = termios.tcgetattr(slave) == before
    os.close(slave)
    os.close(master)
    return process.wait(1), shown.decode().replace("\r\n", "\n"), is_same


def _available(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


@pytest.mark.clock
def test_a_key_shows_the_next_step_and_q_ends() -> None:
    def keys(master: int, _: int) -> None:
        for key in b" x":
            os.write(master, bytes([key]))
            time.sleep(0.3)
        os.write(master, b"q")

    status, shown, is_same = stepping(keys)
    assert (status, is_same) == (0, True)
    assert "h│«ap»│p│il│y" in shown
    assert "«app»" not in shown


@pytest.mark.clock
@pytest.mark.parametrize("key", [b"\x03", None])
def test_an_interrupt_leaves_the_terminal_as_it_was(key: bytes | None) -> None:
    def keys(master: int, pid: int) -> None:
        time.sleep(0.3)
        if key is None:
            os.kill(pid, signal.SIGINT)
        else:
            os.write(master, key)

    status, _, is_same = stepping(keys)
    assert status in (130, -signal.SIGINT)
    assert is_same


@pytest.mark.clock
def test_being_ended_leaves_the_terminal_as_it_was() -> None:
    def keys(_: int, pid: int) -> None:
        time.sleep(0.3)
        os.kill(pid, signal.SIGTERM)

    status, _, is_same = stepping(keys)
    assert (status, is_same) == (-signal.SIGTERM, True)
