"""Rules of a tokenizer.json that make very much of little: what they make is bounded, and the part is named."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from support import refused, took_less

from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import GrowthError, InputError, VocabularyError
from tokcli.registry.encodings import load_encoding

MANY = 60


def replace(old: str, new: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def in_a_row(name: str, part: dict[str, object]) -> dict[str, object]:
    return {"type": "Sequence", name: [part] * MANY}


def write(folder: Path, **parts: object) -> Path:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model} | parts))
    return path


@pytest.mark.clock
@pytest.mark.parametrize(
    "normalizer",
    [
        in_a_row("normalizers", replace("a", "aa")),
        replace("a", "a" * 1_000_000),
        {"type": "Replace", "pattern": {"Regex": "[a]"}, "content": "a" * 1_000_000},
        in_a_row("normalizers", {"type": "Prepend", "prepend": "a" * 100_000}),
        in_a_row("normalizers", {"type": "ByteLevel"}),
    ],
    ids=["a row of replacements", "one long one", "one of a pattern", "a row of prefixes", "a row of bytes"],
)
def test_a_normalizer_that_makes_much_of_little_is_named(tmp_path: Path, normalizer: object) -> None:
    encoding = load_encoding(write(tmp_path, normalizer=normalizer))
    began = time.process_time()
    text = "a\u00e9" * 500
    with pytest.raises(InputError, match="normalizer"):
        encoding.encode_ordinary(text)
    with pytest.raises(InputError, match="normalizer"):
        encoding.tokenizer.encode_spans(Chunk(text, 0))
    assert took_less(began, 4)


def test_pre_tokenizers_that_make_much_of_little_are_named(tmp_path: Path) -> None:
    part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    encoding = load_encoding(write(tmp_path, pre_tokenizer=in_a_row("pretokenizers", part)))
    with pytest.raises(InputError, match="pre-tokenizer"):
        encoding.encode_ordinary("a\u00e9" * 500)


@pytest.mark.clock
@pytest.mark.parametrize(
    "decoder",
    [
        in_a_row("decoders", replace("a", "aa")),
        replace("a", "a" * 1_000_000),
        in_a_row("decoders", {"type": "BPEDecoder", "suffix": ""}),
        in_a_row("decoders", {"type": "CTC", "pad_token": "x", "word_delimiter_token": "", "cleanup": True}),
    ],
    ids=["a row of replacements", "one long one", "a row of suffixes", "a row of delimiters"],
)
def test_a_decoder_that_makes_much_of_little_is_named(tmp_path: Path, decoder: object) -> None:
    encoding = load_encoding(write(tmp_path, decoder=decoder))
    began = time.process_time()
    with pytest.raises(InputError, match="decoder"):
        encoding.decode([0] * 1000)
    assert took_less(began, 4)


def test_rules_that_make_twenty_times_a_text_are_taken(tmp_path: Path) -> None:
    normalizer = {"type": "Sequence", "normalizers": [replace("a", "ab" * 10)]}
    encoding = load_encoding(write(tmp_path, normalizer=normalizer))
    assert encoding.count("a" * 200_000) == 2_000_000


def template(ids: int, uses: int) -> dict[str, object]:
    named = {"id": "x", "ids": [0] * ids, "tokens": ["a"] * ids}
    items = [{"SpecialToken": {"id": "x", "type_id": 0}}] * uses + [{"Sequence": {"id": "A", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": items, "pair": [], "special_tokens": {"x": named}}


def doubling() -> dict[str, object]:
    twice = [{"Sequence": {"id": "A", "type_id": 0}}] * 2
    one = {"type": "TemplateProcessing", "single": twice, "pair": twice, "special_tokens": {}}
    return in_a_row("processors", one)


@pytest.mark.parametrize("processor", [template(20_000, 15_000), doubling()], ids=["of many ids", "of many copies"])
def test_a_template_that_adds_without_end_is_refused(tmp_path: Path, processor: object) -> None:
    with pytest.raises(VocabularyError, match=r"tokenizer\.json: post_processor.* ids; at most"):
        load_encoding(write(tmp_path, post_processor=processor))


def test_a_template_of_some_ids_is_taken(tmp_path: Path) -> None:
    encoding = load_encoding(write(tmp_path, post_processor=template(20, 100)))
    assert encoding.encode_ordinary("ab") == [2]


@pytest.mark.parametrize("backend", ["native", "python"])
def test_the_file_whose_rules_make_too_much_is_named(tmp_path: Path, backend: str) -> None:
    file = write(tmp_path, normalizer=replace("a", "a" * 1_000_000), decoder=replace("a", "a" * 1_000_000))
    env = {"TOKCLI_BACKEND": backend}
    told = refused("count", "-e", "gpt2", "-e", file, "-t", "a" * 500, env=env)
    assert f"Look in the normalizer or pre-tokenizer of {file} for rules" in told
    assert f"makes more than {2**20 + 64 * 500} characters of this input" in told
    told = refused("decode", "-e", file, data=b"0 " * 500, env=env)
    assert f"Look in the decoder of {file} for rules" in told


@pytest.mark.parametrize("given", [("count",), ("encode", "--json"), ("encode", "--json", "--offsets", "char")])
def test_a_record_of_which_too_much_is_made_is_named(tmp_path: Path, given: tuple[str, ...]) -> None:
    file, data = write(tmp_path, normalizer=replace("a", "a" * 1_000_000)), b"b\n" + b"a" * 500 + b"\nb\n"
    told = [
        refused(*given, "-e", file, "--records", "lines", data=data, env={"TOKCLI_BACKEND": backend})
        for backend in ("native", "python")
    ]
    assert told[0] == told[1]
    assert "record 2: the normalizer or pre-tokenizer makes more than" in told[0]


def test_the_first_text_of_a_batch_of_which_too_much_is_made_is_refused(tmp_path: Path) -> None:
    encoding = load_encoding(write(tmp_path, normalizer=replace("a", "a" * 1_000_000)))
    for batch in (encoding.encode_ordinary_batch, encoding.encode_array_batch, encoding.count_batch):
        with pytest.raises(GrowthError, match=f"more than {2**20 + 64 * 500} characters"):
            batch(["b", "a" * 500, "a" * 600])
