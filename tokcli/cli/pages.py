"""`--html FILE` of encode, split and inspect-ranks: what they show, as one page that a browser opens from disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import streams
from tokcli.cli.encode import limited
from tokcli.cli.options import Request
from tokcli.engine.merges import merges_of
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.postprocessor import Tokens
from tokcli.engine.token_facts import not_self, scores_of
from tokcli.errors import InputError
from tokcli.render import html
from tokcli.render.html_data import PieceColumns, TokenTable, others_of_own_text, texts_of_tokens, with_ancestors
from tokcli.render.packed import Packer

if TYPE_CHECKING:
    from tokcli.cli.write_ids import Spans
    from tokcli.engine.encoding import Encoding

# the options that say what a page shows
TAKEN = frozenset(
    {"html", "files", "text", "files0_from", "limit", "encoding", "model", "pattern", "pattern_file", "timeout"}
    | {"errors", "special", "allow_special", "add_special_tokens", "offline", "jobs", "quiet", "color", "watch"}
)
MAX_TOKENS = 4_000_000  # of a page: some 16 MB of text, and as much as a browser moves through without effort


def write_vocabulary(request: Request) -> None:
    """The page of all tokens of the encoding: to search, and to walk their merges up and down."""
    refuse_others()
    encoding, packer = request.encoding, Packer()
    table = TokenTable(
        encoding._all_decoder, merges_of(encoding).of, special_ids(encoding), dict(enumerate(scores_of(encoding)))
    )
    others_of_own_text(packer, table.pack(packer), dict(not_self(encoding, sorted(table.tokens))))
    count = len(table.tokens)
    head = {"name": encoding.name, "summary": f"{count:,} tokens, {len(table.special):,} of them special"}
    write(request, "vocabulary", f"{encoding.name}: tokens", head, packer)


def write_tokens(request: Request) -> None:
    """The page of the inputs as coloured tokens."""
    refuse_others()
    encoding, packer = request.encoding, Packer()
    inputs: list[dict[str, object]] = []
    sequence: array[int] = array("I")
    spans: list[tuple[int, int]] | None = []
    for source in request.inputs:
        before = len(sequence)
        with streams.naming(source.shown):
            for ids, found in encoded(request, source):
                sequence.extend(ids)
                spans = None if spans is None or found is None else [*spans, *found]
                check_size(len(sequence))
        inputs.append({"name": source.shown, "tokens": len(sequence) - before})
    places = "bytes" if not sees_whole(request) else "unknown" if spans is None else "characters"
    texts_of_tokens(packer, table_of(encoding, sequence), sequence, spans if places == "characters" else None)
    head = {"name": encoding.name, "inputs": inputs, "places": places}
    write(request, "encode", f"{encoding.name}: a text as tokens", head, packer)


def sees_whole(request: Request) -> bool:
    """Whether the tokens of a text do not tell where they stand in it: it was normalized, or has a template."""
    encoding = request.encoding
    if not isinstance(encoding, PipelineEncoding):
        return False
    shortcut = encoding.tokenizer.shortcut
    if shortcut is None or shortcut.form is not None or shortcut.prefix_space:
        return True
    return bool(request.options["add_special_tokens"])


def encoded(request: Request, source: streams.Input) -> Iterator[tuple[Sequence[int], Spans | None]]:
    """Ids of an input, up to -n of them, and where they stand, in characters; None where that is not known."""
    encoding = request.encoding
    if not isinstance(encoding, PipelineEncoding) or not sees_whole(request):
        for ids, _ in limited(request, map(encoding.encode_part, request.parts(source))):
            yield ids, None  # their bytes tell
        return
    whole = encoding.read_whole(
        source.blocks(), errors=request.errors, allowed=request.allowed, refused=request.refused
    )
    found = Tokens([], spans=[])
    if whole is not None:
        try:
            found = encoding.encode_spans(whole)
        except InputError:  # a tokenizer that changes texts does not always know the places
            found = Tokens(encoding.encode_chunk(whole))
    if request.options["add_special_tokens"]:
        found = encoding.tokenizer.finish([found], True)
    limit = request.options["limit"]
    yield found.ids[:limit], found.spans if found.spans is None else found.spans[:limit]


def check_size(tokens: int) -> None:
    """Refuses what no browser would show."""
    if tokens > MAX_TOKENS:
        raise InputError(f"more than {MAX_TOKENS} tokens are too many for a page", "Cut the text, or use -n.")


def write_pieces(request: Request) -> None:
    """The page of the inputs as pieces, with the alternatives that made them."""
    from tokcli.cli.split_table import rows
    from tokcli.engine.pretokenizer_parts import described, single_pattern

    refuse_others()
    encoding, packer = request.encoding, Packer()
    made = PieceColumns()
    for row in rows(request):
        made.add(row.piece, row.alternative, row.tokens)
        check_size(len(made.sequence))
    made.pack(packer, table_of(encoding, made.sequence))
    pattern = single_pattern(encoding)
    parts = described(encoding) if pattern is None else ()  # of a tokenizer that is not split by one pattern
    head = {"name": encoding.name, "alternatives": pattern.alternatives if pattern else (), "parts": tuple(parts)}
    write(request, "split", f"{encoding.name}: a text as pieces", head, packer)


def table_of(encoding: Encoding, ids: Iterable[int]) -> TokenTable:
    """The tokens with some ids, and all that merged into them."""
    parents = merges_of(encoding).of if encoding.is_native else encoding.parents_of
    pairs = with_ancestors(ids, parents)
    tokens = {number: encoding.decode_single_token_bytes(number) for number in pairs}
    scores = scores_of(encoding)
    return TokenTable(
        tokens, pairs.__getitem__, special_ids(encoding), {n: scores[n] for n in tokens if n < len(scores)}
    )


def refuse_others() -> None:
    """Refuses every option that a page has no use for."""
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if is_given and param.name not in TAKEN:
            shown = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
            raise InputError(f"--html writes a page of its own: no {shown}")


def write(request: Request, kind: html.PageKind, title: str, head: Mapping[str, Any], packer: Packer) -> None:
    """The page to the FILE of --html, whole or not at all."""
    page = html.make_page(kind, f"{title} - tokcli", head, packer)
    with streams.Output(request.options["html"], request.inputs if "files" in request.options else ()) as output:
        output.write(page.encode("ascii"))
        output.flush()


def special_ids(encoding: Encoding) -> frozenset[int]:
    """The ids that only special tokens have."""
    return encoding._special_token_values - set(encoding._mergeable_ranks.values())
