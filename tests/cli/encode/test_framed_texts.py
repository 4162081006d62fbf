"""`encode --prepend-special --append-special`: a token before and after each text, in every form of output."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest
from support import ROOT, ok, refused

FORMATS = ROOT / "tests/data/formats"
FIRST, LAST = "<|endofprompt|>", "<|endoftext|>"
FRAME = ("--prepend-special", FIRST, "--append-special", LAST)
BOS, EOS = 200018, 199999  # their ids in o200k_base
LINES = b"a b c\n\nd\n"
IDS = [[BOS, 64, 287, 274, EOS], [BOS, EOS], [BOS, 67, EOS]]  # of each line
FLAT = [number for ids in IDS for number in ids]


def lines(ids: list[list[int]]) -> bytes:
    return b"".join(b" ".join(b"%d" % number for number in line) + b"\n" for line in ids)


def test_a_text_has_a_token_before_it_and_one_after_it() -> None:
    assert ok("encode", *FRAME, "-t", "a b c") == lines(IDS[:1])
    assert ok("encode", *FRAME, data=b"") == lines([[BOS, EOS]])
    assert ok("encode", "--prepend-special", FIRST, "-t", "d") == b"200018 67\n"
    assert ok("encode", "--append-special", LAST, "-t", "d") == b"67 199999\n"


def test_each_of_several_inputs_has_its_own(tmp_path: Path) -> None:
    for name, text in {"a": b"a b c", "b": b"", "c": b"d"}.items():
        (tmp_path / name).write_bytes(text)
    files = [tmp_path / name for name in "abc"]
    assert ok("encode", *FRAME, *files) == lines(IDS)
    assert ok("encode", *FRAME, "-r", tmp_path) == lines(IDS)
    assert array("I", ok("encode", *FRAME, "--format", "u32", *files)).tolist() == FLAT


@pytest.mark.parametrize("more", [(), ("-j", "2")])
def test_records_have_them_in_every_form(more: tuple[str, ...]) -> None:
    asked = ("encode", *FRAME, "--records", "lines", *more)
    assert ok(*asked, data=LINES) == lines(IDS)
    assert ok(*asked, "--format", "json", data=LINES) == b"".join(f"{ids}\n".encode() for ids in IDS)
    assert [json.loads(line) for line in ok(*asked, "--json", data=LINES).splitlines()] == [{"ids": ids} for ids in IDS]
    assert array("I", ok(*asked, "--format", "u32", data=LINES)).tolist() == FLAT
    assert array("I", ok(*asked, "--format", "npy", data=LINES)[-4 * len(FLAT) :]).tolist() == FLAT
    only_first = ("encode", "--prepend-special", FIRST, "--records", "lines", "--format", "u32")
    assert array("I", ok(*only_first, data=LINES)).tolist() == [n for ids in IDS for n in ids[:-1]]


def test_they_have_no_place_in_the_text() -> None:
    assert ok("encode", *FRAME, "--offsets", "char", "-t", "\u00e9 b") == (
        b"200018\t0\t0\n377\t0\t1\n287\t1\t3\n199999\t0\t0\n"
    )
    found = json.loads(
        ok("encode", *FRAME, "--offsets", "byte", "--json", "--records", "lines", data="\u00e9 b\n".encode())
    )
    assert found == {"ids": [BOS, 377, 287, EOS], "offsets": [[0, 0], [0, 2], [2, 4], [0, 0]]}


@pytest.mark.parametrize(
    ("more", "ids"),
    [(["-n", "4"], [BOS, 64, 287, EOS]), (["-n", "4", "--keep", "last"], [BOS, 287, 274, EOS]), (["-n", "2"], [BOS, EOS]),
     (["-n", "5"], IDS[0])],
)  # fmt: skip
def test_they_are_among_the_tokens_that_n_keeps(more: list[str], ids: list[int]) -> None:
    cut = {} if len(ids) == 5 else {"truncated": True}
    for data, records in ((b"a b c", []), (b"a b c\n", ["--records", "lines"])):
        assert json.loads(ok("encode", *FRAME, *more, *records, "--json", data=data)) == {"ids": ids, **cut}
        assert json.loads(ok("encode", *FRAME, *more, *records, "--json", "--offsets", "char", data=data))["ids"] == ids
    assert refused("encode", *FRAME, "-n", "1", data=b"a") == (
        "Error: -n 1 has no room for the 2 tokens that --prepend-special and --append-special add\n"
        "Use -n 2 or more: what is added is never cut.\n"
    )


def test_they_are_around_each_chunk_and_among_its_tokens() -> None:
    chunks = [json.loads(line) for line in ok("encode", *FRAME, "--chunk", "4", "--json", "-t", "a b c").splitlines()]
    assert [(chunk["text"], chunk["ids"], chunk["count"]) for chunk in chunks] == [
        ("a b", [BOS, 64, 287, EOS], 4), (" c", [BOS, 274, EOS], 3),
    ]  # fmt: skip
    assert "has no room for text beside the 2 tokens" in refused("encode", *FRAME, "--chunk", "2", "-t", "a b c")


def test_they_are_outside_of_a_template(tmp_path: Path) -> None:
    asked = ("encode", "-e", FORMATS / "wordpiece.tokenizer.json", "--add-special-tokens")
    frame = ("--prepend-special", "[UNK]", "--append-special", "<mask>")
    given = b'{"text": "the", "text_pair": "the"}\n{"text": "the"}\n'
    plain = [json.loads(line) for line in ok(*asked, "--records", "jsonl", "--json", data=given).splitlines()]
    framed = [json.loads(line) for line in ok(*asked, *frame, "--records", "jsonl", "--json", data=given).splitlines()]
    first, last = (framed[0]["ids"][at] for at in (0, -1))
    assert [record["ids"] for record in framed] == [[first, *record["ids"], last] for record in plain]
    assert framed[0]["type_ids"] == [0, *plain[0]["type_ids"], 1]
    assert framed[0]["special_tokens_mask"] == [1, *plain[0]["special_tokens_mask"], 1]
    (tmp_path / "text").write_bytes(b"the the")
    assert ok(*asked, *frame, tmp_path / "text").split() == [
        b"%d" % n for n in (first, *map(int, ok(*asked, tmp_path / "text").split()), last)
    ]


@pytest.mark.parametrize("layout", ["flat", "datatrove", "megatron", "npy", "parquet"])
def test_documents_of_shards_have_them(layout: str, tmp_path: Path) -> None:
    if layout == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a b c"}\n{"text": ""}\n{"text": "d"}\n')
    for name, limit in (("whole", "100"), ("cut", "3")):
        made = ("encode", "-q", *FRAME, "--records", "jsonl", "--layout", layout, "--shard-tokens", limit)
        ok(*made, "--shards", tmp_path / name, path)
        assert ok("decode", tmp_path / name) == f"{FIRST}a b c{LAST}{FIRST}{LAST}{FIRST}d{LAST}".encode()
        ok(*made, "--shards", tmp_path / name, path)  # it was finished before
        other = [x for x in made if x not in ("--prepend-special", FIRST)]
        assert "holds the shards of another run" in refused(*other, "--shards", tmp_path / name, path)
    read_back = ok("decode", "--records", "lines", "--skip-special-tokens", tmp_path / "cut")
    assert read_back == b"a b c\n\nd\n"


def test_whole_files_in_shards_have_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one two three four")
    ok("encode", "-q", *FRAME, "--shards", tmp_path / "ids", "--shard-tokens", "2", tmp_path / "a.txt")
    assert ok("decode", tmp_path / "ids") == f"{FIRST}one two three four{LAST}".encode()


@pytest.mark.parametrize("name", ["bpe.model", "unigram.model", "char.model", "word.model"])
def test_control_pieces_of_sentencepiece_are_special_tokens_for_these_options(name: str) -> None:
    asked = ("encode", "-e", FORMATS / name, "-t", "the")
    ids = ok(*asked).strip()
    assert ok(*asked, "--prepend-special", "<s>", "--append-special", "</s>") == b"1 %b 2\n" % ids
    said = refused(*asked, "--append-special", "</x>")
    assert "has no special token '</x>'; did you mean '</s>'?\nIts special tokens: </s>, <s>" in said
    assert "no special token '<unk>'" in refused(*asked, "--append-special", "<unk>")


def test_added_tokens_that_are_not_special_have_names_too(tmp_path: Path) -> None:
    added = [{"id": 2, "content": "<think>", "special": False}]
    model = {"type": "WordLevel", "vocab": {"a": 0, "<u>": 1}, "unk_token": "<u>"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": added, "model": model}))
    assert ok("encode", "-e", tmp_path, "--prepend-special", "<think>", "-t", "a") == b"2 0\n"


@pytest.mark.parametrize("view", [["--visualise"], ["--html", "x.html"], ["--compare", "gpt2"]])
def test_views_show_the_tokens_of_the_text_alone(view: list[str]) -> None:
    assert "--append-special cannot be combined with" in refused("encode", "--append-special", LAST, *view, "-t", "a")
