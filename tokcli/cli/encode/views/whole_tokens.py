"""The tokens of a text whose tokenizer sees it whole, for views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.whole_texts import kept_tokens
from tokcli.engine.tokens import Spans, Tokens
from tokcli.errors import InputError


def sees_whole(request: EncodeRequest) -> bool:
    """Return whether the bytes of tokens do not tell their places: the text is normalized, or gets a template."""
    tokenizer = request.encoding.tokenizer
    return tokenizer.changes_text or (tokenizer.sees_whole_texts and request.options.add_special_tokens)


class WholeTokens(NamedTuple):
    """A text, the ids of its tokens, and their spans in its characters, None where these are not known."""

    text: str
    ids: Sequence[int]
    spans: Spans | None


def whole_tokens(request: EncodeRequest, blocks: Iterable[bytes]) -> WholeTokens:
    """Return the tokens of a text whose tokenizer `sees_whole`, with the template where it is asked for."""
    tokenizer = request.encoding.tokenizer
    whole = tokenizer.read_whole(request.watched(blocks), request.read_options)
    found = Tokens([], spans=[])
    if whole is not None:
        try:
            found = tokenizer.encode_spans(whole)
        except InputError:  # a tokenizer that changes texts does not always know the places
            found = Tokens(tokenizer.encode_part(whole))
    if request.options.add_special_tokens:
        found = tokenizer.finish(kept_tokens(request, [found])[0], True)
    return WholeTokens("" if whole is None else whole.text, found.ids, found.spans)
