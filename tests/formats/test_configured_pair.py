"""A pair of vocab.json and merges.txt has the rules of the class that tokenizer_config.json names beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from support import refused

from tokcli import load_encoding
from tokcli.registry.compiled.compile import unpacked
from tokcli.registry.encodings import resolve_encoding
from tokcli.registry.inside import INSIDE

QWEN = "Qwen/Qwen2.5-7B-Instruct"
TEXTS = [
    "Grüße, 你好 12345!\n\n  x = [1, 2]  # it's",
    "e\u0301 A\u030a \u1100\u1161",  # NFC composes these
    "<|im_start|>user\nhi<|im_end|><tool_call> a</tool_call>",
]


def write_pair(folder: Path, file: dict[str, Any], **configuration: Any) -> Path:
    """Write the pair of a tokenizer.json, and a configuration; return the folder."""
    folder.mkdir()
    merges = [one if isinstance(one, str) else " ".join(one) for one in file["model"]["merges"]]
    (folder / "vocab.json").write_text(json.dumps(file["model"]["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    added = {str(token.pop("id")): token for token in file["added_tokens"]}
    table = {"added_tokens_decoder": added, **configuration}
    (folder / "tokenizer_config.json").write_text(json.dumps(table))
    return folder


def byte_level(*added: str) -> dict[str, Any]:
    """Return a small tokenizer.json as far as `write_pair` needs it."""
    from tokcli.engine.bpe.byte_alphabet import byte_alphabet

    vocab = {**byte_alphabet(), "Ġa": 256, "12": 257}
    tokens = [{"id": len(vocab) + at, "content": text, "special": True} for at, text in enumerate(added)]
    return {"model": {"vocab": vocab, "merges": ["Ġ a", "1 2"]}, "added_tokens": tokens}


@pytest.mark.parametrize("class_name", ["Qwen2Tokenizer", "Qwen2TokenizerFast"])
def test_a_pair_of_qwen2_has_the_ids_of_its_tokenizer_json(tmp_path: Path, class_name: str) -> None:
    data = unpacked(INSIDE[QWEN])
    ours = load_encoding(write_pair(tmp_path / "qwen", json.loads(data), tokenizer_class=class_name))
    reference = tokenizers.Tokenizer.from_buffer(data)
    for text in TEXTS:
        expected = reference.encode(text, add_special_tokens=False)
        assert ours.encode(text, allowed_special="all") == expected.ids
        assert ours.decode(expected.ids) == reference.decode(expected.ids, skip_special_tokens=False)
    assert ours.n_vocab == resolve_encoding(QWEN, offline=True).n_vocab


def test_a_pair_of_gpt2_or_of_no_class_has_gpt2s_rules(tmp_path: Path) -> None:
    for at, more in enumerate([{}, {"tokenizer_class": "GPT2Tokenizer"}, {"tokenizer_class": "RobertaTokenizerFast"}]):
        folder = write_pair(tmp_path / str(at), byte_level(), **more)
        assert load_encoding(folder).encode("x a12") == [ord("x"), 256, 257]


def test_a_space_goes_before_the_text_where_the_configuration_says_so(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair", byte_level(), tokenizer_class="GPT2Tokenizer", add_prefix_space=True)
    assert load_encoding(folder).encode("a12") == [256, 257]


def test_a_class_whose_rules_are_not_known_is_refused(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair", byte_level(), tokenizer_class="CLIPTokenizer")
    error = refused("count", "-e", folder, "-t", "x")
    assert "tokenizer_config.json: tokenizer_class: how CLIPTokenizer splits text is not known" in error


def test_added_tokens_whose_ids_do_not_follow_are_refused(tmp_path: Path) -> None:
    file = byte_level("<a>", "<b>")
    file["added_tokens"][1]["id"] += 1
    folder = write_pair(tmp_path / "pair", file, tokenizer_class="Qwen2Tokenizer")
    assert "the id 260 of '<b>' is not the next one, 259" in refused("count", "-e", folder, "-t", "x")
