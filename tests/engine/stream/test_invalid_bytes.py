"""Bytes that are not UTF-8, taken natively: the answers are those of characters one by one, wherever they are."""

from __future__ import annotations

import json
import random
from array import array
from itertools import accumulate, pairwise
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import FAMILIES, HARD_ATOMS, examples, ok, reference

import tokcli
from tokcli.cli.split.native_pieces import printed_pieces
from tokcli.engine import backend
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream import chunks
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.engine.stream.utf8 import SplitText
from tokcli.engine.tiktoken.native_encoder import FAMILY_OF
from tokcli.render.visible import unescape

native = backend.native()
pytestmark = pytest.mark.skipif(native is None, reason="chunks are the only way there")

BAD = [b"\xff", b"\x80\x80", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0", b"\xf4\x90\x80\x80", b"\xe0\x9f"]
WHITE = [b" ", b"\n", b"\t", b"\r", b" \n", b"!\n\n", b"a\n \n", b"\n\t\t", "\u3000".encode(), "\xa0".encode()]
some_invalid = st.lists(
    st.one_of(st.sampled_from(BAD + WHITE), st.sampled_from(HARD_ATOMS).map(str.encode), st.binary(max_size=3)),
    max_size=24,
).map(b"".join)
OWN = r"\p{L}+|\p{S}+|\s|[^\s\p{L}\p{S}]{1,2}"


def own() -> tokcli.Encoding:
    """Return an encoding with a pattern of its own, whose white space is cut in single characters."""
    base = tokcli.get_encoding("cl100k_base")
    return tokcli.Encoding("own", pat_str=OWN, mergeable_ranks=base._mergeable_ranks, special_tokens={"<|e|>": 10**5})


def encoding(name: str) -> tokcli.Encoding:
    return OWN_ENCODING if name == "own" else tokcli.get_encoding(name)


OWN_ENCODING = own()
names = st.sampled_from([*FAMILIES, "own"])


def by_characters(enc: tokcli.Encoding, data: bytes, options: ReadOptions) -> list[int]:
    parts = chunks.read_chunks([data], enc.tokenizer.pretokenizer, options)
    return [number for part in parts for number in enc.tokenizer.encode_part(part)]


def invalid_runs(data: bytes) -> list[tuple[int, int]]:
    """Return where each run of bytes that belong to no character begins and ends, as Python finds them."""
    at, runs = 0, []
    for character in data.decode("utf-8", "surrogateescape"):
        is_invalid = "\udc80" <= character <= "\udcff"
        end = at + (1 if is_invalid else len(character.encode()))
        if is_invalid:
            begin = runs.pop()[0] if runs and runs[-1][1] == at else at
            runs.append((begin, end))
        at = end
    return runs


@given(st.lists(some_invalid, max_size=8).map(b"".join), st.booleans())
def test_invalid_bytes_are_found_wherever_they_are_in_the_data(data: bytes, is_whole: bool) -> None:
    certain = [end for _, end in invalid_runs(data) if is_whole or end < len(data)]
    assert native.invalid_size(data, is_whole) == max(certain, default=0)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("follows", ["", "é", "a", "中", "😀"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_the_last_invalid_byte_is_found_however_far_it_is_from_the_end(
    bad: bytes, follows: str, is_whole: bool
) -> None:
    for size in (*range(1020, 1030), 20_000, 300_000):
        data = bad + follows.encode() * size
        certain = [end for _, end in invalid_runs(data) if is_whole or end < len(data)]
        assert native.invalid_size(data, is_whole) == max(certain, default=0)


@given(some_invalid, st.integers(0, 60))
def test_replacing_is_what_python_does_and_tells_how_far_it_came(data: bytes, characters: int) -> None:
    expected = data.decode("utf-8", "replace")
    assert native.replace_invalid(data) == (expected.encode(), len(data))
    beginning = expected[:characters].encode()
    made, size = native.replace_invalid(data, len(beginning))
    assert made == beginning
    assert made.decode() + data[size:].decode("utf-8", "replace") == expected


@examples(500)
@given(
    names, some_invalid, st.sampled_from(["replace", "bytes"]), st.lists(st.integers(0, 9), max_size=8), st.booleans()
)
def test_text_with_invalid_bytes_has_the_ids_of_its_characters(
    name: str, data: bytes, errors: chunks.Utf8Errors, sizes: list[int], has_special: bool
) -> None:
    enc = encoding(name)
    special = sorted(enc.special_tokens_set)[0]
    if has_special:
        data = data[: len(data) // 2] + special.encode() + data[len(data) // 2 :]
    options = ReadOptions(errors, frozenset([special]))
    bounds = [0, *accumulate(sizes), len(data)]
    blocks = [data[a:b] for a, b in pairwise(bounds)]
    expected = by_characters(enc, data, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcli.engine.stream.utf8.FIRST_CHUNK_BYTES", 1)
        patch.setattr("tokcli.engine.stream.utf8.MAX_CHUNK_BYTES", 4)
        parts = list(enc.tokenizer.read_parts(blocks, options))
    assert [number for part in parts for number in enc.tokenizer.encode_part(part)] == expected
    assert sum(map(enc.tokenizer.count_part, parts)) == len(expected)


@pytest.mark.parametrize("name", FAMILIES)
def test_much_that_is_not_utf_8_has_the_ids_of_its_pieces(name: str) -> None:
    draw = random.Random(name)
    atoms = [*BAD, *WHITE, *map(str.encode, HARD_ATOMS)]
    data = b"".join(draw.choice(atoms) for _ in range(60_000))
    enc = tokcli.get_encoding(name)
    vocabulary = native.Vocabulary(enc.tokenizer.inner.load_image())
    family = native.FAMILIES.index(FAMILY_OF[enc.tokenizer.pretokenizer.pat_str])
    size = native.invalid_size(data, True)
    ends = native.split_invalid(data, 0, family, True)
    ids, _, count = vocabulary.encode_pieces(data[:size], ends, True)
    part = SplitText(memoryview(data)[:size], ends, is_invalid=True, family=family)
    assert enc.tokenizer.encode_part(part) == memoryview(ids).cast("I")
    assert enc.tokenizer.count_part(part) == count > 60_000


@given(st.sampled_from(FAMILIES), some_invalid, st.sampled_from(BAD))
def test_invalid_bytes_at_the_end_join_the_last_piece_as_in_tiktoken(name: str, data: bytes, bad: bytes) -> None:
    data = data.decode("utf-8", "ignore").encode() + bad
    assert tokcli.get_encoding(name).encode_array(data).tolist() == reference(name)._encode_bytes(data)


@given(names, some_invalid)
def test_pieces_with_invalid_bytes_are_those_of_its_characters(name: str, data: bytes) -> None:
    tokenizer, options = encoding(name).tokenizer, ReadOptions("bytes")
    found: list[bytes] = []
    escaped: list[bytes] = []
    shown: list[str] = []
    for part in tokenizer.read_split([data], options):
        assert isinstance(part, SplitText)
        ends = memoryview(part.ends).cast("Q").tolist()
        found += [bytes(part.data[a:b]) for a, b in pairwise([0, *ends])]
        escaped += printed_pieces(part, b"\n", is_json=False).split(b"\n")
        shown += json.loads(b"[" + printed_pieces(part, b",", is_json=True) + b"]")
    expected = chunks.read_chunks([data], tokenizer.pretokenizer, options)
    assert found == [piece for chunk in expected for piece in tokenizer.split_chunk(chunk)]
    assert [piece.encode("utf-8", "surrogateescape") for piece in shown] == found
    assert list(map(unescape, map(bytes.decode, escaped))) == found


@given(names, st.lists(some_invalid.map(lambda data: data.replace(b"\n", b"")), max_size=6))
def test_records_with_invalid_bytes_have_the_ids_of_each_alone(name: str, texts: list[bytes]) -> None:
    enc = encoding(name)
    data = b"".join(text + b"\n" for text in texts)
    ends = array("Q", accumulate(len(text) + 1 for text in texts))
    native_code = enc.tokenizer.for_records(data, ReadOptions("bytes"))
    assert native_code is not None
    ids, offsets = native_code.encode_records(data, ends, 1)
    expected = [by_characters(enc, text, ReadOptions("bytes")) for text in texts]
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected
    assert native_code.count_records(data, ends, 1).tolist() == list(map(len, expected))


def test_a_pattern_sees_what_replaces_bad_bytes() -> None:
    for splitter in (PreTokenizer(r"\p{S}{2}|[\s\S]"), PreTokenizer(r"(?=(a*))\p{S}{2}|[\s\S]")):
        (chunk,) = chunks.read_chunks([b"a\xff\xf0\x9f\xff"], splitter, ReadOptions("replace"))
        assert chunks.split_chunk(chunk, splitter) == [b"a", "\ufffd\ufffd".encode(), "\ufffd".encode()]


@pytest.mark.parametrize("errors", ["replace", "bytes"])
@pytest.mark.parametrize("records", [(), ("--records", "lines"), ("--records", "nul", "--json")])
def test_the_command_line_gives_the_same_with_and_without_native_code(
    tmp_path: Path, errors: str, records: tuple[str, ...]
) -> None:
    shuffled = random.Random(7)
    data = b"".join(shuffled.choices([*BAD, *WHITE, b"some text", b"\0", "é中".encode(), b"123456"], k=3000))
    (tmp_path / "invalid").write_bytes(data)
    for command in ("encode", "split", "count"):
        if command == "split" and "--json" in records:
            continue
        made = [
            ok(command, "-q", "--errors", errors, *records, tmp_path / "invalid", env={"TOKCLI_BACKEND": name})
            for name in ("native", "python")
        ]
        assert made[0] == made[1]


@pytest.mark.clock
@pytest.mark.parametrize("unit", [b"\xff", b"\xff\xf0\x9f", b"a\xff", b" \n \xff", b"\n\n \t\xe4\xb8", b"\x80a b c "])
@pytest.mark.parametrize("errors", ["replace", "bytes"])
def test_time_grows_with_the_size_of_invalid_text(unit: bytes, errors: chunks.Utf8Errors) -> None:
    enc, options = tokcli.get_encoding("o200k_base"), ReadOptions(errors)

    def seconds(size: int) -> float:
        data = unit * (size // len(unit))
        begun = process_time()
        blocks = [data[i : i + 65536] for i in range(0, len(data), 65536)]
        for part in enc.tokenizer.read_parts(blocks, options):
            enc.tokenizer.count_part(part)
        return process_time() - begun

    seconds(10_000)
    assert seconds(4_000_000) < 10 * seconds(1_000_000) + 0.2


@given(some_invalid, st.lists(st.integers(1, 9), max_size=30), st.integers(0, 40), st.booleans())
def test_native_code_takes_any_bytes_and_any_ends(data: bytes, sizes: list[int], start: int, is_whole: bool) -> None:
    vocabulary = native.Vocabulary(tokcli.get_encoding("o200k_base").tokenizer.inner.load_image())
    ends = array("Q", sorted({*(end for end in accumulate(sizes) if end < len(data)), *([len(data)] if data else [])}))
    ids = memoryview(vocabulary.encode_pieces(data, ends, True)[0]).cast("I").tolist()
    assert vocabulary.decode(ids) == data
    assert vocabulary.encode_pieces(data, ends, True, keeps_ids=False)[2] == len(ids)
    for by in (0, OWN_ENCODING.tokenizer.pretokenizer.native_pattern):
        if start > len(data):
            with pytest.raises(ValueError, match="ends before its beginning"):
                native.split_invalid(data, start, by, is_whole)
            continue
        found = native.split_invalid(data, start, by, is_whole)
        assert found is None or not found or memoryview(found).cast("Q")[-1] <= len(data) - start
    with pytest.raises(ValueError, match="no family"):
        native.split_invalid(data, 0, 10**6, is_whole)
