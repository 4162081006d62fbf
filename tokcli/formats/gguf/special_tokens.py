"""Tokens that llama.cpp recognises by their text, whatever a GGUF file says of them, to repair converted models.

(Source: llama.cpp, src/llama-vocab.cpp.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tokcli.engine.spec.models import CONTROL, NORMAL, UNKNOWN, USER_DEFINED

# Groups of control tokens: of each, the first that is in the vocabulary becomes a control token, unless the file gives
# the id of the group's token.
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("eot", ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>",
             "_<EOT>", "[EOT]", "<\uff5cend\u2581of\u2581sentence\uff5c>", "<end_of_utterance>")),
    ("eom", ("<|eom_id|>",)),
    ("fim_pre", ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<\uff5cfim\u2581begin\uff5c>", "<PRE>",
                 "\u2581<PRE>", "<|code_prefix|>", "<|prefix|>")),
    ("fim_suf", ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<\uff5cfim\u2581hole\uff5c>", "<SUF>",
                 "\u2581<SUF>", "<|code_suffix|>", "<|suffix|>")),
    ("fim_mid", ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<\uff5cfim\u2581end\uff5c>", "<MID>",
                 "\u2581<MID>", "<|code_middle|>", "<|middle|>")),
    ("fim_pad", ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    ("fim_rep", ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>")),
    ("fim_sep", ("<|file_sep|>",)),
)  # fmt: skip
_OLD_GROUP_NAMES = {"fim_pre": "prefix", "fim_suf": "suffix", "fim_mid": "middle"}
# Each of these that is in the vocabulary becomes a control token.
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
    "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>",
    "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
)  # fmt: skip
_ALWAYS_FOUND = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def mark_special(ids: Mapping[str, int], kinds: list[int], is_named: Callable[[str], bool]) -> None:
    """Set the kinds of tokens that llama.cpp recognises by their text.

    `is_named(group)` tells whether the file gives the id of the group's token.
    """
    for group, names in _GROUPS:
        if not is_named(group) and not is_named(_OLD_GROUP_NAMES.get(group, group)):
            first = next((name for name in names if name in ids), None)
            if first is not None:
                kinds[ids[first]] |= CONTROL
    for name in _ENDS:
        if name in ids:
            kinds[ids[name]] |= CONTROL
    for name in _ALWAYS_FOUND:
        if name in ids:
            kinds[ids[name]] = USER_DEFINED
    # If there are such tokens, <|end|> ends a message and not the whole answer.
    if "<|end|>" in ids and ids.keys() & {"<|return|>", "<|flush|>"} and ids.keys() & {"<|call|>", "<|calls|>"}:
        kinds[ids["<|end|>"]] = USER_DEFINED
    if "</s>" in ids and "<|tool_response>" in ids:
        kinds[ids["</s>"]] = NORMAL


def stripping_tokens(
    ids: Mapping[str, int], kinds: Sequence[int], *, pre: str, name: str, architecture: str
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the ids of the special tokens that strip the white space before them, and of those that strip it after.

    No file says so: llama.cpp goes by the pre-tokenizer, the name and the architecture of the model.
    """

    def ids_of(*names: str) -> frozenset[int]:
        return frozenset(ids[name] for name in names if name in ids)

    name, none = name.lower(), frozenset[int]()
    if any(known in pre for known in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) or any(
        known in architecture for known in ("nomic-bert-moe", "jina-bert-v3")
    ):
        return ids_of("<mask>"), none
    if "phi-3" in name or "phi3" in name:
        special = frozenset(n for n, kind in enumerate(kinds) if kind & (CONTROL | USER_DEFINED | UNKNOWN))
        return none, (special | ids_of("</s>")) - ids_of("<unk>", "<s>", "<|endoftext|>")
    return (ids_of("[MASK]"), none) if "modern-bert" in name else (none, none)
