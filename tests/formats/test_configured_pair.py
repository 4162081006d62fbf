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


@pytest.mark.parametrize("class_name", ["GPT2Tokenizer", "CodeGenTokenizerFast", None])
def test_added_tokens_that_a_pair_of_gpt2_lacks_have_their_ids(tmp_path: Path, class_name: str | None) -> None:
    """As in the pairs of CodeGen and Phi: vocab.json has the end of text, the configuration adds runs of spaces."""
    file = byte_level("<|endoftext|>", "  ", "<mask>")
    file["model"]["vocab"]["<|endoftext|>"] = 258
    file["added_tokens"][1]["special"] = False
    file["added_tokens"][2]["lstrip"] = True
    folder = write_pair(tmp_path / "pair", file, **({"tokenizer_class": class_name} if class_name else {}))
    ours = load_encoding(folder)
    assert ours.encode("x a  a12 <mask><|endoftext|>", allowed_special="all") == [120, 256, 259, 97, 257, 260, 258]
    assert ours.encode("  ") == [259]
    assert ours.decode([120, 256, 259, 257, 260]) == "x a  12<mask>"
    assert (ours.n_vocab, ours.special_tokens_set) == (261, {"<|endoftext|>", "<mask>"})


@pytest.mark.parametrize("has_prefix", [False, True])
def test_special_tokens_of_the_vocabulary_stay_special_beside_added_ones(tmp_path: Path, has_prefix: bool) -> None:
    file = byte_level("<|endoftext|>", "  ")
    file["model"]["vocab"]["<|endoftext|>"] = 258
    del file["added_tokens"][0]
    folder = write_pair(tmp_path / "pair", file, tokenizer_class="GPT2Tokenizer", add_prefix_space=has_prefix)
    assert load_encoding(folder).encode(" a<|endoftext|>  ", allowed_special="all") == [256, 258, 259]


def test_an_added_token_of_the_vocabulary_that_takes_the_space_before_it_does_so(tmp_path: Path) -> None:
    """RoBERTa's <mask> is one, in a vocabulary whose ids do not follow its merges."""
    file = byte_level()
    file["model"]["vocab"] |= {"Ġa": 258, "<mask>": 256}
    file["added_tokens"] = [{"id": 256, "content": "<mask>", "special": True, "lstrip": True}]
    folder = write_pair(tmp_path / "pair", file, tokenizer_class="RobertaTokenizer")
    assert load_encoding(folder).encode("a <mask> a", allowed_special="all") == [97, 256, 258]


def test_added_tokens_that_the_vocabulary_has_leave_a_pair_with_gpt2s_rules(tmp_path: Path) -> None:
    file = byte_level("<|endoftext|>")
    file["model"]["vocab"]["<|endoftext|>"] = 258
    ours = load_encoding(write_pair(tmp_path / "pair", file, tokenizer_class="GPT2Tokenizer"))
    assert ours.encode("a<|endoftext|>", allowed_special="all") == [97, 258]
    assert ours._mergeable_ranks[b"12"] == 257


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
