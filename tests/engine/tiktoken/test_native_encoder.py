"""The native backend answers as the Python code does, on any text, in any number of threads; no image can crash it."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, HARD_ATOMS, Ranks, Twin, examples, first_in_gate, hard_text, rounds

import tokcli
from tokcli.engine import backend
from tokcli.engine.bpe.bpe import encode_piece
from tokcli.engine.bpe.image import image_of
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.tiktoken.native_encoder import FAMILY_OF
from tokcli.errors import UnknownTokenError

native = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]


def native_split(pat_str: str, text: str) -> list[str]:
    assert native is not None
    ends = memoryview(native.split(text, native.FAMILIES.index(FAMILY_OF[pat_str]))).cast("Q")
    data, pieces, at = text.encode(), [], 0
    for end in ends:
        pieces.append(data[at:end].decode())
        at = end
    return pieces


patterns = st.sampled_from(sorted(FAMILY_OF))


@examples(3000)
@given(patterns, hard_text(10))
def test_a_scanner_splits_as_its_pattern(pat_str: str, text: str) -> None:
    assert native_split(pat_str, text) == PreTokenizer(pat_str).split(text)


@pytest.mark.slow
@pytest.mark.parametrize("pat_str", sorted(FAMILY_OF))
def test_a_scanner_splits_hard_text_as_its_pattern(pat_str: str) -> None:
    rnd, splitter = random.Random(11), PreTokenizer(pat_str)
    for _ in range(6000):
        text = "".join(rnd.choices(HARD_ATOMS, k=rnd.randrange(1, 14)))
        assert native_split(pat_str, text) == splitter.split(text)


# what a window of 64 bytes meets: all classes of characters, long enough for several, few kinds at a time so that they
# meet often
WINDOW_ATOMS = ["a", "B", "s", "'", "'s", "'ll", "'RE", "'t", "1", "23", "4567", " ", "  ", "\t", "\n", "\r\n", "/", "//", ".",
                "!", "?'", "\u00e9", "\u4e2d", "\xa0", "\u017f", "Ab", "the ", "word", "ABC", "_", "\x0b", "\u0301", "\x00", "\x1c", "\x7f",
                "\u00c9", "\u0431", "\u0411", "\u01c5", "\uac00", "\u0e01", "\u093e", "\u0660", "\xb2", "\U0001d7ce", "\x85",
                "\u2028", "\u3000", "\u2019", "\u2019s", "'\u017f", "\u2014", "\u3002", "\u200d", "\U0001f600", "\U00010428",
                "\u5b57", "\u3053", "\u306a\u30ab\u30fb", "\u309b", "\u3099\u3042", "\u6f22\u5b57", "\u9fff", "\ub098\ub77c", "\ucfff"]  # fmt: skip


def window_text(rnd: random.Random, most: int) -> str:
    return "".join(rnd.choices(rnd.sample(WINDOW_ATOMS, rnd.randint(1, 12)), k=rnd.randrange(most)))


@pytest.fixture
def any_instructions() -> Iterator[None]:
    yield
    assert native is not None
    native.set_instructions("avx512")


@pytest.mark.parametrize("most", ["portable", "sse2", "avx2", "avx512"])
def test_any_instructions_split_as_the_pattern(most: str, any_instructions: None) -> None:
    assert native is not None
    native.set_instructions(most)
    rnd = random.Random(64)
    splitters = {pat_str: PreTokenizer(pat_str) for pat_str in FAMILY_OF}
    for _ in range(rounds(400)):
        text = window_text(rnd, 200)
        for pat_str, splitter in splitters.items():
            assert native_split(pat_str, text) == splitter.split(text)


@pytest.mark.parametrize("most", ["portable", "avx512"])
def test_any_instructions_merge_alike(most: str, any_instructions: None) -> None:
    assert native is not None
    native.set_instructions(most)
    enc, rnd = tokcli.get_encoding("cl100k_base"), random.Random(15)
    sizes = *range(1, 10), 13, 14, 15, 16, 29, 30, 31, 32, 53, 54, 55, 61, 62, 63, 64, 65, 200, 252, 253, 254, 255, 256
    for size, letters in itertools.product(sizes, ["aeinorst\u00e9", "qxzjkv"]):
        text = " ".join("".join(rnd.choices(letters, k=size)) for _ in range(30))
        expected = enc.tokenizer.inner.encode(text)
        for _ in range(2):  # the second time from the cache
            assert Twin(enc).encode(text) == expected


# characters that a str keeps in one, two or four bytes, and halves of pairs that stand for no character
UNIT_ATOMS = [
    ["a", "the ", "ABCDEFGHIJKLMNOP", "\x00", "\x7f", "\x80", "\xe9", "\xff"],
    [
        "\u0100",
        "\u07ff",
        "\u0800",
        "\u0431\u0438",
        "\u4e2d",
        "\uffff",
        "\ud7ff",
        "\ud800",
        "\udbff",
        "\udc00",
        "\udfff",
        "\ue000",
    ],
    ["\U00010000", "\U0001f600", "\U0010ffff", "\ud83d\ude00"],
]


@pytest.mark.parametrize("most", ["portable", "sse2", "avx2", "avx512"])
def test_any_instructions_read_a_str_as_its_utf8(most: str, any_instructions: None) -> None:
    assert native is not None
    native.set_instructions(most)
    enc, rnd = tokcli.get_encoding("cl100k_base"), random.Random(8)
    for _ in range(rounds(1000)):
        atoms = list(itertools.chain.from_iterable(UNIT_ATOMS[: rnd.randint(1, 3)]))
        text = "".join(rnd.choices(rnd.sample(atoms, rnd.randint(1, 6)), k=rnd.randrange(60)))
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert enc.encode_array(text) == enc.encode_array(whole.encode())


def test_ids_stay_the_same_while_the_cache_of_pieces_grows() -> None:
    rnd, enc = random.Random(17), tokcli.get_encoding("cl100k_base")
    words = ["".join(rnd.choices("abdeiklmnorstu", k=rnd.randint(3, 7))) for _ in range(250_000)]
    text = " ".join(words)
    ids = enc.encode_array(text)
    assert enc.decode(ids) == text
    for _ in range(3):
        assert enc.encode_array(text) == ids
    part = " ".join(words[::200])
    assert list(enc.encode_array(part)) == enc.tokenizer.inner.encode(part)


def test_the_memory_of_ids_that_are_gone_is_used_again_and_of_no_others() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    texts = ["the quick brown fox " * 200_000, "jumps over lazy dogs \u00e9 " * 150_000]
    expected = [bytes(enc.encode_array(text)) for text in texts]
    kept = [enc.encode_array(text) for text in texts]
    for turn in range(6):
        kept[turn % 2] = enc.encode_array(texts[turn % 2])
        assert [bytes(ids) for ids in kept] == expected


def test_set_instructions_refuses_what_it_does_not_know() -> None:
    assert native is not None
    with pytest.raises(ValueError, match="instructions"):
        native.set_instructions("mmx")


@pytest.mark.slow
@pytest.mark.parametrize("pat_str", sorted(FAMILY_OF))
def test_a_scanner_knows_every_code_point(pat_str: str) -> None:
    splitter = PreTokenizer(pat_str)
    for plane in (range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000), range(0x10FF00, 0x110000)):
        for start in range(plane.start, plane.stop, 1024):
            points = range(start, min(start + 1024, plane.stop))
            text = "".join(f"a{c}b {c}the{c}{c} 1{c}2 {c}\n'{c}s A{c}B.{c} {c} \n" for c in map(chr, points))
            assert native_split(pat_str, text) == splitter.split(text)


@examples(500)
@given(st.sampled_from(FAMILIES), hard_text(20))
def test_native_ids_are_the_python_ones(name: str, text: str) -> None:
    enc = tokcli.get_encoding(name)
    expected = enc.tokenizer.inner.encode(text)
    assert Twin(enc).encode(text) == expected
    assert Twin(enc).count(text) == len(expected)
    assert Twin(enc).encode_array(text).tolist() == expected


@st.composite
def vocabularies(draw: st.DrawFn) -> dict[bytes, int]:
    """Few letters and many tokens, in any order, with gaps; some no merge can reach, some longer than a key."""
    tokens = draw(st.lists(st.text("ab", min_size=2, max_size=24).map(str.encode), unique=True, max_size=40))
    ranks = draw(st.permutations(range(300, 300 + 3 * len(tokens), 3)))
    return {bytes([i]): i for i in range(256)} | dict(zip(tokens, ranks))


@examples(100)
@given(vocabularies(), st.text("ab \u00e9", max_size=90))
def test_pieces_of_any_pattern_are_merged_as_python_merges_them(ranks: dict[bytes, int], text: str) -> None:
    enc = tokcli.Encoding("x", pat_str=r"[ab]+\u00e9?|.", mergeable_ranks=ranks, special_tokens={})
    pieces = enc.split(text)
    assert enc.encode_ordinary(text) == [i for piece in pieces for i in encode_piece(ranks, piece.encode())]


def test_a_byte_that_no_token_has_is_named_for_any_pattern() -> None:
    enc = tokcli.Encoding("x", pat_str=r"\w+|\W", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens={})
    for _ in range(2):
        with pytest.raises(UnknownTokenError, match="0x63"):
            enc.encode_ordinary("abaac")
        assert enc.encode_ordinary("abba") == [0, 1, 1, 0]


@examples(300)
@given(vocabularies(), st.lists(st.text("ab", min_size=1, max_size=90), max_size=6).map(" ".join))
def test_native_merging_is_the_python_one_for_any_vocabulary(ranks: dict[bytes, int], text: str) -> None:
    enc = tokcli.Encoding("x", pat_str=next(iter(FAMILY_OF)), mergeable_ranks=ranks, special_tokens={})
    assert Twin(enc).encode(text) == enc.tokenizer.inner.encode(text)
    assert Twin(enc).count(text) == len(enc.tokenizer.inner.encode(text))


@pytest.mark.parametrize("seed", first_in_gate(range(4)))
def test_a_piece_of_many_windows_merges_as_one(seed: int) -> None:
    # periodic, with tokens cut out of it, some longer than where two windows overlap: windows often disagree
    rnd, letters = random.Random(seed), {bytes([i]): i for i in range(256)}
    for _ in range(250):
        unit = "".join(rnd.choices("ab", k=rnd.randint(1, 30)))
        piece = list((unit * 3000)[: rnd.randint(250, 3000)])
        for _ in range(rnd.randint(0, 5)):
            piece.insert(rnd.randrange(len(piece)), "a")
        text = "".join(piece)
        places = [rnd.randrange(len(text)) for _ in range(rnd.randint(0, 40))]
        cut = [text[at : at + rnd.randint(2, rnd.choice([8, 30, 200]))].encode() for at in places]
        tokens = list(dict.fromkeys([*cut, *(unit.encode() * 2**i for i in range(8)), b"ab", b"ba", b"aa"]))
        tokens = [token for token in tokens if 2 <= len(token) <= 300]
        rnd.shuffle(tokens)
        if rnd.random() < 0.5:
            tokens.sort(key=len)
        ranks = letters | {token: 256 + i for i, token in enumerate(tokens)}
        enc = tokcli.Encoding("x", pat_str=next(iter(FAMILY_OF)), mergeable_ranks=ranks, special_tokens={})
        assert Twin(enc).encode(text) == enc.tokenizer.inner.encode(text)


@given(st.lists(hard_text(5), max_size=8), st.integers(1, 4))
def test_batches_are_what_single_calls_give(texts: list[str], threads: int) -> None:
    enc = tokcli.get_encoding("o200k_base")
    expected = [enc.tokenizer.inner.encode(text) for text in texts]
    assert enc.encode_ordinary_batch(texts, num_threads=threads) == expected
    ids, offsets = enc.encode_array_batch(texts, num_threads=threads)
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected


@pytest.mark.parametrize("atoms", [["\xe9t\xe9 ", "word ", "\n"], ["\u4e2d", "\u00e9", "word ", " a\n"], ["\U0001f600", "\u0416", "ab "],
                                   ["\u4e2d\u3000"], ["x\u00e9"]], ids=["latin-1", "ucs-2", "ucs-4", "no place to cut", "one word"])  # fmt: skip
@pytest.mark.parametrize("threads", [1, 3])
def test_a_str_of_any_width_gives_the_ids_of_its_utf_8(atoms: list[str], threads: int) -> None:
    enc, text = tokcli.get_encoding("o200k_base"), "".join(random.Random(3).choices(atoms, k=120_000))
    expected = Twin(enc).encode_array(text.encode())
    assert Twin(enc).encode_array(text, threads) == expected
    assert Twin(enc).count(text, threads) == len(expected)


HALVES = [
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "\ude00\ud83d",
    "\ud83d\ud83d\ude00",
    "\U0001f600\ude00",
    "\ud83d\U0001f600",
]
BESIDE = ["a", "ab cd efg", "\xe9", "\u4e2d", "\u4e2d " * 40_000, "\U0001f600" * 9]  # in units of one to four bytes


@pytest.mark.parametrize("beside", BESIDE, ids=["ascii", "more ascii", "latin-1", "ucs-2", "long", "ucs-4"])
@pytest.mark.parametrize("halves", HALVES, ids=ascii)
def test_surrogates_are_the_character_of_a_pair_or_replaced(halves: str, beside: str) -> None:
    native_encoder = Twin(tokcli.get_encoding("o200k_base"))
    for text in (halves + beside, beside + halves, halves + beside + halves + beside + halves):
        expected = native_encoder.encode_array(
            text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        )
        assert native_encoder.encode_array(text, 2) == expected
        assert native_encoder.count(text, 2) == len(expected)
        ids, ends = native_encoder.encode_batch(["a", text], 2)
        assert (ids[1:], ends[2]) == (expected, len(ids))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_threads_change_nothing(name: str) -> None:
    enc, rnd = tokcli.get_encoding(name), random.Random(2)
    text = "".join(rnd.choices(HARD_ATOMS, k=600_000))
    single = Twin(enc).encode_array(text, 1).tolist()
    assert Twin(enc).encode_array(text, 4).tolist() == single
    assert Twin(enc).count(text, 3) == len(single)
    documents = [text[i : i + 5000] for i in range(0, len(text), 5000)]
    assert enc.encode_ordinary_batch(documents, num_threads=4) == enc.encode_ordinary_batch(documents, num_threads=1)
    with ThreadPoolExecutor(4) as pool:
        assert all(count == len(single) for count in pool.map(enc.count, [text] * 4))


@pytest.mark.slow
@pytest.mark.parametrize("text", [" " * 10**6 + "x", "a" * 10**6, "\n" * 10**6, "1" * 10**6, "'" * 10**6, "中" * 10**6,
                                  "\u0301" * 10**6, "A" * 10**6 + "b", "ªA" * 10**5, "<>/\r\n" * 10**5])  # fmt: skip
@pytest.mark.parametrize("name", FAMILIES)
def test_a_million_of_anything_is_encoded_and_comes_back(name: str, text: str) -> None:
    enc = tokcli.get_encoding(name)
    ids = enc.encode_ordinary(text)
    assert enc.decode(ids) == text
    assert enc.count(text) == len(ids)


def test_a_byte_that_the_vocabulary_lacks_is_named() -> None:
    ranks = {bytes([i]): i for i in range(256) if i != ord("z")}
    enc = tokcli.Encoding("x", pat_str=next(iter(FAMILY_OF)), mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(KeyError, match="0x7a"):
        enc.encode("a fez")


def test_ids_too_large_for_an_image_are_pythons_task() -> None:
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 2**31 - 1}
    enc = tokcli.Encoding("x", pat_str=next(iter(FAMILY_OF)), mergeable_ranks=ranks, special_tokens={})
    assert enc.tokenizer.inner.native_tokens is None
    assert enc.encode("ab") == [2**31 - 1]


def test_an_image_that_was_changed_is_refused_or_at_least_harmless() -> None:
    assert native is not None
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abc": 257, b"x" * 20: 258}
    image, rnd = image_of(ranks), random.Random(9)
    refused = 0
    for number in range(3000):
        changed = bytearray(image)
        for _ in range(rnd.randrange(1, 4)):
            at = rnd.randrange(256) if number % 2 else rnd.randrange(len(changed))
            changed[at] = rnd.randrange(256)
        if number % 5 == 0:
            del changed[rnd.randrange(len(changed)) :]
        try:
            vocabulary = native.Vocabulary(bytes(changed))
        except ValueError:
            refused += 1
            continue
        assert vocabulary.verify() == (bytes(changed) == image)
        for call in (
            lambda v=vocabulary: Ranks(v, 0).encode("ab abc " + "x" * 20),
            lambda v=vocabulary: v.decode([256, 257, 258]),
        ):
            with contextlib.suppress(KeyError):
                call()
    assert refused > 300


@pytest.mark.parametrize("arguments", [(b"ab", b"\1\1", array("I", [0, 0])), (b"ab", b"\1\2", array("I", [0, 1])),
                                       (b"", b"", array("I")), (b"a", b"\1", array("I", [2**31]))])  # fmt: skip
def test_tables_that_contradict_each_other_make_no_image(arguments: tuple[bytes, bytes, array[int]]) -> None:
    assert native is not None
    with pytest.raises(ValueError, match=r"."):
        native.build_image(*arguments, bytes(32))


def test_the_image_is_kept_and_made_again_when_it_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokcli.registry import lazy_ranks as images
    from tokcli.registry import registered

    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path / "cache"))
    path, sha256 = f"{registered.VOCAB}/r50k_base.ranks", registered.CATALOG["r50k_base"].ranks_sha256
    first = bytes(images.load_image(path, sha256))
    (kept,) = (tmp_path / "cache" / images.IMAGES).iterdir()
    assert kept.read_bytes() == first
    assert kept.stat().st_mode & 0o077 == 0
    for damage in (b"", b"x" * len(first), first[:-1], first[:5000] + b"!" + first[5001:]):
        kept.write_bytes(damage)
        assert bytes(images.load_image(path, sha256)) == first
        assert kept.read_bytes() == first
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere")
    assert bytes(images.load_image(path, sha256)) == first
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokcli.registry import lazy_ranks as images
    from tokcli.registry import registered

    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o500)
    assert (
        len(images.load_image(f"{registered.VOCAB}/r50k_base.ranks", registered.CATALOG["r50k_base"].ranks_sha256))
        > 10**6
    )


def test_the_tokens_of_an_image_are_those_it_was_made_of() -> None:
    ranks = {b"a": 3, b"bc" * 200: 7, b"\x00": 0}
    tokens = native_vocabulary(ranks).tokens()
    assert tokens == [b"\x00", None, None, b"a", None, None, None, b"bc" * 200]
    for name in tokcli.list_encoding_names():
        made = registered(name)
        decoder = made.tokenizer.inner.decoder
        assert decoder == {rank: token for token, rank in made._mergeable_ranks.items()}


def registered(name: str) -> tokcli.Encoding:
    """An encoding that has read nothing yet."""
    from tokcli.registry.registered import make_registered

    return make_registered(name)


def native_vocabulary(ranks: dict[bytes, int]) -> Any:
    assert native is not None
    return native.Vocabulary(image_of(ranks))


@given(st.lists(st.binary(max_size=20)))
def test_pieces_are_counted_as_one_by_one(pieces: list[bytes]) -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    assert encoding.tokenizer.count_pieces(pieces) == [
        len(encode_piece(encoding._mergeable_ranks, piece)) for piece in pieces
    ]


def test_a_piece_that_cannot_be_counted_is_named_as_by_python() -> None:
    encoding = tokcli.Encoding("tiny", pat_str=r"[\s\S]", mergeable_ranks={b"a": 0}, special_tokens={})
    with pytest.raises(UnknownTokenError):
        encoding.tokenizer.count_pieces([b"a", b"b"])
    with pytest.raises(TypeError):
        encoding.tokenizer.count_pieces([b"a", 1])


@pytest.mark.parametrize(
    "columns",
    [
        [(array("I", [1]), b"one\n")],
        [(array("I", [0]), b"")],
        [(array("I", [0]), None), (array("I", [0, 0]), None)],
        [(b"abc", None)],
        [(array("I", [1]),)],
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: list[Any]) -> None:
    assert native is not None
    with pytest.raises(ValueError, match=r"line|length|uint32|items|column"):
        native.format_rows(columns)


def test_rows_of_numbers_and_lines() -> None:
    assert native is not None
    numbers, none = array("I", [0, 2**32 - 1, 2**32 - 2]), array("I", [1, 0, 1])
    assert native.format_rows([(numbers, None), (none, b"a\nb")]) == b"0\tb\n\ta\n4294967294\tb\n"
    assert native.format_rows([]) == native.format_rows([(array("I"), b"")]) == b""
