"""`encode --offsets`: where tokens are, whichever way the text comes in."""

from __future__ import annotations

import json
import os
from itertools import accumulate, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gguf_files import INT32, llama
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import HARD_ATOMS, ok

import tokcli
from tokcli.cli.encode.whole_texts import SHARED_BYTES, PartOfWhole
from tokcli.cli.main import run
from tokcli.engine import backend

MODELS = Path(__file__).resolve().parents[2] / "data" / "formats"
TEXT = "Héllo wörld, 中文"


@pytest.mark.parametrize("unit", ["byte", "char"])
@pytest.mark.parametrize(
    "name", ["wordpiece.tokenizer.json", "unigram.tokenizer.json", "plain.tokenizer.json", "bpe.model"]
)
def test_places_in_a_pipe_are_those_in_a_file(name: str, unit: str, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text(TEXT)
    arguments = ("encode", "-e", MODELS / name, "--offsets", unit, "--json")
    expected = ok(*arguments, file)
    assert json.loads(expected)["offsets"][-1][1] == len(TEXT.encode() if unit == "byte" else TEXT)
    assert ok(*arguments, data=TEXT.encode()) == expected
    assert ok(*arguments, "-t", TEXT) == expected


@pytest.mark.parametrize(
    "more",
    [(), ("-n", "3"), ("--special", "allow"), ("-j", "1", "--errors", "replace"), ("--add-special-tokens", "-q"),
     ("--add-special-tokens", "-q", "-n", "5")],
)  # fmt: skip
@pytest.mark.parametrize("unit", ["byte", "char"])
@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.glob("*.[mt]*")))
def test_records_have_the_places_of_each_text_by_itself(name: str, unit: str, more: tuple[str, ...]) -> None:
    lines = [TEXT, "", "the  words", " ", "\ufb01ve e\u0301 \u200b x", "a </s> [MASK] b", "x", TEXT * 3]
    arguments = ("encode", "-e", MODELS / name, "--offsets", unit, *more, "--json")
    expected = [ok(*arguments, data=line.encode()) for line in lines]
    assert ok(*arguments, "--records", "lines", data="\n".join(lines).encode()) == b"".join(expected)
    objects = "\n".join(json.dumps({"text": line}) for line in lines).encode()
    assert ok(*arguments, "--records", "jsonl", data=objects) == b"".join(expected)


@pytest.mark.parametrize("unit", ["byte", "char"])
def test_a_long_text_that_is_seen_whole_is_written_in_parts(unit: str, tmp_path: Path) -> None:
    """Its parts begin between words of ASCII; what is around them has characters of several bytes."""
    text = (TEXT + " the words. ") * (2 * SHARED_BYTES // len(TEXT.encode()))
    file = tmp_path / "text"
    file.write_text(text)
    found = json.loads(ok("encode", "-e", MODELS / "wordpiece.tokenizer.json", "--offsets", unit, "--json", file))
    ids, spans = tokcli.load_encoding(MODELS / "wordpiece.tokenizer.json").encode_with_offsets(text)
    assert found["ids"] == ids
    if unit == "byte":
        places = list(accumulate((len(char.encode()) for char in text), initial=0))
        spans = [(places[begin], places[end]) for begin, end in spans]
    assert [tuple(span) for span in found["offsets"]] == spans


@pytest.mark.skipif(backend.native() is None, reason="there are no parts there")
def test_parts_that_only_python_places_have_the_tokens_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = tokcli.load_encoding(MODELS / "wordpiece.tokenizer.json")
    data = memoryview((f"{TEXT} the words. " * 40).encode())
    ends = [0, *encoding.tokenizer.part_ends(data, 200)]
    assert len(ends) > 3
    parts = [PartOfWhole(data, begin, end, 0) for begin, end in pairwise(ends)]
    request: Any = SimpleNamespace(encoding=encoding)
    expected = [part.tokens(request) for part in parts]
    monkeypatch.setattr(type(encoding.tokenizer), "encode_part_spans", lambda *_, **__: None)
    found = [part.tokens(request) for part in parts]
    assert [list(tokens.ids) for tokens in found] == [list(tokens.ids) for tokens in expected]
    assert [list(tokens.spans or ()) for tokens in found] == [list(tokens.spans or ()) for tokens in expected]


@pytest.mark.parametrize("name", ["byte-level.tokenizer.json", "wordpiece.tokenizer.json"])
def test_an_empty_text_has_no_places(name: str) -> None:
    arguments = ("encode", "-e", MODELS / name, "--offsets", "char")
    assert ok(*arguments) == b""
    assert json.loads(ok(*arguments, "--json")) == {"ids": [], "offsets": []}


def test_bytes_that_are_replaced_take_the_place_of_what_stands_for_them() -> None:
    data = b"a\x80b wo"
    arguments = ("encode", "--errors", "replace", "--offsets", "byte", "--json")
    made = json.loads(ok(*arguments, "-e", MODELS / "wordpiece.tokenizer.json", data=data))
    assert made["offsets"] == [[0, 5], [6, 8]]  # as of "a\ufffdb wo"
    assert json.loads(ok(*arguments, data=data))["offsets"][-1] == [5, 8]


VECTORS = Path(os.environ.get("TOKCLI_VECTORS", "none")) / "hf"
SHORTCUTS = [
    MODELS / "byte-level.tokenizer.json",
    *(
        pytest.param(path, marks=pytest.mark.slow)  # large vocabularies, which the Python backend reads in seconds
        for path in sorted(VECTORS.glob("*.json"))
        if path.name.startswith(("gpt2", "qwen3", "llama3", "x-bytelevel"))
    ),
]


@pytest.mark.parametrize("path", SHORTCUTS, ids=lambda path: path.name)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from([*HARD_ATOMS, "word", "n\u0303", "\n\n  x", "<|endoftext|>", "</s>"]), min_size=40, max_size=400
    )
)
def test_places_found_chunk_by_chunk_are_those_of_the_whole_text(
    path: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch,
    atoms: list[str],
) -> None:  # fmt: skip
    for name in ("chunks.CHUNK_CHARS", "utf8.FIRST_CHUNK_BYTES", "utf8.MAX_CHUNK_BYTES"):
        monkeypatch.setattr(f"tokcli.engine.stream.{name}", 16)
    text = "".join(atoms)
    file = tmp_path / "text"
    file.write_bytes(text.encode())
    encoding = tokcli.load_encoding(path)
    for special in ("allow", "text"):
        allowed = {"allowed_special": "all"} if special == "allow" else {"disallowed_special": ()}
        ids, spans = encoding.encode_with_offsets(text, **allowed)  # type: ignore[arg-type]
        starts = [len(text[:at].encode()) for at in range(len(text) + 1)]
        for unit, places in (("char", spans), ("byte", [(starts[begin], starts[end]) for begin, end in spans])):
            asked = ["encode", "-e", str(path), "--special", special, "--offsets", unit, str(file)]
            for arguments in (asked, [*asked, "-n", str(len(ids) // 2)]):
                assert run(arguments) == 0
                lines = [tuple(map(int, line.split())) for line in capfdbinary.readouterr().out.splitlines()]
                whole = [(number, *place) for number, place in zip(ids, places, strict=True)]
                assert lines == whole[: len(lines)]
                assert len(lines) == (len(ids) if arguments is asked else len(ids) // 2)


def test_a_space_that_llama_cpp_puts_before_a_text_has_no_place(tmp_path: Path) -> None:
    kinds = [2, 3, 3, *[6] * 256, 1, 1, 1]
    vocabulary = llama(tmp_path / "spm.gguf", token_type=(kinds, INT32))
    answer = json.loads(ok("encode", "-e", vocabulary, "--json", "--offsets", "char", "-t", "a aé"))
    assert answer == {"ids": [261, 261, 3 + 0xC3, 3 + 0xA9], "offsets": [[0, 1], [1, 3], [3, 4], [3, 4]]}


@pytest.mark.parametrize("more", [(), ("-n", "2"), ("-n", "0"), ("--append-special", "<|endoftext|>")], ids=" ".join)
@pytest.mark.parametrize("unit", ["byte", "char"])
def test_records_that_are_encoded_together_have_the_places_of_each_alone(unit: str, more: tuple[str, ...]) -> None:
    texts = [TEXT, "", "plain text of four words", "\U0001f64b\u200d\u2640\ufe0f!", "a"]
    common = ("encode", "--json", "--offsets", unit, *more)
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    alone = b"".join(ok(*common, "-t", text) for text in texts)
    assert ok(*common, "--records", "jsonl", data=data) == alone
    assert ok(*common, "--records", "lines", data="".join(f"{text}\n" for text in texts).encode()) == alone
