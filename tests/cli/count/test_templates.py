"""`count --add-special-tokens`, and pairs of texts: a count is the number of ids that `encode` gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT, ok, refused

WORDPIECE = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
RECORDS = [{"text": "hello b", "text_pair": "wo"}, {"text": "hello b"}, {"text": "", "text_pair": ""}, {"text": ""}]
ADDED = [[], ["--add-special-tokens"]]


@pytest.fixture
def encoding() -> Path:
    """A file with a template."""
    return WORDPIECE


def ids(*arguments: object, data: bytes = b"") -> list[int]:
    """Return the number of ids on each line."""
    return [len(line.split()) for line in ok("encode", *arguments, data=data).splitlines()]


@pytest.mark.parametrize("added", ADDED)
def test_one_input_counts_as_many_as_are_encoded(encoding: Path, added: list[str], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello world")
    given = ["-q", "-e", encoding, *added, tmp_path / "a"]
    assert int(ok("count", *given)) == ids(*given)[0]


@pytest.mark.parametrize("added", ADDED)
def test_each_of_several_inputs_short_or_long_has_its_own_template(
    encoding: Path, added: list[str], tmp_path: Path
) -> None:
    for file, text in {"short": "hello", "empty": "", "long": "hello world\n" * 30_000}.items():
        (tmp_path / file).write_text(text)
    given = ["-q", "-e", encoding, *added, *(tmp_path / file for file in ("short", "empty", "long"))]
    made = json.loads(ok("count", "--json", *given))
    assert [row["tokens"] for row in made["files"]] == ids(*given)
    assert made["total"] == sum(ids(*given))


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "byte-level.tokenizer.json"])
def test_records_taken_together_have_the_template_that_each_has_alone(
    name: str, added: list[str], tmp_path: Path
) -> None:
    described = json.loads((WORDPIECE.parent / name).read_text())
    described["post_processor"] = json.loads(WORDPIECE.read_text())["post_processor"]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(described))
    texts = ["hello b", "", "wo", "the b hello"]
    alone = b"".join(ok("encode", "-q", "-e", path, *added, "-t", text) for text in texts)
    data = "\n".join(texts).encode()
    assert ok("encode", "-q", "-e", path, *added, "--records", "lines", data=data) == alone
    counts = [len(line.split()) for line in alone.splitlines()]
    assert list(map(int, ok("count", "-q", "-e", path, *added, "--records", "lines", data=data).split())) == counts
    cut = ok("encode", "-q", "-e", path, *added, "--records", "lines", "-n", "2", data=data).splitlines()
    ids = [line.split() for line in alone.splitlines()]  # of the template's two, neither is cut
    assert [line.split() for line in cut] == [[one[0], one[-1]] if added else one[:2] for one in ids]


@pytest.mark.parametrize("added", ADDED)
def test_records_and_pairs_of_texts_count_as_many_as_are_encoded(encoding: Path, added: list[str]) -> None:
    data = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
    given = ["-q", "-e", encoding, *added, "--records"]
    assert list(map(int, ok("count", *given, "jsonl", data=data).split())) == ids(*given, "jsonl", data=data)
    assert list(map(int, ok("count", *given, "lines", data=data).split())) == ids(*given, "lines", data=data)


def test_a_template_that_takes_a_text_more_than_once_is_refused(tmp_path: Path) -> None:
    """tokenizers repeats the ids then, with and without special tokens; no model has such a file."""
    text = {"Sequence": {"id": "A", "type_id": 0}}
    described = json.loads(WORDPIECE.read_text())
    described["post_processor"]["single"] = [text, text]
    made = tmp_path / "repeats.json"
    made.write_text(json.dumps(described))
    told = refused("encode", "-e", made, "-t", "hello")
    assert "repeats.json: post_processor: a template that takes a text more than once is not supported" in told
