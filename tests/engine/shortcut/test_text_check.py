"""What native code looks texts through for is what Python finds in them, and texts go the fast way wherever they can."""

from __future__ import annotations

import json
import os
import random
import threading
import unicodedata
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, ROOT, examples, hard_text, rounds

from tokcli.engine import backend
from tokcli.engine.adapters.shortcut_tokenizer import ShortcutTokenizer, adapted
from tokcli.engine.bpe.byte_alphabet import CHAR_OF
from tokcli.engine.encoding import Encoding
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.patterns import PRE_TYPES
from tokcli.engine.llama_cpp.settings import NORMAL, LlamaSettings
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.shortcut.text_check import Checks
from tokcli.engine.stream import special_tokens
from tokcli.engine.tokens import mapped_spans
from tokcli.engine.unicode import forms as unicode_forms
from tokcli.registry.encodings import load_encoding

pytestmark = pytest.mark.no_cover

needs_native = pytest.mark.skipif(backend.native() is None, reason="no native backend")

TOKENS = {"<a>": 1, "<a><b>": 2, "<": 3, "\u00e9": 4, "\u4e2d\u6587": 5, "\U0001f600!": 6, "the ": 7, "\u0301x": 8}
MARKS = ["\u0301", "\u0323", "\u093c", "\u0915", "\u1100", "\u1161", "\u11a8", "\uac00", "\u212b", "\u0e34", "\u0e48",
         "\u05b0", "\u05bc", "\u064b", "\u0654", "\ufb2c", "\u0344", "\ufb01", "\u1ab0", "\u0897", "\U0001e08f", "\u0958",
         "\u3099", "\u304b", "\U000110ba", "\U00011099", "e", "a", " ", "\u00e9", "\u1e0b\u0323"]  # fmt: skip
# Of these all of the scripts in daily use, and samples; with HYPOTHESIS_PROFILE=long all.
# above DENSE, of the blocks of 64 code points one of STEP is tried: of 9, in the gate of 45
DENSE, STEP = 0x3400, 1 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 45 // rounds(5)
FORMS: list[unicode_forms.Form] = ["NFC", "NFD", "NFKC", "NFKD"]


def shortcut_of(**changes: Any) -> Shortcut:
    def nothing() -> Any:
        return {}

    return Shortcut(known.GPT2, nothing, nothing, 0, TOKENS, **changes)


def checks_of(**changes: Any) -> Checks:
    checks = Checks.of(shortcut_of(**changes))
    assert checks is not None
    return checks


def texts(rnd: random.Random, atoms: list[str]) -> str:
    return "".join(rnd.choices(rnd.sample(atoms, min(10, len(atoms))), k=rnd.choice([0, 1, 3, 20, 90, 300])))


@needs_native
def test_tokens_are_found_as_the_pattern_finds_them() -> None:
    checks, rnd = checks_of(), random.Random(1)
    for atoms in (["<", "a", ">", "<b>", "x", "the ", " "], [*TOKENS, "\xe8", "<a", "t", "h"], [*TOKENS, *HARD_ATOMS]):
        for _ in range(400):
            text = texts(rnd, atoms).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for tokens in (frozenset(TOKENS), frozenset({"<a>", "the "}), frozenset({"\u4e2d\u6587"})):
                parts = [(part, kind == "added") for part, kind in checks.segments(text, tokens)]
                assert parts == list(special_tokens.segments(text, tokens))
                whole = checks.whole(tokens)
                assert whole is not None
                assert whole.read(text) is not any(is_token for _, is_token in parts)
                assert whole.read(text.encode()) is whole.read(text)


@needs_native
@pytest.mark.parametrize("form", FORMS)
def test_texts_are_normalized_as_in_python(form: unicode_forms.Form) -> None:
    checks, rnd = checks_of(form=form), random.Random(2)
    whole = checks.whole(frozenset())
    assert whole is not None
    for _ in range(rounds(1500)):
        text = texts(rnd, MARKS)
        expected = unicode_forms.normalize(form, text)
        for given_text in (text, text.encode()):
            made = whole.read(given_text)
            assert made is (text == expected) or made == expected.encode(), ascii(text)
        assert "".join(part for part, _ in checks.segments(text, frozenset())) == expected


@needs_native
@pytest.mark.parametrize("form", FORMS)
def test_no_code_point_is_taken_for_normalized_that_is_not(form: unicode_forms.Form) -> None:
    whole = checks_of(form=form).whole(frozenset())
    assert whole is not None
    for start in (*range(0, DENSE, 64), *range(DENSE, 0x32000, 64 * STEP)):
        for context in ("a{}", "{}\u0323b", "\u1100{}\u11a8", "\u0915{}\u093c "):
            text = "".join(context.format(chr(c)) for c in range(start, start + 64) if not 0xD800 <= c < 0xE000)
            made, expected = whole.read(text), unicode_forms.normalize(form, text)
            assert made is (text == expected) or made == expected.encode(), f"U+{start:04X}"


def test_what_joins_is_what_unicodedata_composes() -> None:
    joining = set()
    for point in range(0x110000):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            if unicodedata.normalize("NFC", first + second) == chr(point) and not unicode_forms.inert().match(second):
                joining.add(second)
    assert joining <= unicode_forms.joining_marks()


@needs_native
def test_unsafe_characters_are_cut_out_where_text_may_be_cut() -> None:
    checks, rnd = checks_of(unsafe=((3, 3), (0xE01, 0xE01), (0x1F600, 0x1F600))), random.Random(3)
    shortcut, whole = checks._shortcut, checks.whole(frozenset())
    assert whole is not None
    for _ in range(600):
        text = texts(rnd, ["a", " b", "\n", "\u0e01", "\x03", "\U0001f600", "\xe9", "\u4e2d", "word", " and"])
        parts = list(checks.segments(text, frozenset()))
        assert "".join(part for part, _ in parts) == text
        assert all(shortcut.holds_for(part) for part, kind in parts if kind == "plain")
        assert all(not shortcut.holds_for(part) for part, kind in parts if kind == "slow")
        assert whole.read(text) is shortcut.holds_for(text)
    assert [kind for _, kind in checks.segments("so on " * 50 + "\u0e01" + " so on" * 50, frozenset())] == [
        "plain", "slow", "plain"
    ]  # fmt: skip


@needs_native
def test_text_of_many_runs_and_of_long_ones_is_normalized_natively() -> None:
    whole = checks_of(form="NFC").whole(frozenset())
    assert whole is not None
    text = "".join(chr(c) + "\u0323\u0301" for c in range(0x4E00, 0x9F00))
    for long in (text + text[::-1], "a\u0301", "a" + "\u0301\u0323" * 5000):
        assert whole.read(long) == unicode_forms.normalize("NFC", long).encode()


@needs_native
def test_text_that_a_normalizer_makes_unsafe_is_refused() -> None:
    checks = checks_of(form="NFKC", unsafe=((0x41, 0x42), (0x44, 0x44), (0xE9, 0xE9)))
    whole = checks.whole(frozenset())
    assert whole is not None
    for text, is_fine in [
        ("\uff21", False),
        ("\uff23", True),
        ("\uff24", False),
        ("e\u0301", False),
        ("e\u0300", True),
    ]:
        assert bool(whole.read(f"x{text}")) is is_fine
        assert checks._shortcut.holds_for(unicode_forms.normalize("NFKC", text)) is is_fine


@needs_native
@pytest.mark.parametrize("form", FORMS)
def test_characters_come_from_where_python_says(form: unicode_forms.Form) -> None:
    checks, rnd = checks_of(form=form), random.Random(6)
    for _ in range(rounds(1500)):
        text = texts(rnd, MARKS)
        if (changes := unicode_forms.changes(form, text)) is None:
            assert checks.breaks(text).tolist() == [0, 0]
            continue
        aligned = Aligned.of(text)
        aligned.transform(changes)
        size = len(aligned.text)
        spans = array("Q", [place for at in range(size) for place in (at, at + 1)])
        mapped = mapped_spans(spans, checks.breaks(text), 0)
        assert aligned.spans is not None
        found = list(zip(mapped[::2], mapped[1::2], strict=True))
        firsts = text[:1] in MARKS  # what a mark at the beginning adds has no place of its own in Python
        assert [a == b or (firsts and b == (0, 0)) for a, b in zip(found, aligned.spans, strict=True)] == [True] * size


@needs_native
def test_threads_share_a_check() -> None:
    checks = checks_of(form="NFC")
    whole = checks.whole(frozenset(TOKENS))
    assert whole is not None
    rnd = random.Random(4)
    wanted = []
    for _ in range(200):
        text = "".join(chr(rnd.randrange(0xA0, 0xD800)) for _ in range(50))
        wanted.append((text, [part for part, _ in checks_of(form="NFC").segments(text, frozenset(TOKENS))]))
    wrong: list[str] = []

    def work(seed: int) -> None:
        mine = random.Random(seed).sample(wanted, len(wanted))
        wrong.extend(text for text, parts in mine if [p for p, _ in checks.segments(text, frozenset(TOKENS))] != parts)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_native
def test_a_surrogate_is_odd_and_tables_that_do_not_fit_are_refused() -> None:
    native = backend.native()
    assert native is not None
    check = native.TextCheck(b"", b"", b"")
    assert check.read("a\ud800") is False
    assert check.read("a\u0fff" * 100) is True
    for form, refused in ((None, [1]), (None, [2, 1]), ("NFX", [])):
        with pytest.raises(ValueError, match=r"range|name"):
            native.TextCheck(b"", b"", b"", form, array("I", refused))
    with pytest.raises(TypeError, match="str"):
        native.TextCheck(b"", b"", b"", 1)
    with pytest.raises(ValueError, match="size"):
        native.TextCheck(b"ab", bytes([9, 0, 0, 0]), bytes(4))


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
    assert isinstance(encoding.tokenizer, ShortcutTokenizer)
    return encoding


@examples(400)
@given(st.lists(st.one_of(hard_text(4), st.sampled_from(["<tool>", "<end>", "<to", *MARKS])), max_size=12))
def test_every_way_to_encode_gives_the_ids_of_the_parts(qwen: Encoding, atoms: list[str]) -> None:
    text = "".join(atoms)
    whole = qwen.tokenizer.rules
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    expected = whole.encode_in_python(plain, frozenset())  # type: ignore[attr-defined]
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
def test_text_to_be_normalized_goes_the_fast_way(qwen: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = qwen.encode_ordinary("d\u1ea5u \uac00 na\u00efve")
    monkeypatch.setattr(qwen.tokenizer, "_stretches", None)
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


def gguf_of(pre: str, missing: set[int]) -> LlamaCpp:
    lacking = {CHAR_OF[byte] for byte in missing}
    model = TABLE["model"]
    ids = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kept = [text for text in ids if not lacking.intersection(text)]
    merges = [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in model["merges"]]
    merges = [(left, right) for left, right in merges if not lacking.intersection(left + right)]
    return LlamaCpp("gpt2", kept, [0.0] * len(kept), [NORMAL] * len(kept), LlamaSettings(), PRE_TYPES[pre], merges)


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "falcon", "deepseek-v3"])
def test_bytes_that_are_no_tokens_are_left_out_as_llama_cpp_does(pre: str) -> None:
    tokenizer = gguf_of(pre, {*range(8), 0x65, 0x81, 0xC3, *range(0xF0, 0x100)})
    encoding, rnd = Encoding.of("gguf", adapted("gguf", tokenizer)), random.Random(5)
    assert tokenizer.shortcut is None or tokenizer.shortcut.cut is not None
    for _ in range(300):
        text = texts(rnd, [*HARD_ATOMS, "the", "\x03", "e", "\xe9", "\x81", "\U0001f600", "\u0141", "\u017f", "'\u017f",
                           "\U00010d40", "\u1c89 "])  # fmt: skip
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        expected = tokenizer.encode(text, frozenset())
        assert encoding.encode_ordinary(text) == expected, ascii(text)
        assert encoding.count(text) == len(expected)
        assert encoding.encode_ordinary_batch([text]) == [expected]


@needs_native
def test_bytes_that_are_no_tokens_go_the_fast_way() -> None:
    tokenizer = gguf_of("falcon", {3, 0xF0})
    assert tokenizer.shortcut is not None
    assert tokenizer.shortcut.holds_for("\x03\U0001f600")
    assert not tokenizer.shortcut.holds_for("\u017f")


def test_a_merge_of_what_is_no_token_goes_the_slow_way() -> None:
    tokenizer = gguf_of("gpt-2", {0x7A})
    odd = replace(tokenizer, texts=[*tokenizer.texts, "za"], token_scores=[*tokenizer.token_scores, 0.0],
                  kinds=[*tokenizer.kinds, NORMAL], merges=[*tokenizer.merges, ("z", "a")])  # fmt: skip
    encoding = Encoding.of("gguf", adapted("gguf", odd))
    for text in ("zaza z a", "a\nz", "pizza"):
        assert encoding.encode_ordinary(text) == odd.encode(text, frozenset())
    assert odd.encode("za", frozenset()) == [len(odd.texts) - 1]
