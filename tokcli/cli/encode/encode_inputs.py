"""`encode`: an input, or a record by itself, encoded for a writer: in parts, or whole. See `encode_records.py`, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.whole_texts import encode_placed, encode_whole, left_by_template
from tokcli.cli.encode.write_ids import IdWriter, last_of, limited
from tokcli.cli.record import Record, RecordOfWords, has_pair
from tokcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def asks_whole(request: EncodeRequest, source: streams.Input | Record) -> bool:
    """Return whether a text must be seen whole: for a template, a pair of texts, or the places of its tokens."""
    if not request.encoding.tokenizer.sees_whole_texts:
        return False
    asked = request.options
    return bool(asked.add_special_tokens or asked.offsets or has_pair(source))


def places_chunks(request: EncodeRequest, source: streams.Input | Record) -> bool:
    """Return whether a text that `asks_whole` does so only for the places of its tokens, which chunks tell, too."""
    asked = request.options
    is_alone = not (has_pair(source) or isinstance(source, RecordOfWords))
    return is_alone and not (asked.add_special_tokens or asked.errors == "bytes" or asked.keep == "last")


def encode_one(request: EncodeRequest, source: streams.Input | Record, writer: IdWriter) -> bool:
    """Encode one input or record for the writer; return whether -n cut it."""
    asked, encode, truncated = request.options, request.encoding.tokenizer.encode_part, False

    def skip(ids: memoryview) -> None:
        nonlocal truncated
        truncated = truncated or len(ids) > 0
        writer.skip(ids)

    if asked.offsets and isinstance(source, RecordOfWords) and not request.encoding.tokenizer.sees_whole_texts:
        raise InputError(
            f"--offsets of {request.encoding.name} are for texts, not for lists of words", where=source.shown
        )
    writer.begin()
    is_placed = asks_whole(request, source)
    if is_placed and not places_chunks(request, source):
        truncated = encode_whole(request, source, writer)
        writer.end(truncated)
        return truncated
    before, after = request.frame
    writer.add_ids(before)
    most = None if asked.limit is None else left_by_template(request, asked.limit)
    with streams.naming(source.shown):
        if is_placed:
            truncated = encode_placed(request, source, writer, most)
        elif most is None:
            for rendered, count in request.shared_parts(lambda part: rendered_ids(writer, encode(part)), source):
                writer.add(rendered, count)
        elif asked.keep == "last":
            for ids in last_of(request.shared_parts(encode, source), most, skip):
                writer.add(writer.render(ids), len(ids))
        else:
            for ids, truncated in limited(map(encode, request.parts(source)), most):  # noqa: B007
                writer.add(writer.render(ids), len(ids))
    writer.add_ids(after)
    writer.end(truncated)
    return truncated


def rendered_ids(writer: IdWriter, ids: memoryview) -> tuple[Buffer, int]:
    """Return ids as they are written, and their number."""
    return writer.render(ids), len(ids)
