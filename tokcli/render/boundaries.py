"""Shows where one token ends and the next begins, in colours or with a │ between them, and every merge of a piece.

Everything goes line by line, so that a long text needs no more memory than its longest line. Which tokens there are is
the engine's business, where the lines are printed the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Protocol

from rich.color import Color, ColorSystem, ColorType
from rich.style import Style
from rich.text import Text

from tokcli.render.visible import NEWLINE, visible_bytes

BOUNDARY = "│"
RANK_WIDTH = 7  # ranks below ten million stand under each other

# Colours of Okabe and Ito, in the order that keeps neighbours furthest apart for normal and colour-blind eyes (the
# least CIELAB distance of neighbours is 36, under Machado's models of all three kinds), also when a terminal of 256 or
# of 16 colours rounds them. The text on them is black: contrast 5.4 or more, whatever the terminal's own colours.
PALETTE = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00")
_OF_SIXTEEN = {"#D55E00": 9}  # bright red: the nearest is the second one's


class Background(Color):
    """A colour that stays different from the others of PALETTE where a terminal has but 16."""

    def downgrade(self, system: ColorSystem) -> Color:  # type: ignore[override]
        """The colour as a terminal has it."""
        number = _OF_SIXTEEN.get(self.name) if system == ColorSystem.STANDARD else None
        return super().downgrade(system) if number is None else Color.from_ansi(number)


BACKGROUNDS = tuple(Background(colour, ColorType.TRUECOLOR, triplet=Color.parse(colour).triplet) for colour in PALETTE)
STYLES = tuple(Style(color="#000000", bgcolor=colour) for colour in BACKGROUNDS)


class MergeStep(Protocol):
    """What `tokcli.engine.bpe.merge_steps` yields: the parts after a merge, its rank, the index of the new part."""

    @property
    def parts(self) -> tuple[bytes, ...]: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def position(self) -> int | None: ...


def coloured_boundaries(tokens: Iterable[tuple[bytes, int]], *, spaces: bool = True) -> Iterator[Text]:
    r"""Yield the lines of a text, from the bytes and id of each token, with a colour per token.

    Neighbours always differ in colour, across line breaks too. A newline is shown as ⏎ and then breaks the line; other
    controls, and spaces unless `spaces` is False, are visible; bytes that are no whole character stand as ⟨f0 9f⟩.

    >>> [line.plain for line in coloured_boundaries([(b"a", 64), (b" b\n", 7), (b"\xf0\x9f", 8)])]
    ['a·b⏎', '⟨f0 9f⟩']
    """
    line = Text(overflow="fold")
    styles = cycle(STYLES)
    for token, _ in tokens:
        if not token:
            continue
        style = next(styles)
        *ended, rest = lines_of(token, spaces)
        for part in ended:
            line.append(part, style)
            yield line
            line = Text(overflow="fold")
        line.append(rest, style)
    if line:
        yield line


def plain_boundaries(tokens: Iterable[tuple[bytes, int]], *, spaces: bool = True) -> Iterator[str]:
    r"""Yield the same lines without colour: a │ stands between tokens, at the end of a line too.

    >>> list(plain_boundaries([(b"a", 64), (b" b\n", 7), (b"\xf0\x9f", 8)]))
    ['a│·b⏎│', '⟨f0 9f⟩']
    """
    line: list[str] = []
    ended: list[str] = []  # the last line that a newline ended, until it is known whether a token begins after it
    for token, _ in tokens:
        if not token:
            continue
        if line:
            line.append(BOUNDARY)
        elif ended:
            ended.append(BOUNDARY)
        *whole, rest = lines_of(token, spaces)
        for part in whole:
            if ended:
                yield "".join(ended)
            ended, line = [*line, part], []
        if rest:
            if ended:
                yield "".join(ended)
            ended = []
            line.append(rest)
    if ended or line:
        yield "".join(ended or line)


def plain_merge_steps(steps: Iterable[MergeStep]) -> Iterator[str]:
    """Yield a line per step of merging a piece: the rank that was merged, and the parts.

    >>> from tokcli.engine.bpe import merge_steps
    >>> for line in plain_merge_steps(merge_steps({b"el": 417, b"ell": 616}, b"hello")):
    ...     print(line)
             h│e│l│l│o
        417  h│el│l│o
        616  h│ell│o
    """
    for step in steps:
        yield _rank_column(step) + BOUNDARY.join(visible_bytes(part, spaces=True) for part in step.parts)


def _rank_column(step: MergeStep) -> str:
    return f"{'' if step.rank is None else step.rank:>{RANK_WIDTH}}  "


def lines_of(token: bytes, spaces: bool) -> list[str]:
    """The visible lines of a token, all but the last ending in ⏎; no character of UTF-8 holds the byte of a newline."""
    *ended, rest = (visible_bytes(part, spaces=spaces) for part in token.split(b"\n"))
    return [*(part + NEWLINE for part in ended), rest]
