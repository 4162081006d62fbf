"""A long piece, which is cut where no merge crosses, has the ids that merging all of its bytes at once gives."""

from __future__ import annotations

import random

import pytest
from support import rounds

import tokcli
from tokcli.engine import backend
from tokcli.engine.bpe.bpe import encode_piece

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

NAMES = ("gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def texts(rnd: random.Random, length: int) -> dict[str, str]:
    """Return texts without a place where a pattern splits them."""

    def of(chars: str) -> str:
        return "".join(rnd.choices(chars, k=length))

    word = of(LETTERS)[:26]
    return {
        "letters": of(LETTERS),
        "few letters": of("abe"),
        "frequent letters": of("etaoinshrdlu" * 3 + LETTERS),
        "Han": "".join(chr(rnd.randrange(0x4E00, 0x9FA6)) for _ in range(length)),
        "frequent Han": of("的一是不了人我在有他这为之大来以个中上们"),
        "Thai": "".join(chr(rnd.randrange(0xE01, 0xE2F)) for _ in range(length)),
        "frequent Thai": of("กานรอเงม" * 5 + "ยลวดทสตบปหคขพจแไใโ"),
        "Thai among others": of("กานรอ" * 4 + "abé中\U00020000"),
        "Cyrillic": of("абвгдежзийклмнопрстуфхцчшщъыьэюя"),
        "many scripts": of(LETTERS + "äöüßéèáоеаитн中国人ไทยかなのを한국어"),
        "a word": (word * (length // 26 + 1))[:length],
        "runs": "".join(rnd.choice(LETTERS) * rnd.choice((1, 2, 3, 70, 300)) for _ in range(length // 75)),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_long_piece_has_the_ids_of_its_bytes(name: str) -> None:
    rnd = random.Random(31)
    encoding = tokcli.get_encoding(name)
    for _ in range(rounds(3)):
        for kind, text in texts(rnd, 40_000).items():
            assert encoding.split(text) == [text], kind
            assert encoding.encode_ordinary(text) == encoding._encode_single_piece(text), kind
            start = text[:150].encode()
            assert encoding._encode_single_piece(start) == encode_piece(encoding._mergeable_ranks, start), kind
            assert encoding.count(text) == len(encoding._encode_single_piece(text)), kind


def test_long_pieces_beside_short_ones_and_tokens_have_their_ids() -> None:
    rnd = random.Random(32)
    encoding = tokcli.get_encoding("cl100k_base")
    for length in (500, 511, 512, 513, 573, 574, 575, 576, 4095, 4096, 4160):
        long = ["".join(rnd.choices(LETTERS, k=length)) for _ in range(12)]
        text = " and ".join(long)
        pieces = encoding.split(text)
        assert "".join(pieces) == text
        assert encoding.encode_ordinary(text) == [i for piece in pieces for i in encoding._encode_single_piece(piece)]


def test_a_vocabulary_with_tokens_that_merging_does_not_make_has_the_ids_of_its_bytes() -> None:
    single = {bytes([i]): i for i in range(256)}
    for more in ({b"ab": 256, b"abcd": 257}, {b"ab": 256, b"cd": 258, b"abcd": 259, b"xyz": 260}):
        ranks = single | more
        encoding = tokcli.Encoding("made", pat_str=r"[a-z]+|[^a-z]+", mergeable_ranks=ranks, special_tokens={})
        text = "".join(random.Random(33).choices("abcdxyz", k=40_000))
        assert encoding.encode_ordinary(text) == encoding._encode_single_piece(text)
        part = text[:3000]
        assert encoding._encode_single_piece(part) == encode_piece(ranks, part.encode())


def test_a_text_of_ever_new_pieces_has_the_ids_of_each_and_so_has_what_comes_after_it() -> None:
    rnd = random.Random(34)
    encoding = tokcli.get_encoding("cl100k_base")
    new = ["".join(rnd.choices(LETTERS, k=rnd.randrange(4, 20))) for _ in range(40_000)]  # none is found again
    of_each = [encoding._encode_single_piece(f" {word}".encode()) for word in new]
    again = rnd.choices(range(0, len(new), 50), k=40_000)
    found = encoding.encode_ordinary("".join(f" {word}" for word in new) + "".join(f" {new[i]}" for i in again))
    assert found == [i for ids in of_each for i in ids] + [i for number in again for i in of_each[number]]
