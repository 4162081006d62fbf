"""Files of other libraries: the ids, offsets and texts that these libraries made of hard texts, and of random ones."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, hard_text, run_tokcli

from tokcli.engine.encoding import Encoding
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.unigram import Unigram
from tokcli.formats.huggingface import parse_huggingface
from tokcli.registry.encodings import load_encoding

FOLDER = ROOT / "tests" / "data" / "formats"
GOLDEN = json.loads((FOLDER / "golden.json").read_text())
HUGGINGFACE = [name for name in GOLDEN if name.endswith(".json")]
SENTENCEPIECE = [name for name in GOLDEN if name.endswith(".model")]
ENCODINGS = {name: load_encoding(FOLDER / name) for name in GOLDEN}


def pipeline(name: str) -> PipelineEncoding:
    encoding = ENCODINGS[name]
    assert isinstance(encoding, PipelineEncoding)
    return encoding


@pytest.mark.parametrize("name", GOLDEN)
def test_ids_are_those_of_the_reference_library(name: str) -> None:
    for row in GOLDEN[name]:
        assert ENCODINGS[name].encode(row["text"], allowed_special="all") == row["ids"], row["text"]


@pytest.mark.parametrize("name", GOLDEN)
def test_decoding_gives_the_text_of_the_reference_library(name: str) -> None:
    for row in GOLDEN[name]:
        assert ENCODINGS[name].decode(row["ids"]) == row["decoded"], row["text"]


@pytest.mark.parametrize("name", HUGGINGFACE)
def test_templates_and_offsets_are_those_of_hugging_face(name: str) -> None:
    tokenizer = pipeline(name).tokenizer
    allowed = frozenset(tokenizer.special_tokens)
    for row in GOLDEN[name]:
        tokens = tokenizer.finish([tokenizer.encode_spans(row["text"], allowed)], True)
        assert tokens.ids == row["full"], row["text"]
        assert tokens.spans == [tuple(span) for span in row["offsets"]], row["text"]


@pytest.mark.parametrize("name", HUGGINGFACE)
@settings(max_examples=60, deadline=None)
@given(text=hard_text())
def test_random_text_is_encoded_as_by_hugging_face(name: str, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.Tokenizer.from_file(str(FOLDER / name)).encode(text, add_special_tokens=True)
    tokenizer = pipeline(name).tokenizer
    allowed = frozenset(tokenizer.special_tokens)
    assert pipeline(name).encode(text, allowed_special="all") == tokenizer.encode(text, allowed)
    tokens = tokenizer.finish([tokenizer.encode_spans(text, allowed)], True)
    assert (tokens.ids, tokens.spans) == (reference.ids, reference.offsets)


@pytest.mark.parametrize("name", SENTENCEPIECE)
@settings(max_examples=60, deadline=None)
@given(text=hard_text())
def test_random_text_is_encoded_as_by_sentencepiece(name: str, text: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    reference = sentencepiece.SentencePieceProcessor(model_file=str(FOLDER / name))
    assert ENCODINGS[name].encode_ordinary(text) == reference.encode(text)


@settings(max_examples=20, deadline=None)
@given(scores=st.lists(st.floats(-40, 0) | st.floats(-1e-9, 0), min_size=1, max_size=50))
def test_scores_are_rounded_as_by_hugging_face(scores: list[float]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    file = json.loads((FOLDER / "unigram.tokenizer.json").read_text())
    file["model"]["vocab"] = [[f"t{i}", score] for i, score in enumerate(scores)]
    file["model"]["unk_id"] = 0
    file["added_tokens"] = []
    text = json.dumps(file)
    theirs = json.loads(tokenizers.Tokenizer.from_str(text).to_str())["model"]["vocab"]
    model = parse_huggingface(text.encode(), "tokenizer.json").model
    assert isinstance(model, Unigram)
    assert [score for _, score in model.pieces] == [score for _, score in theirs]


def test_a_byte_level_file_of_a_known_pattern_takes_the_shortcut() -> None:
    assert pipeline("plain.tokenizer.json").tokenizer.shortcut is not None
    assert pipeline("suffix.tokenizer.json").tokenizer.shortcut is None


@pytest.mark.parametrize("name", ["plain.tokenizer.json", "bpe.model"])
def test_what_was_read_can_be_pickled(name: str) -> None:
    again = pickle.loads(pickle.dumps(ENCODINGS[name]))
    assert again.encode_ordinary("Hello, world") == ENCODINGS[name].encode_ordinary("Hello, world")


def test_a_pair_of_texts_goes_through_the_template() -> None:
    record = b'{"text": "Hello", "text_pair": "dog"}\n'
    path = FOLDER / "wordpiece.tokenizer.json"
    ran = run_tokcli("encode", "-e", path, "--special", "allow", "--add-special-tokens", "--records", "jsonl", "--json", data=record)  # fmt: skip
    answer = json.loads(ran.out)
    assert answer["ids"][0] == 1
    assert answer["ids"].count(2) == 2
    assert answer["type_ids"][-1] == 1
    assert answer["special_tokens_mask"][0] == 1


def test_offsets_of_two_texts_are_written_with_their_types() -> None:
    record = b'{"text": "Hello", "text_pair": "dog"}\n'
    path = FOLDER / "wordpiece.tokenizer.json"
    ran = run_tokcli("encode", "-e", path, "--special", "allow", "--add-special-tokens", "--offsets", "char", "--records", "jsonl", "--json", data=record)  # fmt: skip
    assert json.loads(ran.out).keys() == {"ids", "type_ids", "special_tokens_mask", "offsets"}


def test_a_file_with_its_own_rules_takes_no_other_pattern() -> None:
    ran = run_tokcli("count", "-e", FOLDER / "plain.tokenizer.json", "--pattern", r"\w+|\W+", "-t", "x")
    assert ran.status == 2
    assert ran.err.startswith("Error: ")


def test_pieces_are_the_text() -> None:
    for name, encoding in ENCODINGS.items():
        assert isinstance(encoding, Encoding)
        for text in ("Hello,  wörld 12", " a\n b"):
            assert "".join(encoding.split(text)) == text, name
