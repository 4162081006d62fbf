"""`train --hold-back`: bytes per token of what was not trained on, beside the registered encodings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

BESIDE = ("r50k_base", "cl100k_base", "o200k_base")  # one for each set of ranks in use


def measure(encoding: Encoding, texts: Iterable[bytes]) -> None:
    """Writes a line for each encoding to standard error."""
    from tokcli.registry.encodings import get_encoding

    held_back = [text.decode("utf-8", "replace") for text in texts]
    size = sum(len(text.encode()) for text in held_back)
    sys.stderr.write(f"bytes per token on {size} bytes held back:\n")
    for name, one in [("this", encoding), *((name, get_encoding(name)) for name in BESIDE)]:
        tokens = sum(map(one.count, held_back))
        sys.stderr.write(f"{name:>12} {size / max(tokens, 1):6.3f}  ({one.n_vocab} ids)\n")
