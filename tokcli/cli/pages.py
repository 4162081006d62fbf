"""`--html FILE` of encode, split and inspect-ranks: what their pages have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tokcli.cli import streams
from tokcli.cli.json_stream import text_of_name
from tokcli.errors import InputError
from tokcli.render.numbers import counted
from tokcli.render.pages.page import PageKind, make_page
from tokcli.render.pages.page_columns import Packer, PageTokens, with_ancestors

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

MAX_TOKENS = 4_000_000  # of a page: some 16 MB of text, and as much as a browser scrolls through without effort


def check_size(tokens: int) -> None:
    """Raise InputError for a page of more tokens than a browser would show."""
    if tokens > MAX_TOKENS:
        raise InputError(f"a page holds at most {counted(MAX_TOKENS, 'token')}", "Cut the text, or use -n.")


def table_of(encoding: Encoding, ids: Iterable[int]) -> PageTokens:
    """Return the tokens that have these ids, and all tokens that were merged into them."""
    parents = encoding.tokenizer.all_parents().of if encoding.tokenizer.is_native else encoding.tokenizer.parents
    pairs = with_ancestors(ids, parents)
    tokens = {number: encoding.decode_single_token_bytes(number) for number in pairs}
    scores = encoding.tokenizer.scores()
    return PageTokens(
        tokens, pairs.__getitem__, special_ids(encoding), {n: scores[n] for n in tokens if n < len(scores)}
    )


def special_ids(encoding: Encoding) -> frozenset[int]:
    """Return the ids that only special tokens have."""
    return frozenset(filter(encoding.tokenizer.is_special, encoding.tokenizer.special_tokens.values()))


def write(
    path: str,
    sources: Iterable[streams.Input],
    kind: PageKind,
    title: str,
    head: Mapping[str, Any],
    packer: Packer,
) -> None:
    """Write a page to the file at `path`; OutputError if it is one of the sources."""
    named = {**head, "name": text_of_name(head["name"])}
    page = make_page(kind, f"{title} - tokcli", named, packer)
    with streams.Output(path, sources) as output:
        output.write(page.encode("ascii"))
        output.flush()
