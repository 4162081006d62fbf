"""The names of `tiktoken.core`, so that programs written for it need only change the package's name."""

from __future__ import annotations

from typing import NoReturn

from tokcli.engine.encoding import Encoding as Encoding
from tokcli.errors import DisallowedSpecialTokenError

__all__ = ["Encoding", "raise_disallowed_special_token"]


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the DisallowedSpecialTokenError, a ValueError, of `Encoding.encode` for a text that begins with `token`.

    >>> raise_disallowed_special_token("<|endoftext|>")
    Traceback (most recent call last):
    tokcli.errors.DisallowedSpecialTokenError: special token '<|endoftext|>' found at character 0
    """
    raise DisallowedSpecialTokenError.found(token, 0, "character")
