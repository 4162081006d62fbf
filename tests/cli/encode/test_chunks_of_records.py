"""`encode --chunk --records`: each record's text is cut by itself, and its chunks say which record they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, failed, noted, ok, refused

from tokcli.cli.all_fields import without_members
from tokcli.cli.encode.passages import write_chunks

WORDPIECE = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
LINES = b'{"text":"a b c d e"}\n{"text":"f g"}\n'
CHUNK = ("encode", "--chunk", "4")


def objects(*arguments: str | Path, **more: Any) -> list[dict[str, Any]]:
    return list(map(json.loads, noted(*CHUNK, "--json", *arguments, **more).out.splitlines()))


@pytest.mark.parametrize("backend", ["native", "python"])
def test_each_text_of_json_lines_is_cut_by_itself(backend: str) -> None:
    env = {} if backend == "native" else {"TOKCLI_BACKEND": backend}
    assert objects("--records", "jsonl", data=LINES, env=env) == [
        {"record": 0, "index": 0, "text": "a b c d", "ids": [64, 287, 274, 272], "count": 4, "start": 0, "end": 7},
        {"record": 0, "index": 1, "text": " e", "ids": [319], "count": 1, "start": 7, "end": 9},
        {"record": 1, "index": 0, "text": "f g", "ids": [69, 329], "count": 2, "start": 0, "end": 3},
    ]
    ids = b"64 287 274 272\n319\n69 329\n"
    assert ok(*CHUNK, "--records", "jsonl", data=LINES, env=env) == ids
    assert ok(*CHUNK, "--records", "jsonl", data=LINES.rstrip(b"\n"), env=env) == ids
    assert ok(*CHUNK, "--records", "jsonl", "--format", "json", data=LINES, env=env).splitlines()[1] == b"[319]"


def test_lines_and_strings_that_end_in_nul_are_records() -> None:
    for kind, end in (("lines", b"\n"), ("nul", b"\0")):
        data = end.join([b"a b c d e", b"f g", b""])
        assert [(o["record"], o["index"], o["text"]) for o in objects("--records", kind, data=data)] == [
            (0, 0, "a b c d"), (0, 1, " e"), (1, 0, "f g"),
        ]  # fmt: skip
        assert ok(*CHUNK, "--records", kind, data=data) == end.join([b"64 287 274 272", b"319", b"69 329", b""])
        assert ok(*CHUNK, "--records", kind, "--as-text", data=data) == end.join([b"a b c d", b" e", b"f g", b""])


def test_places_are_bytes_of_the_text_of_the_record() -> None:
    texts = ["naïve Ünïcode text, 東京 and more of it", "\n two\nlines \U0001fae0 ", "x"]
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    for more in ([], ["--overlap", "2"], ["--boundary", "piece"]):
        joined = [b""] * len(texts)
        for found in objects("--records", "jsonl", *more, data=data):
            text = texts[found["record"]].encode()
            assert text[found["start"] : found["end"]].decode() == found["text"]
            joined[found["record"]] = joined[found["record"]][: found["start"]] + found["text"].encode()
        assert [text.decode() for text in joined] == texts


def test_all_fields_keeps_the_other_members_as_they_were_written() -> None:
    data = b'{"id": 1.50, "text": "a b c d e", "tags": ["x", {"text": 1}]}\n{"text": "f g"}\n'
    made = ok(*CHUNK, "--records", "jsonl", "--json", "--all-fields", data=data).splitlines()
    assert [line.startswith(b'{"id": 1.50, "tags": ["x", {"text": 1}], "record": 0, ') for line in made] == [
        True, True, False,
    ]  # fmt: skip
    assert made[2].startswith(b'{"record": 1, "index": 0, "text": "f g", ')


def test_a_chunk_has_its_part_of_the_field_not_all_of_it() -> None:
    data = b'{"id": 7, "body": {"text": "a b c d e", "lang": "en"}, "path": "p"}\n'
    made = objects("--records", "jsonl", "--field", "body.text", "--all-fields", data=data)
    assert [found["text"] for found in made] == ["a b c d", " e"]
    assert [(found["id"], found["body"], found["path"]) for found in made] == [(7, {"lang": "en"}, "p")] * 2
    made = objects("--records", "jsonl", "--field", "b", "--all-fields", data=b'{"b": "a", "text": "other"}\n')
    assert made == [{"record": 0, "index": 0, "text": "a", "ids": [64], "count": 1, "start": 0, "end": 1}]


def test_members_are_left_out_by_their_name_or_by_the_way_to_them() -> None:
    text = '{"a.b": 1, "a": {"b": "}", "c": {"d": 2, "e" : 3 }}, "f":4'
    assert without_members(text, ["a.c.d"]) == '{"a.b": 1, "a": {"b": "}", "c": {"e" : 3}}, "f":4'
    assert without_members(text, ["a.b"]) == '{"a": {"b": "}", "c": {"d": 2, "e" : 3 }}, "f":4'
    assert without_members(text, ["f.g", "a"]) == '{"a.b": 1, "f":4'


def test_many_chunks_of_a_record_repeat_its_members(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record = {"text": "word " * 4000, "id": 5, "tags": ["\\u0041\\"] * 500}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n" + json.dumps({"text": "b"}) + "\n")
    made = objects("--records", "jsonl", "--all-fields", tmp_path / "a.jsonl")
    assert len(made) == 1002
    assert all(found["tags"] == record["tags"] for found in made[:-1])
    assert made[-1] == {"record": 1, "index": 0, "text": "b", "ids": [65], "count": 1, "start": 0, "end": 1}


def test_rows_of_parquet_files_are_records(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": ["x", "y"], "body": ["a b c d e", "f g"]}), tmp_path / "rows")
    of_lines = objects("--records", "jsonl", data=LINES)
    assert objects("--records", "jsonl", "--field", "body", tmp_path / "rows") == of_lines
    made = ok(*CHUNK, "--records", "jsonl", "--field", "body", "--json", "--all-fields", tmp_path / "rows").splitlines()
    assert [(o["id"], o["record"], o["text"]) for o in map(json.loads, made)] == [
        ("x", 0, "a b c d"), ("x", 0, " e"), ("y", 1, "f g"),
    ]  # fmt: skip
    assert b'"body"' not in b"".join(made)


def test_records_of_several_inputs_begin_with_0_each_and_name_their_input(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LINES)
    (tmp_path / "b").write_bytes(b'\n{"text":"x", "path": "y"}\n')
    made = objects("--records", "jsonl", "a", "b", cwd=tmp_path)
    assert [(o["path"], o["record"], o["index"]) for o in made] == [("a", 0, 0), ("a", 0, 1), ("a", 1, 0), ("b", 1, 0)]
    assert [o["path"] for o in objects("--records", "jsonl", "--all-fields", "a", "b", cwd=tmp_path)] == list("aaab")


def test_a_record_without_text_has_no_chunk_and_a_note_says_so() -> None:
    ran = noted(*CHUNK, "--records", "lines", data=b"a\n\nb\n")
    assert (ran.out, ran.err) == (b"64\n65\n", "Note: 1 record has no text, and so no chunk.\n")
    ran = noted(*CHUNK, "--records", "jsonl", "--json", data=b'{"text": ""}\n{"text": ""}\n')
    assert (ran.out, ran.err) == (b"", "Note: 2 records have no text, and so no chunk.\n")
    assert ok(*CHUNK, "-q", "--records", "lines", data=b"\n") == ok(*CHUNK, "--records", "lines") == b""


def test_an_error_names_the_record_and_those_before_it_are_answered() -> None:
    many = b'{"text":"x"}\n' * 20
    for wrong, said in (
        (b'{"tex":"y"}', "record 21: no member 'text'"),
        (b"[1]", "record 21: not a JSON object"),
        (b'{"text":"y", "text_pair":"z"}', "record 21: a pair of texts ('text_pair') has no chunks"),
        (b'{"text":"a <|endoftext|>"}', "record 21: special token '<|endoftext|>' found at byte 2"),
    ):
        ran = failed(*CHUNK, "--special", "error", "--records", "jsonl", data=many + wrong + b"\n" + many)
        assert said in ran.err
        assert ran.out == b"87\n" * 20
    ran = failed("encode", "--chunk", "2", "--records", "lines", data="x\nx 🫠\n".encode())
    assert "record 2: a character of 3 tokens does not fit in a chunk of 2 at byte 2" in ran.err
    assert ran.out == b"87\n87\n220\n"
    assert "record 2: " in refused(*CHUNK, "--records", "lines", data=b"x\n\xff\n")


def test_invalid_bytes_and_special_tokens_in_records_are_treated_as_the_options_say() -> None:
    assert ok(*CHUNK, "--records", "lines", "--errors", "replace", "--as-text", data=b"a\xff\n") == "a\ufffd\n".encode()
    assert objects("--records", "lines", "--errors", "bytes", data=b"a\nb\xff\n")[1]["bytes_hex"] == "62ff"
    data = b'{"text":"a<|endoftext|>b"}\n'
    assert ok("encode", "--chunk", "2", "--records", "jsonl", "--special", "allow", data=data) == b"64 199999\n65\n"


def test_a_large_record_and_many_small_ones_have_the_same_chunks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES * 300)
    given = (*CHUNK, "--records", "jsonl", "--json", tmp_path / "a.jsonl")
    made = ok(*given)
    assert made.count(b"\n") == 900
    assert ok(*given, "-j", "1") == made
    monkeypatch.setattr(write_chunks, "LARGE_BYTES", 0)
    (tmp_path / "large.jsonl").write_text(json.dumps({"text": "a b c d e" * 1000}) + "\n")
    texts = [found["text"] for found in objects("--records", "jsonl", tmp_path / "large.jsonl")]
    assert "".join(texts) == "a b c d e" * 1000


def test_n_keeps_tokens_or_text_of_each_record() -> None:
    assert ok("encode", "-n", "2", "--records", "jsonl", data=LINES) == b"64 287\n69 329\n"
    lines = ok("encode", "-n", "2", "--records", "jsonl", "--json", "--as-text", data=LINES).splitlines()
    assert list(map(json.loads, lines)) == [{"text": "a b", "truncated": True}, {"text": "f g"}]
    pair = b'{"text":"a", "text_pair":"b"}\n'
    assert "record 1: a pair of texts" in refused("encode", "-n", "2", "--records", "jsonl", "--as-text", data=pair)


def test_a_line_ends_with_its_newline_where_that_has_no_token() -> None:
    for newline in ("\n", "\r\n", " \r\n", "\r\n\r\n"):
        text = newline.join(["hello world hello world", "world world world hello", "hello", ""])
        made = ok("encode", "-e", WORDPIECE, "--chunk", "4", "--boundary", "line", "--json", "-t", text)
        texts = [json.loads(line)["text"] for line in made.splitlines()]
        assert texts == text.splitlines(keepends=True) or newline == "\r\n\r\n"
        assert all(each.endswith(newline) for each in texts)
