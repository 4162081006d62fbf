"""The spec of a tokenizer of which ranks and a pattern say everything, whatever its file is."""

from __future__ import annotations

from collections.abc import Mapping

from tokcli.engine.spec.added_token import all_special
from tokcli.engine.spec.models import Ranks
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatStr


def spec_of_ranks(
    mergeable_ranks: dict[bytes, int],
    special_tokens: Mapping[str, int] | None = None,
    pat_str: str | None = None,
    sha256: str = "",
) -> TokenizerSpec:
    """Return the tokenizer of ranks; None stands for special tokens or a pattern that the file does not give."""
    return TokenizerSpec(
        Ranks(mergeable_ranks, special_tokens is not None, sha256),
        all_special(special_tokens or {}),
        splitter=() if pat_str is None else (PatStr(pat_str),),
    )
