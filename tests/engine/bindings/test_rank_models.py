"""The native stages of byte-level tokenizers give the ids of their parts in Python, whatever way a text goes."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, ROOT, examples, hard_text

from tokcli.engine import backend
from tokcli.engine.bindings import llama_models  # noqa: F401 (makes the native twins)
from tokcli.engine.bindings.llama_models import rules_of_llama
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.engine.encoding import Encoding
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.native_cuts import native_cuts
from tokcli.engine.llama_cpp.patterns import PRE_TYPES
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import DecodingSpec, RanksSpec
from tokcli.engine.spec.models import NORMAL, USER_DEFINED, LlamaModel
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tokenizer import Tokenizer
from tokcli.engine.unicode import forms as unicode_forms
from tokcli.registry.encodings import load_encoding

pytestmark = pytest.mark.no_cover

needs_native = pytest.mark.skipif(backend.native() is None, reason="no native backend")

MARKS = ["\u0301", "\u0323", "\u093c", "\u0915", "\u1100", "\u1161", "\u11a8", "\uac00", "\u212b", "\u0e34", "\u0e48",
         "\u05b0", "\u05bc", "\u064b", "\u0654", "\ufb2c", "\u0344", "\ufb01", "\u1ab0", "\u0897", "\U0001e08f", "\u0958",
         "\u3099", "\u304b", "\U000110ba", "\U00011099", "e", "a", " ", "\u00e9", "\u1e0b\u0323"]  # fmt: skip


def text_ranks_by(**changes: Any) -> TextRanks:
    def nothing() -> Any:
        return {}

    return TextRanks("ranks", RanksSpec(0, (known.GPT2,), **changes), {}, nothing, nothing)


def texts(rnd: random.Random, atoms: list[str]) -> str:
    return "".join(rnd.choices(rnd.sample(atoms, min(10, len(atoms))), k=rnd.choice([0, 1, 3, 20, 90, 300])))


def test_what_joins_is_what_unicodedata_composes() -> None:
    joining = set()
    for point in range(0x110000):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            if unicodedata.normalize("NFC", first + second) == chr(point) and not unicode_forms.inert().match(second):
                joining.add(second)
    assert joining <= unicode_forms.joining_marks()


# --- whole files -----------------------------------------------------------------------------------------------------

TABLE = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_bytes())
TOOL = {"id": 900, "content": "<tool>", "special": False, "normalized": False}
END = {"id": 901, "content": "<end>", "special": True, "normalized": False}
SPLIT = {"type": "Split", "pattern": {"Regex": known.QWEN2}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Encoding:
    path = tmp_path_factory.mktemp("qwen") / "tokenizer.json"
    steps = {"type": "Sequence", "pretokenizers": [SPLIT, BYTES]}
    table = TABLE | {"added_tokens": [TOOL, END], "normalizer": {"type": "NFC"}, "pre_tokenizer": steps}
    path.write_text(json.dumps(table))
    encoding = load_encoding(path)
    assert encoding.tokenizer.ranked is not None
    return encoding


@examples(400)
@given(st.lists(st.one_of(hard_text(4), st.sampled_from(["<tool>", "<end>", "<to", *MARKS])), max_size=12))
def test_every_way_to_encode_gives_the_ids_of_the_parts(qwen: Encoding, atoms: list[str]) -> None:
    text = "".join(atoms)
    whole = qwen.tokenizer.rules
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    expected = whole.encode(plain, frozenset())  # type: ignore[attr-defined]
    assert qwen.encode_ordinary(text) == expected
    assert qwen.encode_array(text).tolist() == expected
    assert qwen.count(text) == len(expected)
    assert qwen.encode_ordinary_batch(["a", text, "<tool>"]) == [
        qwen.encode_ordinary("a"),
        expected,
        qwen.encode_ordinary("<tool>"),
    ]
    ids, offsets = qwen.encode_array_batch([text, "a"])
    assert ids.tolist() == expected + qwen.encode_ordinary("a")
    assert offsets.tolist() == [0, len(expected), len(ids)]
    assert [
        n for part in qwen.tokenizer.read_parts([plain.encode()]) for n in qwen.tokenizer.encode_part(part)
    ] == expected
    assert sum(map(qwen.tokenizer.count_part, qwen.tokenizer.read_parts([plain.encode()]))) == len(expected)
    assert [
        n for chunk in qwen.tokenizer.read_chunks([plain.encode()]) for n in qwen.tokenizer.encode_part(chunk)
    ] == expected


@needs_native
def test_text_to_be_normalized_is_encoded_natively(qwen: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = qwen.encode_ordinary("d\u1ea5u \uac00 na\u00efve")
    monkeypatch.setattr(qwen.tokenizer, "inner", None)
    assert qwen.encode_ordinary("da\u0302\u0301u \u1100\u1161 nai\u0308ve") == expected


@needs_native
def test_a_batch_may_be_a_tuple_and_wrong_types_are_named(qwen: Encoding) -> None:
    assert qwen.encode_array_batch(("a", "b"))[1].tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="expected a str"):
        qwen.encode_ordinary(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a str"):
        qwen.encode_ordinary_batch(["a", 5])  # type: ignore[list-item]


def test_nothing_is_put_before_an_empty_text(tmp_path: Path) -> None:
    level = {**BYTES, "use_regex": True, "add_prefix_space": True}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(TABLE | {"added_tokens": [END], "pre_tokenizer": level}))
    encoding = load_encoding(path)
    assert encoding.encode_ordinary("") == []
    assert encoding.encode_ordinary_batch(["", "a"]) == [[], encoding.encode_ordinary("a")]
    assert encoding.encode_ordinary("a") == encoding.encode_ordinary(" a")


# --- GGUF ------------------------------------------------------------------------------------------------------------


def with_merges(
    pre: str, texts: list[str], merges: list[tuple[str, str]], added: dict[str, int] | None = None
) -> LlamaCpp:
    kinds, settings, added = [NORMAL] * len(texts), PRE_TYPES[pre], added or {}
    for number in added.values():
        kinds[number] = USER_DEFINED
    model = LlamaModel(
        "gpt2",
        texts,
        [0.0] * len(texts),
        kinds,
        merges=[f"{left} {right}".encode() for left, right in merges],
        byte_level=settings.byte_level,
        shows_spaces=settings.shows_spaces,
        ignore_merges=settings.ignore_merges,
        lines_whole=settings.lines_whole,
    )
    tokens = tuple(AddedToken(text, number) for text, number in added.items())
    return rules_of_llama(TokenizerSpec(model, tokens, splitter=(settings.splitter,), decoder=DecodingSpec()))


def gguf_of(pre: str, missing: set[int], found: Sequence[str] = (), more: tuple[str, str] | None = None) -> LlamaCpp:
    lacking = {CHAR_OF[byte] for byte in missing}
    model = TABLE["model"]
    ids = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kept = [text for text in ids if not lacking.intersection(text)]
    merges = [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in model["merges"]]
    merges = [(left, right) for left, right in merges if not lacking.intersection(left + right)]
    if more is not None:
        kept, merges = [*kept, "".join(more)], [*merges, more]
    added = {text: len(kept) + number for number, text in enumerate(found)}
    return with_merges(pre, [*kept, *found], merges, added)


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "falcon", "deepseek-v3"])
def test_bytes_that_are_no_tokens_are_left_out_as_llama_cpp_does(pre: str) -> None:
    tokenizer = gguf_of(pre, {*range(8), 0x65, 0x81, 0xC3, *range(0xF0, 0x100)})
    encoding, rnd = Encoding.of("gguf", Tokenizer("gguf", tokenizer)), random.Random(5)
    for _ in range(300):
        text = texts(rnd, [*HARD_ATOMS, "the", "\x03", "e", "\xe9", "\x81", "\U0001f600", "\u0141", "\u017f", "'\u017f",
                           "\U00010d40", "\u1c89 "])  # fmt: skip
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        expected = tokenizer.model.tokenize(text)
        assert encoding.encode_ordinary(text) == expected, ascii(text)
        assert encoding.count(text) == len(expected)
        assert encoding.encode_ordinary_batch([text]) == [expected]


@needs_native
def test_bytes_that_are_no_tokens_go_the_fast_way() -> None:
    tokenizer = gguf_of("falcon", {3, 0xF0})
    assert tokenizer.text_ranks is not None
    assert tokenizer.text_ranks.is_plain("\x03\U0001f600")
    assert not tokenizer.text_ranks.is_plain("\u017f")


@needs_native
@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "falcon", "deepseek-v3", "tekken", "bloom"])
def test_no_text_of_gguf_is_left_to_python(pre: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = gguf_of(pre, set())
    encoding, rnd = Encoding.of("gguf", Tokenizer("gguf", tokenizer)), random.Random(6)
    assert encoding.tokenizer.twin is not None  # made now, since without rules there is none
    monkeypatch.setattr(encoding.tokenizer, "inner", None)
    for _ in range(200):
        text = texts(rnd, ["the", "\xe9", " ", "'\u017f", "\u017f", "\U00010d40", "\u1c89 ", "\u0897", "12", "\n"])
        assert encoding.encode_ordinary(text) == tokenizer.model.tokenize(text), ascii(text)


BYTE_LEVEL = {pre.splitter.patterns: name for name, pre in reversed(PRE_TYPES.items()) if pre.byte_level}


@needs_native
@pytest.mark.parametrize("pre", BYTE_LEVEL.values())
def test_the_model_of_every_pre_tokenizer_is_native(pre: str) -> None:
    tokenizer, rnd = gguf_of(pre, {3, 0xF1}), random.Random(7)
    twin, model = tokenizer.native, tokenizer.model
    assert twin is not None
    for _ in range(120):
        text = texts(rnd, [*HARD_ATOMS, "the", "\u017f", "'\u017f", "\U00010d40", "\u1c89 ", "\u0897", "12", "\n", "123", "4567",
                           "\x03", "\U00040000", "\u4e2d", "\u3042", "\u0661"])  # fmt: skip
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        expected = list(model.tokenize(text))
        assert twin.encode(text, frozenset()) == expected, ascii(text)
        assert twin.count(text, frozenset()) == len(expected)
        assert tokenizer.encode(text, frozenset()) == expected


def test_ranks_hold_for_text_without_exceptional_characters() -> None:
    ranks, rnd = text_ranks_by(exceptions=(3, 3, 0xE01, 0xE01, 0x1F600, 0x1F600)), random.Random(3)
    exceptional = re.compile("[\x03\u0e01\U0001f600]")
    for _ in range(600):
        text = texts(rnd, ["a", " b", "\n", "\u0e01", "\x03", "\U0001f600", "\U0001f601", "\xe9", "\u4e2d", "word"])
        assert ranks.holds_for(text) is not bool(exceptional.search(text))


@needs_native
@pytest.mark.parametrize("pre", ["kimi-k2", "tiny_aya", "superbpe", "exaone-moe", "gpt-2"])
def test_threads_and_parts_of_a_long_text_have_the_ids_of_the_whole(pre: str) -> None:
    tokenizer, rnd = gguf_of(pre, set()), random.Random(10)
    words = [
        "the ",
        "hello",
        " 1234567",
        " ",
        "\n",
        "  a",
        "\u0661234 ",
        "\U00010d40",
        "x\n\n",
        "it's",
        "\u4e2d ",
        "12 ",
    ]
    text = "".join(rnd.choices(words, k=300_000))
    expected = list(tokenizer.model.tokenize(text))
    native = native_cuts(PRE_TYPES[pre].splitter)
    assert memoryview(native).cast("I")[1] == (pre not in ("superbpe", "exaone-moe"))
    encoding = Encoding.of("gguf", Tokenizer("gguf", tokenizer))
    assert encoding.encode_ordinary(text) == expected
    assert encoding.encode_array(text).tolist() == expected
    assert encoding.count(text) == len(expected)
    assert list(encoding.tokenizer.place(text).ids) == expected
    assert encoding.split(text) == tokenizer.split(text)


@needs_native
@pytest.mark.parametrize("pre", ["gemma4", "sarvam-moe"])
def test_lines_of_texts_that_are_no_bytes_are_merged_natively(pre: str) -> None:
    rnd = random.Random(9)
    letters = [*"abcdehot\u2581.\u0301\u4e2d", "\n"]
    for _ in range(12):
        merges, made = [], [*letters]
        for _ in range(60):
            pair = rnd.choice(made), rnd.choice(made)
            if "".join(pair) not in made:
                merges.append(pair)
                made.append("".join(pair))
        made += {"\n\n", "\n\n\n", "\n" * 7}.difference(made)
        kept = [*(f"<0x{byte:02X}>" for byte in range(256)), *made]
        tokenizer = with_merges(pre, kept, merges)
        twin, model, encoding = tokenizer.native, tokenizer.model, Encoding.of("gguf", Tokenizer("gguf", tokenizer))
        assert twin is not None
        for _ in range(40):
            text = "".join(
                rnd.choices(
                    [*letters, " ", "the", "\n\n", "\n" * 7, "\xe9", "\U0001f600", "  ", " a"], k=rnd.randrange(60)
                )
            )
            assert twin.encode(text, frozenset()) == list(model.tokenize(text)), ascii(text)
            assert encoding.split(text) == tokenizer.split(text), ascii(text)


ADDED = ["<ab>", "b>cd>", "<a", "  ", "    ", "\t", "<x>", "cd"]


def test_of_tokens_that_overlap_the_longer_one_is_found() -> None:
    rnd, fast = random.Random(8), 0
    for _ in range(60):
        found = rnd.sample(ADDED, rnd.randrange(1, 6))
        changed = gguf_of("gpt-2", set(), found)
        encoding = Encoding.of("gguf", Tokenizer("gguf", changed))
        fast += changed.text_ranks is not None
        for _ in range(20):
            text = texts(rnd, [*ADDED, "<", "b", " ", "a>", "   ", "cd>", "\t "])
            assert encoding.encode_ordinary(text) == changed.encode(text, frozenset()), (found, text)
    assert 10 < fast < 50


def test_a_merge_of_what_is_no_token_goes_the_slow_way() -> None:
    odd = gguf_of("gpt-2", {0x7A}, more=("z", "a"))
    encoding = Encoding.of("gguf", Tokenizer("gguf", odd))
    for text in ("zaza z a", "a\nz", "pizza"):
        assert encoding.encode_ordinary(text) == odd.model.tokenize(text)
    assert odd.model.tokenize("za") == [odd.max_id]
