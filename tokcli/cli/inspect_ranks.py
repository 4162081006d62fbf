"""`tokcli inspect-ranks`: which encodings there are, and what single tokens are made of."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.decode import known_id
from tokcli.cli.options import Request
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding
    from tokcli.render.tables import EncodingRow, TokenRow

SHOWN_BYTES, SHOWN_IDS = 40, 20  # in messages
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
@options.takes_encoding
@click.option("--json", "as_json", is_flag=True, help="JSON out.")
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
    ids = look_up(request) if given["tokens"] or given["ids"] or given["hexes"] else None
    with streams.Output(given["output"]) as output:
        if ids is None:
            show_encodings(request, output)
        else:
            show_tokens(request, output, ids)
        output.flush()


# --- encodings -------------------------------------------------------------------------------------------------------


def encoding_rows() -> list[EncodingRow]:
    """Every registered encoding: how many ids it has, where its ranks come from, whether they are here."""
    from tokcli.registry.encodings import describe_encodings
    from tokcli.render.tables import EncodingRow

    return [EncodingRow(e.name, e.n_vocab, e.source, e.here) for e in describe_encodings()]


def show_encodings(request: Request, output: streams.Output) -> None:
    """The list, as a table or JSON."""
    from tokcli.cli import screen
    from tokcli.render import tables

    rows = encoding_rows()
    if request.options["as_json"]:
        members = [{"name": r.name, "n_vocab": r.n_vocab, "source": r.source, "here": r.here} for r in rows]
        output.write(records.dump({"encodings": members}).encode() + b"\n")
    elif output.is_terminal:
        screen.show(output, request.options["color"], tables.encodings_table(rows), wrap=True)
    else:
        for line in tables.tsv(tables.ENCODING_COLUMNS, rows):
            output.write(line.encode() + b"\n")


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


def id_of(encoding: Encoding, data: bytes) -> int:
    """The id of a token; where it is none, UnknownTokenError says what it is encoded as."""
    from tokcli.render.visible import escape

    try:
        return encoding.encode_single_token(data)
    except UnknownTokenError:
        ids = list(encoding.encode_array(data))
    raise UnknownTokenError(
        f"'{escape(data[:SHOWN_BYTES])}'{'...' * (len(data) > SHOWN_BYTES)} is not one token of {encoding.name}",
        f"It is encoded as {len(ids)}: " + " ".join(map(str, ids[:SHOWN_IDS])) + " ..." * (len(ids) > SHOWN_IDS),
    )


def token_row(encoding: Encoding, token: int) -> TokenRow:
    """What there is to say about an id."""
    from tokcli.render.tables import TokenRow

    data = encoding.decode_single_token_bytes(token)
    is_special = data not in encoding._mergeable_ranks
    return TokenRow(token, data, is_special, None if is_special else encoding.parents(data))


def show_tokens(request: Request, output: streams.Output, ids: list[int]) -> None:
    """Tokens as a table or JSON."""
    from tokcli.cli import pager, screen
    from tokcli.render import tables

    rows = [token_row(request.encoding, token) for token in ids]
    if request.options["as_json"]:
        output.write(records.dump({"tokens": [members(row) for row in rows]}).encode() + b"\n")
    elif output.is_terminal:
        with pager.paged(output) as shown:
            screen.show(shown, request.options["color"], tables.token_table(rows), wrap=True)
    else:
        for line in tables.tsv(tables.TOKEN_COLUMNS, rows):
            output.write(line.encode() + b"\n")


def members(row: TokenRow) -> dict[str, object]:
    """A token as JSON; `text` only where its bytes are UTF-8."""
    found: dict[str, object] = {"id": row.id, "bytes_hex": row.token.hex()}
    with suppress(UnicodeDecodeError):
        found["text"] = row.token.decode()
    return found | {"special": row.special, "parents": row.parents}
