"""What `tokcli train` promises: the same bytes by every way, files that their own programs read, nothing half written."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from checkpoints import die_in_training
from support import HARD_ATOMS, noted, program, refused, run_tokcli, without_coverage

import tokcli
from tokcli.cli.checkpoint_folder import NAME
from tokcli.cli.train.train import command
from tokcli.engine import backend
from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.errors import LongPieceError

SIZE = "600"
ROOT = Path(__file__).parent


def words(seed: int, number: int) -> str:
    chance = random.Random(seed)
    some = ["".join(chance.choices("abcdefghijklmnoé世界'", k=chance.randint(1, 9))) for _ in range(number // 4)]
    return "".join(
        chance.choice(some) + chance.choice([" ", " ", " ", "\n", ", ", "  ", " 12 "]) for _ in range(number)
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    paths = [folder / f"{number}.txt" for number in range(7)]
    for number, path in enumerate(paths):
        path.write_text(words(number, 12_000), encoding="utf-8")
    return paths


def train(*arguments: str | Path, **more: Any) -> str:
    """Return what a run that ends well writes to standard error."""
    return noted("train", *arguments, **more).err


def trained(out: Path, *arguments: str | Path, **more: Any) -> bytes:
    err = train("--vocab-size", SIZE, "-o", out, *arguments, **more)
    digest = re.search(r"sha256 ([0-9a-f]{64})", err)
    assert digest, err
    return out.read_bytes()


@pytest.fixture(scope="module")
def expected(corpus: list[Path], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return trained(tmp_path_factory.mktemp("expected") / "x", *corpus, "-j", "1")


# --- the same bytes --------------------------------------------------------------------------------------------------


def test_threads_order_and_folders_change_nothing(corpus: list[Path], expected: bytes, tmp_path: Path) -> None:
    assert trained(tmp_path / "a", *reversed(corpus), "-j", "3") == expected
    assert trained(tmp_path / "b", "-r", corpus[0].parent) == expected


def test_the_python_backend_learns_the_same(corpus: list[Path], expected: bytes, tmp_path: Path) -> None:
    assert trained(tmp_path / "a", *corpus, env={"TOKCLI_BACKEND": "python"}) == expected


def test_counts_in_seven_parts_train_the_same(corpus: list[Path], expected: bytes, tmp_path: Path) -> None:
    parts = [tmp_path / f"{path.name}.counts" for path in corpus]
    for number, (path, part) in enumerate(zip(corpus, parts)):
        train(path, "--counts-only", "-o", part, env={"TOKCLI_BACKEND": ["python", "auto"][number % 2]})
    assert trained(tmp_path / "a", "--counts", *parts) == expected
    train("--counts", *parts[:4], "--counts-only", "-o", tmp_path / "tree")
    train("--counts", *parts[4:], "--counts-only", "-o", tmp_path / "tree2")
    assert trained(tmp_path / "b", "--counts", tmp_path / "tree2", "--counts", tmp_path / "tree") == expected
    train(*corpus, "--counts-only", "-o", tmp_path / "whole")
    train("--counts", *parts, "--counts-only", "-o", tmp_path / "merged")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "merged").read_bytes()


def test_a_limit_of_memory_changes_nothing(corpus: list[Path], expected: bytes, tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path)}
    assert trained(tmp_path / "a", *corpus, "--memory", "2M", env=env) == expected
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.json"}


@pytest.mark.clock
@pytest.mark.signals
def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_bytes(
    corpus: list[Path], expected: bytes, tmp_path: Path
) -> None:
    folder, out = tmp_path / "kept", tmp_path / "a"
    arguments = [*map(str, corpus), "--vocab-size", SIZE, "-o", str(out), "--checkpoint", str(folder),
                 "--checkpoint-every", "0"]  # fmt: skip
    was_killed = 0
    for more in range(6):
        process = subprocess.Popen([*program(), "train", "-q", *arguments], env=without_coverage())
        until = time.monotonic() + 30
        seen = state(folder)
        while process.poll() is None and time.monotonic() < until and (state(folder) == seen or more % 2):
            if more % 2 and state(folder) != seen and (folder / NAME / "tokens").exists():
                break
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        was_killed += process.wait() == -signal.SIGKILL
        if not was_killed:
            break
    assert was_killed
    train(*arguments)
    assert out.read_bytes() == expected
    assert not folder.exists()


@pytest.mark.clock
@pytest.mark.signals
def test_a_run_that_is_killed_while_it_merges_goes_on_from_its_merges(
    corpus: list[Path], expected: bytes, tmp_path: Path
) -> None:
    folder, out = tmp_path / "kept", tmp_path / "a"
    arguments = [*map(str, corpus), "--vocab-size", SIZE, "-o", str(out), "--checkpoint", str(folder)]
    environment = without_coverage() | {"TOKCLI_BACKEND": "python"}
    for wanted in ("state.json", "tokens"):
        every = "1000" if wanted == "state.json" else "0.01"
        process = subprocess.Popen(
            [*program(), "train", "-q", *arguments, "--checkpoint-every", every], env=environment
        )
        until = time.monotonic() + 60
        while not ((folder / NAME / wanted).exists() and b'"input": 7' in state(folder)) and time.monotonic() < until:
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    kept = (folder / NAME / "tokens").read_bytes().splitlines()
    assert 256 < len(kept) < int(SIZE)
    train(*arguments)
    assert out.read_bytes() == expected


def state(folder: Path) -> bytes:
    try:
        return (folder / NAME / "state.json").read_bytes()
    except FileNotFoundError:
        return b""


def test_a_checkpoint_of_another_training_is_refused(corpus: list[Path], tmp_path: Path) -> None:
    folder, out = tmp_path / "kept", tmp_path / "a"
    die_in_training(folder, *corpus, "--vocab-size", SIZE)
    arguments = (*corpus, "-o", out, "--checkpoint", folder)
    for other, what in (("--vocab-size=500", "vocab_size"), ("--special=<a>", "special"), ("--pattern=x|.", "pattern")):
        size = () if what == "vocab_size" else ("--vocab-size", SIZE)
        assert f"the checkpoint belongs to another training ({what})" in refused("train", *arguments, *size, other)
    assert "belongs to another training (files)" in refused("train", *corpus[1:], *arguments[1:], "--vocab-size", SIZE)
    assert not out.exists()


@pytest.mark.slow
def test_a_gpus_trainer_learns_the_same_on_a_cpu(corpus: list[Path], expected: bytes, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert trained(tmp_path / "a", *corpus, "--device", "cpu") == expected


# --- what is learnt --------------------------------------------------------------------------------------------------


def test_records_are_texts_of_their_own(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"ab\nab\nab\n")
    train(lines, "--records", "lines", "--pattern", "none", "--vocab-size", "300", "-o", tmp_path / "a")
    assert b" 256\n" in (tmp_path / "a").read_bytes()
    assert b" 257\n" not in (tmp_path / "a").read_bytes()
    data = b'{"t": "ab"}\n{"t": "ab"}\n'
    train("--records", "jsonl", "--field", "t", "--vocab-size", "300", "-o", tmp_path / "b", data=data)
    assert (tmp_path / "b").read_bytes().splitlines()[256:] == [b"YWI= 256"]
    assert "record 2" in refused("train", "--records", "jsonl", "--vocab-size", "300", "-o", tmp_path / "c",
                                 data=b'{"text": "ab"}\n{"t": "ab"}\n')  # fmt: skip


def test_half_of_a_surrogate_pair_in_a_record_is_what_errors_says(tmp_path: Path) -> None:
    given = ("--records", "jsonl", "--vocab-size", "257", "-o", tmp_path / "a")
    data = b'{"text": "\\ud800\\ud800"}\n'
    assert "surrogate" in refused("train", *given, data=data)
    train(*given, "--errors", "replace", data=data)
    assert (tmp_path / "a").read_bytes().splitlines()[256:] == [b"v70= 256"]


def test_only_so_much_of_the_corpus_is_taken_as_asked_for(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("ab" * 10 + "é" + "cd" * 50)
    (tmp_path / "y").write_text("ef" * 50)
    train(tmp_path / "x", "--limit", "21", "--pattern", "none", "--vocab-size", "300", "-o", tmp_path / "a")
    train("-t", "ab" * 10, "--pattern", "none", "--vocab-size", "300", "-o", tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    train(
        tmp_path / "x",
        tmp_path / "y",
        "--limit",
        "124",
        "--pattern",
        "none",
        "--vocab-size",
        "300",
        "-o",
        tmp_path / "c",
    )
    assert b"ZWY=" in (tmp_path / "c").read_bytes()


def test_what_is_held_back_is_measured_and_not_learnt(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("abab " * 100 + "zyzy " * 25)
    err = train(tmp_path / "x", "--hold-back", "20", "--vocab-size", "300", "-o", tmp_path / "a")
    assert "bytes per token on 125 bytes held back" in err
    assert "o200k_base" in err
    ranks = tokcli.load_encoding(tmp_path / "a")._mergeable_ranks
    assert b"ab" in ranks
    assert b"zy" not in ranks


def test_a_seed_keeps_its_ids(corpus: list[Path], tmp_path: Path) -> None:
    train(corpus[0], "--vocab-size", "300", "--special", "<end>", "-o", tmp_path / "a")
    train(corpus[1], "--vocab-size", "320", "--seed-vocab", tmp_path / "a", "-o", tmp_path / "b")
    first, second = tokcli.load_encoding(tmp_path / "a"), tokcli.load_encoding(tmp_path / "b")
    assert first._mergeable_ranks.items() <= second._mergeable_ranks.items()
    assert first._special_tokens == second._special_tokens
    assert len(second._mergeable_ranks) == 320


def test_a_dry_run_tells_what_there_is(tmp_path: Path) -> None:
    ran = run_tokcli("train", "--dry-run", "--pattern", r"\w+|\W", "-t", "ab ab cd")
    assert ran.out.decode().splitlines()[:3] == ["bytes\t8", "distinct pieces\t3", "bytes in them\t5"]


# --- formats ---------------------------------------------------------------------------------------------------------


TEXTS = ["", "hello world", "it's 12345 世界 naïve\n\n  x", "a  \n  ", "   ", *HARD_ATOMS, "".join(HARD_ATOMS)]


@pytest.mark.parametrize("pattern", ["o200k_base", "cl100k_base", "r50k_base", "none"])
def test_tokenizer_json_gives_the_same_ids_in_tokenizers(corpus: list[Path], tmp_path: Path, pattern: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    arguments = (corpus[0], "--vocab-size", "500", "--pattern", pattern, "--special", "<|end|>", "--limit", "50K")
    train(*arguments, "-o", tmp_path / "a")
    train(*arguments, "--format", "huggingface", "-o", tmp_path / "tokenizer.json")
    ours, theirs = (
        tokcli.load_encoding(tmp_path / "a"),
        tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
    )
    for text in TEXTS:
        assert theirs.encode(text).ids == ours.encode_ordinary(text), text
        assert theirs.decode(ours.encode_ordinary(text)) == text
    assert theirs.encode("ab<|end|>").ids == ours.encode("ab<|end|>", allowed_special="all")


def test_gpt2s_pair_gives_the_same_ids_in_tokenizers_and_here(corpus: list[Path], tmp_path: Path) -> None:
    train(corpus[0], "--vocab-size", "500", "--format", "gpt2", "-o", tmp_path / "pair")
    train(corpus[0], "--vocab-size", "500", "--pattern", "r50k_base", "-o", tmp_path / "a")
    ours = tokcli.load_encoding(tmp_path / "a")
    pair = tokcli.load_encoding(tmp_path / "pair" / "vocab.json")
    for text in TEXTS:
        assert pair.encode_ordinary(text) == ours.encode_ordinary(text)
    tokenizers = pytest.importorskip("tokenizers")
    files = [str(tmp_path / "pair" / name) for name in ("vocab.json", "merges.txt")]
    theirs = tokenizers.ByteLevelBPETokenizer(*files)
    for text in TEXTS:
        assert theirs.encode(text).ids == ours.encode_ordinary(text), text


def test_tiktoken_gives_the_same_ids(corpus: list[Path], tmp_path: Path) -> None:
    from tiktoken.load import load_tiktoken_bpe

    out = tmp_path / "a.tiktoken"
    train(corpus[0], "--vocab-size", "500", "--special", "<|end|>", "-o", out)
    about = json.loads(Path(f"{out}.json").read_text())
    theirs = tiktoken.Encoding("a", pat_str=about["pat_str"], mergeable_ranks=load_tiktoken_bpe(str(out)),
                               special_tokens=about["special_tokens"])  # fmt: skip
    ours = tokcli.load_encoding(out)
    for text in TEXTS:
        assert ours.encode(text + "<|end|>", allowed_special="all") == theirs.encode(
            text + "<|end|>", allowed_special="all"
        )


def minbpe_ids(model: str, text: str) -> list[int]:
    """minbpe's own way, from its .model: of the pairs in a piece, the one that was merged first."""
    import regex

    version, pattern, special, *rest = model.split("\n")
    assert version == "minbpe v1"
    merges = {tuple(map(int, line.split())): 256 + i for i, line in enumerate(rest[int(special) : -1])}
    ids: list[int] = []
    for piece in regex.findall(pattern, text) if pattern else [text]:
        parts = list(piece.encode())
        while len(parts) > 1:
            pair = min(pairwise(parts), key=lambda p: merges.get(p, float("inf")))
            if pair not in merges:
                break
            at = next(i for i in range(len(parts)) if tuple(parts[i : i + 2]) == pair)
            parts[at : at + 2] = [merges[pair]]
        ids += parts
    return ids


@pytest.mark.parametrize("pattern", ["none", "gpt4"])
def test_minbpes_model_gives_the_same_ids_by_minbpes_rule(corpus: list[Path], tmp_path: Path, pattern: str) -> None:
    arguments = (corpus[0], "--vocab-size", "400", "--pattern", pattern, "--limit", "20K", "--special", "<end>")
    train(*arguments, "-o", tmp_path / "a")
    train(*arguments, "--format", "minbpe", "-o", tmp_path / "m")
    ours = tokcli.load_encoding(tmp_path / "a")
    model = (tmp_path / "m.model").read_text(encoding="utf-8")
    assert model.split("\n")[2:4] == ["1", "<end> 400"]
    for text in TEXTS[1:]:
        assert minbpe_ids(model, text) == ours.encode_ordinary(text)
    rows = (tmp_path / "m.vocab").read_text(encoding="utf-8").split("\n")
    assert rows[10] == "[\\u000a] 10"
    assert re.fullmatch(r"\[.+\]\[.+\] -> \[.+\] 256", rows[256])


@pytest.mark.parametrize("preset", ["basic", "regex"])
def test_minbpes_presets_write_the_files_that_minbpe_writes(tmp_path: Path, preset: str) -> None:
    vectors = Path(os.environ.get("TOKCLI_VECTORS") or ROOT / "none") / "minbpe"
    if not (vectors / "taylorswift.txt").exists():
        pytest.skip("TOKCLI_VECTORS has no minbpe")
    train(vectors / "taylorswift.txt", "--preset", preset, "--vocab-size", "512", "-o", tmp_path / preset)
    for suffix in (".model", ".vocab"):
        assert (tmp_path / f"{preset}{suffix}").read_bytes() == (vectors / f"{preset}{suffix}").read_bytes()


def test_gpt4s_preset_has_its_order_of_bytes_which_minbpe_cannot_save(corpus: list[Path], tmp_path: Path) -> None:
    train(corpus[0], "--preset", "gpt4", "--vocab-size", "300", "-o", tmp_path / "a")
    ranks = tokcli.load_encoding(tmp_path / "a")._mergeable_ranks
    real = tokcli.get_encoding("cl100k_base")._mergeable_ranks
    assert [ranks[bytes([byte])] for byte in byte_alphabet().values()] == list(range(256))
    assert all(ranks[bytes([byte])] == real[bytes([byte])] for byte in range(256))
    err = refused(
        "train", corpus[0], "--preset", "gpt4", "--format", "minbpe", "--vocab-size", "300", "-o", tmp_path / "b"
    )
    assert "each byte at its own value" in err
    assert not (tmp_path / "b.model").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--format", "minbpe", "--special", "two words"], "white space"),
        (["--format", "huggingface", "--pattern", r"\w{2}+|[\s\S]"], "Oniguruma"),
        (["--special", "<a>", "--special", "<a>"], "must differ"),
        (["--ties", "first", "--memory", "1G"], "order of the corpus"),
        (["--field", "x"], "--field needs --records jsonl"),
        (["--memory", "lots"], "not a size"),
        (["--hold-back", "10"], "--hold-back needs files"),
        (["--device", "cuda", "--ties", "first"], "order of the corpus"),
    ],
)
def test_what_cannot_be_is_said_before_the_work(arguments: list[str], what: str, tmp_path: Path) -> None:
    assert what in refused("train", "--vocab-size", "300", "-o", tmp_path / "a", *arguments, data=b"ab ab")
    assert not list(tmp_path.iterdir())


# --- safe ------------------------------------------------------------------------------------------------------------


def test_a_damaged_counts_file_is_named_and_nothing_is_written(corpus: list[Path], tmp_path: Path) -> None:
    train(corpus[0], "--counts-only", "-o", tmp_path / "c")
    data = bytearray((tmp_path / "c").read_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / "d").write_bytes(data)
    assert "damaged counts file" in refused(
        "train", "--counts", tmp_path / "d", "--vocab-size", "300", "-o", tmp_path / "a"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"c", "d"}


def test_counts_of_different_patterns_are_not_mixed(corpus: list[Path], tmp_path: Path) -> None:
    train(corpus[0], "--counts-only", "-o", tmp_path / "c")
    train(corpus[0], "--counts-only", "--pattern", "r50k_base", "-o", tmp_path / "d")
    err = refused("train", "--counts", tmp_path / "c", tmp_path / "d", "--vocab-size", "300", "-o", tmp_path / "a")
    assert "its pattern or special tokens differ" in err


def test_a_full_disk_is_an_error_that_names_the_path() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    err = refused("train", "--vocab-size", "300", "-o", "/dev/full", data=b"ab ab ab")
    assert "/dev/full: no space left on device" in err


@pytest.mark.clock
@pytest.mark.signals
def test_ctrl_c_leaves_no_half_written_file(tmp_path: Path) -> None:
    process = subprocess.Popen([*program(), "train", "--vocab-size", "300", "-o", str(tmp_path / "a")],
                               stdin=subprocess.PIPE, env=without_coverage())  # fmt: skip
    assert process.stdin
    process.stdin.write(b"ab " * 500_000)
    process.stdin.flush()
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    process.stdin.close()
    assert not list(tmp_path.iterdir())


# --- seen ------------------------------------------------------------------------------------------------------------


def test_each_merge_is_shown_with_words_as_they_are_cut_then(tmp_path: Path) -> None:
    ran = run_tokcli("train", "--visualise", "--vocab-size", "258", "-o", tmp_path / "a", data=b"abab ab")
    assert ran.out.decode().splitlines() == [
        "1: 'a' + 'b' -> 'ab', 3 times",
        "ab│ab│·│ab",
        "2: ' ' + 'ab' -> ' ab', 1 times",
        "ab│ab│·ab",
    ]


def test_visualised_data_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    ran = run_tokcli("train", "--visualise", "--vocab-size", "260", "-o", tmp_path / "a", data=b"\x1b[31m\x1b[31m")
    assert b"\x1b" not in ran.out


def test_plain_progress_writes_lines_and_a_pipe_gets_none(tmp_path: Path) -> None:
    assert "counting" not in train("--vocab-size", "258", "-o", tmp_path / "a", data=b"ab ab")
    err = train("--progress", "bar", "--vocab-size", "258", "-o", tmp_path / "a", data=b"ab ab")
    assert "merge 2 of 2" in err


@pytest.mark.skipif(backend.native() is None, reason="there is no native backend")
def test_merging_tells_its_merges_while_it_goes_on(corpus: list[Path]) -> None:
    seen: list[int] = []
    tokcli.train([corpus[0].read_text()], 400, on_merge=lambda index, *_: seen.append(index))
    assert seen == list(range(144))


# --- why it stopped --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend_name", ["native", "python"])
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "2 merges (42 fewer than asked for: no pair was left; more text gives more)"),
        (
            ["--min-frequency", "3"],
            "0 merges (44 fewer than asked for: no pair is left that is frequent enough for --min-frequency 3, the most "
            "frequent occurs 2 times; a smaller value, or more text, gives more)",
        ),
        (
            ["--max-token-bytes", "2"],
            "1 merge (43 fewer than asked for: no pair is left whose token is short enough for --max-token-bytes 2; "
            "a larger value, or more text, gives more)",
        ),
        (
            ["--max-token-bytes", "1", "--min-frequency", "2"],
            "0 merges (44 fewer than asked for: no pair that occurs 2 times or more is left whose token is short "
            "enough for --max-token-bytes 1; a larger value, or more text, gives more)",
        ),
    ],
)
def test_a_training_that_stops_early_tells_why(options: list[str], why: str, backend_name: str, tmp_path: Path) -> None:
    err = train("-t", "abc abc", "--pattern", r"\w+|\s+", "--vocab-size", "300", "-o", tmp_path / "x", *options,
                env={"TOKCLI_BACKEND": backend_name})  # fmt: skip
    assert why in err.splitlines()[0]


def test_a_training_that_fills_its_vocabulary_tells_no_reason(tmp_path: Path) -> None:
    err = train("-t", "abc abc", "--vocab-size", "257", "-o", tmp_path / "x")
    assert err.splitlines()[0] == "257 tokens, 1 merge"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (
            "none",
            "Without a pattern, all of a text is one piece: name another --pattern, train on each line (--rec",
        ),
        (
            "(?s).+",
            "The pattern finds no end in it: name another --pattern, train on each line (--records lines), ",
        ),
        (
            r"\w+|\W+",
            "The pattern finds no end in it: name another --pattern, train on each line (--records lines), ",
        ),
    ],
)
def test_a_piece_that_is_too_long_is_named_with_what_to_do(
    pattern: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tokcli.engine.stream.parts.MAX_UNCUT_BYTES", 1 << 20)
    monkeypatch.setattr("tokcli.engine.stream.chunks.MAX_PIECE_BYTES", 1 << 20)
    (tmp_path / "ok.txt").write_text("ab cd")
    (tmp_path / "long.txt").write_text("ab " + "x" * (3 << 20))
    with pytest.raises(LongPieceError) as raised:
        command.main(
            [
                str(tmp_path / "ok.txt"),
                str(tmp_path / "long.txt"),
                "--pattern",
                pattern,
                "--vocab-size",
                "300",
                "-j",
                "1",
            ]
            + ["-o", str(tmp_path / "x")],
            standalone_mode=False,
        )
    at = 3 if "W" in pattern else 0
    assert str(raised.value) == f"{tmp_path / 'long.txt'}: a piece above 1 MiB begins at byte {at}"
    assert raised.value.hint.startswith(why)
    assert not (tmp_path / "x").exists()
