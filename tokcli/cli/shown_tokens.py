"""The tokens of an input as views show them: the text that each stands for, its id, and its place in the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli import streams
from tokcli.cli.options import Request

if TYPE_CHECKING:
    from tokcli.cli.write_ids import Spans

QUICK_BYTES = 1 << 17  # of a text that is normalized: to know the places in more takes too long for a first screen


class Shown(NamedTuple):
    """A token: its bytes, or of the text what it stands for; where that is, in bytes, or None where nobody knows."""

    token: bytes
    id: int
    start: int | None
    end: int | None


class Tally:
    """How many tokens went by, and of how many bytes."""

    def __init__(self) -> None:
        self.tokens = self.bytes = 0

    def legend(self, encoding: str) -> str:
        """`5 tokens · 15 bytes · 3.00 bytes per token · cl100k_base`."""
        parts = [f"{self.tokens:,} token{'s' * (self.tokens != 1)}", f"{self.bytes:,} byte{'s' * (self.bytes != 1)}"]
        if self.tokens:
            parts.append(f"{self.bytes / self.tokens:.2f} bytes per token")
        return " · ".join([*parts, encoding])


def shown_tokens(request: Request, source: streams.Input, tally: Tally, *, exact: bool = False) -> Iterator[Shown]:
    """The tokens of an input, up to -n of them, all counted; `exact`: with their places however long that takes."""
    if request.encoding.is_pipeline:
        from tokcli.cli import pages

        if pages.sees_whole(request):
            source = streams.Input(source.name, b"".join(source.blocks()))
            size = len(source.data or b"")
            if exact or size <= QUICK_BYTES or request.options["add_special_tokens"]:
                yield from _of_whole(request, source, tally)
                return
            before = tally.bytes
            yield from _of_parts(request, source, tally)
            if request.options["limit"] is None:
                tally.bytes = before + size  # the tokens are of the normalized text
            return
    yield from _of_parts(request, source, tally)


def _of_parts(request: Request, source: streams.Input, tally: Tally) -> Iterator[Shown]:
    """The tokens of a text as they come; their bytes are the text."""
    from tokcli.cli.encode import limited

    at = 0
    for ids, _ in limited(request, map(request.encoding.encode_part, request.parts(source))):
        tokens = request.encoding.decode_tokens_bytes(ids)
        tally.tokens += len(tokens)
        for token, id in zip(tokens, ids, strict=True):
            yield Shown(token, id, at, at + len(token))
            at += len(token)
    tally.bytes += at


def _of_whole(request: Request, source: streams.Input, tally: Tally) -> Iterator[Shown]:
    """The tokens of a text that was normalized, or got a template: what they stand for is looked up in the text."""
    from tokcli.cli import pages

    data = source.data or b""
    for ids, spans in pages.encoded(request, source):
        places = None if spans is None else _in_bytes(data, spans)
        tokens = request.encoding.decode_tokens_bytes(ids)
        tally.tokens += len(tokens)
        if request.options["limit"] is None:
            tally.bytes += len(data)
        else:
            tally.bytes += sum(map(len, tokens)) if places is None else max((end for _, end in places), default=0)
        if places is None:
            yield from (Shown(token, id, None, None) for token, id in zip(tokens, ids, strict=True))
            continue
        for token, id, (start, end) in zip(tokens, ids, places, strict=True):
            yield Shown(_stood_for(token, data[start:end]), id, start, end)


def _stood_for(token: bytes, text: bytes) -> bytes:
    r"""What to show of a token: its bytes where they are part of a character, or only spaces tell them from the text.

    >>> [_stood_for(*both) for both in ((b"##ing", b"ing"), (b" the", b"the"), (b"\xf0", b"\xf0\x9f\xab\xa0"))]
    [b'ing', b' the', b'\xf0']
    """
    is_part = token in text and len(token) < len(text)
    is_space = not token.strip() and bool(text.strip())  # which a normalizer put before the text
    return token if not text or is_part or is_space or token.strip(b" ") == text.strip(b" ") else text


def _in_bytes(data: bytes, spans: Spans) -> list[tuple[int, int]] | None:
    """Places in characters as places in bytes; None where the text is not what the input was."""
    try:
        data.decode()
    except UnicodeDecodeError:  # --errors changed it
        return None
    starts = [at for at, byte in enumerate(data) if byte & 0xC0 != 0x80]
    starts.append(len(data))
    last = len(starts) - 1
    return [(starts[min(start, last)], starts[min(end, last)]) for start, end in spans]
