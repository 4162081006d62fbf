"""Tokenizers that are not byte-level are compiled, too: the same answers from the cache, and nothing of it is trusted."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import struct
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf_files import bert, llama, t5
from support import ROOT, read_vocabulary

from tokcli.engine import backend
from tokcli.engine.encoding import Encoding
from tokcli.engine.spec.token_table import TokenTable, pack_table
from tokcli.errors import UnknownTokenError, VocabularyError
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled.compile import load_data
from tokcli.registry.compiled.compiled_tokenizer import CompiledTokenizer
from tokcli.registry.encodings import get_encoding, load_encoding

FOLDER = ROOT / "tests" / "data" / "formats"
FILES = ["bpe.model", "unigram.model", "word.model", "char.model", "wordpiece.tokenizer.json", "unigram.tokenizer.json"]
TEXTS = [
    "", "hello world", "  Hello  w\u00f6rld, \u4e2d\u6587 e\u0301\u0301 \U0001f468\u200d\U0001f469 \ufb01 <unk> <s> [SEP] </s>\n\n x",
]  # fmt: skip
pytestmark = pytest.mark.skipif(backend.native() is None, reason="only native tables are kept")


def answers(encoding: Encoding) -> list[Any]:
    found: list[Any] = [
        encoding.n_vocab,
        encoding.special_tokens_set,
        encoding.tokenizer.has_template,
        encoding.tokenizer.is_native,
    ]
    for text in TEXTS:
        for special in (set(), "all"):
            ids = encoding.encode(text, allowed_special=special, disallowed_special=())  # type: ignore[arg-type]
            found += [ids, encoding.decode_bytes(ids), encoding.decode_bytes(ids[1:])]
        found += [encoding.count(text), encoding.encode_array(text).tolist(), encoding.split(text)]
    found.append([encoding.decode_single_token_bytes(n) for n in range(min(40, encoding.n_vocab))])
    pretokenizer = encoding.tokenizer.pretokenizer
    found.append(None if pretokenizer is None else pretokenizer.pat_str)
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_compiled_tokenizer_answers_as_the_parsed_one(name: str, parsed: list[str]) -> None:
    fresh = read_vocabulary(FOLDER / name)
    parsed.clear()
    first = answers(load_encoding(FOLDER / name))
    assert len(parsed) == 1
    again = load_encoding(FOLDER / name)
    assert answers(again) == first
    assert len(parsed) == 1
    assert again.encode_ordinary(TEXTS[2]) == fresh.encode(TEXTS[2], frozenset())  # type: ignore[union-attr]
    assert {n: again.decode_bytes([n]) for n in range(40)} == {n: fresh.decode([n]) for n in range(40)}  # type: ignore[union-attr]
    with pytest.raises(UnknownTokenError):
        again.decode_bytes([again.n_vocab + 5])


@pytest.mark.parametrize("name", [*FILES, "xlm-roberta"])
def test_any_ids_decode_as_by_the_rules_at_once_and_a_few_at_a_time(name: str, tmp_path: Path) -> None:
    file, rnd = FOLDER / name, random.Random(5)
    if name == "xlm-roberta":
        file = tmp_path
        shutil.copy(FOLDER / "unigram.model", file / "sentencepiece.bpe.model")
        (file / "config.json").write_text('{"model_type": "xlm-roberta"}')
    fresh: Any = read_vocabulary(file)
    load_encoding(file)
    tokenizer: Any = load_encoding(file).tokenizer
    spaced = [
        number for number in range(fresh.max_id + 1) if fresh.decode([5, number])[len(fresh.decode([5])) :][:1] == b" "
    ]
    for _ in range(500):
        ids = [
            rnd.choice([rnd.randrange(8), rnd.choice(spaced or [0]), rnd.randrange(fresh.max_id + 1)])
            for _ in range(rnd.randrange(7))
        ]
        assert tokenizer.decode(ids) == fresh.decode(ids), ids
        streamed, ours = b"", tokenizer.decode_stream()
        for number in ids:
            streamed += ours.add([number])
        assert streamed + ours.finish() == fresh.decode(ids), ids


@pytest.mark.parametrize("name", FILES)
def test_decoding_looks_up_the_ids_that_it_gets_and_no_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = load_encoding(FOLDER / name).encode(TEXTS[1])
    looked_up, look_up = list[int](), TokenTable.__getitem__
    monkeypatch.setattr(TokenTable, "__len__", lambda _: pytest.fail("all ids were counted"))
    monkeypatch.setattr(TokenTable, "__iter__", lambda _: pytest.fail("all ids were listed"))
    monkeypatch.setattr(TokenTable, "__getitem__", lambda table, id: looked_up.append(id) or look_up(table, id))
    again = load_encoding(FOLDER / name)
    assert again.decode(ids * 3) == again.decode(ids * 3)
    assert sorted(looked_up) == sorted(set(ids))


@pytest.mark.parametrize("name", [*FILES, "o200k_base"])
def test_an_array_of_ids_decodes_as_a_list_of_them(name: str) -> None:
    encoding = load_encoding(FOLDER / name) if name in FILES else get_encoding(name)
    ids = encoding.encode_array(TEXTS[1])
    for given in (ids, ids[1:], ids[::2], ids[:0], array("I", ids), memoryview(array("Q", ids))):
        assert encoding.decode(given) == encoding.decode(given.tolist())
        assert encoding.decode_bytes(given) == encoding.decode_bytes(given.tolist())
    wrong = memoryview(array("I", [*ids, encoding.n_vocab + 5]))
    for decode in (encoding.decode, encoding.decode_bytes):
        with pytest.raises(UnknownTokenError, match=str(encoding.n_vocab + 5)):
            decode(wrong)


@pytest.mark.parametrize("name", FILES)
def test_what_the_tables_do_not_tell_is_read_again(name: str) -> None:
    load_encoding(FOLDER / name)
    again = load_encoding(FOLDER / name)
    fresh = read_vocabulary(FOLDER / name)
    assert again.split(TEXTS[2]) == fresh.split(TEXTS[2])  # type: ignore[union-attr]
    told: Any = fresh.token_bytes()  # type: ignore[union-attr]
    assert [again.tokenizer.token_bytes()[n] for n in told] == list(told.values())
    assert dict(again.tokenizer.token_bytes()) == told
    assert set(again.tokenizer.token_bytes().values()) == set(told.values())
    assert [again.tokenizer.parents(n) for n in range(40)] == [fresh.parents(n) for n in range(40)]  # type: ignore[attr-defined,union-attr]
    assert pickle.loads(pickle.dumps(again)).encode_ordinary(TEXTS[2]) == again.encode_ordinary(TEXTS[2])


@pytest.mark.parametrize("make", [llama, bert, t5])
def test_compiled_gguf_files_answer_as_parsed_ones(
    make: Callable[[Path], Path], tmp_path: Path, parsed: list[str]
) -> None:
    file = make(tmp_path / "x.gguf")
    first = answers(load_encoding(file))
    count = len(parsed)
    again = load_encoding(file)
    assert answers(again) == first
    assert (len(parsed), count) == (count, 1)
    assert pickle.loads(pickle.dumps(again)).encode_ordinary(TEXTS[2]) == again.encode_ordinary(TEXTS[2])
    fresh = read_vocabulary(file)
    for text in TEXTS:
        assert again.encode_ordinary(text) == fresh.encode(text, frozenset())  # type: ignore[union-attr]


@pytest.mark.parametrize("prefix", [False, True])
def test_byte_level_files_whose_tokens_take_spaces_are_kept_too(
    prefix: bool, tmp_path: Path, parsed: list[str]
) -> None:
    """RoBERTa's mask takes the space before it; what stands between such tokens goes by ranks."""
    table = json.loads((FOLDER / "byte-level.tokenizer.json").read_bytes())
    mask = {"id": 900, "content": "<s>", "special": True, "normalized": False, "lstrip": True}
    word = {"id": 901, "content": "world", "special": False, "normalized": True, "single_word": True}
    cut = {"type": "ByteLevel", "add_prefix_space": prefix, "use_regex": True, "trim_offsets": True}
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({**table, "added_tokens": [mask, word], "pre_tokenizer": cut}))
    fresh = read_vocabulary(file)
    parsed.clear()
    first = answers(load_encoding(file))
    again = load_encoding(file)
    assert type(again.tokenizer.inner) is CompiledTokenizer
    assert answers(again) == first
    assert len(parsed) == 1
    for text in TEXTS:
        for allowed in (frozenset[str](), frozenset({"<s>"})):
            ids = fresh.encode(text, allowed)  # type: ignore[union-attr]
            assert again.encode(text, allowed_special=set(allowed), disallowed_special=()) == ids
            assert again.decode_bytes(ids) == fresh.decode(ids)  # type: ignore[union-attr]
    assert pickle.loads(pickle.dumps(again)).encode_ordinary(TEXTS[2]) == again.encode_ordinary(TEXTS[2])


def test_xlm_robertas_ids_are_kept_too(tmp_path: Path, parsed: list[str]) -> None:
    shutil.copy(FOLDER / "unigram.model", tmp_path / "sentencepiece.bpe.model")
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta"}')
    first = answers(load_encoding(tmp_path))
    count = len(parsed)
    again = load_encoding(tmp_path)
    assert answers(again) == first
    assert len(parsed) == count
    assert pickle.loads(pickle.dumps(again)).encode_ordinary(TEXTS[2]) == again.encode_ordinary(TEXTS[2])


def test_what_was_fetched_is_compiled_too(cache: Path) -> None:
    data = (FOLDER / "bpe.model").read_bytes()
    first, again = (load_data({"org/name/tokenizer.model": data}) for _ in range(2))
    assert type(first) is type(again) is CompiledTokenizer
    assert len(list(cache.glob("compiled/*"))) == 1
    with pytest.raises(VocabularyError, match=r"vocab.json: .*one file of two"):
        load_data({"https://host/vocab.json": b'{"a": 0, "b": 1}'})


@pytest.mark.parametrize("name", ["bpe.model", "unigram.model", "wordpiece.tokenizer.json"])
def test_a_damaged_container_is_made_again(name: str, cache: Path) -> None:
    first = answers(load_encoding(FOLDER / name))
    kept = next(path for path in cache.glob("compiled/*") if path.suffix != ".file")
    whole = kept.read_bytes()
    container = containers.unpack(memoryview(whole))
    assert container is not None
    sections = {part: bytes(data) for part, data in container.sections.items()}
    damaged = [
        *({part: data for part, data in sections.items() if part != gone} for gone in sections),
        *({**sections, part: data[:-9]} for part, data in sections.items() if data),
        *({**sections, part: bytes(8) + data[8:]} for part, data in sections.items() if part != "charsmap" and data),
    ]
    for parts in damaged:
        kept.write_bytes(containers.pack(container.header, parts))
        assert answers(load_encoding(FOLDER / name)) == first
    for key in container.header:
        for value in ([], -1, {"a": "b"}, [[]], "?"):
            kept.write_bytes(containers.pack({**container.header, key: value}, sections))
            encoding = load_encoding(FOLDER / name)
            if key == "sha256":
                assert answers(encoding) == first


def test_a_table_gives_what_was_put_in() -> None:
    tokens = {0: b"a", 1: b"", 3: "\u4e2d".encode(), 70: b"x" * 300}
    block = pack_table(tokens)
    assert dict(TokenTable(memoryview(block))) == tokens
    assert pack_table({1 << 31: b"x"}) == b""
    for number in (2, 71, -1):
        with pytest.raises(KeyError):
            TokenTable(memoryview(block))[number]
    with pytest.raises(ValueError, match="fit"):
        TokenTable(memoryview(block[:-1]))
    with pytest.raises(ValueError, match="no table"):
        TokenTable(memoryview(b"abc"))
    with pytest.raises(ValueError, match="fit"):
        TokenTable(memoryview(struct.pack("=II", 1 << 30, 5)))
