"""The box to type in gives, in a real browser, the ids that the tokenizer gives, or says that it cannot."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import chromium
import pytest
from html_pages import ABOUT, ACTIVE, HEADING, STATUS, page
from support import HARD_ATOMS, MARKUP, ROOT

import tokcli
from tokcli.engine.unicode.forms import Form, normalize

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium here")

FORMATS = ROOT / "tests" / "data" / "formats"
VECTORS = os.environ.get("TOKCLI_VECTORS", "")
COUNT = "document.getElementById('typed-count').textContent"
NOTE = "document.getElementById('typed-note').textContent"
CLEAR = "document.getElementById('clear').hidden"
IDS = "[...document.querySelectorAll('#text .token')].map(token => Number(token.dataset.id))"
SUMMARY = "document.getElementById('summary').textContent"
GOLDEN = [
    json.loads(line)["text"] for line in (ROOT / "tests" / "data" / "golden.jsonl").read_text("utf-8").splitlines()
]
TEXTS = [*dict.fromkeys([*GOLDEN, *HARD_ATOMS, *MARKUP, "".join(HARD_ATOMS), "  ".join(HARD_ATOMS), "e\u0301 \u1e9b\u0323",
                         "<|endoftext|>", "a" * 3000, " " * 3000, "ab" * 999, "\ufeffa\x00b"])]  # fmt: skip
LONE = ["\ud800", "a\udc00b", "\udc00\ud800", "x\ud83d"]


def open_box(tab: chromium.Tab, path: Path) -> None:
    tab.open(path)
    tab.value("document.getElementById('typed').focus()")
    tab.wait("pageTokenizer !== null")


def found_in(tab: chromium.Tab, texts: list[str]) -> list[Any]:
    """The ids of texts in the page, or a message for each of those that it refuses."""
    encode = "text => { try { return pageTokenizer.encode(text).ids; } catch (error) { return error.message; } }"
    found: list[Any] = tab.value(f"{json.dumps(texts)}.map({encode})")
    return found


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "r50k_base", "p50k_base"])
def test_registered_encodings_give_their_ids(name: str, tab: chromium.Tab, folder: Path) -> None:
    open_box(tab, page(folder, "encode", "-e", name, "-t", "x"))
    texts = [*TEXTS, *LONE]
    encoding = tokcli.get_encoding(name)
    for text, ids in zip(texts, found_in(tab, texts), strict=True):
        assert ids == encoding.encode_ordinary(text), ascii(text)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Vocabulary files of formats whose tokenizers ranks express."""
    folder = tmp_path_factory.mktemp("files")
    corpus = [" ".join(HARD_ATOMS) * 3, "low lower lowest" * 9]
    own = tokcli.train(corpus, 400, special_tokens=["<|end|>"])
    words = tokcli.train(corpus, 330, pat_str=r"\w+|[^\w\s]+|\s+(?!\S)|\s", special_tokens=["<|end|>"])
    saved = {
        "own": own.save(folder / "own.tiktoken")[0],
        "json": own.save(folder / "tokenizer.json")[0],
        "minbpe": words.save(folder / "words.model")[0],
        "gpt2": tokcli.get_encoding("r50k_base").save(folder / "vocab.json")[0],
    }
    table = json.loads(Path(saved["json"]).read_text())
    table["normalizer"] = {"type": "NFC"}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    last = max(token["id"] for token in table["added_tokens"])
    table["added_tokens"] += [{"id": last + n, "content": text, **flags} for n, text in enumerate(("<a>", "<a><b>"), 1)]
    (folder / "nfc.json").write_text(json.dumps(table))
    return {**{name: Path(path) for name, path in saved.items()}, "nfc": folder / "nfc.json",
            "plain": FORMATS / "plain.tokenizer.json"}  # fmt: skip


@pytest.mark.parametrize("name", ["own", "json", "minbpe", "gpt2", "nfc", "plain"])
def test_files_give_their_ids_or_a_reason(name: str, files: dict[str, Path], tab: chromium.Tab, folder: Path) -> None:
    open_box(tab, page(folder, "encode", "-e", files[name], "-t", "x"))
    texts = [*TEXTS, *LONE, "<a><b><a>x <|end|>"]
    encoding = tokcli.load_encoding(files[name])
    found = found_in(tab, texts)
    assert sum(isinstance(ids, str) for ids in found) <= len(texts) // 50
    for text, ids in zip(texts, found, strict=True):
        assert isinstance(ids, str) or ids == encoding.encode_ordinary(text), ascii(text)


@pytest.mark.slow
@pytest.mark.skipif(not VECTORS, reason="TOKCLI_VECTORS names no folder of vectors")
@pytest.mark.parametrize(
    "name",
    ["cl100k_base", "o200k_base", "r50k_base", "p50k_base", "gpt2/encoder.json", "hf/gpt2.tokenizer.json",
     "hf/qwen3.tokenizer.json", "hf/llama3_1.tokenizer.json", "minbpe/basic.model", "minbpe/regex.model",
     "gguf/ggml-vocab-qwen2.gguf", "gguf/ggml-vocab-llama-bpe.gguf", "gguf/ggml-vocab-falcon.gguf"],
)  # fmt: skip
def test_the_texts_of_the_vectors_have_their_ids(name: str, tab: chromium.Tab, folder: Path) -> None:
    lines = (Path(VECTORS) / "texts.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    path = Path(VECTORS) / name
    encoding = tokcli.load_encoding(path) if "/" in name else tokcli.get_encoding(name)
    open_box(tab, page(folder, "encode", "-e", path if "/" in name else name, "-t", "x"))
    refused = 0
    for text, ids in zip(texts, found_in(tab, texts), strict=True):
        refused += isinstance(ids, str)
        assert isinstance(ids, str) or ids == encoding.encode_ordinary(text), ascii(text)
    assert refused == 0 or name.startswith("gguf")


def test_what_is_typed_is_shown_with_ids_counts_and_merges_and_escape_brings_the_page_back(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, "encode", "-e", "cl100k_base", "-t", "the text of the page"))
    own, summary = tab.value(IDS), tab.value(SUMMARY)
    assert own == tokcli.get_encoding("cl100k_base").encode("the text of the page")
    tab.type("#typed", "hello worlds! <|endoftext|>")
    tab.wait(f"{COUNT} !== ''")
    ids = tokcli.get_encoding("cl100k_base").encode_ordinary("hello worlds! <|endoftext|>")
    assert tab.value(IDS) == ids
    assert tab.value(COUNT) == f"{len(ids)} tokens, 27 bytes, {27 / len(ids):.2f} bytes per token"
    assert tab.value(NOTE) == "1 special token taken as text"
    assert tab.value("document.querySelector('#text').classList.contains('with-ids')")
    assert tab.value(HEADING) == f"Token {ids[0]}"
    assert "5 bytes, 5 characters" in tab.value(ABOUT)
    assert tab.value("document.querySelectorAll('#about .tree a').length") > 5
    tab.click("#item-1")
    tab.wait(f"{HEADING} === 'Token {ids[1]}'")
    assert "5\u201312" in tab.value(ABOUT)
    assert tab.value(CLEAR) is False
    tab.value("document.getElementById('typed').focus()")
    tab.press("Escape")
    tab.wait(f"{COUNT} === ''")
    assert (tab.value(IDS), tab.value(SUMMARY), tab.value(ACTIVE), tab.value(CLEAR)) == (own, summary, "typed", True)
    tab.type("#typed", "again")
    tab.wait(f"{COUNT}.startsWith('1 token, ')")
    tab.click("#clear")
    tab.wait(f"{COUNT} === ''")
    assert tab.value(IDS) == own


def test_a_page_of_no_text_is_a_box_to_type_in(tab: chromium.Tab, folder: Path) -> None:
    tab.open(page(folder, "encode", "-e", "cl100k_base", "-t", ""))
    assert (tab.value(IDS), tab.value(HEADING)) == ([], "Token")
    tab.type("#typed", "hello")
    tab.wait(f"{HEADING} === 'Token 15339'")
    tab.value("document.getElementById('typed').focus()")
    tab.press("Escape")
    tab.wait(f"{HEADING} === 'Token'")
    assert (tab.value(IDS), tab.value(ABOUT)) == ([], "")


def test_the_box_has_a_label_tells_its_count_politely_and_finds_in_what_is_typed(
    tab: chromium.Tab, folder: Path
) -> None:
    tab.open(page(folder, "encode", "-e", "cl100k_base", "-t", "the text of the page"))
    assert tab.value("document.getElementById('typed').labels[0].textContent") == "Type a text"
    assert tab.value("document.getElementById('typed-count').closest('[aria-live]').ariaLive") == "polite"
    tab.type("#typed", "one two one")
    tab.wait(f"{COUNT} !== ''")
    tab.type("#query", "one")
    tab.wait("document.querySelectorAll('#text .hit').length === 2")


def test_the_page_of_a_vocabulary_lists_the_tokens_of_what_is_typed_in_order(
    files: dict[str, Path], tab: chromium.Tab, folder: Path
) -> None:
    encoding = tokcli.load_encoding(files["own"])
    open_box(tab, page(folder, "inspect-ranks", "-e", files["own"]))
    for text, ids in zip(TEXTS, found_in(tab, TEXTS), strict=True):
        assert ids == encoding.encode_ordinary(text), ascii(text)
    tab.type("#typed", "lower low")
    tab.wait(f"{COUNT} !== ''")
    ids = encoding.encode("lower low")
    rows = "[...document.querySelectorAll('.space .row')].map(row => Number(row.firstChild.textContent))"
    assert tab.value(rows)[: len(ids)] == ids
    assert tab.value(HEADING) == f"Token {ids[0]}"
    assert tab.value(STATUS) == f"{len(ids)} tokens of what was typed, in order"
    tab.value("document.getElementById('typed').focus()")
    tab.press("Escape")
    tab.wait(f"{STATUS} === '401 of 401 tokens'")


def test_text_that_the_pattern_leaves_out_is_said_and_the_page_stays(tab: chromium.Tab, folder: Path) -> None:
    pattern = r"[a-z]+| "
    tab.open(page(folder, "encode", "-e", "cl100k_base", "--pattern", pattern, "-t", "a b"))
    own = tab.value(IDS)
    tab.type("#typed", "ab 1")
    tab.wait(f"{NOTE} === 'The pattern does not match 1 (U+0031).'")
    assert tab.value(IDS) == own
    tab.type("#typed", "ab")
    tab.wait(f"{COUNT}.startsWith('1 token, ')")
    assert tab.value(NOTE) == ""


def test_long_runs_of_one_character_have_their_ids(tab: chromium.Tab, folder: Path) -> None:
    open_box(tab, page(folder, "encode", "-e", "cl100k_base", "-t", "x"))
    texts = ["a" * 100_000, " " * 100_000 + "b", "\U0001f642" * 20_000]
    encoding = tokcli.get_encoding("cl100k_base")
    assert found_in(tab, texts) == [encoding.encode_ordinary(text) for text in texts]


def test_a_page_without_the_box_has_neither_the_box_nor_the_vocabulary(tab: chromium.Tab, folder: Path) -> None:
    without = page(folder, "encode", "-e", "cl100k_base", "-t", "x", "--no-box")
    assert without.stat().st_size * 4 < page(folder, "encode", "-e", "cl100k_base", "-t", "x").stat().st_size
    tab.open(without)
    assert tab.value("document.getElementById('typed')") is None
    tab.open(page(folder, "encode", "-e", FORMATS / "unigram.model", "-t", "x"))  # no ranks express it
    assert tab.value("document.getElementById('typed')") is None
    assert len(tab.value(IDS)) > 0


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms_are_those_of_the_tokenizer_whatever_the_browser_knows(
    form: Form, files: dict[str, Path], tab: chromium.Tab, folder: Path
) -> None:
    open_box(tab, page(folder, "encode", "-e", files["nfc"], "-t", "x"))
    blocks = [(0x41, 0x17F), (0x300, 0x36F), (0x900, 0xD7F), (0x1100, 0x11FF), (0x32F0, 0x32FF), (0xA7F0, 0xA7FF),
              (0xAC00, 0xAC7F), (0x105C0, 0x105FF), (0x11380, 0x113CF), (0x16120, 0x1612F)]  # fmt: skip
    chars = [chr(point) for first, last in blocks for point in range(first, last + 1)]
    random = Random(7)
    texts = [*chars, *("".join(random.choices(chars, k=4)) for _ in range(2000))]
    tab.value(f"void (pageTokenizer.about.form = {form!r})")
    found = tab.value(f"{json.dumps(texts)}.map(text => pageTokenizer.normalized(text))")
    assert found == [normalize(form, text) for text in texts]
