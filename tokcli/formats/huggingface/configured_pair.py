"""A GPT-2 pair of files beside a tokenizer_config.json, which may name other rules than GPT-2's for them.

The rules are those of the class that transformers makes of such files (convert_slow_tokenizer.py).
"""

from __future__ import annotations

from typing import Any

from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.engine.pretokenizers.known_patterns import QWEN2
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.formats.gpt2 import SPECIAL, merges_in
from tokcli.formats.huggingface.reader import parse_huggingface, read_tokenizer
from tokcli.formats.limits import MAX_NUMBER_DIGITS
from tokcli.formats.strict_json import JsonNode, check_ids, parse_json_strictly

# Classes of transformers that split and merge as GPT-2 does, without the ending Fast.
_LIKE_GPT2 = frozenset(
    {
        "GPT2Tokenizer",
        "RobertaTokenizer",
        "BartTokenizer",
        "LongformerTokenizer",
        "LEDTokenizer",
        "DebertaTokenizer",
        "BlenderbotTokenizer",
        "CodeGenTokenizer",
        "WhisperTokenizer",
        "MvpTokenizer",
        "LayoutLMv3Tokenizer",
        "LukeTokenizer",
        "MarkupLMTokenizer",
    }
)
_LIKE_QWEN2 = frozenset({"Qwen2Tokenizer", "Qwen2VLTokenizer"})
__all__ = ["parse_huggingface", "read_configured_pair"]
_FLAGS = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}

Named = tuple[bytes, str]  # the contents of a file, and its name for messages


def read_configured_pair(vocab: Named, merges: Named, config: Named) -> TokenizerSpec | None:
    """Return the tokenizer of a pair by the class that its configuration names; None if its rules are GPT-2's.

    GPT-2's rules have no added tokens that the vocabulary lacks, or that take the white space or end of a word beside
    them. VocabularyError says that the rules of the class are not known, or names a file and the place in it.
    """
    top = JsonNode(parse_json_strictly(*config), config[1])
    class_name = top.member("tokenizer_class")
    name = class_name.text("GPT2Tokenizer").removesuffix("Fast")
    has_prefix = top.member("add_prefix_space").value is True
    if name in _LIKE_QWEN2:
        split = {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": False}
        rules: dict[str, Any] = {
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, _BYTE_LEVEL]},
        }
    elif name not in _LIKE_GPT2:
        class_name.fail(
            f"how {name:.80} splits text is not known; a tokenizer.json, which transformers can save, says it"
        )
    elif has_prefix or top.has("added_tokens_decoder"):
        rules = {"pre_tokenizer": {**_BYTE_LEVEL, "add_prefix_space": has_prefix, "use_regex": True}}
    else:
        return None
    ids = check_ids(parse_json_strictly(*vocab), vocab[1])
    added = _added_tokens(top, ids)
    if name in _LIKE_GPT2 and not has_prefix and not any(_is_beyond_gpt2(token, ids) for token in added):
        return None
    pairs = [[left, right] for _, left, right in merges_in(*merges)]
    if name in _LIKE_GPT2:
        added = [*_special_in_vocabulary(ids, pairs, added), *added]
    made = {
        "model": {"type": "BPE", "vocab": ids, "merges": pairs},
        "added_tokens": added,
        "decoder": _BYTE_LEVEL,
        **rules,
    }
    return read_tokenizer(JsonNode(made, vocab[1]))


def _is_beyond_gpt2(token: dict[str, Any], ids: dict[str, int]) -> bool:
    """Return whether a pair without a configuration would not have an added token, or find it elsewhere."""
    return token.get("content") not in ids or any(map(token.get, ("single_word", "lstrip", "rstrip")))


def _special_in_vocabulary(
    ids: dict[str, int], pairs: list[list[str]], added: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return as added tokens those that a pair without a configuration would have as special tokens."""
    others = {*BYTE_OF, *map("".join, pairs), *(token.get("content") for token in added)}
    found = [token for token in ids if token not in others and SPECIAL.fullmatch(token)]
    return [{"id": ids[token], "content": token, "special": True} for token in found]


def _added_tokens(top: JsonNode, ids: dict[str, int]) -> list[dict[str, Any]]:
    """Return the added tokens of a configuration as a tokenizer.json has them, in the order of their ids.

    `ids` are those of the vocabulary, which the ids of new tokens follow.
    """
    node = top.member("added_tokens_decoder")
    found = {}
    for digits, item in () if node.value is None else node.items():
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_NUMBER_DIGITS):
            item.fail("expected the id of an added token")
        members = item.expect(dict)
        found[int(digits)] = {flag: members[flag] for flag in _FLAGS if flag in members}
    following = len(ids)
    for id in sorted(found):
        content = found[id].get("content")
        if content not in ids and id != following:
            node.fail(f"the id {id} of {content!r:.80} is not the next one, {following}")
        following += content not in ids
    return [{"id": id, **found[id]} for id in sorted(found)]
