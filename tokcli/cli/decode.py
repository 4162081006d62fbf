"""`tokcli decode`: ids back to exactly the bytes that they were made from; no newline is added."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import click

from tokcli.cli import options, streams
from tokcli.cli.declare.command import Command
from tokcli.cli.declare.conflicts import Excludes
from tokcli.cli.declare.option import Option, Rows
from tokcli.cli.decode_batches import BatchDecoder
from tokcli.cli.inputs import records
from tokcli.cli.inputs.left_of import Left
from tokcli.cli.inputs.whole_input import read_all, without_mark
from tokcli.cli.json_stream import line, text_member
from tokcli.cli.record import SEPARATOR, ids_of
from tokcli.cli.request import InputRequest
from tokcli.engine.stream import ids as decoder
from tokcli.engine.stream import npy
from tokcli.engine.stream.utf8 import WholeCharacters
from tokcli.errors import InputError, UnknownTokenError
from tokcli.registry.catalog import CATALOG

if TYPE_CHECKING:
    from tokcli.cli.encode.shards.read_shards import ReadFolder, ReadShard
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.stream.decoding import ByteDecoder

MAX_JSON_BYTES = 1 << 28  # of ids whose text becomes one JSON object: both are held in memory
AS_RECORDS = "Read objects on lines of their own with --records jsonl."
IdFormat = Literal["text", "u16", "u32", "npy"]


class DecodeOptions(options.InputOptions):
    """The options of `tokcli decode`, as values."""

    form: IdFormat
    skip_special_tokens: bool


class DecodeRequest(InputRequest[DecodeOptions]):
    """A request to decode ids."""

    @cached_property
    def left_out(self) -> frozenset[int]:
        """The ids that --skip-special-tokens leaves out."""
        tokenizer = self.encoding.tokenizer
        asked = self.options.skip_special_tokens
        return decoder.special_ids(tokenizer.special_tokens, tokenizer.is_special) if asked else frozenset()


MOST_USED = ("--text", "--encoding", "--model", "--format", "--skip-special-tokens")


declared: Rows = (
    *options.takes_files,
    *options.takes_encoding(pattern=False),
    *options.takes_records("An answer has the member text, or bytes_hex where the bytes are not UTF-8."),
    Option("--format", "form", group="Input", type=click.Choice(["text", "u16", "u32", "npy"]), default="text",
           show_default=True, metavar="FORMAT",
           conflicts=(Excludes("--records", when="u16|u32|npy", hint="Binary ids are not separated into records."),),
           help="Read ids as text, u16, u32 or npy.",
           more="The choices are decimal ids (text), little-endian integers of two or four bytes (u16, u32), and a "
                "NumPy file (npy)."),
    Option("--skip-special-tokens", group="Special tokens", is_flag=True,
           help="Leave special tokens out.",
           more="These are the tokens that the encoding calls special, such as <|endoftext|>, BOS and EOS."),
    options.takes_output(),
    *options.common,
)  # fmt: skip


@click.command(cls=Command, name="decode", params=[*declared], most_used=MOST_USED)
def command(**given: Any) -> None:
    """Decode the ids in FILEs, or in standard input, back to the exact bytes.

    Ids are decimal numbers, separated by white space or commas; JSON brackets around them are ignored. They may also be
    the member `ids` of a JSON object, as `encode --json` writes it. Text is written while ids come, as soon as it is
    complete. A FILE that is a folder has the shards of `encode --shards`; with --records, each document is a record.

    \b
      tokcli encode page.html | tokcli decode
      tokcli decode -t '24912 2375'
      tokcli decode --format npy ids.npy
    """
    asked = DecodeOptions(pattern=None, **given)  # ids are decoded without one
    request = DecodeRequest(asked)
    request.show_reading()
    folders = {source: found for source in request.inputs if (found := shards_in(source)) is not None}
    if folders:
        request = with_encoding_of(request, list(folders.values()))
    request.needs_pattern = bool(folders)  # the index of shards says which pattern made them
    with request.open_output("text", "bytes_hex") as output:
        for source in request.inputs:
            ids = source.replace(may_be_ids=asked.form != "text")
            with streams.naming(source.shown):
                if source in folders:
                    decode_shards(request, folders[source].shards(), output)
                elif asked.records:
                    decode_records(request, source, output)
                else:
                    decode_input(request, ids, output)
        output.flush()


def decode_input(request: DecodeRequest, source: streams.Input, output: streams.Output) -> None:
    """Write the text of an input, or a JSON object with it; the input has ids, or a JSON object with ids."""
    form, blocks = request.options.form, source.blocks()
    if form == "text":
        begin, blocks = beginning(without_mark(blocks))
        if begin.lstrip().startswith(b"{"):
            data = decode(request, ids_in(only_object(source, blocks), source.shown))
            output.write(line(text_member(data)) if request.options.as_json else data)
            return
    if request.options.as_json:
        data = read_all(source, MAX_JSON_BYTES, "for one JSON object", "Leave --json out.", blocks)
        output.write(line(text_member(decode_all(request, read_ids([data], form)))))
        return
    write_live(decode_blocks(request, blocks, form), output)


def write_live(texts: Iterable[bytes], output: streams.Output) -> None:
    """Write each text as soon as it is there, but for the beginning of a character whose other bytes may follow."""
    characters = WholeCharacters()
    for data in texts:
        output.write(characters.add(data))
        output.flush()  # the next ids may be long in coming
    output.write(characters.finish())


def beginning(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, with one that is no white space if there is any, and all blocks."""
    held = b""
    for block in blocks:
        held += block
        if not held.isspace():
            break
    return held, chain([held], blocks)


def ids_in(members: dict[str, Any], shown: str) -> list[int]:
    """Return the ids of the only JSON object of an input; InputError says how to name another member."""
    try:
        return ids_of(members, None, shown)
    except InputError as error:
        error.hint = error.hint.replace("with --field", "with --records jsonl --field")
        raise


def only_object(source: streams.Input, blocks: Iterator[bytes]) -> dict[str, Any]:
    """Return the members of the JSON object that is all there is in an input."""
    data = read_all(source, MAX_JSON_BYTES, "for one JSON object", AS_RECORDS, blocks)
    try:
        return records.read_object(data, source.shown)
    except InputError as error:
        if error.detail == "extra data" and data[error.offset or 0 :].startswith(b"{"):
            error.what, error.hint = "more than one JSON object", AS_RECORDS
        raise


def decode_blocks(request: DecodeRequest, blocks: Iterable[bytes], form: IdFormat) -> Iterator[bytes]:
    """Return the bytes that the ids in blocks of the format `form` stand for, as a stream."""
    tokenizer = request.encoding.tokenizer
    live = None if tokenizer.decodes_context_free else tokenizer.decode_stream()
    if live is not None:
        return decode_in_turn(request, live, read_ids(blocks, form))
    if form == "text":
        texts = decoder.cut_ids(blocks)
        return request.shared(lambda item: decode(request, decoder.ids_in(*item)), texts, lambda item: len(item[0]))
    return request.shared(lambda ids: decode(request, ids), read_binary(blocks, form), lambda ids: ids.nbytes)


def decode_in_turn(request: DecodeRequest, live: ByteDecoder, ids: Iterable[decoder.Ids]) -> Iterator[bytes]:
    """Yield the bytes that are known with the next ids, and at the end the rest, where ids depend on others."""
    for some in ids:
        with named(request, some):
            yield live.add(decoder.without(some, request.left_out))
    yield live.finish()


def decode_all(request: DecodeRequest, ids: Iterable[decoder.Ids]) -> bytes:
    """Return the bytes of ids that come in parts."""
    if request.encoding.tokenizer.decodes_context_free:
        return b"".join(decode(request, some) for some in ids)
    return decode(request, [number for some in ids for number in some])


def read_ids(blocks: Iterable[bytes], form: IdFormat) -> Iterator[decoder.Ids]:
    """Return the ids in blocks of the format `form`, as a stream of arrays or lists."""
    return decoder.parse_ids(blocks) if form == "text" else read_binary(blocks, form)


def read_binary(blocks: Iterable[bytes], form: IdFormat) -> Iterator[memoryview]:
    """Yield the ids in blocks of a binary format; InputError if a .npy file has more or fewer than its header says."""
    width: decoder.ReadFormat = "u16" if form == "u16" else "u32"
    count, read = None, 0
    if form == "npy":
        width, count, blocks = npy.read_header(blocks)
    for ids in decoder.parse_binary(blocks, width):
        read += len(ids)
        yield ids
    if count is not None and read != count:
        raise InputError(f"the header of the .npy file promises {count} ids, but it holds {read}")


def decode(request: DecodeRequest, ids: decoder.Ids) -> bytes:
    """Return the bytes of some ids; UnknownTokenError names an id that the vocabulary lacks."""
    with named(request, ids):
        kept = decoder.without(ids, request.left_out)
        if isinstance(kept, memoryview):
            return request.encoding.tokenizer.decode_array(kept)
        return request.encoding.decode_bytes(kept)


@contextmanager
def named(request: DecodeRequest, ids: decoder.Ids) -> Iterator[None]:
    """Name the id of these that the vocabulary lacks in the error about it."""
    try:
        yield
    except (UnknownTokenError, OverflowError):
        for token in ids:
            known_id(request.encoding, token)
        raise


def known_id(encoding: Encoding, token: int) -> bytes:
    """Return the bytes of an id; UnknownTokenError where the vocabulary lacks it."""
    try:
        return encoding.decode_single_token_bytes(token)
    except (UnknownTokenError, OverflowError):
        largest = encoding.max_token_value
        hint = f"Its largest id is {largest}: is this the right encoding?"
        if 0 <= token < largest:
            hint = f"No token has this id, though ids go up to {largest}: is this the right encoding?"
        raise UnknownTokenError(f"{token} is not an id of {encoding.name}", hint) from None


def decode_records(request: DecodeRequest, source: streams.Input, output: streams.Output) -> None:
    """Decode each record of an input, and write its text as a record or a JSON object."""
    asked, kind = request.options, request.options.records or "lines"
    whole = BatchDecoder(request.encoding, kind, request.left_out, as_json=asked.as_json)
    is_whole = whole.fits and not asked.all_fields
    left = Left(source)
    for batch in records.read_batches(source, kind, as_text=False):
        if is_whole and (made := whole.decode(batch, asked.field)) is not None:
            output.write(made[0])
            left.add(made[1], [])
            batch.finish(output)
            continue
        for record in batch.records():
            with streams.naming(record.shown):
                if kind != "jsonl":
                    data = decode_all(request, decoder.parse_ids([record.data]))
                elif record.data.strip():
                    members: dict[str, object] | None = None
                    try:
                        members = records.read_object(record.data, record.shown)
                        data = decode(request, ids_of(members, request.options.field, record.shown))
                    except (InputError, UnknownTokenError) as error:
                        error.where = error.where or record.shown
                        if not request.options.skip_invalid:
                            error.hint = records.with_way_out(error.hint)
                            raise
                        left.add(0, [error], has_objects=members is not None)
                        continue
                    left.add(1, [])
                    output.answer([record.data])
                else:
                    continue
            output.write(line(text_member(data)) if request.options.as_json else data + SEPARATOR[kind])
        batch.finish(output)
    if (nothing := left.error()) is not None:
        raise nothing


# --- shards ----------------------------------------------------------------------------------------------------------


def shards_in(source: streams.Input) -> ReadFolder | None:
    """Return the shards of an input that is a folder of shards; None for any other input."""
    if source.data is not None or not os.path.isdir(source.name):
        return None
    from tokcli.cli.encode.shards.read_shards import read_folder

    return read_folder(source.name)


def with_encoding_of(request: DecodeRequest, folders: list[ReadFolder]) -> DecodeRequest:
    """Return a request with the encoding of these shards; InputError if it asks for another, or for what they lack."""
    asked = request.options
    if asked.form != "text" or (asked.as_json and not asked.records):
        raise InputError("--format and --json are not for shards, whose index says what they hold", "Leave them out.")
    if asked.all_fields:
        raise InputError("--all-fields keeps the members of JSON Lines only", where=str(folders[0].path.parent))
    if asked.field and len(folders) == len(request.inputs):
        raise InputError(
            "--field names a member of JSON Lines, and shards have none", where=str(folders[0].path.parent)
        )
    if asked.encoding is None and asked.model is None:
        named = folders[0].encoding
        if named not in CATALOG:  # what an index says opens no file, and asks no server
            raise InputError(
                f"the shards are of {named}, which is no registered encoding",
                "Name the vocabulary that made them with -e.",
                where=str(folders[0].path.parent),
            )
        inputs, request = request.inputs, DecodeRequest(asked.replace(encoding=named))
        request.inputs = inputs
    for folder in folders:
        folder.check_encoding(request.encoding)
    return request


def decode_shards(request: DecodeRequest, shards: Iterable[ReadShard], output: streams.Output) -> None:
    """Write the bytes of all shards, or a record for each document in them."""
    asked = request.options
    if not asked.records and request.encoding.tokenizer.decodes_context_free:
        for shard in shards:
            with streams.naming(shard.shown):
                write_live(decode_blocks(request, shard.blocks(), shard.form), output)
        return
    for ids in documents_of(shards):
        data = decode(request, ids)
        if asked.as_json:
            data = line(text_member(data))
        output.write(data + (SEPARATOR[asked.records] if asked.records and not asked.as_json else b""))


def documents_of(shards: Iterable[ReadShard]) -> Iterator[memoryview]:
    """Yield the ids (uint32) of each document; one that continues in the next shard is joined."""
    document = array("I")
    for shard in shards:
        ids, at, begin = array("I"), 0, 0
        with streams.naming(shard.shown):
            buffers = read_binary(shard.blocks(), shard.form)
            for number, end in enumerate(shard.ends, 1):
                while len(ids) - at < end - begin:
                    if (more := next(buffers, None)) is None:
                        raise InputError("the shard ends too early")
                    ids, at = ids[at:] + array("I", more), 0
                document += ids[at : at + end - begin]
                at, begin = at + end - begin, end
                if number < len(shard.ends) or not shard.continues:
                    yield memoryview(document)
                    document = array("I")
