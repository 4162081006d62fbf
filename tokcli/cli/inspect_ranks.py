"""`tokcli inspect-ranks`: which encodings there are, and what single tokens are made of."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import inspect_views, options
from tokcli.cli.decode import known_id
from tokcli.cli.options import Request
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcli.cli.inspect_views import Shown
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.merges import Merges
    from tokcli.render.tables import Column, EncodingRow, TokenRow

SHOWN_BYTES, SHOWN_IDS = 40, 20  # in messages
SHOWN_PARTS = 8  # of the tokens that one is part of
_BAD_BYTES = re.compile("[\udc80-\udcff]")  # of an argument that is not UTF-8 (PEP 383)


@click.command(cls=options.Command, name="inspect-ranks")
@click.argument("tokens", nargs=-1, metavar="[TOKEN]...")
@click.option("--id", "ids", multiple=True, type=click.IntRange(min=0), metavar="N", help="Look an id up.")
@click.option("--hex", "hexes", multiple=True, metavar="HEX", help="Look the bytes of a token up.")
@click.option(
    "--export",
    "form",
    type=click.Choice(["tiktoken", "gpt2", "huggingface", "minbpe"]),
    help="Write the encoding to -o FILE in this format, or say what would be lost.",
)
@click.option("--grep", metavar="REGEX", help="The tokens in whose text it is found.")
@click.option("--prefix", metavar="TEXT", help="The tokens that begin with it.")
@click.option("--longest", type=click.IntRange(min=1), metavar="N", help="The N longest tokens (of those found).")
@click.option("--not-utf8", is_flag=True, help="The tokens that are no whole characters.")
@click.option("--not-self", is_flag=True, help="The tokens whose own text is encoded as other ids.")
@click.option("--stats", is_flag=True, help="Lengths, scripts, kinds of characters.")
@click.option("--merges", is_flag=True, help="All merges, in order.")
@click.option("--diff", nargs=2, metavar="A B", help="What two encodings do not share.")
@click.option("--bytes", "byte_order", is_flag=True, help="The id of each byte (minbpe's byte_shuffle).")
@options.takes_encoding
@click.option("--json", "as_json", is_flag=True, help="JSON out.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values out.")
@options.takes_html
@options.takes_output
@options.common
def command(**given: Any) -> None:
    """Look TOKENs up: their ids, bytes, and the two tokens that merge into each. With nothing: list the encodings.

    A TOKEN may have escapes as `tokcli split` prints them (\\n, \\x00).

    \b
      tokcli inspect-ranks
      tokcli inspect-ranks ' world' --id 24912 --hex f09f
    """
    request = Request(given)
    if given["html"]:
        from tokcli.cli import pages

        pages.write_vocabulary(request)
        return
    if given["form"] is not None:
        from tokcli.cli.inspect_export import write_export

        write_export(request, given["form"])
        return
    wants_tokens = bool(given["tokens"] or given["ids"] or given["hexes"])
    if (view := inspect_views.view_of(given)) is not None:
        if wants_tokens:
            raise click.UsageError("Tokens that are looked up one by one, or a view of all: not both.")
        inspect_views.show_all(request, view)
    elif wants_tokens:
        ids = look_up(request)
        inspect_views.show_all(request, lambda request, output: show_tokens(request, output, ids))
    else:
        inspect_views.show_all(request, show_encodings)


# --- encodings -------------------------------------------------------------------------------------------------------


def encoding_rows() -> list[EncodingRow]:
    """Every registered encoding: how many ids it has, where its ranks come from, whether they are here."""
    from tokcli.registry.encodings import describe_encodings
    from tokcli.render.tables import EncodingRow

    return [EncodingRow(e.name, e.n_vocab, e.source, e.here) for e in describe_encodings()]


def show_encodings(request: Request, output: Shown) -> None:
    """The list, as a table or JSON."""
    from tokcli.render import tables

    rows = encoding_rows()

    def as_json() -> object:
        members = [{"name": r.name, "n_vocab": r.n_vocab, "source": r.source, "here": r.here} for r in rows]
        return {"encodings": members}

    inspect_views.emit(request, output, tables.ENCODING_COLUMNS, rows, len(rows), as_json)


# --- tokens ----------------------------------------------------------------------------------------------------------


def look_up(request: Request) -> list[int]:
    """The ids of what was asked for; UnknownTokenError says how a text that is no token would be encoded."""
    from tokcli.render.visible import unescape

    encoding = request.encoding
    texts = [unescape(_BAD_BYTES.sub(_hex_escape, text)) for text in request.options["tokens"]]
    found = [id_of(encoding, data) for data in (*texts, *map(from_hex, request.options["hexes"]))]
    for token in request.options["ids"]:
        known_id(encoding, token)
        found.append(token)
    return found


def _hex_escape(bad: re.Match[str]) -> str:
    return f"\\x{ord(bad[0]) - 0xDC00:02x}"


def from_hex(digits: str) -> bytes:
    """'e28882' -> the bytes of ∂"""
    try:
        return bytes.fromhex(digits.removeprefix("0x"))
    except ValueError:
        raise InputError(f"--hex {digits}: not hexadecimal", "Write two digits a byte, such as e28882.") from None


def _as_in_files(encoding: Encoding, data: bytes) -> Iterator[bytes]:
    """What is meant by a token as a tokenizer's file writes it: SentencePiece's space, or GPT-2's alphabet."""
    if not encoding.is_pipeline:
        return
    from tokcli.engine.byte_alphabet import bytes_of
    from tokcli.engine.spm_normalizer import SPACE

    yield data.replace(SPACE.encode(), b" ")
    found = bytes_of(data.decode("utf-8", "replace"))
    if found is not None:
        yield found


def id_of(encoding: Encoding, data: bytes) -> int:
    """The id of a token; where it is none, UnknownTokenError says what it is encoded as."""
    from tokcli.render.visible import escape

    for written in (data, *_as_in_files(encoding, data)):
        with suppress(UnknownTokenError):
            return encoding.encode_single_token(written)
    ids = list(encoding.encode_array(data))
    raise UnknownTokenError(
        f"'{escape(data[:SHOWN_BYTES])}'{'...' * (len(data) > SHOWN_BYTES)} is not one token of {encoding.name}",
        f"It is encoded as {len(ids)}: " + " ".join(map(str, ids[:SHOWN_IDS])) + " ..." * (len(ids) > SHOWN_IDS),
    )


def token_rows(encoding: Encoding, tokens: Iterable[int], many: int) -> Iterator[TokenRow]:
    """What there is to say about some ids, of which about so `many` will be asked for."""
    from tokcli.engine.merges import parents_of_many
    from tokcli.engine.token_facts import is_special, kinds_of, scores_of
    from tokcli.render.tables import TokenRow

    parents_of, kinds, scores = parents_of_many(encoding, many), kinds_of(encoding), scores_of(encoding)
    for token in tokens:
        special = is_special(encoding, token)
        yield TokenRow(
            token, encoding.decode_single_token_bytes(token), special, None if special else parents_of(token),
            kinds.get(token, ""), scores[token] if token < len(scores) else None,
        )  # fmt: skip


def token_columns(encoding: Encoding) -> tuple[Column[TokenRow], ...]:
    """The columns of a table of tokens: kinds and scores where the vocabulary has some."""
    from tokcli.engine.token_facts import kinds_of, scores_of
    from tokcli.render import tables

    kind = (tables.KIND_COLUMN,) if kinds_of(encoding) else ()
    return (*tables.TOKEN_COLUMNS, *kind, *((tables.SCORE_COLUMN,) if scores_of(encoding) else ()))


def show_tokens(request: Request, output: Shown, ids: list[int]) -> None:
    """Tokens as a table, with how each came to be on a terminal; or as JSON, with all that is known."""
    from tokcli.engine.merges import merges_of

    encoding = request.encoding
    rows = list(token_rows(encoding, ids, len(ids)))

    def as_json() -> object:
        merges = merges_of(encoding)
        return {"tokens": [members(row) for row in rows], "details": [details(encoding, row, merges) for row in rows]}

    inspect_views.emit(request, output, token_columns(encoding), rows, len(rows), as_json)
    if output.is_terminal and not request.options["as_json"] and not request.options["as_csv"]:
        merges = merges_of(encoding)
        for token in ids:
            show_origin(request, output, token, merges)


def show_origin(request: Request, output: Shown, token: int, merges: Merges) -> None:
    """The merge tree of a token, which tokens it is part of, and whether its own text gives it back."""
    from rich.text import Text

    from tokcli.cli import screen
    from tokcli.engine.merges import merge_tree
    from tokcli.engine.token_facts import not_self
    from tokcli.render.merge_tree import draw
    from tokcli.render.visible import visible_bytes

    encoding, color = request.encoding, request.options["color"]
    for line in draw(merge_tree(encoding, token)):
        screen.show(output, color, line)
    facts = []
    if part_of := merges.children(token):
        shown = ", ".join(
            visible_bytes(encoding.decode_single_token_bytes(n), spaces=True) for n in part_of[:SHOWN_PARTS]
        )
        facts.append(f"part of {len(part_of)}: {shown}{', ...' * (len(part_of) > SHOWN_PARTS)}")
    facts += [f"its own text is encoded as {' '.join(map(str, ids))}" for _, ids in not_self(encoding, [token])]
    for fact in facts:
        screen.show_hanging(output, color, Text(fact, "dim"))
    output.write(b"\n")


def details(encoding: Encoding, row: TokenRow, merges: Merges) -> dict[str, object]:
    """What a table has no place for: the ids of a merge tree (each token before its parts), and the tokens it is in."""
    from tokcli.engine.merges import merge_tree
    from tokcli.engine.token_facts import not_self

    token = row.id
    pending, tree = [merge_tree(encoding, token)], []
    while pending:
        node = pending.pop()
        tree.append({"id": node.id, "parts": [part.id for part in node.parts]})
        pending += reversed(node.parts)
    return {
        "id": token,
        "tree": tree,
        "part_of": merges.children(token),
        "gives_itself": not list(not_self(encoding, [token])),
        **({} if row.score is None else {"score": row.score}),
    }


def members(row: TokenRow) -> dict[str, object]:
    """A token as JSON; `text` only where its bytes are UTF-8, kind and score where it has them."""
    found: dict[str, object] = {"id": row.id, "bytes_hex": row.token.hex()}
    with suppress(UnicodeDecodeError):
        found["text"] = row.token.decode()
    found |= {"special": row.special, "parents": row.parents}
    found |= {"kind": row.kind} if row.kind else {}
    return found | ({} if row.score is None else {"score": row.score})
