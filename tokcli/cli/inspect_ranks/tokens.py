"""`inspect-ranks TOKEN`: tokens looked up one by one, with the merges that made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tokcli.analysis.merge_tree import merge_tree, parents_of_many
from tokcli.analysis.vocabulary import not_self
from tokcli.cli.decode import known_id
from tokcli.cli.inspect_ranks import listing
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, bytes_of
from tokcli.engine.bpe.merges import ParentTable
from tokcli.errors import InputError, UnknownTokenError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.inside import NAMES
from tokcli.registry.models.lookup import names_a_model
from tokcli.render.tables import KIND_COLUMN, SCORE_COLUMN, TOKEN_COLUMNS, Column, TokenRow
from tokcli.render.visible import escape, unescape

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn
    from tokcli.engine.encoding import Encoding

ID_DIGITS = 10  # of the longest id
SHOWN_BYTES, SHOWN_IDS = 40, 20  # in messages
_BAD_BYTES = re.compile("[\udc80-\udcff]")  # of an argument that is not UTF-8 (PEP 383)


def look_up(request: InspectRequest) -> list[int]:
    """Return the ids that were asked for; UnknownTokenError says how a text that is no token would be encoded."""
    encoding = request.encoding
    texts = [unescape(_BAD_BYTES.sub(_hex_escape, text)) for text in request.options.tokens]
    try:
        found = [id_of(encoding, data) for data in (*texts, *map(from_hex, request.options.hexes))]
    except UnknownTokenError as error:
        if as_ids := _as_ids(request.options.tokens):
            error.hint = f"{error.hint}. As ids, look them up with {as_ids}."
        elif option := _as_vocabulary(request.options.tokens[:1]):
            error.hint = f"{error.hint}. To look at that vocabulary, name it with {option}."
        raise
    if as_ids := _as_ids(request.options.tokens):
        request.note(f"digits are looked up as text; as ids, look them up with {as_ids}.")
    for token in request.options.ids:
        known_id(encoding, token)
        found.append(token)
    return found


def _hex_escape(bad: re.Match[str]) -> str:
    return f"\\x{ord(bad[0]) - 0xDC00:02x}"


def from_hex(digits: str) -> bytes:
    """Return the bytes given as hexadecimal digits: for 'e28882', those of ∂; InputError for anything else."""
    try:
        return bytes.fromhex(digits.removeprefix("0x"))
    except ValueError:
        raise InputError(f"--hex {digits}: not hexadecimal", "Write two digits a byte, such as e28882.") from None


def _as_in_files(encoding: Encoding, data: bytes) -> Iterator[bytes]:
    """Yield the bytes that `data` may mean as written in a tokenizer file: with ▁ for spaces, or GPT-2's alphabet."""
    if not encoding.tokenizer.sees_whole_texts:
        return
    yield data.replace(VISIBLE_SPACE.encode(), b" ")
    found = bytes_of(data.decode("utf-8", "replace"))
    if found is not None:
        yield found


def id_of(encoding: Encoding, data: bytes) -> int:
    """Return the id of a token; where there is none, UnknownTokenError says how the bytes are encoded."""
    for written in (data, *_as_in_files(encoding, data)):
        with suppress(UnknownTokenError):
            return encoding.encode_single_token(written)
    if not data:
        raise UnknownTokenError(f"'' is not one token of {encoding.name}", "Name a TOKEN of at least one character.")
    ids = list(encoding.encode_array(data))
    raise UnknownTokenError(
        f"'{escape(data[:SHOWN_BYTES])}'{'...' * (len(data) > SHOWN_BYTES)} is not one token of {encoding.name}",
        f"It is encoded as {len(ids)}: " + " ".join(map(str, ids[:SHOWN_IDS])) + " ..." * (len(ids) > SHOWN_IDS),
    )


def _as_vocabulary(texts: Sequence[str]) -> str:
    """Return the option that names what a text is the name of, an encoding or a model; "" if it is none."""
    for name in texts:
        if name in CATALOG or name in NAMES:
            return f"-e {name}"
        if names_a_model(name):
            return f"-m {name}"
    return ""


def _as_ids(texts: Sequence[str]) -> str:
    """Return the options that look up texts as ids, if all of them are digits; else ""."""
    are_ids = all(text.isascii() and text.isdecimal() and len(text) <= ID_DIGITS for text in texts)
    return " ".join(f"--id {text}" for text in texts[:SHOWN_IDS]) if are_ids else ""


def token_rows(encoding: Encoding, tokens: Iterable[int], many: int) -> Iterator[TokenRow]:
    """Yield a row for each of some ids; the caller will use about `many` of them."""
    tokenizer = encoding.tokenizer
    parents_of, kinds, scores = parents_of_many(encoding, many), tokenizer.token_kinds(), tokenizer.scores()
    for token in tokens:
        special = tokenizer.is_special(token)
        yield TokenRow(
            token, encoding.decode_single_token_bytes(token), special, None if special else parents_of(token),
            kinds.get(token, ""), scores[token] if token < len(scores) else None,
        )  # fmt: skip


def token_columns(encoding: Encoding) -> tuple[Column[TokenRow], ...]:
    """Return the columns of a table of tokens, with kinds and scores where the vocabulary has some."""
    kind = (KIND_COLUMN,) if encoding.tokenizer.token_kinds() else ()
    return (*TOKEN_COLUMNS, *kind, *((SCORE_COLUMN,) if encoding.tokenizer.scores() else ()))


def show_tokens(request: InspectRequest, output: ShownOn, ids: list[int]) -> None:
    """Show tokens as a table, on a terminal with the merges that made each; or as JSON, with `details`."""
    encoding = request.encoding
    rows = list(token_rows(encoding, ids, len(ids)))

    def as_json() -> object:
        merges = encoding.tokenizer.all_parents()
        return {"tokens": [members(row) for row in rows], "details": [details(encoding, row, merges) for row in rows]}

    listing.emit(request, output, token_columns(encoding), rows, len(rows), as_json, is_view=True)
    if listing.is_for_people(request, output):
        merges = encoding.tokenizer.all_parents()
        for token in ids:
            listing.on_screen().show_origin(request, output, token, merges)


def details(encoding: Encoding, row: TokenRow, merges: ParentTable) -> dict[str, object]:
    """Return what a table has no room for: the merge tree (each token before its parts), and tokens it is part of."""
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
    """Return a token as JSON; with `text` where its bytes are UTF-8, with kind and score where it has them."""
    found: dict[str, object] = {"id": row.id, "bytes_hex": row.token.hex()}
    with suppress(UnicodeDecodeError):
        found["text"] = row.token.decode()
    found |= {"special": row.special, "parents": row.parents}
    found |= {"kind": row.kind} if row.kind else {}
    return found | ({} if row.score is None else {"score": row.score})
