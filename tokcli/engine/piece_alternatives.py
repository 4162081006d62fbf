"""Which alternative of a known pattern made each piece: the engine is asked once for each different one.

In known patterns nothing looks back, and only white space looks ahead, no further than the next piece. So a piece tells
its alternative, and white space does together with the piece behind it. (Profile: a fifth of the time of matching all.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokcli.engine.pretokenizer import PreTokenizer

if TYPE_CHECKING:
    import regex

KEPT_PIECES = 1 << 16  # whose alternatives a pattern keeps
KEPT_BYTES = 64  # of a piece that is kept
AHEAD = 4  # bytes of the next piece that white space looks at: a character, or three digits
_BEHIND = 64  # pieces in which a match that looks ahead is tried

Kept = dict["bytes | tuple[bytes, bytes]", str]  # pieces, white space with what is ahead, and the names


def names_of(pattern: PreTokenizer, text: str, pieces: Sequence[bytes]) -> list[str] | None:
    r"""The name of the alternative that made each piece of a text; None where they are not a known pattern's pieces.

    >>> from tokcli.engine.known_patterns import GPT2
    >>> names_of(PreTokenizer(GPT2), "it's  7", [b"it", b"'s", b" ", b" 7"])
    ['a8', 'a1', 'a11', 'a9']
    """
    named = pattern.named_for(text) if pattern.is_known else None
    if named is None:
        return None
    kept: Kept = pattern.kept_alternatives
    if len(kept) >= KEPT_PIECES:
        kept.clear()
    found: dict[bytes, str] = {}
    for piece in dict.fromkeys(pieces):
        name = kept.get(piece)
        if name is None:
            shown = piece.decode()
            match = named.match(shown)
            if shown.isspace():
                name = ""
            elif match is None or match.end() != len(shown):
                return None
            else:
                name = match.lastgroup or ""
            if len(piece) <= KEPT_BYTES:
                kept[piece] = name
        found[piece] = name
    names = [found[piece] for piece in pieces]
    for place in [place for place, name in enumerate(names) if not name]:
        ahead = pieces[place + 1][:AHEAD] if place + 1 < len(pieces) else b""
        name = kept.get((pieces[place], ahead))
        if name is None:
            name = _of_space(named, pieces[place : place + _BEHIND])
            if name is None:
                return None
            if len(pieces[place]) <= KEPT_BYTES:
                kept[pieces[place], ahead] = name
        names[place] = name
    return names


def _of_space(named: regex.Pattern[str], pieces: Sequence[bytes]) -> str | None:
    """The name of the alternative of the first piece, with those behind it; None where it is not a piece then."""
    match = named.match(b"".join(pieces).decode())
    if match is None or match.end() != len(pieces[0].decode()):
        return None
    return match.lastgroup
