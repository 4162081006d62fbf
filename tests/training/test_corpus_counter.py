"""Counts are the same however they were come by, and a file of them is whole or refused."""

from __future__ import annotations

import errno
import io
import random
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcli.engine import backend, reference
from tokcli.engine.base.count_rows import rows_of, take_block
from tokcli.engine.pretokenizers.known_patterns import CL100K, O200K, QWEN2, R50K
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import InputError, OutputError, PatternError
from tokcli.training.corpus_counter import CorpusCounter, merge_files
from tokcli.training.count_blocks import merge_runs
from tokcli.training.counts_file import CHECKSUM, END, SIZES, CountsFile, open_counts, write_counts
from tokcli.training.piece_table import make_table

ABOUT = {"pat_str": "a", "special_tokens": [], "errors": "strict"}
rows = st.dictionaries(st.binary(min_size=1, max_size=40), st.integers(1, 1 << 40), max_size=30)


def words(seed: int, number: int) -> bytes:
    chance = random.Random(seed)
    some = ["".join(chance.choices("abcdefghijklmnoé世界", k=chance.randint(1, 12))) for _ in range(number)]
    return "".join(word + chance.choice([" ", "\n", ", ", "  "]) for word in some).encode()


def counted(text: bytes, pat_str: str = O200K, **options: object) -> dict[bytes, int]:
    counting = CorpusCounter(PreTokenizer(pat_str), **options)  # type: ignore[arg-type]
    try:
        counting.add_stream(text[i : i + 5000] for i in range(0, len(text), 5000))
        return dict(counting.finish().items())
    finally:
        counting.close()


def file_of(some: dict[bytes, int], about: dict[str, object] = ABOUT) -> bytes:
    out = io.BytesIO()
    sorted_rows = iter(sorted(some.items()))
    write_counts(out.write, about, iter(lambda: take_block(sorted_rows, 64), b""))
    return out.getvalue()


def read(data: bytes) -> dict[bytes, int]:
    file = CountsFile(io.BytesIO(data), "x")
    return {piece: count for block in file.blocks() for piece, count in rows_of(block)}


@pytest.mark.parametrize("pat_str", [O200K, CL100K, R50K, QWEN2, r"\w+|\W"])
def test_the_counts_are_those_of_the_pieces(pat_str: str) -> None:
    text = words(1, 20_000)
    expected = Counter(piece.encode() for piece in PreTokenizer(pat_str).split(text.decode()))
    assert counted(text, pat_str) == expected


@pytest.mark.parametrize("options", [{"threads": 4}, {"memory": 1}, {"memory": 1, "threads": 3}])
def test_threads_and_a_limit_of_memory_change_no_count(
    options: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokcli.training.corpus_counter.MIN_TABLE_BYTES", 20_000)
    monkeypatch.setattr("tokcli.training.corpus_counter.MAX_RUNS", 5)
    text = words(2, 30_000)
    assert counted(text, **options) == counted(text)


def test_what_does_not_fit_is_spilled_and_the_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokcli.training.corpus_counter.MIN_TABLE_BYTES", 20_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    counting = CorpusCounter(PreTokenizer(O200K), memory=1)
    counting.add_stream([words(3, 30_000)])
    assert len(counting.finish().runs) > 0
    assert list(tmp_path.iterdir())
    counting.close()
    assert not list(tmp_path.iterdir())


def test_runs_in_a_folder_of_the_callers_stay(tmp_path: Path) -> None:
    counting = CorpusCounter(PreTokenizer(O200K), folder=tmp_path)
    counting.add_stream([b"ab ab"])
    (run,) = counting.flush()
    counting.close()
    assert list(tmp_path.iterdir()) == [run]
    assert read(run.read_bytes()) == {b"ab": 1, b" ab": 1}


def test_special_tokens_part_the_text_and_are_not_counted() -> None:
    assert counted(b"ab<end> cd<end>", special_tokens=["<end>"]) == {b"ab": 1, b" cd": 1}


def test_texts_are_counted_each_on_its_own() -> None:
    counting = CorpusCounter(PreTokenizer(R50K), special_tokens=["<end>"])
    counting.add_texts([b"ab", b"cd", b"a<end>b", b""])
    assert dict(counting.finish().items()) == {b"ab": 1, b"cd": 1, b"a": 1, b"b": 1}


def test_bytes_that_are_not_utf8_are_refused_replaced_or_kept() -> None:
    with pytest.raises(InputError, match="not UTF-8 at byte 2"):
        counted(b"ab\xff")
    assert counted(b"ab\xff", errors="replace") == {b"ab": 1, "\ufffd".encode(): 1}
    assert counted(b"ab\xff", errors="bytes") == {b"ab\xff": 1}


def test_a_pattern_that_leaves_text_out_is_refused() -> None:
    with pytest.raises(PatternError, match="does not match"):
        counted(b"ab cd", r"\w+")


# --- tables and blocks -----------------------------------------------------------------------------------------------


def blocks_of(table: Any) -> list[bytes]:
    table.sort()
    return list(iter(lambda: table.next_block(200), b""))


@given(rows)
def test_the_native_table_writes_the_bytes_of_the_readable_one(some: dict[bytes, int]) -> None:
    ours, theirs = reference.PieceTable(), make_table()
    for piece, count in some.items():
        for table in (ours, theirs):
            table.add(piece, count)
            table.add(piece, 1)
    assert blocks_of(ours) == blocks_of(theirs)
    assert len(ours) == len(theirs)
    assert ours.piece_bytes == theirs.piece_bytes
    assert [ours.item(i) for i in range(len(ours))] == [theirs.item(i) for i in range(len(theirs))]


@given(rows, rows)
def test_tables_add_up(some: dict[bytes, int], more: dict[bytes, int]) -> None:
    tables = []
    for each in (some, more):
        tables.append(make_table())
        for piece, count in each.items():
            tables[-1].add(piece, count)
    tables[0].update(tables[1])
    for block in blocks_of(tables[1]):
        tables[0].add_block(block)
    expected = Counter(some) + Counter(more) + Counter(more)
    assert dict(map(tables[0].item, range(len(tables[0])))) == expected


@given(st.lists(rows, min_size=1, max_size=5))
def test_runs_merge_into_the_run_of_all_in_both_backends(parts: list[dict[bytes, int]]) -> None:
    total: Counter[bytes] = Counter()
    for part in parts:
        total.update(part)

    def runs() -> list[Iterator[bytes]]:
        return [CountsFile(io.BytesIO(file_of(part)), "x").blocks() for part in parts]

    merged = list(merge_runs(runs()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "code", lambda: reference)
        assert merged == list(merge_runs(runs()))
    assert [row for block in merged for row in rows_of(block)] == sorted(total.items())


def test_counts_beyond_62_bits_are_refused() -> None:
    for table in (make_table(), reference.PieceTable()):
        table.add(b"a", 1 << 62)
        with pytest.raises(OverflowError):
            table.add(b"a", 1)
    large = file_of({b"a": 1 << 62})
    runs = [CountsFile(io.BytesIO(large), "x").blocks() for _ in range(2)]
    with pytest.raises(OverflowError):
        list(merge_runs(runs))


@given(st.binary(max_size=40))
def test_a_damaged_block_is_refused_alike_in_both_backends(data: bytes) -> None:
    ours, theirs = reference.PieceTable(), make_table()
    answers = []
    for table in (ours, theirs):
        try:
            table.add_block(data)
            answers.append("taken")
        except ValueError:
            answers.append("refused")
        except OverflowError:
            answers.append("too large")
    assert answers[0] == answers[1]


# --- files -----------------------------------------------------------------------------------------------------------


@given(rows)
def test_a_counts_file_gives_back_what_was_written(some: dict[bytes, int]) -> None:
    assert read(file_of(some)) == some


def test_a_counts_file_that_ends_too_early_is_refused_wherever_it_ends() -> None:
    data = file_of({b"abc%d" % i: i + 1 for i in range(40)})
    for end in range(len(data)):
        with pytest.raises(InputError, match=r"^x: "):
            read(data[:end])
    with pytest.raises(InputError, match="damaged"):
        read(data + b"\0")


def test_a_counts_file_with_a_flipped_bit_is_refused() -> None:
    data = file_of({b"abc%d" % i: i + 1 for i in range(40)}, {**ABOUT, "pat_str": r"\w+|\W", "special_tokens": ["<a>"]})
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            with pytest.raises(InputError):
                read(bytes(changed))


def test_a_block_that_unpacks_to_more_than_it_says_is_refused() -> None:
    bomb = zlib.compress(bytes(1 << 24))
    head = file_of({})[: -SIZES.size - END.size - CHECKSUM.size]
    with pytest.raises(InputError, match="damaged"):
        read(head + SIZES.pack(len(bomb), 10) + bomb)
    with pytest.raises(InputError, match="damaged"):
        read(head + struct.pack("<II", 0xFFFFFFFF, 10) + bomb)


def test_files_out_of_order_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.counts"
    out = io.BytesIO()
    write_counts(out.write, ABOUT, [take_block(iter([(b"b", 1)]), 9), take_block(iter([(b"a", 1)]), 9)])
    path.write_bytes(out.getvalue())
    with pytest.raises(InputError, match="damaged"):
        list(merge_files([path]))


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"IQ== 0\n" * 10)
    with pytest.raises(InputError, match="x: not a counts file"):
        open_counts(path)
    with pytest.raises(InputError, match="no such file"):
        open_counts(tmp_path / "y")


@pytest.mark.parametrize("code", [reference, backend.code()])
def test_a_merger_refuses_what_it_was_not_asked_for(code: ModuleType) -> None:
    merger = code.RunMerger(2)
    with pytest.raises(ValueError, match="damaged"):
        merger.feed(7, b"\x00\x01a\x01")
    assert merger.merge(10) == 0


@pytest.mark.parametrize("is_given", [True, False])
def test_only_a_folder_of_temporary_files_can_be_moved_by_tmpdir(
    is_given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk of a checkpoint was full, the advice was once to name another folder for temporary files."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OutputError, match="no space left on device") as caught:
        counted(words(1, 20_000), memory=1, **({"folder": tmp_path} if is_given else {}))
    assert ("TMPDIR" in caught.value.hint) == (not is_given)
