"""`encode --dropout`, `--alpha`, `--nbest` and `--seed`: ids drawn at random, and the N best segmentations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, noted, ok, refused

from tokcli import load_encoding

FORMATS = ROOT / "tests" / "data" / "formats"
UNIGRAM, BPE, WORDPIECE = (FORMATS / name for name in ("unigram.model", "bpe.model", "wordpiece.tokenizer.json"))
SLOW = {"TOKCLI_BACKEND": "python"}
TEXT = "unrelated words again"


def encoded(*options: str | Path, data: bytes = b"", **more: Any) -> list[list[int]]:
    return [list(map(int, line.split())) for line in ok("encode", *options, data=data, **more).decode().splitlines()]


@pytest.mark.parametrize("encoding", ["cl100k_base", FORMATS / "byte-level.tokenizer.json", BPE])
def test_the_same_seed_gives_the_same_ids_with_either_backend(encoding: str | Path) -> None:
    lines = f"{TEXT}\n".encode() * 20
    given = ("-e", encoding, "--records", "lines", "--dropout", "0.5", "--seed", "3")
    found = encoded(*given, data=lines)
    assert found == encoded(*given, data=lines) == encoded(*given, data=lines, env=SLOW)
    assert found == encoded(*given[:-1], "3", "-j", "4", data=lines)
    assert found != encoded(*given[:-1], "4", data=lines)
    assert len({tuple(ids) for ids in found}) > 10


def test_the_limits_are_the_plain_ids_and_single_bytes() -> None:
    assert encoded("--dropout", "0", "-t", TEXT) == encoded("-t", TEXT)
    assert ok("encode", "--dropout", "0", "-t", TEXT) and not noted("encode", "--dropout", "0", "-t", TEXT).err
    assert encoded("--dropout", "1", "--seed", "1", "-t", "cat") == [[66, 64, 83]]


def test_python_draws_the_same_ids() -> None:
    found = load_encoding(BPE).encode(TEXT, dropout=0.4, seed=6)
    assert encoded("-e", BPE, "--dropout", "0.4", "--seed", "6", "-t", TEXT) == [found]


def test_what_is_drawn_decodes_to_the_text() -> None:
    ids = ok("encode", "--dropout", "0.4", "--seed", "5", "-t", TEXT)
    assert ok("decode", data=ids.rstrip(b"\n")).decode() == TEXT
    ids = ok("encode", "-e", UNIGRAM, "--alpha", "0.1", "--seed", "5", "-t", TEXT)
    assert ok("decode", "-e", UNIGRAM, data=ids.rstrip(b"\n")).decode() == TEXT


def test_without_a_seed_a_note_names_the_one_that_repeats_the_run() -> None:
    ran = noted("encode", "--dropout", "0.5", "-t", TEXT)
    assert ran.err.startswith("Note: --seed ") and ran.err.endswith(" gives the same ids again.\n")
    assert ok("encode", "--dropout", "0.5", "--seed", ran.err.split()[2], "-t", TEXT) == ran.out


def test_all_forms_of_output_take_the_ids_that_are_drawn() -> None:
    given = ("encode", "--dropout", "0.5", "--seed", "2", "-t", TEXT)
    ids = encoded(*given[1:])[0]
    assert json.loads(ok(*given, "--json")) == {"ids": ids}
    assert json.loads(ok(*given, "--format", "json")) == ids
    assert [int(line.split()[0]) for line in ok(*given, "--offsets", "byte").splitlines()] == ids
    assert ok(*given, "--format", "u32") == b"".join(number.to_bytes(4, "little") for number in ids)
    assert json.loads(ok(*given, "-n", "2", "--json")) == {"ids": ids[:2], "truncated": True}


def test_special_tokens_are_kept() -> None:
    given = ("encode", "--dropout", "1", "--seed", "2", "-t", "ab<|endoftext|>")
    assert ok(*given, "--special", "allow") == b"64 65 199999\n"
    assert "special token" in refused(*given)


def test_the_template_is_put_around_what_is_drawn(tmp_path: Path) -> None:
    data = json.loads((FORMATS / "plain.tokenizer.json").read_text("utf-8"))
    data["post_processor"] = {"type": "BertProcessing", "cls": ["<|end|>", 400], "sep": ["<|end|>", 400]}
    path = tmp_path / "x.tokenizer.json"
    path.write_text(json.dumps(data), "utf-8")
    given = ("-e", path, "--dropout", "0.5", "--seed", "1", "-t", TEXT)
    assert encoded(*given, "--add-special-tokens") == [[400, *encoded(*given)[0], 400]]


def test_nbest_writes_the_best_segmentations_of_each_text() -> None:
    plain = encoded("-e", UNIGRAM, "-t", TEXT)[0]
    found = encoded("-e", UNIGRAM, "--nbest", "4", "-t", TEXT)
    assert found[0] == plain
    assert len(found) == len(set(map(tuple, found))) == 4
    assert json.loads(ok("encode", "-e", UNIGRAM, "--nbest", "4", "-t", TEXT, "--json")) == {"nbest": found}
    assert encoded("-e", UNIGRAM, "--nbest", "4", "-t", TEXT, env=SLOW) == found
    lists = ok("encode", "-e", UNIGRAM, "--nbest", "2", "-t", TEXT, "--format", "json").splitlines()
    assert list(map(json.loads, lists)) == found[:2]


def test_a_token_goes_before_and_after_what_is_drawn_and_each_of_the_best() -> None:
    frame = ("--prepend-special", "<s>", "--append-special", "</s>")
    begin, end = encoded("-e", UNIGRAM, *frame, "-t", "")[0]
    for options in (("--nbest", "3"), ("--alpha", "0.1", "--seed", "1")):
        plain = encoded("-e", UNIGRAM, *options, "-t", TEXT)
        assert encoded("-e", UNIGRAM, *options, *frame, "-t", TEXT) == [[begin, *ids, end] for ids in plain]


def test_shards_have_what_a_binary_format_has(tmp_path: Path) -> None:
    texts, folder = tmp_path / "texts", tmp_path / "made"
    texts.write_text("unrelated words\n\nagain\n" * 9)
    given = ("encode", texts, "--records", "lines", "--append-special", "<|endoftext|>", "--dropout", "0.5")
    ok(*given, "--seed", "1", "--shards", folder)
    assert (folder / "shard-00000.bin").read_bytes() == ok(*given, "--seed", "1", "--format", "u32")
    assert ok("decode", folder).decode() == texts.read_text().replace("\n", "<|endoftext|>")
    assert "nothing is left to do" in noted(*given, "--seed", "1", "--shards", folder).err
    assert "another run" in refused(*given, "--seed", "2", "--shards", folder)
    assert "another run" in refused(*given[:-2], "--shards", folder)
    assert "--dropout cannot be combined with --dask" in refused(*given, "--shards", folder, "--dask", "local")


def test_bytes_that_are_not_utf8_are_kept_with_ranks(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"caf\xe9 again\xff")
    for seed in "123":
        ids = ok("encode", "--dropout", "0.5", "--seed", seed, "--errors", "bytes", path)
        assert ok("decode", data=ids.rstrip(b"\n")) == path.read_bytes()


def test_a_note_tells_where_the_search_for_the_best_gave_up(tmp_path: Path) -> None:
    scores = {"<unk>": 0.0, "x": -1.0, "xx": -2.0001, "xxx": -3.01}
    path = tmp_path / "x.tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "Unigram", "unk_id": 0, "vocab": list(scores.items())}}), "utf-8")
    ran = noted("encode", "-e", path, "--nbest", "500", "-t", "x" * 400)
    assert ran.err == "Note: only the best segmentation of --text was found: too many others are nearly as good.\n"
    assert ran.out == ok("encode", "-e", path, "-t", "x" * 400)


def test_nbest_of_records_is_an_object_each() -> None:
    data = b'{"id": 1, "text": "the dog"}\n{"id": 2, "text": ""}\n'
    given = ("encode", "-e", UNIGRAM, "--nbest", "3", "--records", "jsonl", "--json", "--all-fields")
    first, second = map(json.loads, ok(*given, data=data).splitlines())
    assert (first["id"], len(first["nbest"]), second) == (1, 3, {"id": 2, "text": "", "nbest": [[]]})


def test_alpha_draws_from_all_or_from_the_best() -> None:
    lines = b"Hello again\n" * 60
    best = encoded("-e", UNIGRAM, "--nbest", "3", "-t", "Hello again")
    drawn = encoded("-e", UNIGRAM, "--nbest", "3", "--alpha", "0", "--seed", "1", "--records", "lines", data=lines)
    assert {tuple(ids) for ids in drawn} == {tuple(ids) for ids in best}
    from_all = encoded("-e", UNIGRAM, "--alpha", "0", "--seed", "1", "--records", "lines", data=lines)
    assert len({tuple(ids) for ids in from_all}) > 6
    sharp = encoded("-e", UNIGRAM, "--alpha", "90", "--seed", "1", "--records", "lines", data=lines)
    assert sharp == [best[0]] * 60


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--dropout", "1.5"), "not in the range 0<=x<=1"),
        (("--dropout", "nan"), "is not a number"),
        (("--nbest", "0"), "not in the range 1<=x<=512"),
        (("--alpha", "-1"), "not in the range"),
        (("--seed", "1"), "--seed needs --dropout or --alpha"),
        (("--nbest", "3", "--seed", "1", "-e", UNIGRAM), "--seed needs --dropout or --alpha"),
        (("--dropout", "0.1", "--alpha", "0.1"), "--dropout is for BPE; Unigram takes --nbest and --alpha"),
        (("--dropout", "0.1", "--chunk", "3"), "--dropout cannot be combined with --chunk"),
        (("--dropout", "0.1", "--visualise"), "--dropout cannot be combined with --visualise"),
        (("--nbest", "3", "-n", "2", "-e", UNIGRAM), "--nbest cannot be combined with -n"),
        (("--dropout", "0.1", "-e", UNIGRAM), "It is Unigram: use --alpha A, or --nbest N."),
        (("--alpha", "0.1"), "It is BPE: use --dropout P."),
        (("--nbest", "2"), "--nbest is for Unigram, and o200k_base is another model"),
        (("--nbest", "2", "--shards", "made"), "--nbest cannot be combined with --shards"),
        (("--dropout", "0.1", "--errors", "bytes", "-e", FORMATS / "plain.tokenizer.json"), "Use --errors replace."),
        (("--dropout", "0.1", "-e", WORDPIECE), "It segments each text in one way."),
    ],
)
def test_what_does_not_fit_is_refused(given: tuple[str, ...], said: str) -> None:
    assert said in refused("encode", *given, "-t", TEXT)


def test_a_note_names_the_dropout_of_a_file_and_the_option(tmp_path: Path) -> None:
    original = FORMATS / "plain.tokenizer.json"
    data = json.loads(original.read_text("utf-8"))
    data["model"]["dropout"] = 0.1
    path = tmp_path / "x.tokenizer.json"
    path.write_text(json.dumps(data), "utf-8")
    for _ in range(2):  # read, and from the cache
        ran = noted("encode", "-e", path, "-t", TEXT)
        assert ran.err == "Note: x.tokenizer has a dropout of 0.1, which only encode --dropout 0.1 applies.\n"
        assert ran.out == ok("encode", "-e", original, "-t", TEXT)
    data["model"]["dropout"] = 0.0
    path.write_text(json.dumps(data), "utf-8")
    assert not noted("encode", "-e", path, "-t", TEXT).err
