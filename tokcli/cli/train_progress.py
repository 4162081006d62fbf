"""`train`: how far it is. A bar on a terminal, plain lines for logs, nothing in a pipe; or every merge with words."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.streams import Output
    from tokcli.render.console import Color

BAR_SECONDS = 0.1  # between two drawings
PLAIN_SECONDS = 5.0
WIDTH = 24  # of the bar, in characters


class Progress:
    """Bytes that are counted, then merges that are made, on standard error. `kind`: bar, plain or none."""

    def __init__(self, kind: str, total_bytes: int | None) -> None:
        self._kind = kind
        self._wait = BAR_SECONDS if kind == "bar" else PLAIN_SECONDS
        self._total_bytes = total_bytes
        self._bytes = self._merges = 0
        self._began = self._shown = monotonic()

    @property
    def is_shown(self) -> bool:
        """Whether anybody sees it."""
        return self._kind != "none"

    @staticmethod
    def kind_for(asked: str, *, quiet: bool) -> str:
        """What `auto` comes to: a bar where a person sees it."""
        if asked != "auto":
            return asked
        return "bar" if sys.stderr.isatty() and not quiet else "none"

    def counted(self, more: int) -> None:
        """So many bytes more are counted."""
        self._bytes += more
        if self._is_time():
            seconds = max(monotonic() - self._began, 1e-9)
            rate = self._bytes / seconds
            done = f"{self._bytes / 1e6:.1f}"
            share = None
            if self._total_bytes:
                share = min(self._bytes / self._total_bytes, 1.0)
                left = max(self._total_bytes - self._bytes, 0) / max(rate, 1)
                self._show(
                    share,
                    f"counting {done} of {self._total_bytes / 1e6:.1f} MB, {rate / 1e6:.1f} MB/s, {_time(left)} left",
                )
            else:
                self._show(share, f"counting {done} MB, {rate / 1e6:.1f} MB/s")

    def begin_merging(self, merges: int) -> None:
        """The corpus is counted; so many merges are to be made."""
        self._merges = merges
        self._began = monotonic()

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:  # noqa: ARG002
        """A merge was made (trainer.OnMerge)."""
        if self._is_time() or (index + 1 == self._merges and self._kind == "bar"):
            shown = visible(repr(token.decode("utf-8", "replace")))[:WIDTH]
            self._show(
                (index + 1) / max(self._merges, 1), f"merge {index + 1} of {self._merges}, {shown} stood {count} times"
            )

    def end(self) -> None:
        """Leaves the line of the bar."""
        if self._kind == "bar":
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _is_time(self) -> bool:
        if self._kind == "none":
            return False
        now = monotonic()
        if now - self._shown < self._wait:
            return False
        self._shown = now
        return True

    def _show(self, share: float | None, text: str) -> None:
        if self._kind == "plain":
            sys.stderr.write(f"{text}\n")
        else:
            bar = "" if share is None else f"[{'#' * round(share * WIDTH):<{WIDTH}}] {share:4.0%} "
            sys.stderr.write(f"\r{bar}{text}\x1b[K")
        sys.stderr.flush()


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


class Merges:
    """Each merge as tiktoken's `_educational` shows it: the pair, its token, and how the first words are cut now."""

    def __init__(self, words: list[bytes], tokens: list[bytes], output: Output, color: Color) -> None:
        self._tokens = list(tokens)
        self._ranks = {token: rank for rank, token in enumerate(tokens)}
        self._words = words
        self._output, self._color = output, color

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:
        """Shows a merge (trainer.OnMerge)."""
        from tokcli.cli import screen
        from tokcli.engine.bpe import encode_piece
        from tokcli.render import boundaries

        self._ranks[token] = len(self._tokens)
        self._tokens.append(token)
        line = f"{index + 1}: {_shown(left)} + {_shown(right)} -> {_shown(token)}, {count} times\n"
        self._output.write(line.encode())
        parts = [(self._tokens[rank], rank) for word in self._words for rank in encode_piece(self._ranks, word)]
        if screen.wants_color(self._output, self._color):
            for row in boundaries.coloured_boundaries(parts):
                screen.show(self._output, self._color, row)
        else:
            for text in boundaries.plain_boundaries(parts):
                self._output.write(f"{text}\n".encode())


def _shown(token: bytes) -> str:
    return visible(repr(token)[1:])
