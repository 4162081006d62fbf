"""Files of other libraries: the ids, offsets and texts that these libraries made of hard texts, and of random ones."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, examples, hard_text, ok, refused

from tokcli.engine import backend
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.engine.encoding import Encoding
from tokcli.engine.spec.models import Unigram
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.engine.tokens import pairs_of
from tokcli.formats.huggingface.reader import parse_huggingface
from tokcli.registry.encodings import load_encoding

FOLDER = ROOT / "tests" / "data" / "formats"
GOLDEN = json.loads((FOLDER / "golden.json").read_text())
HUGGINGFACE = [name for name in GOLDEN if name.endswith(".json")]
SENTENCEPIECE = [name for name in GOLDEN if name.endswith(".model")]
ENCODINGS = {name: load_encoding(FOLDER / name) for name in GOLDEN}


def rules(name: str) -> TextTokenizer:
    found = ENCODINGS[name].tokenizer.rules
    assert found is not None
    return found


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
    tokenizer = rules(name)
    allowed = frozenset(tokenizer.special_tokens)
    for row in GOLDEN[name]:
        tokens = tokenizer.finish([tokenizer.encode_spans(row["text"], allowed)], True)
        assert tokens.ids.tolist() == row["full"], row["text"]
        assert pairs_of(tokens.spans) == [tuple(span) for span in row["offsets"]], row["text"]


@pytest.mark.parametrize("name", HUGGINGFACE)
@examples(60)
@given(text=hard_text())
def test_random_text_is_encoded_as_by_hugging_face(name: str, text: str) -> None:
    library = pytest.importorskip("tokenizers").Tokenizer.from_file(str(FOLDER / name))
    plain, full = (library.encode(text, add_special_tokens=add) for add in (False, True))
    assert ENCODINGS[name].encode(text, allowed_special="all") == plain.ids
    assert ENCODINGS[name].encode_with_offsets(text, allowed_special="all") == (plain.ids, plain.offsets)
    tokenizer = rules(name)
    allowed = frozenset(tokenizer.special_tokens)
    assert tokenizer.encode(text, allowed) == plain.ids
    tokens = tokenizer.finish([tokenizer.encode_spans(text, allowed)], True)
    assert (tokens.ids.tolist(), pairs_of(tokens.spans)) == (full.ids, full.offsets)


@pytest.mark.parametrize("name", SENTENCEPIECE)
@examples(60)
@given(text=hard_text())
def test_random_text_is_encoded_as_by_sentencepiece(name: str, text: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    reference = sentencepiece.SentencePieceProcessor(model_file=str(FOLDER / name))
    assert ENCODINGS[name].encode_ordinary(text) == reference.encode(text)


@examples(20)
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


def test_a_byte_level_file_of_a_known_pattern_has_ranks_of_texts() -> None:
    assert rules("plain.tokenizer.json").text_ranks is not None
    assert rules("suffix.tokenizer.json").text_ranks is None


@pytest.mark.parametrize("name", ["plain.tokenizer.json", "bpe.model"])
def test_what_was_read_can_be_pickled(name: str) -> None:
    again = pickle.loads(pickle.dumps(ENCODINGS[name]))
    assert again.encode_ordinary("Hello, world") == ENCODINGS[name].encode_ordinary("Hello, world")


@pytest.mark.process
@pytest.mark.skipif(not backend.is_native(), reason="there is no native backend")
@pytest.mark.parametrize("name", ["unigram.tokenizer.json", "bpe.model"])
def test_what_was_pickled_is_native_in_a_fresh_process(name: str) -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).tokenizer.is_native)"
    data = pickle.dumps(ENCODINGS[name])
    assert subprocess.run([sys.executable, "-c", code], input=data, check=True, capture_output=True).stdout == b"True\n"


def test_a_pair_of_texts_goes_through_the_template() -> None:
    record = b'{"text": "Hello", "text_pair": "dog"}\n'
    path = FOLDER / "wordpiece.tokenizer.json"
    options = ["--special", "allow", "--add-special-tokens", "--records", "jsonl", "--json"]
    answer = json.loads(ok("encode", "-e", path, *options, data=record))
    assert answer["ids"][0] == 1
    assert answer["ids"].count(2) == 2
    assert answer["type_ids"][-1] == 1
    assert answer["special_tokens_mask"][0] == 1


@pytest.mark.parametrize("pair", [[("A", 0), ("B", 1), ("A", 1)], [("B", 0), ("B", 2), ("A", 0)]])
def test_a_template_may_have_a_text_twice_each_time_of_another_type(
    pair: list[tuple[str, int]], tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    file = json.loads((FOLDER / "byte-level.tokenizer.json").read_bytes())
    parts = [{"Sequence": {"id": name, "type_id": number}} for name, number in pair]
    file["post_processor"] = {"type": "TemplateProcessing", "single": parts[2:], "pair": parts, "special_tokens": {}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    theirs = tokenizers.Tokenizer.from_file(str(path)).encode("hello there", "b é c")
    record = json.dumps({"text": "hello there", "text_pair": "b é c"}).encode()
    options = ["--add-special-tokens", "--offsets", "char", "--records", "jsonl", "--json"]
    ours = json.loads(ok("encode", "-q", "-e", path, *options, data=record))
    assert ours["ids"] == theirs.ids
    assert ours["type_ids"] == theirs.type_ids
    assert ours["offsets"] == list(map(list, theirs.offsets))


@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "plain.tokenizer.json"])
@pytest.mark.parametrize("added", [[], ["--add-special-tokens"]])
def test_a_record_has_the_same_ids_whatever_records_are_beside_it(name: str, added: list[str]) -> None:
    plain, pair = b'{"text": "Hello, <s>world 7"}\n', b'{"text": "Hello", "text_pair": "dog"}\n'
    given = ["encode", "-q", "-e", FOLDER / name, *added, "--records", "jsonl", "--json"]
    alone = [ok(*given, data=record) for record in (plain, pair)]
    assert ok(*given, data=plain * 3) == alone[0] * 3
    assert ok(*given, data=plain + pair + plain) == alone[0] + alone[1] + alone[0]
    assert ok(*given, "-n", "2", data=plain * 2) == ok(*given, "-n", "2", data=plain) * 2


def test_offsets_of_two_texts_are_written_with_their_types() -> None:
    record = b'{"text": "Hello", "text_pair": "dog"}\n'
    path = FOLDER / "wordpiece.tokenizer.json"
    options = ["--special", "allow", "--add-special-tokens", "--offsets", "char", "--records", "jsonl", "--json"]
    assert json.loads(ok("encode", "-e", path, *options, data=record)).keys() == {
        "ids",
        "type_ids",
        "special_tokens_mask",
        "offsets",
    }


def test_a_file_with_its_own_rules_takes_no_other_pattern() -> None:
    assert refused("count", "-e", FOLDER / "plain.tokenizer.json", "--pattern", r"\w+|\W+", "-t", "x").startswith(
        "Error: "
    )


def test_pieces_are_the_text() -> None:
    for name, encoding in ENCODINGS.items():
        assert isinstance(encoding, Encoding)
        for text in ("Hello,  wörld 12", " a\n b"):
            assert "".join(encoding.split(text)) == text, name


@pytest.mark.parametrize("first", [{"type": "FixedLength", "length": 2}, {"type": "WhitespaceSplit"}])
@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}])
def test_a_metaspace_after_another_pre_tokenizer_knows_where_the_text_starts(
    first: dict[str, object], normalizer: dict[str, object] | None, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    file = json.loads((FOLDER / "unigram.tokenizer.json").read_bytes())
    file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [first, metaspace]}
    file["normalizer"] = normalizer
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    library, encoding = tokenizers.Tokenizer.from_file(str(path)), load_encoding(path)
    for text in ("abcd", "ab ab", "  ab ab", "<mask>ab ab", "ab"):
        expected = library.encode(text, add_special_tokens=False)
        assert encoding.encode(text, allowed_special="all") == expected.ids, text
        assert encoding.encode_with_offsets(text, allowed_special="all") == (expected.ids, expected.offsets), text


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_a_mark_whose_bytes_the_vocabulary_lacks_is_encoded_after_normalization(form: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    file = json.loads((FOLDER / "plain.tokenizer.json").read_bytes())
    missing = CHAR_OF[0xCD]
    file["normalizer"] = {"type": form}
    model = file["model"]
    model["vocab"] = {token: number for number, token in enumerate(t for t in model["vocab"] if missing not in t)}
    model["merges"] = [merge for merge in model["merges"] if missing not in "".join(merge)]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    library, encoding = tokenizers.Tokenizer.from_file(str(path)), load_encoding(path)
    for text in ("q\u0345", "\u1fb3 e\u0301", "\u0345", "a\u0323\u0345b"):
        expected = library.encode(text, add_special_tokens=False)
        assert encoding.encode(text, allowed_special="all") == expected.ids, text
        assert encoding.count(text) == len(expected.ids)
        assert encoding.encode_with_offsets(text, allowed_special="all") == (expected.ids, expected.offsets), text
