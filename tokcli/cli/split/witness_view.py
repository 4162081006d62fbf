"""`split --identify` and `split --diff P --find-witness`: patterns compared on generated texts; no text is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from tokcli.analysis.pattern.identify import Identity, identify
from tokcli.analysis.pattern.witness import Pieces, Witness, WitnessSearch, find_witnesses
from tokcli.cli import streams
from tokcli.cli.json_stream import line
from tokcli.cli.split.diff import has_counts, other_side
from tokcli.cli.split.lint import one_pattern
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal import screen
from tokcli.render.numbers import counted, grouped
from tokcli.render.visible import escape

LEFT_OUT = "(leaves text out)"


def write_witnesses(request: SplitRequest, output: streams.Output) -> None:
    """Write the shortest texts that the two patterns split differently: a row each, or a JSON object."""
    asked = request.options
    other = other_side(request, asked.diff or "").request
    search = find_witnesses(one_pattern(request).pat_str, one_pattern(other).pat_str, asked.witnesses)
    if asked.as_json:
        output.write(line({"witnesses": [_members(request, each) for each in search.witnesses]} | _extent(search)))
        return
    output.write(b"text\tleft\tright\n")
    for witness in search.witnesses:
        row = (escape(witness.text.encode()), _shown(witness.left), _shown(witness.right))
        output.write(("\t".join(row) + "\n").encode())
    if not search.witnesses:
        request.note(f"no difference: equal on all {_tried(search)}")


def write_identity(request: SplitRequest, output: streams.Output) -> None:
    """Write the known pattern that is the same or the nearest, and the shortest text that tells the two apart."""
    pat_str = one_pattern(request).pat_str
    found = identify(pat_str)
    if request.options.as_json:
        output.write(line(_identity_members(request, pat_str, found)))
        return
    for row in _lines(request, found):
        screen.show_hanging(output, request.options.color, Text(row))


def _lines(request: SplitRequest, found: Identity) -> list[str]:
    if found.is_same_word_for_word:
        return [f"{found.name}: its pattern, word for word"]
    changes = [
        f"changed: {_quoted(change.known)} became {_quoted(change.here)}"
        if change.known and change.here
        else f"added: {_quoted(change.here)}"
        if change.here
        else f"left out: {_quoted(change.known)}"
        for change in found.changes
    ]
    if not found.search.witnesses:
        return [f"{found.name}: its pattern in other words, equal on all {_tried(found.search)}", *changes]
    witness = found.search.witnesses[0]
    lines = [
        f"{found.name}: the nearest pattern that is known",
        *changes,
        f"differ on: {escape(witness.text.encode())}",
    ]
    for name, pieces in ((found.name, witness.left), ("here", witness.right)):
        ids = _ids(request, pieces)
        lines.append(f"{name}: {_shown(pieces)}" + ("" if ids is None else f"  ids {' '.join(map(str, ids))}"))
    return lines


def _identity_members(request: SplitRequest, pat_str: str, found: Identity) -> dict[str, Any]:
    witnesses = found.search.witnesses
    return {
        "pattern": pat_str,
        "name": found.name,
        "known": found.pat_str,
        "same": not witnesses,
        "word_for_word": found.is_same_word_for_word,
        "changes": [{"known": change.known, "here": change.here} for change in found.changes],
        "witness": _members(request, witnesses[0]) if witnesses else None,
        **({} if found.is_same_word_for_word else _extent(found.search)),
    }


def _members(request: SplitRequest, witness: Witness) -> dict[str, Any]:
    """Return a witness as JSON: its text, and the pieces and ids of both sides, null where text is left out."""
    sides: dict[str, Pieces] = {"left": witness.left, "right": witness.right}
    members: dict[str, Any] = {"text": witness.text}
    for name, pieces in sides.items():
        members |= {name: None if pieces is None else list(pieces), f"{name}_ids": _ids(request, pieces)}
    return members


def _ids(request: SplitRequest, pieces: Pieces) -> Sequence[int] | None:
    """Return the ids of some pieces; None where pieces alone do not tell them."""
    if pieces is None or not has_counts(request):
        return None
    encode = request.encoding.tokenizer.encode_piece
    return [id for piece in pieces for id in encode(piece.encode())]


def _extent(search: WitnessSearch) -> dict[str, int]:
    return {"classes": search.classes, "length": search.length, "texts": search.texts}


def _tried(search: WitnessSearch) -> str:
    characters = counted(search.length, "character", "characters")
    return f"texts of up to {characters} of {search.classes} classes ({grouped(search.texts)} texts)"


def _shown(pieces: Pieces) -> str:
    return LEFT_OUT if pieces is None else " | ".join(escape(piece.encode()) for piece in pieces)


def _quoted(words: str) -> str:
    return escape(words.encode())
