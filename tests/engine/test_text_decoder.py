"""`Encoding.decoder`: ids that come one or a few at a time give the text that all of them give, as soon as it is complete."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from gguf_files import INT32, gguf
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, examples

import tokcli
from tokcli.engine.encoding import Encoding
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.stream.spaced_decoder import SpacedDecoder, cleaned
from tokcli.errors import UnknownTokenError
from tokcli.registry.encodings import load_encoding

FILES = sorted(
    p for p in (ROOT / "tests/data/formats").iterdir() if p.suffix in (".json", ".model") and p.stem != "golden"
)
TEXT = "It's  5 o'clock: the caf\u00e9 \u4e2d\u6587 \U0001f64b\u200d\u2640\ufe0f, don't ' stop . \n\n\tx "


def told(encoding: Encoding, ids: list[int], choose: random.Random, **more: Any) -> list[str]:
    """Return what a decoder says to ids given one or a few at a time, and at the end."""
    decoder, at, said = encoding.decoder(**more), 0, []
    while at < len(ids):
        many = choose.choice((1, 1, 2, 5))
        said.append(decoder.add(ids[at] if many == 1 else ids[at : at + many]))
        at += many
    return [*said, decoder.finish()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_text_of_a_stream_is_that_of_all_ids_for_every_format(path: Path) -> None:
    encoding, choose = load_encoding(path), random.Random(path.name)
    known = sorted(encoding.tokenizer.token_bytes())
    lists = [encoding.encode(TEXT, disallowed_special=())]
    lists += [choose.choices(known, k=choose.randrange(12)) for _ in range(40)]
    for ids in lists:
        assert "".join(told(encoding, ids, choose)) == encoding.decode(ids)


def test_a_character_comes_whole() -> None:
    encoding = tokcli.get_encoding("o200k_base")
    ids = encoding.encode("hi \U0001f64b\u200d\u2640\ufe0f!")
    said = told(encoding, ids, random.Random(0))
    assert "".join(said) == "hi \U0001f64b\u200d\u2640\ufe0f!"
    assert "\ufffd" not in "".join(said)
    decoder = encoding.decoder()
    assert [decoder.add(113592), decoder.finish(), decoder.add(0), decoder.finish()] == [" ", "\ufffd", "!", ""]


@pytest.mark.parametrize(
    ("decoder", "tokens", "said"),
    [
        ({"type": "WordPiece", "prefix": "##", "cleanup": True}, ["do", "##n", "'t", ",", "x"],
         ["do", "n", " 't", ",", " x", ""]),
        ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}, ["\u2581a", "\u2581b"],
         ["a", " b", ""]),
        ({"type": "BPEDecoder", "suffix": "</w>"}, ["a", "b</w>", "c</w>"], ["a", "b", " c", ""]),
        ({"type": "CTC", "pad_token": "<p>", "word_delimiter_token": "|", "cleanup": True},
         ["a", "a", "<p>", "a", "|", "b"], ["a", "", "", "a", " ", "b", ""]),
        (None, ["a", "b"], ["a", " b", ""]),
        ({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
         ["\u2581", "\u2581a", "<0xC3>", "<0xA9>", "<0x0A>"], ["", " a", "", "\u00e9", "\n", ""]),
        ({"type": "Strip", "content": "x", "start": 0, "stop": 1}, ["ax", "xx"], ["a", "x", ""]),
        ({"type": "Sequence", "decoders": [
            {"type": "Fuse"}, {"type": "Strip", "content": "x", "start": 1, "stop": 2}]},
         ["x", "xa", "xx", "x", "b", "x"], ["", "xa", "", "x", "xxb", "", ""]),
        ({"type": "Sequence", "decoders": [
            {"type": "Fuse"}, {"type": "Replace", "pattern": {"Regex": "a+b"}, "content": "c"}]},
         ["x", "a", "ab"], ["", "", "", "xc"]),
    ],
)  # fmt: skip
def test_what_a_decoder_of_tokenizer_json_may_still_change_waits(
    tmp_path: Path, decoder: object, tokens: list[str], said: list[str]
) -> None:
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": tokens[0]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "decoder": decoder, "model": model}))
    encoding = load_encoding(path)
    ids = [vocab[token] for token in tokens]
    stream = encoding.decoder()
    assert [*map(stream.add, ids), stream.finish()] == said
    assert "".join(said) == encoding.decode(ids)
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    assert "".join(said) == theirs.decode(ids, skip_special_tokens=False)


@given(st.text("  ''srevm.?x", max_size=14), st.lists(st.integers(1, 3), min_size=14, max_size=14))
@examples(300)
def test_the_spaces_that_llama_cpp_cleans_up_are_those_of_the_whole_text(text: str, sizes: list[int]) -> None:
    decoder, data, at, made = SpacedDecoder(bytes, DecodingSpec(cleans_spaces=True)), text.encode(), 0, b""
    for size in sizes:
        made += decoder.add(data[at : at + size])
        at += size
    assert made + decoder.finish() == cleaned(data)


def test_a_long_run_of_spaces_does_not_wait() -> None:
    decoder = SpacedDecoder(bytes, DecodingSpec("of the first id", cleans_spaces=True))
    assert decoder.add(b"  x") == b" x"
    assert len(decoder.add(b" " * 1000)) == 998
    assert decoder.finish() == b"  "


def test_special_tokens_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    encoding = tokcli.get_encoding("o200k_base")
    ids = encoding.encode("a<|endoftext|>b", allowed_special="all")
    assert "".join(told(encoding, ids, random.Random(0), skip_special_tokens=True)) == "ab"
    path = gguf(
        tmp_path / "x.gguf",
        model="bert",
        tokens=["[UNK]", "[CLS]", "[SEP]", "a", "b"],
        token_type=([2, 3, 3, 1, 1], INT32),
    )
    assert "".join(told(load_encoding(path), [1, 3, 4, 2], random.Random(0), skip_special_tokens=True)) == "ab"


def test_a_wrong_id_is_an_error_and_changes_nothing() -> None:
    decoder = tokcli.get_encoding("o200k_base").decoder()
    assert decoder.add(113592) == " "
    with pytest.raises(UnknownTokenError):
        decoder.add([0, 200_100])
    with pytest.raises(TypeError, match="ids"):
        decoder.add("24912")  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match="ids"):
        decoder.add(-1)
    assert decoder.add([233]) == "\U0001f64b"


def test_errors_are_those_of_decode() -> None:
    strict = tokcli.get_encoding("o200k_base").decoder(errors="strict")
    assert strict.add(113592) == " "
    with pytest.raises(UnicodeDecodeError):
        strict.finish()
    assert strict.add(0) == "!"
    with pytest.raises(TypeError, match="errors"):
        tokcli.get_encoding("o200k_base").decoder(errors=1)  # type: ignore[arg-type]
