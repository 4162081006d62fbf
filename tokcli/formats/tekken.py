"""Mistral's tekken.json: a pattern, tokens in base64 by rank, and special tokens, whose ids come before all others.

The id of a token is its rank plus the number of special tokens (mistral-common, tokens/tokenizers/tekken.py).
"""

from __future__ import annotations

import base64

from tokcli.engine.spec.of_ranks import spec_of_ranks
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.strict_json import JsonNode, parse_json_strictly
from tokcli.formats.tiktoken import check_bytes

# The special tokens of files that do not list theirs, from id 0 on.
_SPECIAL_TOKENS = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip


def parse_tekken(data: bytes, name: str) -> TokenizerSpec:
    """Return the ranks, special tokens and pattern of a file; a VocabularyError names the file and the member."""
    top = JsonNode(parse_json_strictly(data, name), name)
    config = top.member("config")
    size = config.member("default_vocab_size").whole(1, MAX_TOKENS)
    specials = config.member("default_num_special_tokens").whole(0, size - 1)
    special_tokens = _special_tokens(top.member("special_tokens"), specials)
    ranks: dict[bytes, int] = {}
    for item in top.member("vocab").list()[: size - specials]:
        rank = item.member("rank").whole(0, MAX_TOKENS)
        encoded = item.member("token_bytes").text()
        try:
            token = base64.b64decode(encoded, validate=True)
        except ValueError:  # binascii.Error, or a character that is not ASCII
            item.fail("token_bytes are not base64")
        if rank != len(ranks) or token in ranks or not 0 < len(token) <= MAX_TOKEN_BYTES:
            item.fail(f"expected the rank {len(ranks)} and a token that does not occur earlier")
        ranks[token] = rank
    check_bytes(ranks, name)
    ids = {token: specials + rank for token, rank in ranks.items()}
    return spec_of_ranks(ids, special_tokens, config.member("pattern").text())


def _special_tokens(node: JsonNode, count: int) -> dict[str, int]:
    """Return `count` special tokens with the ids from 0 on; an id without a name is called <SPECIAL_id>."""
    names: dict[int, str] = {}
    if node.value is None:
        names = dict(enumerate(_SPECIAL_TOKENS[:count]))
    else:
        for item in node.list():
            names[item.member("rank").whole(0, max(count - 1, 0))] = item.member("token_str").text()
    found = {names.get(id, f"<SPECIAL_{id}>"): id for id in range(count)}
    if len(found) != count:
        raise VocabularyError("two special tokens have the same name", where=node.file)
    return found
