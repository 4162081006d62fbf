"""The tokens of an input as views show them: the text that each stands for, its id, and its place in the input."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.whole_tokens import sees_whole, whole_tokens
from tokcli.cli.encode.write_ids import limited
from tokcli.cli.inputs.whole_input import read_all
from tokcli.engine.stream.chunks import MAX_PIECE_BYTES
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.tokens import pairs_of
from tokcli.render.numbers import counted

if TYPE_CHECKING:
    from typing_extensions import Buffer

QUICK_BYTES = 1 << 17  # of a normalized text: finding the places of tokens in more takes too long for a first screen


class ShownToken(NamedTuple):
    """A token: its bytes (or the text it stands for), its id, and its place in bytes, None where it is not known."""

    token: bytes
    id: int
    start: int | None
    end: int | None


class Tally:
    """The number of tokens that were shown, and of bytes that they stand for."""

    def __init__(self) -> None:
        self.tokens = self.bytes = 0

    def legend(self, encoding: str) -> str:
        """Return `5 tokens · 15 bytes · 3.00 bytes per token · cl100k_base`."""
        parts = [counted(self.tokens, "token"), counted(self.bytes, "byte")]
        if self.tokens:
            parts.append(f"{self.bytes / self.tokens:.2f} bytes per token")
        return " · ".join([*parts, encoding])


class ShownPart(NamedTuple):
    """The tokens of a part of an input: the text that is shown for all, the byte at which each ends in it, and ids.

    `start` is the byte of the input at which the text begins; it is None where tokens stand for other text than is
    shown, and then `places` has their places in the input, if these are known.
    """

    text: Buffer
    ends: array[int]
    ids: array[int] | memoryview
    start: int | None
    places: Sequence[tuple[int, int]] | None = None

    def tokens(self) -> Iterator[ShownToken]:
        """Yield the tokens of the part one by one."""
        data, ends = bytes(self.text), self.ends.tolist()
        spans = list(pairwise([0, *ends]))
        places: Iterable[tuple[int | None, int | None]] = self.places or repeat((None, None))
        if self.start is not None:
            places = ((self.start + begin, self.start + end) for begin, end in spans)
        for (begin, end), id, place in zip(spans, self.ids, places, strict=False):
            yield ShownToken(data[begin:end], id, *place)


def shown_tokens(
    request: EncodeRequest, source: streams.Input, tally: Tally, *, exact: bool = False
) -> Iterator[ShownToken]:
    """Yield the tokens of an input, up to -n of them, and count them; `exact` finds places, however long that takes."""
    for part in shown_parts(request, source, tally, exact=exact):
        yield from part.tokens()


def shown_parts(
    request: EncodeRequest, source: streams.Input, tally: Tally, *, exact: bool = False
) -> Iterator[ShownPart]:
    """Yield the tokens of an input as `shown_tokens` does, but part by part."""
    if not sees_whole(request):
        yield from _in_parts(request, source, tally)
        return
    data = read_all(source, MAX_PIECE_BYTES, "to be shown", f"{request.encoding.name} has to see a text whole.")
    source = streams.Input(name=source.name, data=data)
    size = len(source.data or b"")
    if exact or size <= QUICK_BYTES or request.options.add_special_tokens:
        yield _as_whole(request, source, tally)
        return
    before = tally.bytes
    yield from _in_parts(request, source, tally)
    if request.options.limit is None:
        tally.bytes = before + size  # the bytes of the tokens are those of the normalized text


def _in_parts(request: EncodeRequest, source: streams.Input, tally: Tally) -> Iterator[ShownPart]:
    """Yield the tokens of a text, part by part, as they are encoded; their joined bytes are the text."""
    encoding, at = request.encoding, 0
    for ids, _ in limited(map(encoding.tokenizer.encode_part, request.parts(source)), request.options.limit):
        spans = encoding.tokenizer.token_spans(ids, in_chars=False)
        text = encoding.tokenizer.joined_tokens(ids)
        yield ShownPart(text, spans[1::2], ids, at)
        tally.tokens += len(ids)
        at += len(text)
    tally.bytes += at


def _as_whole(request: EncodeRequest, source: streams.Input, tally: Tally) -> ShownPart:
    """Return the tokens of a text that is normalized or has a template, with the text of the input each stands for."""
    data, limit = source.data or b"", request.options.limit
    _, whole_ids, spans = whole_tokens(request, [data] if data else [])
    ids = whole_ids[:limit]
    places = None if spans is None or not _is_utf8(data) else pairs_of(byte_spans(data, spans))[:limit]
    tokens = request.encoding.decode_tokens_bytes(ids)
    tally.tokens += len(tokens)
    if limit is None:
        tally.bytes += len(data)
    else:
        tally.bytes += sum(map(len, tokens)) if places is None else max((end for _, end in places), default=0)
    if places is not None:
        tokens = [_text_of(token, data[start:end]) for token, (start, end) in zip(tokens, places, strict=True)]
    return ShownPart(b"".join(tokens), array("Q", accumulate(map(len, tokens))), array("I", ids), None, places)


def _text_of(token: bytes, text: bytes) -> bytes:
    r"""Return what to show of a token that stands for a text: the text, but the token's own bytes in some cases.

    These are tokens of no text or of part of a character, and tokens that differ from the text only by spaces.

    >>> [_text_of(*both) for both in ((b"##ing", b"ing"), (b" the", b"the"), (b"\xf0", b"\xf0\x9f\xab\xa0"))]
    [b'ing', b' the', b'\xf0']
    """
    is_part = token in text and len(token) < len(text)
    is_space = not token.strip() and bool(text.strip())  # a space that a normalizer put before the text
    return token if not text or is_part or is_space or token.strip(b" ") == text.strip(b" ") else text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:  # --errors changed it: places are not those of the input
        return False
    return True
