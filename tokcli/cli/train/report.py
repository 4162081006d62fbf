"""`train`: the lines about what was learnt, for people."""

from __future__ import annotations

import os
from hashlib import sha256

from tokcli.cli.messages import print_as_is
from tokcli.render.numbers import counted, grouped
from tokcli.render.visible import visible


def tell(written: dict[str, bytes], tokens: int, merges: int, missing: int) -> None:
    """Report what was written and learnt, on standard error; `missing` merges found no pair."""
    few = f" ({grouped(missing)} fewer than asked for: no pair was left)" if missing else ""
    lines = [f"{counted(tokens, 'token')}, {counted(merges, 'merge')}{few}"]
    name, content = next(iter(written.items()))
    lines.append(f"{visible(os.path.basename(name))} sha256 {sha256(content).hexdigest()}")  # noqa: PTH119
    print_as_is("".join(f"{line}\n" for line in lines))
