"""`chunks`: a text in chunks of at most so many tokens, as `tokcli.chunks` gives them to Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine.base import arguments
from tokcli.engine.chunking.boundaries import TRIED, Boundary
from tokcli.engine.chunking.cutter import PassageCutter, locate, located_parts
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import PLAIN
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.tokenizer import Tokenizer


class TextChunk(NamedTuple):
    """A chunk of a text: text[start:end], with the ids that it has when it is encoded by itself."""

    text: str
    ids: list[int]
    start: int
    end: int


def chunks(
    encoding: Encoding, text: str, max_tokens: int, *, overlap: int = 0, boundary: Boundary = "token"
) -> Iterator[TextChunk]:
    """Return an iterator over the chunks of a text, each of at most `max_tokens` tokens when it is encoded by itself.

    Chunks are made as they are asked for; special tokens are ordinary text. Up to `overlap` tokens at the beginning of
    a chunk repeat the end of the one before; without an overlap, the chunks joined are the text. No character is split.
    A chunk ends after a token or, with `boundary`, at the end of a character, piece, line, sentence or paragraph,
    unless that is too long by itself. InputError if a character has more tokens than `max_tokens`, or an argument is
    out of range; TypeError if an argument has the wrong type.

    >>> from tokcli import get_encoding
    >>> [chunk.text for chunk in chunks(get_encoding("o200k_base"), "One two. Three four.", 4, boundary="sentence")]
    ['One two.', ' Three four.']
    """
    if not isinstance(encoding, Encoding):
        raise arguments.wrong_type("encoding", "an Encoding", encoding)
    arguments.check_text(text)
    max_tokens, overlap = arguments.number_in(max_tokens, "max_tokens"), arguments.number_in(overlap, "overlap")
    check_sizes(max_tokens, overlap)
    if not isinstance(boundary, str) or boundary not in TRIED:
        raise InputError(f"boundary: expected one of {', '.join(TRIED)}, not {boundary!r}")
    cutter = PassageCutter(encoding.tokenizer, max_tokens, overlap=overlap, boundary=boundary)
    return _chunks(encoding.tokenizer, without_surrogates(text).encode(), cutter)


def _chunks(tokenizer: Tokenizer, data: bytes, cutter: PassageCutter) -> Iterator[TextChunk]:
    parts = (locate(tokenizer, part, start) for part, start in located_parts(tokenizer, [data], PLAIN))
    start = before = 0  # characters, and the bytes that they take
    for passage in cutter.passages(parts):
        own = passage.data.decode()
        start += len(data[before : passage.start].decode())
        before = passage.start
        yield TextChunk(own, list(passage.ids), start, start + len(own))


def check_sizes(size: int, overlap: int) -> None:
    """Raise InputError for chunks of less than one token, and for an overlap that is negative or fills a chunk."""
    if size < 1:
        raise InputError(f"max_tokens: expected 1 or more, not {size}")
    if not 0 <= overlap < size:
        raise InputError(f"overlap: expected 0 or more and less than max_tokens, {size}, not {overlap}")
