"""`train --visualise`: every merge, and how it changes some words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli.terminal import screen
from tokcli.cli.terminal.colours import wants_color
from tokcli.engine.bpe.bpe import encode_piece
from tokcli.render.tokens import coloured_boundaries, coloured_rows, plain_boundaries
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.streams import Output
    from tokcli.render.console import Color


class MergeLog:
    """Shows each merge as tiktoken's `_educational` does: the pair, its token, and how some words are now split."""

    def __init__(self, words: list[bytes], tokens: list[bytes], output: Output, color: Color) -> None:
        self._tokens = list(tokens)
        self._ranks = {token: rank for rank, token in enumerate(tokens)}
        self._words = words
        self._output, self._color = output, color

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:
        """Show a merge (trainer.OnMerge)."""
        self._ranks[token] = len(self._tokens)
        self._tokens.append(token)
        line = f"{index + 1}: {_shown(left)} + {_shown(right)} -> {_shown(token)}, {count} times\n"
        self._output.write(line.encode())
        parts = [(self._tokens[rank], rank) for word in self._words for rank in encode_piece(self._ranks, word)]
        if wants_color(self._output, self._color):
            is_screen = self._output.is_terminal
            for row in (
                coloured_rows(parts, screen.width(self._output), isolate=True)
                if is_screen
                else coloured_boundaries(parts)
            ):
                screen.show(self._output, self._color, row)
        else:
            for text in plain_boundaries(parts):
                self._output.write(f"{text}\n".encode())


def _shown(token: bytes) -> str:
    return visible(repr(token)[1:])
