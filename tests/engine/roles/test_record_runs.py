"""Records are encoded natively in runs, and those that only Python encodes by themselves: each has the ids of its text."""

from __future__ import annotations

import json
from array import array
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from tokcli.engine import backend
from tokcli.engine.encoding import Encoding
from tokcli.engine.roles.record_runs import GIVE_UP_AFTER, Records, count_records, encode_records
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.registry.encodings import load_encoding

pytestmark = pytest.mark.skipif(backend.native() is None, reason="records are taken one by one there")

DECOMPOSED = "e\u0301"  # which NFC changes: native code leaves such text to Python
END = "<mask>"
ATOMS = ["the", " ", "\u00e9", DECOMPOSED, "\u0301", "e", END, "\U0001f600", "ab c"]


@pytest.fixture(scope="module", params=[False, True], ids=["plain tokens", "tokens that take spaces"])
def encoding(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoding:
    rules = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_text("utf-8"))
    token = {"id": 400, "content": END, "single_word": False, "rstrip": False, "normalized": False, "special": True}
    path: Path = tmp_path_factory.mktemp("runs") / "nfc.tokenizer.json"
    path.write_text(json.dumps(rules | {"added_tokens": [token | {"lstrip": request.param}]}))
    return load_encoding(path)


def records_of(texts: list[str], separator: bytes) -> Records:
    data = [text.encode() + separator for text in texts]
    return Records(b"".join(data), array("Q", accumulate(map(len, data))), len(separator))


def by_itself(encoding: Encoding, texts: list[str], options: ReadOptions) -> list[list[int]]:
    tokenizer = encoding.tokenizer
    parts = [list(tokenizer.read_parts([text.encode()], options)) for text in texts]
    return [[number for part in some for number in tokenizer.encode_part(part)] for some in parts]


@given(st.lists(st.lists(st.sampled_from(ATOMS), max_size=5).map("".join), max_size=12), st.sampled_from([b"\n", b""]))
def test_records_in_runs_have_the_ids_that_each_has_by_itself(
    encoding: Encoding, texts: list[str], separator: bytes
) -> None:
    for options in (PLAIN, ReadOptions(allowed=frozenset(encoding.special_tokens_set))):
        records, expected = records_of(texts, separator), by_itself(encoding, texts, options)
        made = encode_records(encoding.tokenizer, records, options)
        counts = count_records(encoding.tokenizer, records, options)
        assert bool(texts) == (made is not None) == (counts is not None)
        ids, offsets = made or ([], [])
        assert [list(ids[begin:end]) for begin, end in pairwise(offsets)] == expected
        assert list(counts or ()) == list(map(len, expected))


def test_only_the_records_that_native_code_leaves_are_encoded_by_themselves(
    encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["the words"] * 1000
    texts[0] = texts[700] = DECOMPOSED
    alone: list[object] = []
    kind: Any = type(encoding.tokenizer)
    encode_part, for_records = kind.encode_part, kind.for_records

    def leaving_some(self: Any, data: bytes, *options: Any, **more: Any) -> Any:
        return None if DECOMPOSED.encode() in data else for_records(self, data, *options, **more)

    monkeypatch.setattr(kind, "for_records", leaving_some)
    monkeypatch.setattr(kind, "encode_part", lambda self, part: alone.append(part) or encode_part(self, part))
    made = encode_records(encoding.tokenizer, records_of(texts, b"\n"), PLAIN)
    assert made is not None
    assert len(made[1]) == 1001
    assert len(alone) == 2


def test_where_native_code_takes_no_record_few_are_tried(encoding: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    monkeypatch.setattr(type(encoding.tokenizer), "for_records", lambda *_, **__: tried.append(1))
    assert encode_records(encoding.tokenizer, records_of(["a"] * 4096, b"\n"), PLAIN) is None
    assert len(tried) < 4 * GIVE_UP_AFTER


@pytest.mark.parametrize("bad", [b"\xff\n", b"<mask>\n"])
def test_a_record_that_is_an_error_is_told_one_by_one(encoding: Encoding, bad: bytes) -> None:
    records = Records(b"a\n" + bad, array("Q", [2, 2 + len(bad)]), 1)
    options = ReadOptions(refused=frozenset([END]))
    assert encode_records(encoding.tokenizer, records, options) is None
    assert count_records(encoding.tokenizer, records, options) is None
