"""A long text that is read, cut and encoded part by part has the ids of the whole, wherever its blocks end."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gguf_files import BOOL, bert, llama, t5
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece_files import BPE, NORMAL, UNIGRAM, charsmap_of, model_file, rule_for
from support import HARD_ATOMS, ROOT, examples, first_in_gate
from text_pipelines import CUTS, MODELS, STEPS

from tokcli.engine import backend
from tokcli.engine.long_texts.text_parts import cuts_of, read_text_parts
from tokcli.engine.roles import readers
from tokcli.engine.sampling.sampler import dropped
from tokcli.engine.stream.chunks import Chunk, ReadOptions
from tokcli.errors import DisallowedSpecialTokenError, InputError, NotUtf8Error
from tokcli.registry.encodings import load_encoding

FORMATS = ROOT / "tests/data/formats"
VECTORS = Path(os.environ.get("TOKCLI_VECTORS", "none"))
FILES = [
    *(FORMATS / name for name in ("bpe.model", "word.model", "char.model", "unigram.model")),
    *(FORMATS / name for name in ("unigram.tokenizer.json", "wordpiece.tokenizer.json")),
    *sorted(VECTORS.glob("sp/*")),
    *(VECTORS / "hf" / f"{name}.tokenizer.json" for name in ("albert", "bert-base-uncased") if VECTORS.exists()),
    *(VECTORS / "hf" / f"{name}.tokenizer.json" for name in ("mistral-v1-named-llama2",) if VECTORS.exists()),
    *(VECTORS / "hf" / f"x-{name}.tokenizer.json" for name in ("bpe-digits-punct", "wordlevel") if VECTORS.exists()),
    *(
        VECTORS / "gguf" / f"ggml-vocab-{name}.gguf"
        for name in ("bert-bge", "llama-spm", "made-t5")
        if VECTORS.exists()
    ),
]
CONTEXT = 64  # bytes: the rules of these files see no more
MARKS = [
    "\u0301",
    "\u0308",
    "\u3099",
    "\u200d",
    "\u200b",
    "\ufeff",
    "\u00a0",
    "\u3000",
    "\u2028",
    "▁",
    "\r\n",
    "\t",
    "\0",
]
TOKENS = [
    "<s>",
    "</s>",
    "<mask>",
    " <mask>",
    "[MASK] ",
    "<unk>",
    "<0x0A>",
    "``",
    "''",
    "ﬁ",
    "e\u0301",
    "각",
    "ㄱㅏ",
    "\u0600",
]
SPACES = [" ", " ", " ", " ", "\n", "  ", " \n", "\n\n", "   "]
WORDS = [
    "the",
    "a",
    "lower",
    "Newest",
    "don't",
    "1234",
    "x,",
    "(b)",
    "Straße",
    "слово",
    "世界。",
    "中文",
    "한국어",
    "हिन्दी",
]
atoms = st.sampled_from([*WORDS, *WORDS, *SPACES, *SPACES, *MARKS, *TOKENS, *HARD_ATOMS])
texts = st.lists(atoms, min_size=60, max_size=160).map("".join)


def blocks_of(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def ids_of_parts(
    tokenizer: Any, data: bytes, options: ReadOptions | None = None, size: int = 1
) -> tuple[int, list[int]]:
    """Return the number of parts, and the ids of all of them; blocks have an odd size."""
    cuts = cuts_of(tokenizer.rules)
    assert cuts is not None
    given = options or ReadOptions()
    parts = read_text_parts("it", tokenizer, cuts, blocks_of(data, 7), given, max(size, 32), CONTEXT)
    found = list(parts)
    ids = [number for part in found for number in part.ids()]
    assert sum(part.count() for part in found) == len(ids)
    return len(found), ids


@pytest.fixture(params=["native", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(backend, "native", lambda: None)
    elif backend.native() is None:
        pytest.skip("there is no native code here")
    return str(request.param)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_parts_have_the_ids_of_the_whole(path: Path, engine: str) -> None:
    tokenizer = load_encoding(path).tokenizer
    most = 0

    @examples(100 if engine == "native" else 40)
    @given(texts, st.integers(32, 200))
    def check(text: str, size: int) -> None:
        nonlocal most
        count, ids = ids_of_parts(tokenizer, text.encode(), size=size)
        assert ids == tokenizer.inner.encode(text, frozenset())
        most = max(most, count)

    check()
    assert most > 1  # else nothing was cut


def spans_of_parts(tokenizer: Any, text: str) -> tuple[list[int], list[int]]:
    """Return the ids of all parts, and the places of their tokens in the text."""
    cuts = cuts_of(tokenizer.rules, places=True)
    assert cuts is not None
    ids: list[int] = []
    spans: list[int] = []
    at = 0
    for part in read_text_parts("it", tokenizer, cuts, [text.encode()], ReadOptions(places=True), 40, CONTEXT):
        found = tokenizer.encode_spans(part)
        ids += found.ids
        spans += (at + place for place in found.spans)
        at += len(str(part.data, "utf-8"))
    return ids, spans


@pytest.mark.parametrize("path", [path for path in FILES if "word.model" not in path.name], ids=lambda path: path.name)
def test_parts_have_the_places_of_the_whole(path: Path, engine: str) -> None:
    tokenizer = load_encoding(path).tokenizer

    @examples(100 if engine == "native" else 40)
    @given(texts)
    def check(text: str) -> None:
        try:
            whole = tokenizer.encode_spans(Chunk(text, 0, allowed=frozenset()))
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                spans_of_parts(tokenizer, text)
            return
        assert spans_of_parts(tokenizer, text) == (list(whole.ids), list(whole.spans))

    check()


def test_unknown_words_that_are_one_id_are_not_cut_where_places_are_asked_for() -> None:
    rules = load_encoding(FORMATS / "word.model").tokenizer.rules
    assert cuts_of(rules) is not None
    assert cuts_of(rules, places=True) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_both_backends_cut_alike_and_parts_begin_with_white_space(path: Path) -> None:
    tokenizer = load_encoding(path).tokenizer
    cuts = cuts_of(tokenizer.rules)
    assert cuts is not None
    text = "".join(random.Random(5).choices([*WORDS, *SPACES, *SPACES], k=600))
    parts = [bytes(part.data) for part in read_text_parts("it", tokenizer, cuts, [text.encode()], ReadOptions(), 64)]
    assert b"".join(parts) == text.encode()
    assert all(part[:1] in (b" ", b"\n") for part in parts[1:])


ALL = [(steps, cut, model) for model in MODELS for cut in CUTS for steps in STEPS]
random.Random(3).shuffle(ALL)
LONG = "".join(random.Random(9).choices([*WORDS, "b", "ab", "x", *SPACES, *SPACES, *MARKS, *TOKENS], k=4000))
FEW = LONG[:4000]


def pipeline(
    path: Path, steps: list[dict[str, Any]], cut: dict[str, Any] | None, model: dict[str, Any], **more: Any
) -> Any:
    normalizer = {"type": "Sequence", "normalizers": steps} if steps else None
    made = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": cut,
        "model": model,
        **more,
    }
    path.write_text(json.dumps(made))
    return load_encoding(path).tokenizer


@pytest.mark.parametrize(("steps", "cut", "model"), first_in_gate(ALL, 40))
def test_parts_have_the_ids_of_the_whole_for_many_pipelines(
    steps: str, cut: str, model: str, engine: str, tmp_path: Path
) -> None:
    tokenizer = pipeline(tmp_path / "tokenizer.json", STEPS[steps], CUTS[cut], MODELS[model])
    if cuts_of(tokenizer.rules) is None:
        return
    assert ids_of_parts(tokenizer, LONG.encode(), size=40)[1] == tokenizer.inner.encode(LONG, frozenset())


@pytest.mark.parametrize(
    ("cut", "model"), [("words", "WordPiece"), ("a metaspace before each", "Unigram"), ("nothing", "BPE")]
)
def test_most_pipelines_cut_texts(cut: str, model: str, tmp_path: Path) -> None:
    tokenizer = pipeline(tmp_path / "tokenizer.json", STEPS["characters"], CUTS[cut], MODELS[model])
    assert ids_of_parts(tokenizer, LONG.encode(), size=40)[0] > 30


@pytest.mark.parametrize(
    ("cut", "model"), [("nothing", "Unigram"), ("nothing", "BPE, pieces first"), ("nothing", "WordPiece")]
)
def test_a_model_that_sees_all_of_a_text_as_a_piece_cuts_none(cut: str, model: str, tmp_path: Path) -> None:
    assert cuts_of(pipeline(tmp_path / "tokenizer.json", [], CUTS[cut], MODELS[model]).rules) is None


ADDED = {
    "takes the space after it": ("ab", {"rstrip": True}),
    "takes the space before it": ("ab", {"lstrip": True}),
    "holds a space": ("b the", {}),
    "holds a line end": ("the\nb", {}),
    "begins with a space": (" the", {}),
    "is one word with a space": (" the", {"single_word": True}),
    "is one word": ("the", {"single_word": True}),
    "is the letter that stands before parts": ("a", {}),
    "is a special token": ("the", {"special": True}),
}


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("what", ADDED)
def test_added_tokens_are_found_as_in_the_whole(what: str, normalized: bool, engine: str, tmp_path: Path) -> None:
    content, flags = ADDED[what]
    token = {"id": 99, "content": content, "normalized": normalized, "special": False, "single_word": False}
    token |= {"lstrip": False, "rstrip": False, **flags}
    for steps in ([], STEPS["ends"], STEPS["characters"]):
        for cut in ("nothing", "spaces", "a metaspace before each"):
            tokenizer = pipeline(tmp_path / "tokenizer.json", steps, CUTS[cut], MODELS["BPE"], added_tokens=[token])
            for allowed in (frozenset[str](), frozenset({content}) if flags.get("special") else frozenset[str]()):
                ids = ids_of_parts(tokenizer, FEW.encode(), ReadOptions(allowed=allowed), 40)[1]
                assert ids == tokenizer.inner.encode(FEW, allowed)


@pytest.mark.parametrize("model_type", [BPE, UNIGRAM])
@pytest.mark.parametrize("makes", [b"x", b"x ", b"", b" ", b"a"])
@pytest.mark.parametrize("rule", ["b a", "b ", " a", "b", " ", "\n", "a\n", "ab", "b\u0301"])
def test_rules_around_a_cut_are_applied_as_in_the_whole(
    rule: str, makes: bytes, model_type: int, engine: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.model"
    pieces = [(letter.encode(), NORMAL) for letter in ("a", "b", "x", "▁", "▁a", "ab", "b▁")]
    path.write_bytes(model_file(pieces, model_type, charsmap_of(rule_for(rule.encode()), makes + b"\0")))
    tokenizer = load_encoding(path).tokenizer
    text = "".join(random.Random(1).choices(["a", "b", "x", "ab", " ", " ", "\n", "c", "\u0301"], k=1500))
    assert ids_of_parts(tokenizer, text.encode(), size=40)[1] == tokenizer.inner.encode(text, frozenset())


@pytest.mark.parametrize("cut", ["nothing", "spaces", "a metaspace before each"])
@pytest.mark.parametrize("steps", STEPS)
def test_replacements_around_a_cut_are_made_as_in_the_whole(steps: str, cut: str, engine: str, tmp_path: Path) -> None:
    tokenizer = pipeline(tmp_path / "tokenizer.json", STEPS[steps], CUTS[cut], MODELS["BPE"])
    text = "".join(random.Random(8).choices(["b", "a", "ab", "x", "the", "``", " ", " ", " ", "  ", "\n"], k=1500))
    if cuts_of(tokenizer.rules) is not None:
        assert ids_of_parts(tokenizer, text.encode(), size=32)[1] == tokenizer.inner.encode(text, frozenset())


def test_sums_go_on_from_part_to_part(engine: str, tmp_path: Path) -> None:
    """At the beginning "a" and "b" score more than "ab"; where the sum is large, both are rounded to the same."""
    path = tmp_path / "x.model"
    pieces = [(text.encode(), NORMAL) for text in ("a", "b", "ab", "x", "▁")]
    path.write_bytes(model_file(pieces, UNIGRAM, scores=(-1.0, -1.0, -2.0000002, -100.0, -1.0)))
    tokenizer = load_encoding(path).tokenizer
    text = "ab x " * 400
    whole = tokenizer.inner.encode(text, frozenset())
    assert 1 in whole and 3 in whole
    count, ids = ids_of_parts(tokenizer, text.encode(), size=40)
    assert count > 20
    assert ids == whole


def test_a_sum_that_becomes_infinite_goes_on_from_part_to_part(engine: str, tmp_path: Path) -> None:
    """Sums are reduced at "a", which makes that of "ab" larger than any number."""
    path = tmp_path / "x.model"
    pieces = [(text.encode(), NORMAL) for text in ("a", "b", "ab", "x", "▁")]
    path.write_bytes(model_file(pieces, UNIGRAM, scores=(-3e38, -1.0, 3e38, -1.0, -1.0)))
    tokenizer = load_encoding(path).tokenizer
    text = "ab " * 400
    count, ids = ids_of_parts(tokenizer, text.encode(), size=40)
    assert count > 20
    assert ids == tokenizer.inner.encode(text, frozenset())


@pytest.mark.parametrize(("prefix", "trims"), [(True, True), (True, False), (False, True), (False, False)])
def test_llama_cpps_models_cut_texts(prefix: bool, trims: bool, engine: str, tmp_path: Path) -> None:
    path = t5(tmp_path / "t5.gguf", add_space_prefix=(prefix, BOOL), remove_extra_whitespaces=(trims, BOOL))
    words = ["hello", "wo", "how", "<x>", "er", " ", " ", "  ", "\n", "x"]
    text = "".join(random.Random(2).choices(words, k=1500))
    for made in (path, llama(tmp_path / "spm.gguf"), bert(tmp_path / "bert.gguf")):
        tokenizer = load_encoding(made).tokenizer
        for allowed in (frozenset[str](), frozenset(tokenizer.special_tokens)):
            shown = text + "".join(f" {token} hello{token}wo" for token in sorted(tokenizer.special_tokens)) * 9
            ids = ids_of_parts(tokenizer, shown.encode(), ReadOptions(allowed=allowed), 40)[1]
            assert ids == tokenizer.inner.encode(shown, allowed)


@pytest.mark.parametrize("name", ["unigram.model", "word.model"])
@pytest.mark.parametrize("allowed", [frozenset[str](), frozenset({"<mask>", "</s>"})])
def test_xlm_robertas_ids_are_those_of_the_whole(
    allowed: frozenset[str], name: str, engine: str, tmp_path: Path
) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes((FORMATS / name).read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta"}')
    tokenizer = load_encoding(tmp_path).tokenizer
    text = "".join(random.Random(6).choices([*WORDS, *SPACES, *SPACES, "<mask>", " <mask>", "</s>"], k=1000))
    count, ids = ids_of_parts(tokenizer, text.encode(), ReadOptions(allowed=allowed), 40)
    assert count > 20
    assert ids == tokenizer.inner.encode(text, allowed)
    if not allowed and name != "word.model":  # words that are unknown in a row are one id: places are not cut there
        whole = tokenizer.encode_spans(Chunk(text, 0, allowed=allowed))
        assert spans_of_parts(tokenizer, text) == (list(whole.ids), list(whole.spans))


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_refused_token_and_bad_bytes_are_named_by_their_place_in_the_text() -> None:
    tokenizer = load_encoding(FORMATS / "wordpiece.tokenizer.json").tokenizer
    token = max(tokenizer.special_tokens)
    refusing = ReadOptions(refused=frozenset(tokenizer.special_tokens))
    before = "é word " * 100
    with pytest.raises(DisallowedSpecialTokenError) as found:
        ids_of_parts(tokenizer, f"{before}{token} word".encode(), refusing)
    assert found.value.offset == len(before.encode())
    with pytest.raises(NotUtf8Error) as bad:
        ids_of_parts(tokenizer, before.encode() + b"\xff word" * 50)
    assert bad.value.offset == len(before.encode())
    with pytest.raises(NotUtf8Error) as cut_off:
        ids_of_parts(tokenizer, before.encode() + b"\xc3")
    assert cut_off.value.offset == len(before.encode())
    replaced = before + "\ufffd word" * 50 + "\ufffd"
    invalid = before.encode() + b"\xff word" * 50 + b"\xc3"
    found_ids = ids_of_parts(tokenizer, invalid, ReadOptions("replace"))[1]
    assert found_ids == tokenizer.inner.encode(replaced, frozenset())


def test_a_text_without_a_place_to_cut_is_refused_with_the_place_where_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokcli.engine.stream.chunks.MAX_PIECE_BYTES", 1 << 20)
    tokenizer = load_encoding(FORMATS / "unigram.model").tokenizer
    with pytest.raises(InputError, match="a text above 1 MiB without a place to cut it begins at byte 999"):
        ids_of_parts(tokenizer, b"the words " * 100 + b"x" * (2 << 20), size=1 << 14)
    count, ids = ids_of_parts(tokenizer, b"the words " * 100 + b"x" * (1 << 19), size=1 << 14)
    assert count > 1 and len(ids) > 100


def test_a_tokenizer_reads_long_texts_in_parts_and_short_ones_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LONG_TEXT_BYTES", 1 << 16)
    for name in ("unigram.model", "wordpiece.tokenizer.json"):
        tokenizer = load_encoding(FORMATS / name).tokenizer
        short, long = b"the words " * 6000, b"the words " * 300_000
        assert len(list(tokenizer.read_parts([short]))) == 1
        parts = list(tokenizer.read_parts(blocks_of(long, 50_000)))
        assert len(parts) > 1
        assert b"".join(map(tokenizer.encode_part, parts)) == bytes(tokenizer.encode_array(long.decode()))


def test_a_tokenizer_that_samples_sees_long_texts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LONG_TEXT_BYTES", 1 << 12)
    plain = load_encoding(FORMATS / "bpe.model").tokenizer
    text = b"the words " * 600
    assert len(list(plain.read_parts([text]))) > 0
    sampling = dropped(plain, 0.5, random.Random(1))
    assert len(list(sampling.read_parts([text * 50]))) == 1
