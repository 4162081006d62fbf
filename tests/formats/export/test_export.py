"""Exported files give, in the libraries that they are for, the ids of the encoding; what would be lost is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiktoken
from support import HARD_ATOMS, ROOT, noted, refused

import tokcli
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.errors import VocabularyError
from tokcli.formats.export.contents import contents_in
from tokcli.formats.export.losses import FORMS, export
from tokcli.formats.export.tokenizer_json import format_huggingface
from tokcli.formats.export.writers import format_gpt2, format_minbpe

DATA = ROOT / "tests" / "data" / "formats"
TEXTS = ["", "hello world", "I'll pay $12345", *HARD_ATOMS, " ".join(HARD_ATOMS), "".join(HARD_ATOMS * 2)]
BYTES = {bytes([value]): value for value in range(256)}


def made(ranks: dict[bytes, int], pat_str: str = known.GPT4, special_tokens: dict[str, int] | None = None) -> Encoding:
    return Encoding("made", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special_tokens or {})


def arguments(encoding: str | Path, form: str, output: Path) -> list[str | Path]:
    return ["inspect-ranks", "-e", encoding, "--export", form, "-o", output]


def test_tokenizers_gives_the_ids_of_an_exported_tokenizer_json(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    name = "gpt2"
    assert noted(*arguments(name, "huggingface", tmp_path / "tokenizer.json")).out == b""
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ours, read = tokcli.get_encoding(name), tokcli.load_encoding(tmp_path / "tokenizer.json")
    for text in [*TEXTS, "a<|endoftext|>b"]:
        ids = ours.encode(text, allowed_special="all")
        assert theirs.encode(text, add_special_tokens=False).ids == ids, text
        assert read.encode(text, allowed_special="all") == ids, text
        assert theirs.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("pattern", sorted(known.KNOWN_PATTERNS))
def test_tokenizers_splits_by_an_exported_pattern_as_we_do(pattern: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    few = [token for token in tokcli.get_encoding("cl100k_base").token_byte_values() if 1 < len(token) < 4][::7]
    ours = made(BYTES | {token: number for number, token in enumerate(few, 256)}, pattern)
    (tmp_path / "a.json").write_bytes(format_huggingface(export(ours, "huggingface")[0]))
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    for text in TEXTS:
        assert theirs.encode(text).ids == ours.encode_ordinary(text), text


def test_tiktoken_gives_the_ids_of_exported_ranks_and_their_sidecar(tmp_path: Path) -> None:
    from tiktoken.load import load_tiktoken_bpe

    out = tmp_path / "a.tiktoken"
    assert "would lose" in refused(*arguments(DATA / "byte-level.tokenizer.json", "tiktoken", out))
    assert "FILE.json" in noted(*arguments("p50k_edit", "tiktoken", out)).err
    about = json.loads(Path(f"{out}.json").read_text())
    theirs = tiktoken.Encoding("a", pat_str=about["pat_str"], mergeable_ranks=load_tiktoken_bpe(str(out)),
                               special_tokens=about["special_tokens"])  # fmt: skip
    ours = tokcli.load_encoding(out)
    for text in TEXTS:
        assert theirs.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")


def test_a_sidecar_shows_what_has_a_shape_in_unicode_16_with_every_python() -> None:
    """U+1C89 has one since 16.0, U+A7CE will have one in 17.0; U+00A0 and U+200E never show."""
    for char, is_shown in (("日", True), ("\u1c89", True), ("\ua7ce", False), ("\xa0", False), ("\u200e", False)):
        exported, _ = export(made(BYTES, special_tokens={f"<{char}>": 256}), "tiktoken")
        sidecar = contents_in(exported, "tiktoken")[1].decode()
        assert json.loads(sidecar)["special_tokens"] == {f"<{char}>": 256}
        assert (char in sidecar) is is_shown, ascii(char)


def test_tokenizers_gives_the_ids_of_an_exported_gpt2_pair(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    noted(*arguments("p50k_base", "gpt2", tmp_path))
    theirs = tokenizers.ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    ours, read = tokcli.get_encoding("p50k_base"), tokcli.load_encoding(tmp_path)
    for text in TEXTS:
        if "<|" not in text:
            assert theirs.encode(text).ids == ours.encode_ordinary(text)
        assert read.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")


@pytest.mark.parametrize("pattern", [known.GPT4, ALL])
def test_minbpes_model_gives_the_ids_again(pattern: str, tmp_path: Path) -> None:
    ranks = BYTES | {b"he": 256, b"ll": 257, b"hell": 258, b"hello": 259, b" w": 260}
    ours = made(ranks, pattern, {"<end>": 261})
    model, vocab = format_minbpe(export(ours, "minbpe")[0])
    assert model.decode().split("\n")[3:8] == ["<end> 261", "104 101", "108 108", "256 257", "258 111"]
    assert b"[he][ll] -> [hell] 258\n" in vocab
    (tmp_path / "a.model").write_bytes(model)
    read = tokcli.load_encoding(tmp_path / "a.model")
    for text in [*TEXTS, "hello<end>"]:
        assert read.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")
    assert format_minbpe(export(read, "minbpe")[0])[0] == model


def test_tokens_that_no_merge_makes_are_found_whole_in_tokenizers_too(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ours = made(BYTES | {b"xyz": 300, b"ab": 302, b"abc": 301})  # abc is made of ab, which has a higher rank
    contents, _ = export(ours, "huggingface")
    assert contents.merges == [(b"ab", b"c"), (b"a", b"b")]
    (tmp_path / "tokenizer.json").write_bytes(format_huggingface(contents))
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("xyz", "xyza", "wxyz", "abc", "ab", "abcab", "xyz xyz", "cabc"):
        assert theirs.encode(text).ids == ours.encode_ordinary(text), text


@pytest.mark.parametrize(
    ("encoding", "form", "lost"),
    [
        (made(BYTES | {b"a": 98, b"b": 97}), "minbpe", "the order of the bytes, 2 of which"),
        (made(BYTES), "gpt2", "its pattern"),
        (made(BYTES | {b"abc": 256}), "minbpe", "1 tokens that no merge makes ('abc')"),
        (made(BYTES | {b"abc": 256}, known.R50K), "gpt2", "1 tokens that no merge makes ('abc')"),
        (made(BYTES | {b"ab": 300}), "minbpe", "ids with gaps"),
        (made(BYTES | {b"ab": 256}, special_tokens={"two words": 257}), "minbpe", "white space"),
        (made(BYTES | {b"ab": 257, b"abc": 256}), "minbpe", "made of one with a higher id ('abc')"),
        (made(BYTES | {b"": 256}), "huggingface", "the empty token, id 256"),
        (made(BYTES | {b"ab": 256}, known.R50K, {"end": 300}), "gpt2", "do not look like <...> or [...] ('end')"),
        (made(BYTES | {b"<s>": 256}, ALL, {"<s>": 300}), "huggingface", "is also how it writes"),
        (made(BYTES | {b"ab": 256}, r"\w{2}+|[\s\S]"), "huggingface", "Oniguruma"),
        (made({b"a": 0, b"b": 1, b"ab": 2}), "huggingface", "254 bytes without a token"),
        (made(BYTES, special_tokens={"<a>": 256, "<b>": 256}), "tiktoken", "the id of another ('<b>')"),
        (tokcli.load_encoding(DATA / "unigram.tokenizer.json"), "tiktoken", "its scores (Unigram)"),
        (tokcli.load_encoding(DATA / "wordpiece.tokenizer.json"), "huggingface", "its model (WordPiece)"),
        (tokcli.load_encoding(DATA / "bpe.model"), "tiktoken", "its scores (a SentencePiece model of type bpe)"),
        (tokcli.load_encoding(DATA / "suffix.tokenizer.json"), "gpt2", "the prefix or suffix of its tokens"),
    ],
)
def test_what_a_format_does_not_hold_is_refused_by_name(encoding: Encoding, form: str, lost: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        export(encoding, form)
    assert lost in caught.value.what
    for other in FORMS:
        if f" {other}" in caught.value.hint:
            export(encoding, other)


def test_a_normalizer_goes_into_tokenizer_json_and_nowhere_else(tmp_path: Path) -> None:
    contents, _ = export(made(BYTES | {"é".encode(): 256}, known.QWEN2), "huggingface")
    table = json.loads(format_huggingface(contents._replace(normalizer="NFC", special_tokens={"<tool>": 257},
                                                            not_special=frozenset({"<tool>"}))))  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(table))
    read = tokcli.load_encoding(tmp_path / "a.json")
    assert read.encode_ordinary("e\u0301<tool>") == [256, 257]
    assert json.loads(format_huggingface(export(read, "huggingface")[0])) == table
    with pytest.raises(VocabularyError, match=r"its normalizer \(NFC\)"):
        export(read, "tiktoken")


def test_special_tokens_keep_ids_that_do_not_follow_the_vocabulary(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    contents, _ = export(made(BYTES, special_tokens={"<b>": 1000, "<a>": 400}), "huggingface")
    (tmp_path / "a.json").write_bytes(format_huggingface(contents))
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "a.json")).encode("<a>x<b>").ids == [400, 120, 1000]


def test_a_refused_export_leaves_the_old_files_as_they_were(tmp_path: Path) -> None:
    out = tmp_path / "a.model"
    out.write_text("old")
    message = refused(*arguments("gpt2", "minbpe", out))
    assert message.startswith("Error: gpt2 as minbpe would lose the order of the bytes")
    assert (out.read_text(), [path.name for path in tmp_path.iterdir()]) == ("old", ["a.model"])


def test_a_file_is_not_exported_over_itself(tmp_path: Path) -> None:
    ranks = tmp_path / "a.model"
    ranks.write_bytes(format_minbpe(export(made(BYTES), "minbpe")[0])[0])
    assert "is also an input" in refused(*arguments(ranks, "minbpe", ranks))
    (tmp_path / "vocab.json").write_bytes(format_gpt2(export(made(BYTES, known.R50K), "gpt2")[0])[0])
    (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\n")
    assert "is also an input" in refused(*arguments(tmp_path, "gpt2", tmp_path))


def test_an_export_without_a_file_is_a_mistake_of_usage() -> None:
    assert "-o FILE" in refused("inspect-ranks", "--export", "tiktoken")
