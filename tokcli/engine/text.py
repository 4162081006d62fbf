"""Text as characters: surrogates that are none, and where tokens stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def without_surrogates(text: str) -> str:
    """Pairs of surrogates as the character they stand for, lone ones as U+FFFD, as tiktoken; TypeError if no str."""
    if not isinstance(text, str):
        raise TypeError(f"expected str, not {type(text).__name__}")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def character_spans(token_bytes: Sequence[bytes], start: int = 0) -> Iterator[tuple[int, int]]:
    """(first, after last) character that each token has bytes of; the starts are tiktoken's `decode_with_offsets`.

    `start` is the number of characters that began before the first token.

    >>> list(character_spans([b"a\\xe4", b"\\xb8\\xad"]))
    [(0, 2), (1, 2)]
    """
    begun = start  # characters whose first byte has been seen
    for token in token_bytes:
        first = max(0, begun - (0x80 <= token[0] < 0xC0)) if token else begun
        begun += sum(not 0x80 <= byte < 0xC0 for byte in token)
        yield first, begun
