"""`encode --shards`: every layout as its readers open it, the documents in it, and what may not be done."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import struct
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import HARD_ATOMS, first_in_gate, noted, ok, refused

import tokcli
from tokcli.cli.encode.shards import shards_on_cluster
from tokcli.errors import InputError

TEXTS = [
    "",
    "a",
    "Hello, world!",
    *HARD_ATOMS,
    "",
    "e\u0301 日本語 👩‍👩‍👧",
    "word " * 300,
    "<|endoftext|> in a text",
    "x" * 700,
]
TEXTS = [text.replace("\n", " ").replace("\0", " ") for text in TEXTS]
LIMIT = 150  # tokens of a shard, less than the longest of the texts
Documents = list[list[int]]
PEAK = """
import sys
from tokcli.cli.main import run
assert run(sys.argv[1:]) == 0
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmHWM"].split()[0])  # ru_maxrss begins with what the parent holds
"""


def corpus(folder: Path, texts: list[str] | None = None) -> Path:
    """Write texts as JSON Lines, and return the file."""
    path = folder / "corpus.jsonl"
    path.write_text("".join(f"{json.dumps({'text': text})}\n" for text in (TEXTS if texts is None else texts)))
    return path


def shards(path: Path, folder: Path, *more: str | Path, **also: object) -> Path:
    """Write the shards of JSON Lines with special tokens as text, and return their folder."""
    ok("encode", "--records", "jsonl", "--special", "text", "--shards", folder, *more, path, **also)
    return folder


def expected(name: str, extra: str | None = None, texts: list[str] | None = None) -> Documents:
    """Return the ids of each text, as the public API gives them."""
    enc = tokcli.get_encoding(name)
    last = [] if extra is None else [enc.encode_single_token(extra)]
    return [enc.encode_ordinary(text) + last for text in (TEXTS if texts is None else texts)]


def cut(ids: np.ndarray, ends: list[int]) -> Documents:
    """Return the documents that end at these places."""
    assert not ends or ends[-1] == len(ids)
    return [ids[begin:end].tolist() for begin, end in zip([0, *ends], ends)]


def ids_in(path: Path, dtype: str) -> np.ndarray:
    """Return the ids in a file, mapped as trainers do."""
    return np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.array([], dtype)


def read_flat(folder: Path, dtype: str) -> list[Documents]:
    index = json.loads((folder / "index.json").read_bytes())
    assert index["dtype"] == dtype
    return [cut(ids_in(folder / shard["file"], dtype), shard["ends"]) for shard in index["shards"]]


def read_npy(folder: Path, dtype: str) -> list[Documents]:
    index = json.loads((folder / "index.json").read_bytes())
    arrays = [np.load(folder / shard["file"]) for shard in index["shards"]]
    assert all(array.dtype == np.dtype(dtype) for array in arrays)
    return [cut(array, shard["ends"]) for array, shard in zip(arrays, index["shards"])]


def read_datatrove(folder: Path, dtype: str) -> list[Documents]:
    """Read what datatrove's TokenizedFile writes: ids, and beside them the ends as uint64."""
    found = sorted(folder.glob("*.ds"))
    ends = [np.fromfile(f"{path}.index", "<u8").tolist() for path in found]
    return [cut(ids_in(path, dtype), some) for path, some in zip(found, ends)]


def read_megatron(folder: Path, dtype: str) -> list[Documents]:
    """Read as megatron/core/datasets/indexed_dataset.py does: each sequence by its pointer and its length."""
    made = []
    for path in sorted(folder.glob("*.idx")):
        data = path.read_bytes()
        assert data[:9] == b"MMIDIDX\x00\x00"
        version, code, sequences, documents = struct.unpack_from("<QBQQ", data, 9)
        assert (version, {8: "<u2", 4: "<u4"}[code]) == (1, dtype)
        lengths = np.frombuffer(data, "<i4", sequences, 34)
        pointers = np.frombuffer(data, "<i8", sequences, 34 + 4 * sequences)
        indices = np.frombuffer(data, "<i8", documents, 34 + 12 * sequences)
        assert len(data) == 34 + 12 * sequences + 8 * documents
        assert indices.tolist() == list(range(sequences + 1))
        ids = path.with_suffix(".bin").read_bytes()
        made.append([np.frombuffer(ids, dtype, length, at).tolist() for length, at in zip(lengths, pointers)])
    return made


def read_parquet(folder: Path, dtype: str) -> list[Documents]:
    arrow = pytest.importorskip("pyarrow.parquet")
    tables = [arrow.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    assert all(str(table.schema.field("input_ids").type).startswith("list<") for table in tables)
    assert all(table.schema.field("input_ids").type.value_type == "uint32" for table in tables)
    assert sum(table.num_rows for table in tables) == arrow.read_table(folder).num_rows
    return [table["input_ids"].to_pylist() for table in tables]


READERS: dict[str, Callable[[Path, str], list[Documents]]] = {
    "flat": read_flat,
    "npy": read_npy,
    "datatrove": read_datatrove,
    "megatron": read_megatron,
    "parquet": read_parquet,
}


def placed(documents: Documents, limit: int) -> list[Documents]:
    """Return where documents belong: each whole into the next shard with room, but longer ones than any cut."""
    made: list[Documents] = []
    room = 0
    for ids in documents:
        if not made or len(ids) > room:
            made.append([])
            room = limit
        while len(ids) > room:
            made[-1].append(ids[:room])
            made.append([])
            ids, room = ids[room:], limit
        made[-1].append(ids)
        room -= len(ids)
    return made


@pytest.mark.parametrize("layout", READERS)
@pytest.mark.parametrize(
    ("name", "dtype"), [("r50k_base", "<u2"), pytest.param("o200k_base", "<u4", marks=pytest.mark.slow)]
)
def test_each_layout_has_the_ids_of_every_document(layout: str, name: str, dtype: str, tmp_path: Path) -> None:
    if layout == "parquet":
        pytest.importorskip("pyarrow")
    asked = ("-e", name, "--layout", layout, "--shard-tokens", str(LIMIT), "--append-special", "<|endoftext|>")
    folder = shards(corpus(tmp_path), tmp_path / "shards", *asked)
    assert READERS[layout](folder, dtype) == placed(expected(name, "<|endoftext|>"), LIMIT)
    joined = "".join(f"{text}<|endoftext|>" for text in TEXTS).encode()
    assert ok("decode", folder) == joined
    read_back = ok("decode", "--records", "jsonl", "--json", folder).splitlines()
    assert [json.loads(line)["text"] for line in read_back] == [f"{text}<|endoftext|>" for text in TEXTS]


def test_the_ids_are_those_of_records_by_themselves(tmp_path: Path) -> None:
    path = corpus(tmp_path)
    lines = ok("encode", "--records", "jsonl", "--special", "text", path).splitlines()
    by_record = [list(map(int, line.split())) for line in lines]
    assert [ids for shard in read_flat(shards(path, tmp_path / "shards"), "<u4") for ids in shard] == by_record


@pytest.mark.parametrize("layout", ["flat", "megatron"])
def test_backends_and_threads_write_the_same_bytes(layout: str, tmp_path: Path) -> None:
    path = corpus(tmp_path, TEXTS * 20)
    asked = ("-e", "r50k_base", "--layout", layout, "--shard-tokens", "20000", "--append-special", "<|endoftext|>")
    made = [
        shards(path, tmp_path / "native", *asked, "-j", "1"),
        shards(path, tmp_path / "threads", *asked, "-j", "4"),
        shards(path, tmp_path / "python", *asked, env={"TOKCLI_BACKEND": "python"}),
    ]
    contents = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in made]
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.parametrize("limit", [1, 2, 7, 299, 301, 10**6])
@pytest.mark.parametrize("backend", ["auto", "python"])
def test_documents_are_whole_but_for_those_that_no_shard_holds(limit: int, backend: str, tmp_path: Path) -> None:
    texts = [*TEXTS[:3], "", "e\u0301 日本語 👩‍👩‍👧", "word " * min(4 * limit, 300), "x", ""]
    also = {"env": {"TOKCLI_BACKEND": backend}} if backend == "python" else {}
    folder = shards(
        corpus(tmp_path, texts), tmp_path / "shards", "-e", "r50k_base", "--shard-tokens", str(limit), **also
    )
    assert read_flat(folder, "<u2") == placed(expected("r50k_base", None, texts), limit)
    index = json.loads((folder / "index.json").read_bytes())
    assert index["documents"] == len(texts)
    assert index["tokens"] == sum(shard["tokens"] for shard in index["shards"])
    going_on = sum(shard.get("continues", False) for shard in index["shards"])
    assert sum(shard["documents"] for shard in index["shards"]) == len(texts) + going_on
    read_back = ok("decode", "--records", "nul", folder, **also)
    assert read_back == b"".join(text.encode() + b"\0" for text in texts)


def test_the_index_says_what_is_in_each_file(tmp_path: Path) -> None:
    path = corpus(tmp_path)
    folder = shards(path, tmp_path / "shards", "--shard-tokens", str(LIMIT))
    index = json.loads((folder / "index.json").read_bytes())
    assert index["sources"] == [{"path": str(path), "bytes": path.stat().st_size}]
    for shard in index["shards"]:
        assert hashlib.sha256((folder / shard["file"]).read_bytes()).hexdigest() == shard["sha256"]
    assert sorted(p.name for p in folder.iterdir()) == sorted(["index.json", *(s["file"] for s in index["shards"])])
    assert index["shards"][0]["file"] == "shard-00000.bin"
    other = shards(path, tmp_path / "other", "-e", "cl100k_base")
    assert json.loads((other / "index.json").read_bytes())["digest"] != index["digest"]


def test_a_file_is_a_document_where_there_are_no_records(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    texts = {"a.txt": "first\nfile\n", "b.txt": "", "deep/c.txt": "word " * 400, "d.txt": "last"}
    for name, text in texts.items():
        (tree / name).write_text(text)
    (tree / "binary").write_bytes(b"\0\1\2" * 99)
    ran = noted("encode", "-r", tree, "--shards", tree / "shards", "--shard-tokens", "100", "-e", "r50k_base")
    assert "skipped 1 binary file" in ran.err
    documents = expected("r50k_base", None, [texts[name] for name in sorted(texts)])
    assert read_flat(tree / "shards", "<u2") == placed(documents, 100)


def test_shards_in_a_folder_are_no_input_of_other_shards(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a", "z"):
        (tree / name).write_text(f"document {name}")
    for number in (1, 2):
        asked = ("--shards", tree / "shards" / f"{number}", "--shard-of", f"{number}/2")
        noted("encode", "-r", tree, *asked)
    read_back = ok("decode", "--records", "lines", tree / "shards" / "1", tree / "shards" / "2")
    assert read_back == b"document a\ndocument z\n"


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n"])
def test_empty_records_are_documents(data: bytes, tmp_path: Path) -> None:
    ok("encode", "--records", "lines", "--shards", tmp_path / "shards", data=data)
    index = json.loads((tmp_path / "shards" / "index.json").read_bytes())
    assert [shard["ends"] for shard in index["shards"]] == ([[0] * len(data)] if data else [])
    assert ok("decode", "--records", "lines", tmp_path / "shards") == data


def test_compressed_input_is_read_as_what_it_holds(tmp_path: Path) -> None:
    path = corpus(tmp_path)
    plain = shards(path, tmp_path / "plain", "--shard-tokens", str(LIMIT))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    made = shards(packed, tmp_path / "made", "--shard-tokens", str(LIMIT))
    assert read_flat(made, "<u4") == read_flat(plain, "<u4")


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", first_in_gate([3, 1, 2, 7]))
def test_the_parts_together_have_every_document_once(parts: int, tmp_path: Path) -> None:
    texts = TEXTS[:40] + TEXTS[-4:]
    path = corpus(tmp_path, texts)
    (tmp_path / "more.jsonl").write_bytes(b"\n" + path.read_bytes().rstrip(b"\n"))  # blank lines, and no end
    (tmp_path / "none.jsonl").write_bytes(b"")
    found = []
    for number in range(1, parts + 1):
        ok("encode", "--records", "jsonl", "--special", "text", "--shards", tmp_path / f"part{number}",
           "--shard-of", f"{number}/{parts}", path, tmp_path / "none.jsonl", tmp_path / "more.jsonl")  # fmt: skip
        found += [ids for shard in read_flat(tmp_path / f"part{number}", "<u4") for ids in shard]
    assert found == 2 * expected("o200k_base", None, texts)
    listed = [tmp_path / f"part{number}" for number in range(1, parts + 1)]
    assert ok("decode", "--records", "nul", *listed) == 2 * b"".join(text.encode() + b"\0" for text in texts)


@pytest.mark.parametrize("parts", [2, 5])
def test_whole_files_and_compressed_ones_belong_to_one_part(parts: int, tmp_path: Path) -> None:
    names = []
    for number, text in enumerate(TEXTS[:30]):
        names.append(tmp_path / f"{number:03}")
        data = text.encode() or b"empty"
        names[-1].write_bytes(gzip.compress(data) if number % 3 == 0 else data)
    found: Documents = []
    for number in range(1, parts + 1):
        asked = ("--shards", tmp_path / f"part{number}", "--shard-of", f"{number}/{parts}")
        ok("encode", "--special", "text", *asked, *names)
        found += [ids for shard in read_flat(tmp_path / f"part{number}", "<u4") for ids in shard]
    assert found == expected("o200k_base", None, [text or "empty" for text in TEXTS[:30]])


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--layout", "npz"], "npz"),
        (["--shard-tokens", "0"], "0"),
        (["--shard-of", "0/3"], "I/N"),
        (["--shard-of", "4/3"], "I/N"),
        (["--shard-of", "1"], "I/N"),
        (["--shard-of", "-1/3"], "I/N"),
        (["--shard-of", "1/2"], "files"),
        (["--append-special", "<|endoftxt|>"], "<|endoftext|>"),
        (["--append-special", "nonsense"], "Its special tokens: <|endofprompt|>, <|endoftext|>"),
        (["-o", "out"], "--output"),
        (["--format", "u16"], "--format"),
        (["-n", "3"], "-n"),
        (["--json"], "--json"),
    ],
)
def test_options_that_do_not_fit_are_refused(more: list[str], says: str, tmp_path: Path) -> None:
    assert says in refused("encode", "--shards", tmp_path / "shards", *more, data=b"a\n")
    assert not (tmp_path / "shards").exists()


def test_shards_have_no_members_to_choose(tmp_path: Path) -> None:
    ok("encode", "-q", "--shards", tmp_path / "shards", "-t", "a")
    for option in (["--field", "x"], ["--all-fields", "--json"]):
        assert f"{option[0]} " in refused("decode", "--records", "jsonl", *option, tmp_path / "shards")
    (tmp_path / "ids").write_text('{"x": [64]}\n')
    assert ok("decode", "--records", "jsonl", "--field", "x", tmp_path / "shards", tmp_path / "ids") == b"a\na\n"


@pytest.mark.parametrize("option", [["--layout", "npy"], ["--shard-tokens", "5"], ["--shard-of", "1/2"]])
def test_options_of_shards_need_shards(option: list[str]) -> None:
    assert f"{option[0]} needs --shards" in refused("encode", *option, data=b"a\n")


def test_a_finished_folder_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    path = corpus(tmp_path)
    folder = shards(path, tmp_path / "shards")
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    asked = ("encode", "--records", "jsonl", "--special", "text", "--shards", folder)
    assert "finished" in noted(*asked, path).err
    assert "another run" in refused(*asked, "--shard-tokens", "9", path)
    path.write_bytes(path.read_bytes() * 2)
    assert "another run" in refused(*asked, path)
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["mine.txt", "shard-00000.bin", "shard-0.bin", "index.json", ".hidden"])
def test_a_folder_with_anything_else_in_it_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / name).write_bytes(b"mine")
    refused("encode", "--shards", tmp_path / "shards", data=b"a\n")
    assert [(p.name, p.read_bytes()) for p in (tmp_path / "shards").iterdir()] == [(name, b"mine")]


def test_an_input_that_is_wrong_is_named_and_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"good\nbad \xff\n")
    assert "bad: record 2: not UTF-8" in refused(
        "encode", "--records", "lines", "--shards", tmp_path / "shards", tmp_path / "bad"
    )
    assert "missing: no such file" in refused("encode", "--shards", tmp_path / "shards", tmp_path / "missing")
    into = ("--shards", tmp_path / "shards")
    assert "special token" in refused("encode", "--special", "error", *into, data=b"a <|endoftext|>")
    assert not (tmp_path / "shards").exists()


def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError('none', name='pyarrow')")
    env = {"PYTHONPATH": str(tmp_path)}
    said = refused("encode", "--shards", tmp_path / "shards", "--layout", "parquet", data=b"a\n", env=env)
    assert "tokcli[parquet]" in said
    assert not (tmp_path / "shards").exists()


# --- read back -------------------------------------------------------------------------------------------------------


def test_what_was_changed_is_found_and_named(tmp_path: Path) -> None:
    folder = shards(corpus(tmp_path), tmp_path / "shards", "--shard-tokens", str(LIMIT))
    listed = json.loads(ok("inspect-ranks", "--shards", folder, "--json"))
    index = json.loads((folder / "index.json").read_bytes())
    assert [shard["file"] for shard in listed["shards"]] == [shard["file"] for shard in index["shards"]]
    assert {shard["state"] for shard in listed["shards"]} == {"whole"}
    data = bytearray((folder / "shard-00001.bin").read_bytes())
    data[0] ^= 1
    (folder / "shard-00001.bin").write_bytes(data)
    assert "shard-00001.bin has changed since it was written" in refused("inspect-ranks", "--shards", folder)
    assert "another encoding" in refused("decode", "-e", "cl100k_base", folder)


@pytest.mark.parametrize(
    "index",
    [b"", b"{}", b"[", b'{"format": "tokcli-shards", "version": 1, "layout": "flat", "dtype": "<u4"},\n',
     b'{"format": "tokcli-shards", "version": 1, "layout": "flat", "dtype": "<u4", "encoding": "r50k_base"},\n'
     b'"sources": [\n],\n"shards": [\n{"file": "../../etc/passwd", "sha256": "", "tokens": 1, "ends": [1]}\n]}\n',
     b"[" * 100_000],
)  # fmt: skip
def test_an_index_that_is_none_is_refused(index: bytes, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_bytes(index)
    refused("decode", tmp_path)
    refused("inspect-ranks", "--shards", tmp_path)
    refused("encode", "--shards", tmp_path, data=b"a")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in KiB there")
def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    path = tmp_path / "many"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"a b c d e\n" * 100_000)
    asked = ["encode", "--records", "lines", "--shards", str(tmp_path / "shards"), str(path)]
    done = subprocess.run([sys.executable, "-c", PEAK, *asked], capture_output=True, check=True)
    assert int(done.stdout) < 300 << 10


@pytest.mark.parametrize("protocol", [4, 5])
def test_documents_survive_pickle_which_copies_no_ids_where_it_can_pass_them_on(protocol: int) -> None:
    ids, ends = bytearray(range(12)), array("Q", [1, 3])
    taken: list[pickle.PickleBuffer] = []
    made = shards_on_cluster.Documents(7, ids, ends, InputError("wrong", offset=9, unit="byte"))
    pickled = pickle.dumps(made, protocol, buffer_callback=taken.append if protocol == 5 else None)
    found = pickle.loads(pickled, buffers=taken)
    assert (found.offset, bytes(found.data), found.ends.tolist()) == (7, bytes(ids), [1, 3])
    assert (str(found.error), found.error.offset) == (str(made.error), 9)
    ids[0] = 99
    assert (found.data[0] == 99) == (protocol == 5)
