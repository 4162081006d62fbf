"""`tokcli decode`: ids to exactly the bytes they stand for; no newline is added, on a terminal neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
                    for data in decode_input(request, source, given["form"]):
                        output.write(data)
        output.flush()


def decode_input(request: Request, source: streams.Input, form: str) -> Iterator[bytes]:
    """The bytes of the ids in an input, in any of the formats, as a stream."""
    if not request.encoding.decodes_apart:
        parts = decoder.parse_ids(source.blocks()) if form == "text" else read_binary(source.blocks(), form)
        return iter([decode(request, [number for ids in parts for number in ids])])
    if form == "text":
        texts = decoder.cut_ids(source.blocks())
        return request.shared(lambda item: decode(request, decoder.ids_in(*item)), texts, lambda item: len(item[0]))
    return request.shared(lambda ids: decode(request, ids), read_binary(source.blocks(), form), lambda ids: ids.nbytes)


def read_binary(blocks: Iterable[bytes], form: str) -> Iterator[memoryview]:
    """Ids in any of the binary formats, as a stream."""
    count = None
    if form == "npy":
        form, count, blocks = npy.read_header(blocks)
    read = 0
    for ids in decoder.parse_binary(blocks, "u16" if form == "u16" else "u32"):
        read += len(ids)
        yield ids
    if count is not None and read != count:
        raise InputError(f"the .npy file says {count} ids and holds {read}")


def decode(request: Request, ids: decoder.Ids) -> bytes:
    """The bytes of some ids; an id that the vocabulary lacks is named."""
    try:
        if isinstance(ids, memoryview):
            return request.encoding.decode_buffer(ids)
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
    form = request.options["form"]
    if data.lstrip()[:1] == b"{":
        made = decode(request, records.ids_of(records.read_object(data, source.shown), "ids", source.shown))
    elif form == "text":
        made = b"".join(decode(request, ids) for ids in decoder.parse_ids([data]))
    else:
        made = b"".join(decode(request, ids) for ids in read_binary([data], form))
    output.write(answer(made))


def decode_records(request: Request, source: streams.Input, output: streams.Output) -> None:
    """A record out for each record in."""
    kind, field = request.options["records"], request.field or "ids"
    for batch in records.read_batches(source, kind, as_text=False):
        for record in batch.records():
            with streams.naming(record.shown):
                if kind != "jsonl":
                    data = b"".join(decode(request, ids) for ids in decoder.parse_ids([record.data]))
                elif record.data.strip():
                    members = records.read_object(record.data, record.shown)
                    data = decode(request, records.ids_of(members, field, record.shown))
                else:
                    continue
            output.write(answer(data) if request.options["as_json"] else data + records.SEPARATOR[kind])
        batch.finish(output)
