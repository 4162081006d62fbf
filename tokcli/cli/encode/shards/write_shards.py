"""`encode --shards DIR`: the documents of the inputs as shards of ids, written once, however often a run is started."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokcli.cli import streams
from tokcli.cli.checkpoint_folder import hint_about
from tokcli.cli.cluster_work import reachable
from tokcli.cli.encode.shards.layouts import form_of
from tokcli.cli.encode.shards.partition import (
    Inventory,
    Part,
    parse_part,
    sections,
    take_inventory,
)
from tokcli.cli.encode.shards.read_shards import digest_of_encoding, holds_shards
from tokcli.cli.encode.shards.shard_folder import ShardFolder
from tokcli.cli.encode.shards.shard_run import Run
from tokcli.cli.encode.shards.shard_writer import ShardWriter
from tokcli.cli.encode.shards.shards_on_cluster import ClusterRun
from tokcli.cli.inputs.columns import import_pyarrow
from tokcli.cli.inputs.sections import separator_of
from tokcli.cli.json_stream import text_of_name
from tokcli.engine.stream.ids import BinaryFormat
from tokcli.engine.stream.npy import DTYPES
from tokcli.errors import InputError, OutputError, TokcliError, reason_of

if TYPE_CHECKING:
    from tokcli.cli.encode.encode_options import EncodeRequest

SAMPLING = ("dropout", "alpha", "nbest", "seed")  # options of which runs without them say nothing
FOLDERS_KEPT = 1024  # of which it is remembered whether they hold shards


def write(request: EncodeRequest, folder: str) -> None:
    """Write the shards of the inputs, or the rest of them, to a folder."""
    asked = request.options
    if asked.layout == "parquet":
        import_pyarrow()
    request.note_template()
    if not asked.dask:
        request.show_reading(answers_last=True)
    part = Part() if asked.shard_of is None else parse_part(asked.shard_of)
    _ = request.frame  # or the error for a name that is no token
    inventory = take_inventory(inputs(request, quietly=True))
    if asked.shard_of is not None and not inventory.is_known:
        raise InputError("--shard-of needs files: the length of a stream is not known", "Name the FILEs.")
    form = form_of(request.encoding)
    digest = digest_of_encoding(request.plain_encoding)
    resumes = inventory.is_known and not asked.is_sampled  # what is drawn is drawn from the first document on
    shards = ShardFolder(folder, asked.layout, form, plan(request, digest, inventory), resumes=resumes)
    try:
        shards.open()
        if shards.is_finished:
            request.note(f"{folder}: finished before; nothing is left to do.")
        else:
            kind = ClusterRun if asked.dask else Run
            run = kind(request, shards, ShardWriter(shards, form, asked.shard_tokens))
            run.encode(sections(inputs(request), inventory.total, part, separator_of(asked.records)))
            shards.finish(about(request, form, digest, part), run.sources())
    except OSError as error:
        if isinstance(error, TokcliError):
            raise
        raise OutputError(reason_of(error), hint_about(error), where=folder) from None
    finally:
        shards.close()


def inputs(request: EncodeRequest, *, quietly: bool = False) -> Iterator[streams.Input]:
    """Return the inputs, as they are named or found, except for files that -r finds in folders of shards.

    Folders that cannot be read are reported, unless `quietly`.
    """
    found = _found(request, quietly=quietly)
    return reachable(found, request.options.dask) if request.options.dask else found


def _found(request: EncodeRequest, *, quietly: bool) -> Iterator[streams.Input]:
    texts = request.texts
    if isinstance(texts, list):
        yield from texts
        return
    are_ours = lru_cache(maxsize=FOLDERS_KEPT)(holds_shards)
    for source in texts.quietly() if quietly else texts.files():
        if source.found_in is None or not are_ours(Path(source.name).parent):
            yield source


def plan(request: EncodeRequest, digest: str, inventory: Inventory) -> dict[str, Any]:
    """Return what distinguishes this run from others, whose folders are rejected."""
    asked = request.options
    names = (
        "layout",
        "shard_tokens",
        "append_special",
        "shard_of",
        "records",
        "field",
        "errors",
        "skip_invalid",
    )
    more = ("add_special_tokens", "no_decompress")
    return {
        "encoding": digest,
        "inputs": [inventory.total, inventory.digest if inventory.is_known else None],
        "special": request.special,
        "allow_special": sorted(asked.allow_special),
        **{name: getattr(asked, name) for name in (*names, *more)},
        **({} if asked.prepend_special is None else {"prepend_special": asked.prepend_special}),
        **{name: value for name in SAMPLING if (value := getattr(asked, name)) is not None},
    }


def about(request: EncodeRequest, form: BinaryFormat, digest: str, part: Part) -> dict[str, Any]:
    """Return the members of the index about a run: its layout, encoding, and part."""
    asked = request.options
    return {
        "layout": asked.layout,
        "dtype": DTYPES[form],
        "encoding": text_of_name(request.encoding.name),
        "digest": digest,
        **({} if asked.prepend_special is None else {"prepend_special": asked.prepend_special}),
        "append_special": asked.append_special,
        **({} if asked.shard_of is None else {"part": part.number, "parts": part.parts}),
    }
