"""Files of Hugging Face's format that once cost far more than their size: in memory, or in time to read."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import pytest

from tokcli.engine.pipeline.added_tokens import are_apart
from tokcli.errors import InputError, VocabularyError
from tokcli.registry.encodings import load_encoding

# --- added tokens ----------------------------------------------------------------------------------------------------


def added(content: str, **flags: bool) -> dict[str, object]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": 1, "content": content, **plain, **flags}


def tokenizer_json(folder: Path, tokens: list[dict[str, object]], **parts: object) -> Path:
    path = folder / "tokenizer.json"
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": tokens, "model": model} | parts))
    return path


def overlap(some: list[str], others: list[str]) -> bool:
    """Whether a text of one list begins within one of the other list, as the definition has it."""
    return any(
        part.startswith(other) or other.startswith(part)
        for left, right in ((some, others), (others, some))
        for text in left
        for part in (text[start:] for start in range(len(text)))
        for other in right
    )


def test_texts_are_apart_where_none_begins_within_another() -> None:
    rnd = random.Random(7)
    found = set()
    for _ in range(2000):
        some, others = (["".join(rnd.choices("abcdef", k=rnd.randint(1, 4))) for _ in range(3)] for _ in range(2))
        assert are_apart(some, others) == (not overlap(some, others)), (some, others)
        found.add(are_apart(some, others))
    assert found == {True, False}


@pytest.mark.memory
@pytest.mark.parametrize("size", [4000, 60_000])
def test_long_added_tokens_take_no_memory_for_each_of_their_beginnings(size: int) -> None:
    """Two tokens of 20,000 characters took 400 MB."""
    tracemalloc.start()
    are_apart(["x" + "y" * size], ["<" + "z" * size])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2_000_000


def test_a_prefix_before_each_of_many_added_tokens_is_bounded(tmp_path: Path) -> None:
    """A file of 3 MB took more than 3 GB: the prefix was copied for each token."""
    tokens = [added(f"<{number}>", normalized=True) for number in range(1000)]
    encoding = load_encoding(tokenizer_json(tmp_path, tokens, normalizer={"type": "Prepend", "prepend": "p" * 10_000}))
    with pytest.raises(InputError, match=r"normalizer makes more than [0-9]+ characters"):
        encoding.encode_ordinary("a")


def test_a_prefix_before_a_few_added_tokens_is_taken(tmp_path: Path) -> None:
    tokens = [added("<x>", normalized=True), added("<y>")]
    encoding = load_encoding(tokenizer_json(tmp_path, tokens, normalizer={"type": "Prepend", "prepend": "a"}))
    assert encoding.encode_ordinary("<x><y><x>") == [2, 3, 2]
    assert encoding.encode_ordinary("a<x>") == [1, 2]


# --- the components of a tokenizer.json ------------------------------------------------------------------------------


def many(number: int) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * number}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", many(1000)),
        ("normalizer", {"type": "Sequence", "normalizers": [many(499), many(499)]}),
        ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}] * 1000}),
        ("decoder", {"type": "Sequence", "decoders": [{"type": "Fuse"}] * 1000}),
    ],
)
def test_more_than_a_thousand_components_are_refused(tmp_path: Path, part: str, value: object) -> None:
    with pytest.raises(VocabularyError, match=r"tokenizer\.json: 1001 components; at most 1000 are read"):
        load_encoding(tokenizer_json(tmp_path, [], **{part: value}))


def test_a_row_of_some_components_is_taken(tmp_path: Path) -> None:
    assert load_encoding(tokenizer_json(tmp_path, [], normalizer=many(300))).encode_ordinary("A") == [1]


def test_many_normalizers_for_many_added_tokens_are_refused(tmp_path: Path) -> None:
    """Each token goes through each of them: 20,000 and 1,000, in a file of 3 MB, took minutes to read."""
    tokens = [added(f"<{number}>", normalized=True) for number in range(5000)]
    with pytest.raises(VocabularyError, match=r"json: normalizer: 501 normalizers for 5000 added tokens"):
        load_encoding(tokenizer_json(tmp_path, tokens, normalizer=many(500)))
    tokens = [added(f"<{number}>") for number in range(5000)]
    assert load_encoding(tokenizer_json(tmp_path, tokens, normalizer=many(500))).encode_ordinary("<7>A") == [9, 1]


@pytest.mark.parametrize("member", ["continuing_subword_prefix", "end_of_word_suffix"])
def test_a_long_text_before_or_after_each_character_is_refused(tmp_path: Path, member: str) -> None:
    """With bytes as tokens, each character of a text became as many ids as it has."""
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": [], "byte_fallback": True, member: "#" * 65}
    with pytest.raises(VocabularyError, match=rf"model\.{member}: 65 characters; at most 64"):
        load_encoding(tokenizer_json(tmp_path, [], model=model))
