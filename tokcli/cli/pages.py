"""`--html FILE` of encode, split and inspect-ranks: what they show, as one page that a browser opens from disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokcli.cli import streams
from tokcli.cli.options import Request
from tokcli.engine.merges import merges_of
from tokcli.render import html
from tokcli.render.html_data import TokenTable
from tokcli.render.packed import Packer

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding


def write_vocabulary(request: Request) -> None:
    """The page of all tokens of the encoding: to search, and to walk their merges up and down."""
    encoding, packer = request.encoding, Packer()
    table = TokenTable(encoding._all_decoder, merges_of(encoding).of, special_ids(encoding), scores_of(encoding))
    table.pack(packer)
    count = len(table.tokens)
    head = {"name": encoding.name, "summary": f"{count:,} tokens, {len(table.special):,} of them special"}
    write(request, "vocabulary", f"{encoding.name}: tokens", head, packer)


def write(request: Request, kind: html.PageKind, title: str, head: Mapping[str, Any], packer: Packer) -> None:
    """The page to the FILE of --html, whole or not at all."""
    page = html.make_page(kind, f"{title} - tokcli", head, packer)
    with streams.Output(request.options["html"], request.inputs if "files" in request.options else ()) as output:
        output.write(page.encode("ascii"))
        output.flush()


def special_ids(encoding: Encoding) -> frozenset[int]:
    """The ids that only special tokens have."""
    return encoding._special_token_values - set(encoding._mergeable_ranks.values())


def scores_of(encoding: Encoding) -> dict[int, float]:
    """The scores that the model of a tokenizer gives its tokens, by id; none where it has none."""
    tokenizer = getattr(encoding, "tokenizer", None)
    pieces = getattr(tokenizer, "pieces", None) or getattr(getattr(tokenizer, "model", None), "pieces", None)
    if pieces:  # SentencePiece's, and Unigram's of a tokenizer.json: (text, score, ...)
        return {number: piece[1] for number, piece in enumerate(pieces)}
    return dict(enumerate(getattr(tokenizer, "scores", ())))  # GGUF's
