"""tokenizer_config.json, from which Hugging Face's AutoTokenizer knows which special tokens end, begin and pad texts.

The tokens themselves are in tokenizer.json beside it; which part a token plays is told from its name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection

from tokcli.errors import OutputError
from tokcli.formats.limits import read_regular_file

# The part of a special token -> the names that it has in published vocabularies, without signs; the first is preferred.
_ROLES = {
    "bos_token": ("s", "bos", "beginoftext", "startoftext", "beginofsentence", "beginofsequence", "bot", "start"),
    "eos_token": ("endoftext", "/s", "eos", "endofsentence", "endofsequence", "eot", "end", "eotid", "imend",
                  "endofturn"),
    "unk_token": ("unk", "unknown"),
    "sep_token": ("sep",),
    "pad_token": ("pad", "padding"),
    "cls_token": ("cls",),
    "mask_token": ("mask",),
}  # fmt: skip
_OTHERS = "additional_special_tokens"
_ALWAYS = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
_SIGNS = dict.fromkeys(map(ord, "<>[](){}|｜_▁- "))


def roles_of(names: Collection[str]) -> dict[str, str]:
    """Return the special token for each part that one of these plays, as its name says.

    >>> roles_of(["<|endoftext|>", "<pad>", "<|tool|>"])
    {'eos_token': '<|endoftext|>', 'pad_token': '<pad>'}
    """
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.lower().translate(_SIGNS), name)
    chosen = {role: next((found[name] for name in known if name in found), None) for role, known in _ROLES.items()}
    return {role: name for role, name in chosen.items() if name is not None}


def format_tokenizer_config(names: Collection[str]) -> bytes:
    """Return the contents of tokenizer_config.json for special tokens of these names."""
    roles = roles_of(names)
    others = [name for name in names if name not in roles.values()]
    table = {**_ALWAYS, **roles, **({_OTHERS: others} if others else {})}
    return json.dumps(table, ensure_ascii=False, indent=1).encode() + b"\n"


def refuse_other_config(path: str, hint: str) -> None:
    """Raise OutputError for a file at `path` that says more than the tokenizer_config.json that would replace it."""
    try:
        members = json.loads(read_regular_file(path))
        says_more = not (isinstance(members, dict) and {*_ALWAYS, *_ROLES, _OTHERS}.issuperset(members))
    except (ValueError, RecursionError):  # no JSON; or there is nothing yet, or it is said when the file is opened
        says_more = os.path.exists(path)
    if says_more:
        raise OutputError(f"{path}: says more than would be written in its place", hint)
