"""Every library that reads tokenizer.json gives the ids of an exported encoding; one that is not installed is left out.

The readers beside tokenizers and tiktoken are installed by `bash .ci/full readers`.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from support import HARD_ATOMS, first_in_gate

import tokcli
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.formats.export.contents import contents_in
from tokcli.formats.export.losses import export
from tokcli.formats.export.tokenizer_json import format_huggingface
from tokcli.formats.export.writers import ExportVocabulary, recover_merges

Reader = Callable[[str], list[int]]
BYTES = {bytes([value]): value for value in range(256)}
LEARNT = [b"he", b"ll", b"hell", b"hello", b" w", b"\n\n", b" \n", b"  ", b"12", b"123", b"'s", b"\r\n"]
TEXTS = ["", "hello world", "I'll pay $12345", "he'S a\n ", "a \n \n  ", *HARD_ATOMS, " ".join(HARD_ATOMS)]
SPECIAL = ["a<|endoftext|>b", "<|fim_prefix|>x<|fim_suffix|> y<|fim_middle|>", "<|start|>user<|message|>hi<|end|>"]
NAMES = ["gpt2", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"]
GPT2 = {"gpt2", "p50k_base", "p50k_edit"}


def made(pat_str: str, special_tokens: dict[str, int], learnt: list[bytes] = LEARNT) -> Encoding:
    ranks = BYTES | {token: number for number, token in enumerate(learnt, 256)}
    return Encoding("made", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special_tokens)


def texts() -> list[str]:
    """Return our hard texts, and the shared ones where TOKCLI_VECTORS names them."""
    shared = Path(os.environ.get("TOKCLI_VECTORS", "")) / "texts.jsonl"
    lines = shared.read_text("utf-8").split("\n") if shared.is_file() else []
    return [*TEXTS, *SPECIAL, *(json.loads(line)["text"] for line in lines if line)]


def read_by_tokenizers(folder: Path) -> Reader:
    encode = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json")).encode
    return lambda text: list(encode(text, add_special_tokens=False).ids)


def read_by_transformers(folder: Path) -> Reader:
    encode = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(str(folder)).encode
    return lambda text: list(encode(text, add_special_tokens=False))


def read_by_its_fast_class(folder: Path) -> Reader:
    fast = pytest.importorskip("transformers").PreTrainedTokenizerFast
    encode = fast(tokenizer_file=str(folder / "tokenizer.json")).encode
    return lambda text: list(encode(text, add_special_tokens=False))


def read_by_fastokens(folder: Path) -> Reader:
    encode = pytest.importorskip("fastokens").Tokenizer.from_file(str(folder / "tokenizer.json")).encode
    return lambda text: list(encode(text, add_special_tokens=False).ids)


def read_by_gigatoken(folder: Path) -> Reader:
    encode = pytest.importorskip("gigatoken").Tokenizer(str(folder / "tokenizer.json")).encode
    return lambda text: list(map(int, encode(text)))


def read_by_splintr(folder: Path) -> Reader:
    tokenizer = pytest.importorskip("splintr").from_json(str(folder / "tokenizer.json"))
    return lambda text: list(tokenizer.encode_with_special(text))


def read_by_quicktok(folder: Path) -> Reader:
    quicktok = pytest.importorskip("quicktok")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves files that it has read open
        quicktok.import_tokenizer(str(folder / "tokenizer.json"), "made", str(folder))
        tokenizer = quicktok.Tokenizer("made", str(folder))
    return lambda text: list(tokenizer.encode_with_special_tokens(text))


READERS = [read_by_tokenizers, read_by_transformers, read_by_its_fast_class, read_by_fastokens, read_by_gigatoken,
           read_by_splintr, read_by_quicktok]  # fmt: skip


def write(encoding: Encoding, folder: Path) -> ExportVocabulary:
    tables, _ = export(encoding, "huggingface")
    for name, data in zip(("tokenizer.json", "tokenizer_config.json"), contents_in(tables, "huggingface"), strict=True):
        (folder / name).write_bytes(data)
    return tables


@pytest.mark.parametrize(("name", "reader"), first_in_gate([(name, reader) for name in NAMES for reader in READERS]))
def test_a_reader_of_tokenizer_json_gives_the_ids_of_an_exported_encoding(
    name: str, reader: Callable[[Path], Reader], tmp_path: Path
) -> None:
    if reader is read_by_quicktok and name in GPT2:
        pytest.skip("quicktok reads no file with GPT-2's pattern")
    ours = tokcli.get_encoding(name)
    write(ours, tmp_path)
    theirs = reader(tmp_path)
    assert [text for text in texts() if theirs(text) != ours.encode(text, allowed_special="all")] == []


@pytest.mark.parametrize("pattern", [known.CL100K, known.GPT4, known.R50K, known.O200K, known.DEEPSEEK])
@pytest.mark.parametrize("reader", READERS[:5])
def test_readers_give_the_ids_of_a_learnt_vocabulary_with_holes_before_its_special_tokens(
    pattern: str, reader: Callable[[Path], Reader], tmp_path: Path
) -> None:
    if reader in (read_by_transformers, read_by_its_fast_class) and pattern != known.CL100K:
        pytest.skip("transformers has tokenizers inside")
    ours = made(pattern, {"<|endoftext|>": 270, "<|start|>": 272})
    write(ours, tmp_path)
    theirs = reader(tmp_path)
    assert [text for text in TEXTS + SPECIAL if theirs(text) != ours.encode(text, allowed_special="all")] == []


def test_special_tokens_behind_the_ranks_are_not_in_the_vocabulary_and_holes_are_filled(tmp_path: Path) -> None:
    write(made(known.O200K, {"<b>": 272, "<a>": 270}), tmp_path)
    table = json.loads((tmp_path / "tokenizer.json").read_bytes())
    added = {token["content"]: token["id"] for token in table["added_tokens"]}
    assert sorted(table["model"]["vocab"].values()) == list(range(268))
    assert list(added.items()) == [
        ("<|unused_id_268|>", 268),
        ("<|unused_id_269|>", 269),
        ("<a>", 270),
        ("<|unused_id_271|>", 271),
        ("<b>", 272),
    ]
    assert not added.keys() & table["model"]["vocab"].keys()


def test_a_special_token_between_ranks_and_an_unused_id_there_are_in_the_vocabulary(tmp_path: Path) -> None:
    ranks = BYTES | {b"he": 256, b"ll": 259}
    ours = Encoding("made", pat_str=known.GPT4, mergeable_ranks=ranks, special_tokens={"<a>": 258, "<b>": 260})
    write(ours, tmp_path)
    vocab = json.loads((tmp_path / "tokenizer.json").read_bytes())["model"]["vocab"]
    assert [vocab[token] for token in ("<reserved 257>", "<a>")] == [257, 258]
    assert "<b>" not in vocab
    theirs = read_by_tokenizers(tmp_path)
    for text in ("hello<a>", "<b><reserved 257>"):
        assert theirs(text) == ours.encode(text, allowed_special="all")


def test_where_holes_are_too_many_to_fill_special_tokens_are_in_the_vocabulary(tmp_path: Path) -> None:
    ours = made(known.GPT4, {"<a>": 1_000_000})
    write(ours, tmp_path)
    table = json.loads((tmp_path / "tokenizer.json").read_bytes())
    assert table["model"]["vocab"]["<a>"] == 1_000_000
    assert [token["content"] for token in table["added_tokens"]] == ["<a>"]
    assert read_by_tokenizers(tmp_path)("x<a>") == [120, 1_000_000]


def test_of_several_names_of_one_id_the_first_is_written_and_a_note_names_the_others() -> None:
    tables, notes = export(made(known.GPT4, {"<a>": 268, "<b>": 268}), "huggingface")
    assert notes == ["1 special tokens with the id of another are left out ('<b>')."]
    assert [token["content"] for token in json.loads(format_huggingface(tables))["added_tokens"]] == ["<a>"]


def pattern_of(encoding: Encoding) -> str:
    table = json.loads(format_huggingface(export(encoding, "huggingface")[0]))
    return str(table["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"])


def test_cl100ks_pattern_is_written_as_llama3s_unless_a_token_goes_on_after_its_last_line_end(tmp_path: Path) -> None:
    assert pattern_of(made(known.CL100K, {})) == known.LLAMA3
    assert pattern_of(made(known.CL100K, {}, [*LEARNT, b"xyz"])) != known.LLAMA3  # no merge makes it
    ours = made(known.CL100K, {}, [*LEARNT, b"\n ", b"\n \n"])
    assert "++" not in pattern_of(ours) != known.LLAMA3
    write(ours, tmp_path)
    theirs, read = read_by_tokenizers(tmp_path), tokcli.load_encoding(tmp_path / "tokenizer.json")
    for text in ("a\n ", "a \n\n ", "a\n b", " \n \n", *TEXTS):
        assert theirs(text) == read.encode_ordinary(text) == ours.encode_ordinary(text), text


@pytest.mark.parametrize("name", first_in_gate(NAMES))
def test_the_merges_of_an_export_are_those_that_its_ranks_imply(name: str) -> None:
    tables, _ = export(tokcli.get_encoding(name), "huggingface")
    assert list(tables.merges) == recover_merges(tables.mergeable_ranks)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_readers_of_ranks_give_the_ids_of_exported_ranks(name: str, tmp_path: Path) -> None:
    fastokens, gigatoken = pytest.importorskip("fastokens"), pytest.importorskip("gigatoken")
    ours, path = tokcli.get_encoding(name), tmp_path / "a.tiktoken"
    path.write_bytes(contents_in(export(ours, "tiktoken")[0], "tiktoken")[0])
    pattern = {"cl100k_base": "gpt4", "o200k_base": "o200k"}[name]
    encode = fastokens.Tokenizer.from_tiktoken(str(path), encoding=name).encode_ordinary
    other = gigatoken.Tokenizer.from_tiktoken(str(path), pretokenizer=pattern, special_tokens={}).encode
    for text in texts():
        assert list(encode(text).ids) == list(map(int, other(text))) == ours.encode_ordinary(text), text


@pytest.mark.slow
def test_tiktoken_and_transformers_give_the_ids_of_an_exported_gpt2_pair(tmp_path: Path) -> None:
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ours = tokcli.get_encoding("gpt2")
    for name, data in zip(("vocab.json", "merges.txt"), contents_in(export(ours, "gpt2")[0], "gpt2"), strict=True):
        (tmp_path / name).write_bytes(data)
    ranks = data_gym_to_mergeable_bpe_ranks(str(tmp_path / "merges.txt"), str(tmp_path / "vocab.json"))
    assert ranks == dict(export(ours, "tiktoken")[0].mergeable_ranks)
    theirs = pytest.importorskip("transformers").GPT2Tokenizer.from_pretrained(str(tmp_path))
    for text in texts():
        assert theirs.encode(text, add_special_tokens=False) == ours.encode(text, allowed_special="all"), text
