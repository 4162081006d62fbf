"""`encode --records`: a batch with pairs of texts, which are encoded together, and the template around each pair."""

from __future__ import annotations

from array import array
from contextlib import suppress
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from tokcli.cli.encode.whole_texts import longest_first, room
from tokcli.cli.encode.write_ids import TRUNCATED, JsonWriter
from tokcli.cli.json_stream import line
from tokcli.cli.request import TEXT
from tokcli.engine.roles import record_runs
from tokcli.engine.tokens import Tokens, joined_ids
from tokcli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Buffer

    from tokcli.cli.encode.encode_options import EncodeRequest
    from tokcli.cli.encode.write_ids import IdWriter, Members
    from tokcli.cli.inputs.records import Batch


def render_pairs(request: EncodeRequest, batch: Batch, writer: IdWriter) -> tuple[Buffer, bool] | None:
    """Return a batch in which records have a second text as it is written, and whether -n cuts any record.

    None means that the records have to be encoded one by one: an error then names its record.
    """
    asked = request.options
    if asked.keep == "last" or asked.is_sampled or batch.words:
        return None
    batch.replace_invalid(asked.errors)
    with suppress(InputError):
        records = batch.with_pairs(asked.errors)
        around = _Around(request, 1), _Around(request, 2)
        made = record_runs.encode_records(request.encoding.tokenizer, records.texts, request.read_options)
        if made is None:
            return None
        request.watch_records(records.texts)
        return _rendered(writer, _each(around, records.counts, *made))
    return None


def _each(
    around: Sequence[_Around], counts: Sequence[int], ids: memoryview, offsets: memoryview
) -> Iterator[tuple[memoryview, Members, bool]]:
    """Yield the ids of each record, the members of its JSON object that a pair has, and whether -n cuts it.

    `counts` has the number of texts of each record, one or two, and the texts' ids begin and end at `offsets`.
    """
    at = 0
    for count in counts:
        yield around[count - 1].put([ids[offsets[i] : offsets[i + 1]] for i in range(at, at + count)])
        at += count


class _Around:
    """What the post-processor and the frame put around a text, or a pair of texts, and how much -n leaves of these."""

    def __init__(self, request: EncodeRequest, texts: int) -> None:
        limit = request.options.limit
        self._most = None if limit is None else room(request, limit, texts)
        stand_ins = {TEXT - i: i for i in range(texts)}  # ids that no token has
        made = request.finished([Tokens([id]) for id in stand_ins])
        self._parts = [
            (stand_ins.get(id), array("I", [id]), type_id, special)
            for id, type_id, special in zip(made.ids, made.type_ids, made.special, strict=True)
        ]

    def put(self, texts: list[memoryview]) -> tuple[memoryview, Members, bool]:
        """Return the ids of a record, its members, and whether it is cut; `texts` are the ids of its texts."""
        sizes = [len(ids) for ids in texts]
        kept = sizes if self._most is None else longest_first(sizes, self._most)
        if kept != sizes:
            texts = [ids[:size] for ids, size in zip(texts, kept, strict=True)]
        parts = [
            (own if number is None else texts[number], type_id, special)
            for number, own, type_id, special in self._parts
        ]
        ids = memoryview(b"".join([ids for ids, _, _ in parts])).cast("I")
        if len(texts) == 1:
            return ids, {}, kept != sizes
        type_ids = list(chain.from_iterable([type_id] * len(ids) for ids, type_id, _ in parts))
        special = list(chain.from_iterable([special] * len(ids) for ids, _, special in parts))
        return ids, {"type_ids": type_ids, "special_tokens_mask": special}, kept != sizes


def _rendered(writer: IdWriter, records: Iterator[tuple[memoryview, Members, bool]]) -> tuple[Buffer, bool]:
    """Return records as they are written, and whether any is cut."""
    if isinstance(writer, JsonWriter):
        lines, is_any_cut = [], False
        for ids, members, is_cut in records:
            lines.append(line({"ids": ids.tolist(), **members, **(TRUNCATED if is_cut else {})}))
            is_any_cut |= is_cut
        return b"".join(lines), is_any_cut
    all_ids, _, cut = zip(*records, strict=True)
    offsets = memoryview(array("Q", accumulate(map(len, all_ids), initial=0)))
    return writer.render_records(joined_ids(list(all_ids)), offsets, None, cut)
