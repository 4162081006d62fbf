"""`tokcli decode`: ids to exactly the bytes they stand for; no newline is added, on a terminal neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.engine import decoder, npy
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding


@click.command(cls=options.Command, name="decode")
@options.takes_files
@options.takes_encoding
@options.takes_records
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "u16", "u32", "npy"]),
    default="text",
    show_default=True,
    help="Decimal ids, little-endian binary, NumPy.",
)
@options.takes_output
@options.common
def command(**given: Any) -> None:
    """Decode ids in FILEs, or on standard input, to bytes.

    Ids are decimal numbers between white space, commas, or JSON brackets.

    \b
      tokcli encode page.html | tokcli decode
      tokcli decode -t '24912 2375'
      tokcli decode --format npy ids.npy
    """  # fmt: skip
    request = Request(given)
    if given["records"] and given["form"] != "text":
        raise InputError(f"--format {given['form']} has no records")
    with request.open_output() as output:
        for source in request.inputs:
            with streams.naming(source.shown):
                if given["records"]:
                    decode_records(request, source, output)
                elif given["as_json"]:
                    decode_json(request, source, output)
                else:
                    for ids in read_ids(source.blocks(), given["form"]):
                        output.write(decode(request, ids))
        output.flush()


def read_ids(blocks: Iterable[bytes], form: str) -> Iterator[Sequence[int]]:
    """Ids in any of the formats, as a stream."""
    if form == "text":
        yield from decoder.parse_ids(blocks)
        return
    count = None
    if form == "npy":
        form, count, blocks = npy.read_header(blocks)
    read = 0
    for ids in decoder.parse_binary(blocks, "u16" if form == "u16" else "u32"):
        read += len(ids)
        yield ids
    if count is not None and read != count:
        raise InputError(f"the .npy file says {count} ids and holds {read}")


def decode(request: Request, ids: Sequence[int]) -> bytes:
    """The bytes of some ids; an id that the vocabulary lacks is named."""
    try:
        return request.encoding.decode_bytes(ids)
    except (UnknownTokenError, OverflowError):
        for token in ids:
            known_id(request.encoding, token)
        raise


def known_id(encoding: Encoding, token: int) -> bytes:
    """The bytes of an id; UnknownTokenError where the vocabulary lacks it."""
    try:
        return encoding.decode_single_token_bytes(token)
    except (UnknownTokenError, OverflowError):
        raise UnknownTokenError(
            f"{token} is not an id of {encoding.name}",
            f"Its largest is {encoding.max_token_value}: is this the right encoding?",
        ) from None


def answer(data: bytes) -> bytes:
    """A JSON line with the text, or where it is not UTF-8 with the bytes in hexadecimal."""
    try:
        return records.dump({"text": data.decode()}).encode() + b"\n"
    except UnicodeDecodeError:
        return records.dump({"bytes_hex": data.hex()}).encode() + b"\n"


def decode_json(request: Request, source: streams.Input, output: streams.Output) -> None:
    """One JSON object, or plain ids, to one JSON object."""
    data = b"".join(source.blocks())
    if data.lstrip()[:1] == b"{":
        ids: Sequence[int] = records.ids_of(records.read_object(data, source.shown), "ids", source.shown)
    else:
        ids = [i for some in read_ids([data], request.options["form"]) for i in some]
    output.write(answer(decode(request, ids)))


def decode_records(request: Request, source: streams.Input, output: streams.Output) -> None:
    """A record out for each record in."""
    kind, field = request.options["records"], request.field or "ids"
    for number, raw in records.read_raw(source, kind):
        where = f"{source.shown}: record {number}"
        if kind == "jsonl":
            if not raw.strip():
                continue
            ids = records.ids_of(records.read_object(raw, where), field, where)
        else:
            with streams.naming(where):
                ids = [i for some in decoder.parse_ids([raw]) for i in some]
        with streams.naming(where):
            data = decode(request, ids)
        output.write(answer(data) if request.options["as_json"] else data + records.SEPARATOR[kind])
