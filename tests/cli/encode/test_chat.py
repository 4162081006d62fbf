"""`encode --chat`: the ids of what the tokenizer's chat template makes of a request, in every form of output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, noted, ok, refused

from tokcli import load_encoding

DATA = ROOT / "tests" / "data"
TOKENIZER = DATA / "formats" / "plain.tokenizer.json"  # with the special token <|end|>
HI, BYE = ({"messages": [{"role": "user", "content": text}]} for text in ("hi", "bye <|end|>"))
TEXTS = ["<|end|>user: hi>", "<|end|>user: bye <|end|>>"]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A folder with a tokenizer and its chat template."""
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<|end|>"}')
    template = "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}{% endfor %}"
    (folder / "chat_template.jinja").write_text(template + "{% if add_generation_prompt %}>{% endif %}")
    return folder


def ids_of(text: str) -> list[int]:
    return load_encoding(TOKENIZER).encode(text, allowed_special="all")


def encoded(*arguments: object, chat: Any = HI) -> list[int]:
    return [int(number) for number in ok("encode", "--chat", *arguments, data=json.dumps(chat).encode()).split()]


def test_ids_are_those_of_the_rendered_text_with_its_special_tokens(tokenizer: Path) -> None:
    assert encoded("-e", tokenizer) == ids_of(TEXTS[0])
    assert encoded("-e", tokenizer, chat=BYE) == ids_of(TEXTS[1])
    assert ids_of(TEXTS[1]).count(400) == 2
    assert encoded("-e", tokenizer, "--no-generation-prompt") == ids_of(TEXTS[0][:-1])


def test_ids_are_as_many_as_are_counted(tokenizer: Path) -> None:
    counted = ok("count", "--chat", "-e", tokenizer, data=json.dumps(BYE).encode())
    assert int(counted) == len(encoded("-e", tokenizer, chat=BYE))


def test_each_file_has_a_line_and_standard_input_is_read(tokenizer: Path, tmp_path: Path) -> None:
    for name, chat in (("a", HI), ("b", BYE)):
        (tmp_path / name).write_text(json.dumps(chat))
    lines = ok("encode", "--chat", "-e", tokenizer, tmp_path / "a", tmp_path / "b").decode().splitlines()
    assert [list(map(int, line.split())) for line in lines] == list(map(ids_of, TEXTS))
    assert encoded("-e", tokenizer, "-t", json.dumps(BYE), chat="ignored") == ids_of(TEXTS[1])


def test_the_text_itself_may_be_written(tokenizer: Path) -> None:
    assert ok("encode", "--chat", "-e", tokenizer, "--as-text", "-t", json.dumps(HI)).decode() == TEXTS[0]
    assert json.loads(ok("encode", "--chat", "-e", tokenizer, "--as-text", "--json", "-t", json.dumps(BYE))) == {
        "text": TEXTS[1]
    }


def test_records_are_requests_and_keep_their_other_members(tokenizer: Path) -> None:
    data = "\n".join([json.dumps(HI), "", json.dumps(BYE | {"id": 3, "text": "no"})]).encode()
    given = ["--chat", "-e", tokenizer, "--records", "jsonl"]
    lines = ok("encode", *given, "--json", data=data).splitlines()
    assert [json.loads(line) for line in lines] == [{"ids": ids_of(text)} for text in TEXTS]
    kept = [json.loads(line) for line in ok("encode", *given, "--json", "--all-fields", data=data).splitlines()]
    assert kept[1]["id"] == 3 and kept[1]["ids"] == ids_of(TEXTS[1])
    texts = ok("encode", *given, "--as-text", data=data).splitlines()
    assert [json.loads(line)["text"] for line in texts] == TEXTS


def test_a_wrong_record_is_named_after_the_answers_before_it(tokenizer: Path) -> None:
    data = f'{json.dumps(HI)}\n{{"messages": [1]}}\n'.encode()
    assert "record 2: message 1 is not an object" in refused(
        "encode", "--chat", "-e", tokenizer, "--records", "jsonl", data=data
    )


def test_tokens_have_places_in_the_rendered_text_and_may_be_cut(tokenizer: Path) -> None:
    made = json.loads(ok("encode", "--chat", "-e", tokenizer, "--offsets", "char", "--json", "-t", json.dumps(HI)))
    assert made["offsets"][0] == [0, len("<|end|>")]
    assert made["offsets"][-1][1] == len(TEXTS[0])
    assert encoded("-e", tokenizer, "-n", "2") == ids_of(TEXTS[0])[:2]
    assert encoded("-e", tokenizer, "-n", "2", "--keep", "last") == ids_of(TEXTS[0])[-2:]


def test_what_is_no_text_is_noted(tokenizer: Path) -> None:
    chat = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}
    assert "images" in noted("encode", "--chat", "-e", tokenizer, data=json.dumps(chat).encode()).err


@pytest.mark.parametrize("encoding", ["o200k_base", TOKENIZER])
def test_without_a_template_there_are_no_ids(encoding: str | Path) -> None:
    assert "has no chat template" in refused("encode", "--chat", "-e", encoding, data=json.dumps(HI).encode())


@pytest.mark.parametrize(
    "options", [["--special", "allow"], ["--chunk", "3"], ["-r"], ["--records", "lines"], ["--shards", "d"]]
)
def test_what_does_not_go_with_requests_is_refused(options: list[str], tokenizer: Path) -> None:
    refused("encode", "--chat", "-e", tokenizer, *options, data=json.dumps(HI).encode())


def test_an_output_may_not_be_the_input(tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(HI))
    for file in (tmp_path / "a", tokenizer / "tokenizer_config.json", tokenizer / "chat_template.jinja"):
        before = file.read_bytes()
        refused("encode", "--chat", "-e", tokenizer, tmp_path / "a", "-o", file)
        assert file.read_bytes() == before
