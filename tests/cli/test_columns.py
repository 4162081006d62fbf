"""Parquet and Arrow files as records: each row has the ids that the same row has as a line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, failed, first_in_gate, noted, ok, refused, without_coverage

from tokcli.cli.inputs.columns import BATCH_BYTES, texts_of_column

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = [
    {"text": f"{'hello world ' * (n % 7)}{n} é\n東京", "meta": {"title": f"Ünïcode {n}"}, "number": n}
    for n in range(9000)
]
READ = ("--records", "jsonl")


def parquet(path: Path, table: Any) -> Path:
    pq.write_table(table, path, row_group_size=2500)
    return path


def stream(path: Path, table: Any) -> Path:
    """A stream of Arrow's messages, as the files of Hugging Face's datasets are."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=6000)
    return path


def parquet_of_words(path: Path, table: Any) -> Path:
    """Strings of a dictionary, and pages that are compressed."""
    pq.write_table(table, path, use_dictionary=True, compression="zstd", row_group_size=10_000)
    return path


def arrow(path: Path, table: Any) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=6000)
    return path


def large_strings(path: Path, table: Any) -> Path:
    return parquet(path, table.set_column(0, "text", table["text"].cast(pa.large_string())))


def views(path: Path, table: Any) -> Path:
    kind = getattr(pa, "string_view", pa.large_string)()  # from pyarrow 16 on
    return arrow(path, table.set_column(0, "text", table["text"].cast(kind)))


def categories(path: Path, table: Any) -> Path:
    return arrow(path, table.set_column(0, "text", table["text"].combine_chunks().dictionary_encode()))


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@cache
def of_lines(lines: Path, *arguments: str) -> bytes:
    """Return the answer to the same records as JSON Lines."""
    return ok(*arguments, lines)


@pytest.mark.parametrize(
    "write", first_in_gate([parquet, arrow, stream, parquet_of_words, large_strings, categories, views], 3)
)
@pytest.mark.parametrize(
    "command",
    [
        ["encode", "--json", "--offsets", "byte"],
        *first_in_gate([["count"], ["encode"], ["split"], ["encode", "-n", "2"]]),
    ],
)
def test_rows_have_the_answers_of_lines(
    command: list[str], write: Callable[[Path, Any], Path], lines: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "rows", pa.Table.from_pylist(ROWS))
    for field in ("text", "meta.title"):
        given = (*command, *READ, "--field", field)
        assert ok(*given, path) == of_lines(lines, *given)


@pytest.mark.parametrize("write", [parquet, arrow, stream, parquet_of_words, categories])
@pytest.mark.parametrize("first", [0, 11])
def test_a_batch_of_long_rows_is_bounded_in_bytes(
    write: Callable[[Path, Any], Path], first: int, tmp_path: Path
) -> None:
    texts = [*(f"{n} " * 50_000 for n in range(20)), "", "", "é" * BATCH_BYTES, "", *("short" for _ in range(5000)), ""]
    path = write(tmp_path / "rows", pa.table({"text": texts}))
    found = list(texts_of_column(str(path), "text", first))
    assert all(len(batch.data) <= BATCH_BYTES or batch.rows == 1 for batch in found)
    assert sum(batch.rows for batch in found) == len(texts) - first
    assert b"".join(batch.data for batch in found) == "".join(texts[first:]).encode()
    assert len(found) < 20


@pytest.mark.slow
def test_shards_of_rows_are_those_of_lines_and_are_resumed(lines: Path, tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows", pa.Table.from_pylist(ROWS))
    more = ("--shard-tokens", "20000", "-e", "gpt2")
    for source, name in ((path, "a"), (lines, "b")):
        ok("encode", *READ, *more, "--shards", tmp_path / name, source)
    names = sorted(found.name for found in (tmp_path / "a").glob("*.bin"))
    assert len(names) > 3
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for part in (1, 2):  # it belongs to one of them
        ok("encode", *READ, *more, "--shards", tmp_path / f"part{part}", "--shard-of", f"{part}/2", path)
    sizes = [sum(f.stat().st_size for f in (tmp_path / f"part{part}").glob("*.bin")) for part in (1, 2)]
    assert sorted(sizes) == [0, sum((tmp_path / "a" / name).stat().st_size for name in names)]


def test_folders_of_columns_are_read_where_records_are(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for number, write in enumerate((parquet, arrow, stream)):
        write(tmp_path / "rows" / str(number), pa.table({"text": [f"hello {number}"]}))
    assert ok("count", "-r", *READ, tmp_path / "rows") == b"3\n" * 3
    for given in (["count", "-r"], ["encode", "-r", "--chunk", "9", *READ]):  # these read plain text
        assert noted(*given, tmp_path / "rows").err == "Note: skipped 3 binary files\n"


@pytest.mark.slow
def test_folders_of_columns_become_shards_and_counts(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for number in range(3):
        parquet(tmp_path / "rows" / str(number), pa.table({"text": [f"hello {number}"]}))
    ok("encode", "-r", *READ, "--shards", tmp_path / "ids", tmp_path / "rows")
    assert ok("decode", "--records", "lines", tmp_path / "ids") == b"hello 0\nhello 1\nhello 2\n"
    ok("train", "-r", *READ, "--counts-only", "-o", tmp_path / "counts", tmp_path / "rows")
    assert noted("train", "--counts", tmp_path / "counts", "--vocab-size", "257", "-o", tmp_path / "made")


def test_training_reads_rows(lines: Path, tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows", pa.Table.from_pylist(ROWS))
    for source, name in ((path, "a"), (lines, "b")):
        noted("train", *READ, "--vocab-size", "300", "-o", tmp_path / name, source)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("write", [parquet, arrow, stream])
def test_a_row_without_a_text_is_named_after_those_before_it(
    write: Callable[[Path, Any], Path], tmp_path: Path
) -> None:
    path = write(tmp_path / "rows", pa.table({"text": ["a"] * 5000 + [None, "b"]}))
    ran = failed("count", *READ, path)
    assert "record 5001: member 'text' is not a string" in ran.err
    assert ran.out == b"1\n" * 5000


@pytest.mark.parametrize("write", [parquet, arrow, stream])
def test_columns_that_are_no_text_are_refused(write: Callable[[Path, Any], Path], tmp_path: Path) -> None:
    path = write(tmp_path / "rows", pa.Table.from_pylist(ROWS[:9]))
    assert "column 'number' is not of strings but of int64" in refused("count", *READ, "--field", "number", path)
    assert "no column 'meta.x' (it has 'text', 'meta', 'number')" in refused("count", *READ, "--field", "meta.x", path)


PAIRS = [{"text": "the cat", "text_pair": [None, "a", "b c"][n % 3], "n": n} for n in range(600)]
WORDS = [{"text": ["the", "cat", "sat"][: n % 4], "n": n} for n in range(600)]


@pytest.mark.parametrize("write", [parquet, arrow, stream])
@pytest.mark.parametrize("rows", [PAIRS, WORDS])
def test_second_texts_and_lists_of_words_are_those_of_lines(
    rows: list[dict[str, Any]], write: Callable[[Path, Any], Path], tmp_path: Path
) -> None:
    """The column text_pair was once left out, silently."""
    (tmp_path / "lines").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = write(tmp_path / "rows", pa.Table.from_pylist(rows))
    template = ("-e", ROOT / "tests/data/formats/wordpiece.tokenizer.json", "--add-special-tokens")
    for given in (("encode", "--json", "--all-fields", *template, *READ), ("count", *template, *READ)):
        assert noted(*given, path) == noted(*given, tmp_path / "lines")


def test_a_second_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows", pa.table({"text": ["a", "b"], "text_pair": [b"a", b"b"]}))
    assert "column 'text_pair' is not of strings but of binary" in refused("count", *READ, path)
    assert ok("count", *READ, parquet(path, pa.table({"text": ["a"], "text_pair": pa.nulls(1)}))) == b"1\n"


@pytest.mark.parametrize("write", first_in_gate([parquet, arrow, stream, categories], 2))
@pytest.mark.parametrize("command", [["count"], ["encode", "--chunk", "9"], *first_in_gate([["encode"], ["split"]], 0)])
def test_an_answer_keeps_the_other_columns_of_its_row(
    command: list[str], write: Callable[[Path, Any], Path], tmp_path: Path
) -> None:
    rows = ROWS[:5000] if command == ["count"] else ROWS[:50]
    (tmp_path / "lines").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    path = write(tmp_path / "rows", pa.Table.from_pylist(rows))
    for field in ("text", "meta.title"):
        given = (*command, *READ, "--json", "--all-fields", "--field", field)
        assert noted(*given, path) == noted(*given, tmp_path / "lines")


def test_members_stay_with_their_row_where_others_are_left_out(tmp_path: Path) -> None:
    rows = [{"text": None if n % 3 else f"text {n}", "id": n} for n in range(6000)]
    path = parquet(tmp_path / "rows", pa.Table.from_pylist(rows))
    made = noted("count", *READ, "--json", "--all-fields", "--skip-invalid", path).out.splitlines()
    assert [(o["id"], o["text"]) for o in map(json.loads, made)] == [(n, f"text {n}") for n in range(0, 6000, 3)]
    chunks = noted("encode", "--chunk", "1", *READ, "--json", "--all-fields", "--skip-invalid", path).out.splitlines()
    assert {o["id"] - o["record"] for o in map(json.loads, chunks)} == {0}


def test_what_json_lacks_is_written_as_text(tmp_path: Path) -> None:
    row = {
        "text": "a", "day": date(2024, 1, 2), "price": Decimal("1.10"), "raw": b"\xff", "gone": None,
        "inner": {"list": [1.5, float("nan"), True]}, "took": timedelta(seconds=3),
    }  # fmt: skip
    table = pa.Table.from_pylist([row])
    instant = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    path = parquet(tmp_path / "rows", table.append_column("time", instant))
    made = json.loads(ok("count", *READ, "--json", "--all-fields", path))
    assert made == {
        "text": "a", "day": "2024-01-02", "price": "1.10", "raw": "ff", "gone": None, "took": "0:00:03",
        "inner": {"list": [1.5, None, True]}, "time": "2023-11-14 22:13:20.000000001", "count": 1,
    }  # fmt: skip
    inside = pa.table({"text": ["a"], "times": pa.array([[1]], pa.list_(pa.timestamp("ns")))})
    message = refused("count", *READ, "--json", "--all-fields", arrow(tmp_path / "inside", inside))
    assert "a row cannot be written as JSON" in message
    assert ok("count", *READ, tmp_path / "inside") == b"1\n"


@pytest.mark.parametrize("write", [parquet, arrow, stream])
def test_columns_that_are_taken_for_text_get_a_hint(write: Callable[[Path, Any], Path], tmp_path: Path) -> None:
    path = write(tmp_path / "odd", pa.table({"text": ["hello"], "number": [0x9C9C9C]}))
    for given in (["count"], ["encode"], ["split"], ["train", "--vocab-size", "300", "-o", tmp_path / "made"]):
        said = refused(*given, path)
        assert said.startswith(f"Error: {path}: not UTF-8 at byte "), said
        assert said.endswith("\nIt is a file of columns: read the texts of one with --records jsonl --field NAME.\n")


@pytest.mark.parametrize("write", [parquet, arrow, stream])
def test_a_file_that_is_cut_or_damaged_is_one_line(write: Callable[[Path, Any], Path], tmp_path: Path) -> None:
    data = write(tmp_path / "rows", pa.Table.from_pylist(ROWS[:999])).read_bytes()
    for size in (6, 8, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:size])
        assert "cannot be read as columns" in refused("count", *READ, tmp_path / "cut")


def test_rows_without_text_and_tables_without_rows_are_counted(tmp_path: Path) -> None:
    assert ok("count", *READ, parquet(tmp_path / "a", pa.table({"text": ["", ""]}))) == b"0\n0\n"
    assert ok("count", *READ, parquet(tmp_path / "b", pa.table({"text": pa.array([], pa.string())}))) == b""


READ_AND_COUNT_THREADS = """
import sys
from pathlib import Path
from tokcli.cli.inputs.columns import import_pyarrow, texts_of_column
import_pyarrow()
list(texts_of_column(sys.argv[1], "text", 0))
print(Path("/proc/self/status").read_text().partition("Threads:")[2].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_reading_columns_starts_no_thread(tmp_path: Path) -> None:
    rows = parquet(tmp_path / "rows", pa.table({"text": ["hello"] * 9000}))
    script = [sys.executable, "-c", READ_AND_COUNT_THREADS, str(rows)]
    assert subprocess.check_output(script, env=without_coverage()) == b"1\n"
