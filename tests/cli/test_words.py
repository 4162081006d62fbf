"""A list of words in place of a text: each word is encoded by itself, as Hugging Face's is_split_into_words does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import first_in_gate, noted, ok, reference, refused
from tokenizers import Tokenizer

FOLDER = Path(__file__).parents[1] / "data" / "formats"
FILES = sorted(path.name for path in FOLDER.glob("*.tokenizer.json"))
LISTS = [
    ["hello", "world"],
    ["Hello", ",", "big world", "!"],
    [],
    [""],
    ["two  spaces ", "don't"],
    ["é", "日本語", "A"],
]
JSONL = ("--records", "jsonl", "--json")


def lines_of(records: list[dict[str, object]]) -> bytes:
    """Return records as JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("options", [(), ("--add-special-tokens",)])
@pytest.mark.parametrize("name", FILES)
def test_ids_and_offsets_are_those_of_hugging_face(name: str, options: tuple[str, ...]) -> None:
    records: list[dict[str, object]] = [{"text": words} for words in LISTS]
    records.append({"text": ["a", "b c"], "text_pair": ["d"]})
    tokenizer = Tokenizer.from_file(str(FOLDER / name))
    found = noted(
        "encode",
        "-e",
        FOLDER / name,
        "--special",
        "allow",
        "--offsets",
        "char",
        *options,
        *JSONL,
        data=lines_of(records),
    )
    for line, record in zip(found.out.splitlines(), records, strict=True):
        answer = json.loads(line)
        words, pair = record["text"], record.get("text_pair")
        theirs = tokenizer.encode(words, pair, is_pretokenized=True, add_special_tokens=bool(options))
        assert answer["ids"] == theirs.ids
        assert answer["offsets"] == [list(each) for each in theirs.offsets]
        assert answer.get("type_ids", theirs.type_ids) == theirs.type_ids
    counts = noted("count", "-e", FOLDER / name, "--special", "allow", *options, *JSONL, data=lines_of(records)).out
    assert [json.loads(line)["count"] for line in counts.splitlines()] == [
        len(json.loads(line)["ids"]) for line in found.out.splitlines()
    ]


@pytest.mark.parametrize("name", first_in_gate(["o200k_base", "gpt2", "cl100k_base"]))
def test_with_tiktokens_encodings_a_note_says_that_no_space_is_between_words(name: str, tmp_path: Path) -> None:
    words = ["hello", "world"]
    expected = [number for word in words for number in reference(name).encode(word)]
    found = noted("encode", "-e", name, *JSONL, data=lines_of([{"text": words}, {"text": "x"}, {"text": words}]))
    assert json.loads(found.out.splitlines()[0])["ids"] == json.loads(found.out.splitlines()[2])["ids"] == expected
    assert found.err == f"Note: words of a list are encoded one by one: with {name} no space is between them.\n"
    (tmp_path / "a.jsonl").write_bytes(lines_of([{"text": words}]))
    noted("encode", "-e", name, "--records", "jsonl", "--shards", "ids", "a.jsonl", cwd=tmp_path)
    assert ok("decode", "--records", "lines", "ids", cwd=tmp_path) == b"helloworld\n"


def test_n_keeps_the_first_or_last_tokens_of_all_words() -> None:
    data = lines_of([{"text": ["a", "b", "c"]}])
    assert ok("encode", "-q", "-n", "2", "--records", "jsonl", data=data) == b"64 65\n"
    assert ok("encode", "-q", "-n", "2", "--keep", "last", "--records", "jsonl", data=data) == b"65 66\n"


def test_words_are_texts_of_their_own_for_training(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines_of([{"text": ["ab", "ab"]}]))
    (tmp_path / "b.jsonl").write_bytes(lines_of([{"text": "ab"}, {"text": "ab"}]))
    for name in "ab":
        noted("train", "--records", "jsonl", "--vocab-size", "257", "-o", name, f"{name}.jsonl", cwd=tmp_path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "command", [("split",), ("encode", "-n", "1", "--as-text"), ("encode", "--json", "--offsets", "char")]
)
def test_what_needs_one_text_is_refused(command: tuple[str, ...]) -> None:
    error = refused(*command, "--records", "jsonl", data=lines_of([{"text": ["a", "b"]}]))
    assert "record 1: " in error
    assert "list" in error


def test_a_list_of_words_needs_a_list_as_its_pair() -> None:
    data = lines_of([{"text": ["a"], "text_pair": "b"}])
    assert "'text_pair'" in refused("encode", "-e", FOLDER / "wordpiece.tokenizer.json", *JSONL, data=data)


def test_a_pair_that_is_null_is_none() -> None:
    options = ("encode", "-e", FOLDER / "wordpiece.tokenizer.json", "--add-special-tokens", *JSONL)
    assert ok(*options, data=b'{"text": "hello", "text_pair": null}') == ok(*options, data=b'{"text": "hello"}')
