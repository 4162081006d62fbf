"""The native models that are not byte-level answer as their Python twins: on any text, with any vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece_files import charsmap_of, rule_for, spec_of
from support import ROOT, examples, hard_text, pipeline_of, read_vocabulary, unless_refused

from tokcli.engine import backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.bindings import llama_models, sentencepiece_models  # noqa: F401 (they make the twins)
from tokcli.engine.bindings.sentencepiece_models import rules_of_sentencepiece
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.bpe.lattice import to_float32
from tokcli.engine.bpe.pairs import SHIFT
from tokcli.engine.llama_cpp.fragment_models import LlamaSpm, Rwkv
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.llama_cpp.words import LlamaWords
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.spec import normalizers as normalizer
from tokcli.engine.spec import splitters
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.models import NORMAL, USER_DEFINED, LlamaModel, Pairs, SpmPiece, Unigram, WordLevel, WordPiece
from tokcli.engine.spec.normalizers import Bert, SentencePieceNormalizer
from tokcli.engine.spec.patterns import Characters, LiteralText, OnigPattern
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.stream.utf8 import SplitText, without_surrogates
from tokcli.errors import GrowthError

pytestmark = [pytest.mark.no_cover, pytest.mark.skipif(backend.native() is None, reason="there is no native backend")]

FOLDER = ROOT / "tests" / "data" / "formats"
FILES = ["bpe.model", "unigram.model", "wordpiece.tokenizer.json", "unigram.tokenizer.json"]
WORDS = st.text("ab▁é字😀", min_size=1, max_size=5)
TEXTS = st.lists(st.text("aab   é字😀", max_size=12), max_size=8).map(" ".join)
SCORES = st.sampled_from([-1.0, -2.0, -2.5, -0.1, to_float32(-7.3), to_float32(-0.7), -40000.0])
BYTES = {byte_token(byte): byte for byte in range(256)}


def assert_twins(tokenizer: SentencePiece | Pipeline, text: str, allowed: frozenset[str] = NONE) -> None:
    native = tokenizer.native
    assert native is not None
    ids = native.encode(text, allowed)
    assert ids == list(tokenizer.encode(text, allowed))
    assert native.count(text, allowed) == len(ids)
    array = native.encode_array(text, allowed)
    assert array is not None
    assert array.tolist() == ids
    assert reopened(native).encode(text, allowed) == ids
    assert_places(tokenizer, text, allowed)
    assert_pieces(tokenizer, text)


def assert_places(tokenizer: SentencePiece | Pipeline, text: str, allowed: frozenset[str]) -> None:
    """The twin finds the places that the Python code finds, or none; its image finds them, too."""
    native, expected = tokenizer.native, tokenizer.encode_spans(text, allowed)
    assert native is not None
    for twin in (native, native, reopened(native)):  # the second time, words are in its cache
        found = unless_refused(twin.encode_spans, text, allowed)
        assert found is None or (found.ids, found.spans) == (expected.ids, expected.spans)


def assert_pieces(tokenizer: SentencePiece | Pipeline, text: str) -> None:
    """The twin of a pipeline cuts a text into the pieces of the Python code, or into none; that of SentencePiece never."""
    native, given = tokenizer.native, without_surrogates(text).encode()
    assert native is not None
    for twin in (native, reopened(native)):
        ends = unless_refused(twin.piece_ends, given)
        assert ends is None or isinstance(tokenizer, Pipeline)
        assert ends is None or SplitText(memoryview(given), ends).pieces == tokenizer.split(without_surrogates(text))


def reopened(native: NativeText) -> NativeText:
    """The same model from its image."""
    assert isinstance(native, NativeText)
    handle = backend.native()
    assert handle is not None
    return NativeText(handle.TextModel(native.image()), native.raw, native.normalized)


@pytest.mark.parametrize("name", FILES)
@examples(50)
@given(text=hard_text())
def test_files_of_other_libraries_are_read_alike(name: str, text: str) -> None:
    tokenizer = read_vocabulary(FOLDER / name)
    assert isinstance(tokenizer, (SentencePiece, Pipeline))
    assert_twins(tokenizer, text)
    assert_twins(tokenizer, text, frozenset(tokenizer.special_tokens))


@pytest.mark.parametrize("name", FILES)
def test_places_in_ordinary_text_need_no_python(name: str) -> None:
    tokenizer = read_vocabulary(FOLDER / name)
    assert isinstance(tokenizer, (SentencePiece, Pipeline))
    for text in ("", "a", "Hello, wörld! ", "É\u0301 ﬁ 漢字 e\u0323\u0307", " \u200b x\x00y  z\n"):
        found = None if tokenizer.native is None else tokenizer.native.encode_spans(text, NONE)
        assert found is not None, text
        is_split = unless_refused(tokenizer.native.piece_ends, text.encode()) is not None
        assert is_split == isinstance(tokenizer, Pipeline), text


@pytest.mark.parametrize("name", FILES)
@examples(20)
@given(
    atoms=st.lists(
        st.sampled_from(["\ud83d", "\ude00", "\ud83d\ude00", "\U0001f600", "a", "é", " the", "字"]), max_size=9
    )
)
def test_surrogates_are_read_as_python_reads_them(name: str, atoms: list[str]) -> None:
    tokenizer, text = read_vocabulary(FOLDER / name), "".join(atoms)
    assert isinstance(tokenizer, (SentencePiece, Pipeline))
    found = None if tokenizer.native is None else tokenizer.native.encode_spans(text, NONE)
    expected = tokenizer.encode_spans(without_surrogates(text), NONE)
    assert found is not None
    assert (found.ids, found.spans) == (expected.ids, expected.spans)


def sentencepiece(pieces: dict[str, float], kind: str, **settings: bool) -> SentencePiece:
    kept = frozenset(["é字", "b▁"]) if settings.pop("keeps", False) else frozenset()
    table = [SpmPiece("<unk>", 0.0, "unknown"), *(SpmPiece(text, score, "normal") for text, score in pieces.items())]
    table = [piece._replace(kind="user_defined") if piece.text in kept else piece for piece in table]
    table += [SpmPiece(text, 0.0, "user_defined") for text in sorted(kept - pieces.keys())]
    byte_fallback = settings.pop("byte_fallback", False)
    if byte_fallback:
        table += [SpmPiece(text, 0.0, "byte") for text in BYTES]
    return rules_of_sentencepiece(spec_of(table, kind, byte_fallback, kept=kept, **settings))


FLAGS = st.fixed_dictionaries(
    dict.fromkeys(
        ["add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix",
         "byte_fallback", "keeps"], st.booleans()),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
@examples(75)
@given(pieces=st.dictionaries(WORDS, SCORES, max_size=20), flags=FLAGS, texts=st.lists(TEXTS, max_size=4))
def test_any_sentencepiece_model(kind: str, pieces: dict[str, float], flags: dict[str, bool], texts: list[str]) -> None:
    model = sentencepiece(pieces, kind, **flags)
    for text in [*texts, " ".join(texts)]:
        assert_twins(model, text)


@examples(30)
@given(pieces=st.dictionaries(WORDS, SCORES, min_size=5, max_size=20), text=TEXTS)
def test_sums_that_grow_through_a_long_text_are_rounded_alike(pieces: dict[str, float], text: str) -> None:
    assert_twins(sentencepiece(pieces, "unigram"), (text + " ab a ba ") * 200)


def test_a_way_that_only_a_large_sum_has_is_not_taken_elsewhere() -> None:
    # the two ways through "abc" are 0.004 apart: less than floats of 32 bits tell apart behind a sum of 90,000
    scores = {"a": -1.17, "bc": -2.637, "ab": -2.777, "c": -1.034, "d": -10.0, "▁": -1.0}
    far, near = "d" * 9000 + " abc", "abc"
    model = sentencepiece({text: to_float32(score) for text, score in scores.items()}, "unigram")
    assert model.encode(far, NONE)[-2:] != model.encode(near, NONE)[-2:]
    for text in (far, near, far, near + far):
        assert_twins(model, text)


def test_more_words_than_the_cache_holds_at_first() -> None:
    model = sentencepiece(dict.fromkeys(["a", "b", "ab", "bb", "aba", "▁", "▁b"], -1.0) | {"ba": -0.5}, "unigram")
    words = [f"{number:015b}".replace("0", "a").replace("1", "b") for number in range(0, 1 << 15, 3)]
    for _ in range(2):
        assert_twins(model, " ".join(words))


MARKS = ["\u0306", "\u0308", "\u3099", "\u093c", "ﾞ", "\x7f", "\n", "\t", " ", "  "]
PLAIN = ["и", "か", "ｶ", "漢", "\u0915", "é", "ﬁ", "😀", "▁", "<", "e", "abcdefghi", "wordy"]


@examples(60)
@given(parts=st.lists(st.sampled_from(MARKS + PLAIN), max_size=30))
def test_marks_join_what_stands_before_them(parts: list[str]) -> None:
    tokenizer = read_vocabulary(FOLDER / "unigram.model")
    assert isinstance(tokenizer, SentencePiece)
    assert_twins(tokenizer, "".join(parts))


def pair_bpe(words: list[str], **settings: bool) -> Pairs:
    """A vocabulary of some words, each merged from its first part and its last character."""
    ids = {} if not settings["byte_fallback"] else dict(BYTES)
    ids["<unk>"] = len(ids)
    for char in "▁ab":
        ids.setdefault(char, len(ids))
    merges = {}
    for word in words:
        for end in range(2, len(word) + 1):
            if not {word[: end - 1], word[end - 1]} <= ids.keys():
                break
            made = ids.setdefault(word[:end], len(ids))
            merges.setdefault(ids[word[: end - 1]] << SHIFT | ids[word[end - 1]], (len(merges), made))
    prefix, suffix = ("##" if settings.pop("has_prefix") else ""), ("</w>" if settings.pop("has_suffix") else "")
    return Pairs(
        ids, merges, "<unk>" if settings.pop("has_unknown") else None, prefix=prefix, suffix=suffix, **settings
    )


PAIR_FLAGS = st.fixed_dictionaries(
    dict.fromkeys(
        ["byte_fallback", "fuse_unk", "ignore_merges", "has_unknown", "has_prefix", "has_suffix"], st.booleans())
)  # fmt: skip
LLAMA = (normalizer.Prepend("▁"), normalizer.Replace(LiteralText(" "), "▁"))


@examples(100)
@given(words=st.lists(st.text("ab▁", min_size=2, max_size=5), max_size=10), flags=PAIR_FLAGS, text=TEXTS)
def test_any_bpe_of_characters(words: list[str], flags: dict[str, bool], text: str) -> None:
    model = pair_bpe(words, **flags)
    assert_twins(pipeline_of(model, normalizer=LLAMA), text)
    for scheme in ("always", "never"):
        metaspace = splitters.Metaspace("▁", scheme, scheme == "always")  # type: ignore[arg-type]
        assert_twins(pipeline_of(model, splitter=(metaspace,)), text)
    assert_twins(pipeline_of(model, splitter=(splitters.Metaspace("▁", "first", True),)), text)


NFKD, MARKS, LOWER = normalizer.UnicodeForm("NFKD"), normalizer.Without("MARK"), normalizer.Lowercase()
SQUEEZE = normalizer.Replace(OnigPattern(" {2,}"), " ")
NORMALIZERS: list[list[normalizer.Normalizer]] = [
    [normalizer.UnicodeForm("NFC")],
    [normalizer.UnicodeForm("NFKC"), LOWER],
    [NFKD],
    [NFKD, MARKS, LOWER],
    [
        normalizer.Replace(LiteralText("``"), '"'),
        NFKD,
        MARKS,
        LOWER,
        SQUEEZE,
        NFKD,
        MARKS,
        LOWER,
        SQUEEZE,
    ],
    [normalizer.Bert(True, True, None, True)],
    [normalizer.Bert(True, True, False, True)],
    [normalizer.Bert(False, False, True, False)],
    [normalizer.Nmt(), normalizer.Precompiled(b""), normalizer.Strip(True, True)],
    [normalizer.Replace(LiteralText("a"), " "), normalizer.Strip(True, True)],
]
AT_SPACE, NUMBERS = (
    splitters.Split(Characters("SPACE"), "Removed"),
    splitters.Split(Characters("NUMERIC"), "Contiguous"),
)
BERT = (AT_SPACE, splitters.Split(Characters("PUNCTUATION"), "Isolated"))
SPLITTERS: list[tuple[splitters.Splitter, ...]] = [
    (),
    BERT,
    (splitters.Words(),),
    (AT_SPACE, NUMBERS),
    (AT_SPACE, splitters.Metaspace("▁", "always", True)),
    (splitters.Split(LiteralText(" "), "Isolated"),),
]
# shows where pieces begin, and each of their bytes
SHOWS_ALL = Pairs(BYTES, {}, byte_fallback=True, prefix="##")
MARKED = st.text(
    "a Ab1.'`\u0301\u0327é\u0958\u093c\u094dकह\u1100\u1161\u11a8각\u200d👩\U0001f1e6\r\n\u00a0字İßﬁ", max_size=20
)


@pytest.mark.parametrize("steps", NORMALIZERS)
@examples(40)
@given(text=hard_text() | MARKED, splitter=st.sampled_from(SPLITTERS))
def test_normalizers_and_pre_tokenizers(
    steps: list[normalizer.Normalizer], text: str, splitter: tuple[splitters.Splitter, ...]
) -> None:
    assert_twins(pipeline_of(SHOWS_ALL, normalizer=tuple(steps), splitter=splitter), text)


@pytest.mark.parametrize("scheme", ["always", "never"])
def test_many_pieces_with_and_without_spaces_that_get_a_metaspace(scheme: str) -> None:
    """Short pieces wait in a row until it is full; a piece with a space, or with a metaspace, is written by itself."""
    metaspace = splitters.Metaspace("▁", scheme, True)  # type: ignore[arg-type]
    parts = pipeline_of(SHOWS_ALL, normalizer=(NFKD, MARKS, LOWER, SQUEEZE), splitter=(NUMBERS, metaspace))
    for text in ("Aé1ﬁ2" * 2000, "aé1b  ﬁ2▁c3 d4" * 1000 + "É5" * 70, "a1" + "é" * 20_000 + "1b c", "a b1" * 70):
        assert_twins(parts, text)


@pytest.mark.parametrize("text", ["  a  b  ", "a", "  ", "a  ", "aa bb", "aaa"])
def test_places_of_spaces_that_are_squeezed_and_stripped(text: str) -> None:
    for steps in ([SQUEEZE], NORMALIZERS[-1]):
        assert_twins(pipeline_of(SHOWS_ALL, normalizer=tuple(steps)), text)


# runs and other repeats, of which the windows in which long words are merged are the same, and what is between them
REPEATED = st.builds(str.__mul__, st.text("ab▁é字", min_size=1, max_size=3), st.integers(1, 400))
LONG = st.lists(REPEATED | st.text("ab▁é字", max_size=60), min_size=1, max_size=6).map("".join)
RUNS = st.builds(str.__mul__, st.sampled_from(["a", "ab", "▁", "é"]), st.integers(1, 40))


@examples(60)
@given(pieces=st.dictionaries(WORDS | RUNS, SCORES, max_size=25), flags=FLAGS, text=LONG)
def test_long_words_of_sentencepiece(pieces: dict[str, float], flags: dict[str, bool], text: str) -> None:
    assert_twins(sentencepiece(pieces, "bpe", **flags), text)


@examples(60)
@given(pairs=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=25), text=LONG)
def test_long_words_of_merges(pairs: list[tuple[int, int]], text: str) -> None:
    """Each pair of numbers stands for two tokens that there are by then, which merge to another one."""
    tokens, merges = list("ab▁é"), {}
    for rank, (a, b) in enumerate(pairs):
        left, right = a % len(tokens), b % len(tokens)
        made = tokens[left] + tokens[right]
        if made not in tokens:
            tokens.append(made)
        merges.setdefault(left << SHIFT | right, (rank, tokens.index(made)))
    ids = {token: number for number, token in enumerate(tokens)}
    assert_twins(pipeline_of(Pairs(ids, merges, None)), text)


@pytest.mark.parametrize("size", [3, 300])  # short words are merged another way
def test_merges_that_later_ones_undo(size: int) -> None:
    """When the turn of "ab" comes, its "b" has become "bc"; after "abc" there is a letter that goes with it, or none."""
    ids = {text: number for number, text in enumerate(["a", "b", "c", "d", "bc", "abc", "ab", "abcd"])}
    pairs = [("b", "c"), ("a", "bc"), ("a", "b"), ("abc", "d")]
    merges = {ids[a] << SHIFT | ids[b]: (rank, ids[a + b]) for rank, (a, b) in enumerate(pairs)}
    for word in ("abc", "abcd", "ab", "abbc"):
        assert_twins(pipeline_of(Pairs(ids, merges)), word * (size // 3))


MOST = 1114112  # characters, which may be made of 1024


def ways_to_encode(tokenizer: SentencePiece | Pipeline, text: str) -> list[Callable[[], object]]:
    native = tokenizer.native
    assert native is not None
    ways = [
        tokenizer.encode,
        tokenizer.encode_spans,
        native.encode,
        native.encode_spans,
        native.encode_array,
        native.count,
    ]
    return [partial(way, text, NONE) for way in ways]


@pytest.mark.parametrize("step", ["replacement", "prefix", "spaces"])
@pytest.mark.parametrize("char", "bé字\U0001f600")
def test_as_much_may_be_made_of_a_text_as_in_python(step: str, char: str) -> None:
    def pipeline(times: int) -> Pipeline:
        grows = {
            "replacement": normalizer.Replace(LiteralText("a"), char * times),
            "prefix": normalizer.Prepend(char * times),
            "spaces": normalizer.Replace(SQUEEZE.pattern, char * times),
        }[step]
        return pipeline_of(WordLevel({char: 0}, char), normalizer=(grows,))

    text = "a   " * 256 if step == "spaces" else "a" * 1024
    allowed = {"replacement": MOST // 1024, "prefix": MOST - 1024, "spaces": MOST // 256 - 1}[step]
    assert len(pipeline(allowed).normalized(text)) == MOST
    for way in ways_to_encode(pipeline(allowed), text)[2:]:
        assert way() is not None
    for way in ways_to_encode(pipeline(allowed + 1), text):
        with pytest.raises(GrowthError, match=f"normalizer or pre-tokenizer makes more than {MOST} characters"):
            way()


@pytest.mark.parametrize("char", ["b", "\u4e2d"])
def test_as_much_may_be_made_by_a_charsmap_as_in_python(char: str) -> None:
    def model(times: int) -> SentencePiece:
        charsmap = charsmap_of(rule_for(b"a"), (char * times).encode() + b"\0")
        table = [SpmPiece("<unk>", 0.0, "unknown")]
        return rules_of_sentencepiece(spec_of(table, "word", charsmap=charsmap, add_dummy_prefix=False))

    text, allowed = "a" * 1024, MOST // 1024
    assert len(model(allowed).normalizer.normalize(text)) == MOST
    for way in ways_to_encode(model(allowed), text)[2:]:
        assert way() is not None
    for way in ways_to_encode(model(allowed + 1), text):
        with pytest.raises(GrowthError, match=f"the charsmap makes more than {MOST} characters of this input"):
            way()


def test_as_much_may_be_made_between_added_tokens_as_in_python() -> None:
    added, text = (AddedToken("<x>", 1),), "<x>".join(["a" * 32] * 32)
    most = (1 << 20) + 64 * len(text)
    for times, is_taken in ((most // 1024, True), (most // 1024 + 1, False)):
        grows = normalizer.Replace(LiteralText("a"), "b" * times)
        parts = pipeline_of(WordLevel({"b": 0}, "b"), normalizer=(grows,), added=added)
        for way in ways_to_encode(parts, text):
            with nullcontext() if is_taken else pytest.raises(GrowthError, match=f"makes more than {most} characters"):
                way()


def test_places_of_characters_that_are_composed_need_no_python() -> None:
    parts = pipeline_of(SHOWS_ALL, normalizer=(normalizer.UnicodeForm("NFC"),))
    assert parts.native is not None
    found, expected = parts.native.encode_spans("ae\u0301b", NONE), parts.encode_spans("ae\u0301b", NONE)
    assert found is not None
    assert (found.ids, found.spans) == (expected.ids, expected.spans)


@examples(75)
@given(text=st.text("ab <m>\u00a0é", max_size=25), is_allowed=st.booleans(), data=st.data())
def test_added_tokens(text: str, is_allowed: bool, data: st.DataObject) -> None:
    flags = st.fixed_dictionaries(
        dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized", "special"], st.booleans())
    )
    added = [AddedToken(content, 300 + i, **data.draw(flags)) for i, content in enumerate(["<m>", "ab", "a b", "m>"])]
    parts = pipeline_of(SHOWS_ALL, normalizer=(LOWER,), splitter=(splitters.Words(),), added=tuple(added))
    assert_twins(parts, text, frozenset(["<m>"] if is_allowed else []))


@examples(75)
@given(
    words=st.sets(st.text("ab#é", min_size=1, max_size=4)), text=st.text("aabé .", max_size=30), limit=st.integers(0, 5)
)
def test_words_by_their_longest_tokens(words: set[str], text: str, limit: int) -> None:
    ids = {word: number for number, word in enumerate(["[UNK]", *sorted(words | {"##" + word for word in words})])}
    for model in (WordPiece(ids, "[UNK]", "##", limit), WordPiece(ids, "[UNK]", "", 9), WordLevel(ids, "[UNK]")):
        assert_twins(pipeline_of(model, splitter=BERT), text)


@examples(75)
@given(
    pieces=st.lists(st.tuples(WORDS, SCORES), min_size=1, max_size=20),
    text=TEXTS,
    unk=st.booleans(),
    byte_fallback=st.booleans(),
)
def test_any_unigram_model(pieces: list[tuple[str, float]], text: str, unk: bool, byte_fallback: bool) -> None:
    table = [("<unk>", 0.0), *pieces, *((name, -1.0) for name in BYTES if byte_fallback)]
    model = Unigram(table, 0 if unk or not byte_fallback else None, byte_fallback)
    assert_twins(pipeline_of(model, splitter=(splitters.Metaspace("▁", "always", True),)), text)


@examples(50)
@given(pieces=st.dictionaries(WORDS, SCORES, min_size=1, max_size=20), texts=st.lists(TEXTS | hard_text(), max_size=4))
def test_models_of_llama_cpp(pieces: dict[str, float], texts: list[str]) -> None:
    texts_of = ["<unk>", *pieces, *BYTES]
    kinds = [0, *(NORMAL | USER_DEFINED * (len(text) == 3) for text in pieces), *[0] * 256]
    spec = TokenizerSpec(LlamaModel("t5", texts_of, [0.0, *pieces.values(), *[0.0] * 256], kinds, unknown=0))
    for model in (
        LlamaSpm(spec),
        LlamaWords(spec._replace(normalizer=(Bert(True, True, True, True),))),
        LlamaUnigram(spec._replace(normalizer=(SentencePieceNormalizer(b"", True, False),))),
        LlamaUnigram(spec._replace(normalizer=(SentencePieceNormalizer(b"", False, True),))),
    ):
        native = llama_models.twin_of_model(model)
        assert native is not None
        for text in texts:
            assert native.encode(text, NONE) == list(model.tokenize(text))


def rwkv(tokens: list[bytes]) -> Rwkv:
    texts = ["".join(f"\\x{byte:02x}" for byte in token) for token in tokens]
    return Rwkv(TokenizerSpec(LlamaModel("rwkv", texts, (), (), unknown=0)))


SINGLE_BYTES = [bytes([byte]) for byte in range(256)]


@examples(100)
@given(tokens=st.lists(st.one_of(WORDS.map(str.encode), st.binary(max_size=5)), max_size=20), text=TEXTS | hard_text())
def test_any_rwkv_model(tokens: list[bytes], text: str) -> None:
    model = rwkv([*SINGLE_BYTES, *tokens])
    native = llama_models.twin_of_rwkv(model)
    assert native is not None
    assert native.encode(text, NONE) == model.tokenize(text)


def test_a_byte_that_is_no_token_is_left_to_python() -> None:
    assert llama_models.twin_of_rwkv(rwkv([token for token in SINGLE_BYTES if token != b"x"])) is None


def test_threads_share_a_model_that_finds_rules_for_characters() -> None:
    parts = pipeline_of(SHOWS_ALL, normalizer=(normalizer.Bert(True, True, None, True),), splitter=BERT)
    texts = ["".join(chr(0x100 + (i * 37 + k) % 0x3000) for k in range(300)) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: parts.encode(text, NONE), texts))
    assert found == [parts.encode(text, NONE) for text in texts]


def test_what_python_refuses_native_code_leaves_to_it() -> None:
    parts = pipeline_of(WordLevel({"a": 0}, "[UNK]"), splitter=(splitters.Words(),))
    assert parts.native is not None
    assert unless_refused(parts.native.encode, "a b", NONE) is None
    assert parts.native.encode("a a", NONE) == [0, 0]
