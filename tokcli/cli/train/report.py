"""`train`: the lines about what was learnt, for people."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from tokcli.cli.messages import print_as_is
from tokcli.formats.limits import MAX_TOKEN_BYTES
from tokcli.render.numbers import counted, grouped
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.training.trainer import PairsLeft, TrainingRules


def tell(written: dict[str, bytes], tokens: int, merges: int, special: int, few: str) -> None:
    """Report what was written and learnt, on standard error; `few` is what `why_fewer` returned, or "".

    `special` tokens are not among the `tokens`.
    """
    lines = [f"{counted(tokens, 'token')}, {counted(merges, 'merge')}{few and f' ({few})'}"]
    name, content = next(iter(written.items()))
    lines.append(f"{visible(os.path.basename(name))} sha256 {hashlib.sha256(content).hexdigest()}")
    if special:
        lines.append(f"{counted(special, 'special token')} beside these, {grouped(tokens + special)} tokens in all")
    print_as_is("".join(f"{line}\n" for line in lines))


def why_fewer(missing: int, left: PairsLeft, rules: TrainingRules) -> str:
    """Return why training stopped with `missing` tokens fewer than asked for, and what would give more."""
    fewer = f"{grouped(missing)} fewer than asked for"
    least, longest = max(rules.min_frequency, 1), rules.max_token_bytes
    if left.most_too_long >= least:
        often = f" that occurs {grouped(least)} times or more" if least > 1 else ""
        short = f"{fewer}: no pair{often} is left whose token is short enough"
        if longest == MAX_TOKEN_BYTES:
            return f"{short}, as tokens have at most {grouped(longest)} bytes; more text gives more"
        return f"{short} for --max-token-bytes {longest}; a larger value, or more text, gives more"
    if most := max(left):
        return (
            f"{fewer}: no pair is left that is frequent enough for --min-frequency {least}, the most frequent occurs "
            f"{counted(most, 'time')}; a smaller value, or more text, gives more"
        )
    return f"{fewer}: no pair was left; more text gives more"
