"""Mistral's tekken.json: a pattern, tokens in base64 by rank, and special tokens whose ids come before them.

(mistral-common, tokens/tokenizers/tekken.py: an id is the rank and the number of special tokens.)
"""

from __future__ import annotations

import base64
import binascii

from tokcli.errors import VocabularyError
from tokcli.formats.gpt2 import parse_json_strictly
from tokcli.formats.json_node import Node
from tokcli.formats.limits import MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.tiktoken import check_bytes

# of files that do not list theirs, from id 0 on
_SPECIAL_TOKENS = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip


def parse_tekken(data: bytes, name: str) -> tuple[dict[bytes, int], dict[str, int], str]:
    """(mergeable_ranks, special tokens, pattern); VocabularyError names what in the file is wrong, and where."""
    top = Node(parse_json_strictly(data, name), name)
    config = top.member("config")
    size = config.member("default_vocab_size").whole(1, MAX_TOKENS)
    specials = config.member("default_num_special_tokens").whole(0, size - 1)
    special_tokens = _special_tokens(top.member("special_tokens"), specials)
    ranks: dict[bytes, int] = {}
    for item in top.member("vocab").list()[: size - specials]:
        rank = item.member("rank").whole(0, MAX_TOKENS)
        try:
            token = base64.b64decode(item.member("token_bytes").text(), validate=True)
        except (binascii.Error, ValueError):
            item.fail("token_bytes are not base64")
        if rank != len(ranks) or token in ranks or not 0 < len(token) <= MAX_TOKEN_BYTES:
            item.fail(f"expected rank {len(ranks)} of a token that was not there before")
        ranks[token] = rank
    check_bytes(ranks, name)
    return {token: specials + rank for token, rank in ranks.items()}, special_tokens, config.member("pattern").text()


def _special_tokens(node: Node, count: int) -> dict[str, int]:
    """Their names by id, up to `count`; ids without a name have one of their own."""
    names: dict[int, str] = {}
    if node.value is None:
        names = dict(enumerate(_SPECIAL_TOKENS[:count]))
    else:
        for item in node.list():
            names[item.member("rank").whole(0, max(count - 1, 0))] = item.member("token_str").text()
    found = {names.get(number, f"<SPECIAL_{number}>"): number for number in range(count)}
    if len(found) != count:
        raise VocabularyError(f"{node.file}: two special tokens have one name")
    return found
