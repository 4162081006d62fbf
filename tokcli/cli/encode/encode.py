"""`tokcli encode`: text to ids; or, for people, to coloured tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tokcli.cli import streams
from tokcli.cli.declare.command import Command
from tokcli.cli.encode.encode_inputs import encode_one
from tokcli.cli.encode.encode_options import EncodeOptions, EncodeRequest
from tokcli.cli.encode.encode_rows import MOST_USED, declared
from tokcli.cli.encode.whole_texts import left_by_template
from tokcli.cli.encode.write_ids import IdWriter, make_writer
from tokcli.engine.stream.ids import U16_IDS
from tokcli.errors import CheckFailed, InputError

BINARY = ("u16", "u32", "npy")


@click.command(cls=Command, name="encode", params=[*declared], most_used=MOST_USED)
def command(**given: Any) -> int:
    """Encode FILEs, or standard input: ids separated by spaces, one line for each input.

    \b
      tokcli encode prompt.txt
      tokcli encode --format u32 -o ids.bin corpus.txt
      tokcli encode --records jsonl --json < requests.jsonl
      tokcli encode --records jsonl --shards ids corpus.jsonl.gz
      tokcli encode --visualise -t 'hello world'
    """
    request = EncodeRequest(EncodeOptions(**given))
    if request.options.chat:
        from tokcli.cli.encode import chat_texts

        request = chat_texts.rendered(request)
    if request.options.is_sampled or request.options.nbest:
        from tokcli.cli.encode import sampling

        sampling.check_model(request)
        if not request.options.is_sampled:
            sampling.write_best(request)
            return request.status
        sampling.begin_drawing(request)
    if request.options.compare is not None or request.options.shows_tokens:
        write_view(request)
    elif request.options.shards is not None:
        from tokcli.cli.encode.shards import write_shards

        write_shards.write(request, request.options.shards)
    elif request.options.as_text or request.options.chunk:
        from tokcli.cli.encode.passages import write_chunks

        write_chunks.write(request)
    else:
        write_ids(request)
    return request.status


def write_view(request: EncodeRequest) -> None:
    """Write what people look at: stacked lines, a page, a picture, coloured tokens or their merges."""
    from tokcli.cli.encode.views import compare, visualise

    asked = request.options
    if asked.compare is not None and not asked.html:
        compare.write(request, asked.compare)
        return
    request.note_template()
    if asked.html or asked.svg:
        write_page(request)
        return
    with request.open_output() as output:
        if asked.visualise == "merges" or visualise.needs_rows(request, output):
            write_page(request, output)
        else:
            visualise.write(request, output)
        output.flush()


def write_page(request: EncodeRequest, output: streams.Output | None = None) -> None:
    """Write a page or a picture to its file; or, to the output, tokens in rows or their merges."""
    from tokcli.cli.encode.views import compare_page, merge_view, token_page, token_rows

    asked = request.options
    if output is None:
        if asked.html and asked.compare is not None:
            compare_page.write(request, asked.compare, asked.html)
        elif asked.html:
            token_page.write_tokens(request, asked.html)
        elif asked.svg:
            token_rows.write_svg(request, asked.svg)
    elif asked.visualise == "merges":
        merge_view.write(request, output)
    else:
        token_rows.write(request, output)


def write_ids(request: EncodeRequest) -> None:
    """Write the ids of the inputs; CheckFailed where -n cut any, and --fail-if-truncated was given."""
    asked = request.options
    is_plain = asked.form == "text" and not (asked.records or asked.as_json or asked.offsets)
    if is_plain and (asked.output or "").endswith(".npy"):
        request.options = asked = asked.replace(form="npy")
        request.note(f"{asked.output}: written in --format npy, as its name says.")
    request.note_template()
    request.show_reading()
    with request.open_output("ids", "offsets", "truncated", "type_ids", "special_tokens_mask") as output:
        check_format(request, output)
        if asked.limit is not None:
            left_by_template(request, asked.limit)  # or an error that names no input
        _ = request.frame  # or the error for a name that is no token
        writer = make_writer(asked, output, request.encoding)
        encode: Callable[[EncodeRequest, streams.Input, IdWriter], bool] = encode_one
        if asked.records:
            from tokcli.cli.encode import encode_records

            encode = encode_records.encode_records
        cuts = [encode(request, source, writer) for source in request.texts]
        writer.close()
        output.flush()
    if any(cuts) and asked.fail_if_truncated:
        raise CheckFailed(f"there are more tokens than -n {asked.limit}")


def check_format(request: EncodeRequest, output: streams.Output) -> None:
    """Reject formats that do not fit: offsets without lines of their own, large ids in u16, binary on a terminal."""
    encoding, asked = request.encoding, request.options
    if asked.offsets and not asked.as_json and (asked.form == "json" or asked.records):
        raise InputError("--offsets writes a line for each token, or members of a JSON object", "Add --json.")
    if asked.form == "u16" and encoding.n_vocab > U16_IDS:
        raise InputError(
            f"--format u16 holds ids up to {U16_IDS - 1}; those of {encoding.name} go up to {encoding.max_token_value}",
            "Use --format u32.",
        )
    if output.is_terminal and asked.form in BINARY:
        raise InputError(f"--format {asked.form} is binary", "Write it to a file with -o, or to a pipe.")
