"""`encode -n` and `--chunk` with --add-special-tokens: a template's tokens count among the N, and are never cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gguf_files import BOOL, UINT32, llama
from support import ROOT, failed, noted, ok, refused, rounds

FORMATS = ROOT / "tests" / "data" / "formats"
WORDPIECE = FORMATS / "wordpiece.tokenizer.json"
BYTE_LEVEL = FORMATS / "byte-level.tokenizer.json"
ADDED = ("--add-special-tokens", "--json")
TEXT = "hello world hello world hello"
LONG = f"{TEXT} {TEXT}"
RECORDS: list[dict[str, str]] = [
    {"text": TEXT},
    {"text": "hello"},
    {"text": ""},
    {"text": "hello", "text_pair": TEXT},
    {"text": TEXT, "text_pair": " world"},
    {"text": TEXT, "text_pair": f"{TEXT} {TEXT}"},
    {"text": f"{TEXT} {TEXT}", "text_pair": TEXT},
    {"text": TEXT, "text_pair": TEXT},
    {"text": "", "text_pair": "hello world"},
]


def template(*, type_id: int = 1) -> dict[str, Any]:
    """Return a template like BERT's, of two tokens with two ids each."""
    begin, end = {"SpecialToken": {"id": "<B>", "type_id": 0}}, {"SpecialToken": {"id": "<E>", "type_id": 0}}
    first, second = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": type_id}}
    tokens = {name: {"id": name, "ids": ids, "tokens": [name] * 2} for name, ids in (("<B>", [1, 2]), ("<E>", [3, 4]))}
    single, pair = [begin, first, end], [begin, first, end, second]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}


MARK = {
    "id": 900,
    "content": "[M]",
    "special": True,
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
}
TRIMMING = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
PROCESSORS: dict[str, tuple[Path, dict[str, Any] | None]] = {
    "none": (WORDPIECE, None),
    "template": (WORDPIECE, template()),
    "bert": (WORDPIECE, {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}),
    "roberta": (
        BYTE_LEVEL,
        {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True},
    ),
    "bytes and a template": (BYTE_LEVEL, {"type": "Sequence", "processors": [TRIMMING, template(type_id=0)]}),
}  # fmt: skip


def file_with(folder: Path, name: str, **more: Any) -> Path:
    """Return a tokenizer.json with one of the post-processors."""
    path, processor = PROCESSORS[name]
    made = folder / "made.tokenizer.json"
    made.write_text(json.dumps({**json.loads(path.read_text()), "post_processor": processor, **more}))
    return made


def first_of(limits: list[int]) -> list[int]:
    """Return limits of tokens: the gate tries two of them."""
    return limits[: max(2, rounds(len(limits)))]


def lines(*arguments: object, records: list[dict[str, str]] = RECORDS, places: bool = True) -> list[dict[str, Any]]:
    """Return what `encode --records jsonl` answers to the records; with `places`, each is encoded by itself."""
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    given = ("encode", "--records", "jsonl", "--json", *(("--offsets", "char") if places else ()), *arguments)
    return list(map(json.loads, noted(*map(str, given), data=data).out.splitlines()))


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("added", [True, False])
def test_texts_and_pairs_are_truncated_as_tokenizers_does(name: str, keep: str, added: bool, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = file_with(tmp_path, name)
    library = tokenizers.Tokenizer.from_file(str(path))
    for limit in first_of([6, 9, 10, 7, 12, 100]):
        library.enable_truncation(limit, direction={"first": "right", "last": "left"}[keep])
        whole = tokenizers.Tokenizer.from_file(str(path))
        options = ["-e", path, "-n", limit, "--keep", keep, *(["--add-special-tokens"] if added else [])]
        for record, made in zip(RECORDS, lines(*options), strict=True):
            texts = record["text"], record.get("text_pair")
            expected = library.encode(*texts, add_special_tokens=added)
            assert made["ids"] == expected.ids
            assert list(map(tuple, made["offsets"])) == expected.offsets
            assert made.get("type_ids", expected.type_ids) == expected.type_ids
            assert made.get("special_tokens_mask", expected.special_tokens_mask) == expected.special_tokens_mask
            assert made.get("truncated", False) == (len(whole.encode(*texts, add_special_tokens=added).ids) > limit)


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("added", [[], ["--add-special-tokens"], ["--add-special-tokens", "--append-special", "[M]"]])
def test_pairs_taken_together_are_as_each_alone(name: str, added: list[str], tmp_path: Path) -> None:
    path = file_with(tmp_path, name, added_tokens=[MARK])
    records = [*RECORDS, {"text": "hello[M]", "text_pair": "[M] wörld"}, {"text": "[M]", "text_pair": ""}] * 2
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    for limit in [[], ["-n", "12"]]:
        given = ["-q", "-e", path, "--special", "allow", *added, *limit]
        alone = lines(*given, records=records)
        for found in alone:
            del found["offsets"]
        assert lines(*given, records=records, places=False) == alone
        ids = ok("encode", "--records", "jsonl", *given, data=data).splitlines()
        assert [list(map(int, each.split())) for each in ids] == [found["ids"] for found in alone]
    if "--append-special" not in added:
        whole = lines("-q", "-e", path, "--special", "allow", *added, records=records)
        counted = ok("count", "--records", "jsonl", "-q", "-e", path, "--special", "allow", *added, data=data).split()
        assert list(map(int, counted)) == [len(found["ids"]) for found in whole]


@pytest.mark.parametrize("backend", ["native", "python"])
def test_records_taken_together_are_truncated_as_each_alone(backend: str) -> None:
    data = "".join(f"{text}\n" for text in (TEXT, "hello", "", TEXT)).encode()
    given = ("encode", "-e", WORDPIECE, "--add-special-tokens", "-n", "4")
    env = {} if backend == "native" else {"TOKCLI_BACKEND": backend}
    alone = [json.loads(ok(*given, "--json", "-t", text.decode(), env=env)) for text in data.split(b"\n")[:-1]]
    assert [found.get("truncated", False) for found in alone] == [True, False, False, True]
    together = ok(*given, "--records", "lines", "--json", data=data, env=env).splitlines()
    assert list(map(json.loads, together)) == alone
    assert all(found["ids"][0] == 1 and found["ids"][-1] == 2 and len(found["ids"]) <= 4 for found in alone)
    ids = ok(*given, "--records", "lines", data=data, env=env).splitlines()
    assert [list(map(int, each.split())) for each in ids] == [found["ids"] for found in alone]
    ran = failed(*given, "--records", "lines", "--fail-if-truncated", data=data, env=env, status=1)
    assert ran.out.splitlines() == ids


def test_the_bos_and_eos_of_a_gguf_file_are_never_cut(tmp_path: Path) -> None:
    yes = (1, BOOL)
    path = llama(
        tmp_path / "x.gguf", add_bos_token=yes, add_eos_token=yes, bos_token_id=(1, UINT32), eos_token_id=(2, UINT32)
    )
    given = ("encode", "-e", path, "--add-special-tokens", "-t", "a b a b")
    every = list(map(int, ok(*given).split()))
    assert (every[0], every[-1]) == (1, 2)
    assert ok(*given, "-n", "4").split() == [b"%d" % n for n in (1, *every[1:3], 2)]
    assert ok(*given, "-n", "4", "--keep", "last").split() == [b"%d" % n for n in (1, *every[-3:-1], 2)]
    chunks = [json.loads(line)["ids"] for line in ok(*given, "--chunk", "4", "--json").splitlines()]
    assert all(found[0] == 1 and found[-1] == 2 and len(found) <= 4 for found in chunks)


def test_views_show_the_tokens_that_n_keeps() -> None:
    given = ("encode", "-e", WORDPIECE, "--add-special-tokens", "-n", "4", "-t", TEXT)
    shown = json.loads(ok(*given, "--visualise", "--json"))
    assert [token["id"] for token in shown["tokens"]] == list(map(int, ok(*given).split()))
    assert shown["tokens"][-1]["text"] == "[SEP]"


def test_text_that_n_keeps_leaves_room_for_the_template() -> None:
    given = ("encode", "-e", WORDPIECE, "--add-special-tokens")
    for n in (2, 4, 20):
        for keep in ("first", "last"):
            kept = ok(*given, "--as-text", "-n", str(n), "--keep", keep, "-t", TEXT).decode()
            assert len(ok(*given, "-t", kept).split()) <= n
    assert kept == TEXT


def test_too_few_tokens_for_the_template_are_refused() -> None:
    given = ("encode", "-e", WORDPIECE, "--add-special-tokens", "-t", "hello")
    for more in ([], ["--as-text"], ["--json"], ["--keep", "last"], ["--visualise"]):
        message = refused(*given, "-n", "1", *more)
        assert "-n 1 has no room for the 2 tokens" in message
        assert "-n 2" in message
    assert ok(*given, "-n", "2") == b"1 2\n"
    pair = b'{"text": "hello", "text_pair": "world"}\n'
    message = refused(*given[:-2], "--records", "jsonl", "-n", "2", data=pair)
    assert "record 1: -n 2 has no room for the 3 tokens" in message


# --- chunks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROCESSORS)
def test_each_chunk_has_the_template_and_at_most_n_tokens(name: str, tmp_path: Path) -> None:
    given = ("encode", "-q", "-e", file_with(tmp_path, name), "--add-special-tokens")
    for more in ([], ["--overlap", "1", "--boundary", "piece"]):
        lines = ok(*given, "--chunk", "7", "--json", *more, "-t", LONG)
        made = list(map(json.loads, lines.splitlines()))
        assert len(made) > 1
        assert all(chunk["count"] == len(chunk["ids"]) <= 7 for chunk in made)
        again = ok(*given, "--records", "jsonl", "--json", data=lines).splitlines()
        assert [json.loads(line)["ids"] for line in again] == [chunk["ids"] for chunk in made]
        assert more or "".join(chunk["text"] for chunk in made) == LONG


def test_chunks_too_small_for_the_template_and_a_character_are_refused() -> None:
    given = ("encode", "-e", WORDPIECE, "--add-special-tokens", "-t", "hello 🫠")
    for n in (1, 2):
        assert f"--chunk {n} has no room for text beside the 2 tokens that --add-special-tokens adds" in refused(
            *given, "--chunk", str(n)
        )
    message = refused("encode", "-e", WORDPIECE, "--add-special-tokens", "--chunk", "4", "--overlap", "2", "-t", "x")
    assert "--overlap 2 leaves no room for more text in --chunk 4 beside the 2 tokens that are added" in message
    assert "--overlap 1" in message


def test_a_character_that_does_not_fit_beside_the_template_names_both(tmp_path: Path) -> None:
    path = file_with(tmp_path, "roberta")
    message = refused("encode", "-e", path, "--add-special-tokens", "--chunk", "4", "-t", "🫠")
    assert "tokens does not fit in a chunk of 4 beside 2 of a template" in message


def test_a_tokenizer_without_a_template_is_told_so() -> None:
    ran = noted("encode", "--add-special-tokens", "--chunk", "2", "-t", "a b c")
    assert ran.out == b"64 287\n274\n"
    assert "has no template" in ran.err


def test_a_second_text_that_no_template_takes_is_told_once() -> None:
    data = b'{"text": "a", "text_pair": "b"}\n' * 3
    said = "Note: o200k_base has no template for pairs of texts: member 'text_pair' is not encoded.\n"
    for command, answer in (("encode", b"64\n"), ("count", b"1\n")):
        ran = noted(command, "--records", "jsonl", data=data)
        assert (ran.out, ran.err) == (answer * 3, said)
        assert ok(command, "-q", "--records", "jsonl", data=data) == answer * 3
    assert noted("encode", "-n", "1", "--keep", "last", "--records", "jsonl", data=data).err == said
