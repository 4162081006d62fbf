"""`train`: progress, as a bar on a terminal or as lines for logs."""

from __future__ import annotations

import sys
from time import monotonic

from tokcli.cli.messages import cells_at_most, fitted, print_as_is, progress_cells, redraws
from tokcli.render.numbers import counted, grouped
from tokcli.render.visible import visible

BAR_SECONDS = 0.1  # between two drawings
PLAIN_SECONDS = 5.0
WIDTH, LEAST_WIDTH = 24, 6  # of the bar, in cells; where there is no room for the least, the percentage stays
LEAST_ROOM = 12  # cells of a row that has a percentage
TOKEN = 24  # characters of a token that are shown


class Progress:
    """Shows bytes as they are counted, then merges as they are made, on standard error. `kind`: bar, plain or none.

    A bar is drawn again and again in one row of a terminal; where there is none, or a dumb one, each drawing is a line.
    """

    def __init__(self, kind: str, total_bytes: int | None) -> None:
        self._kind = kind
        self._is_redrawn = kind == "bar" and redraws()
        self._wait = BAR_SECONDS if self._is_redrawn else PLAIN_SECONDS
        self._total_bytes = total_bytes
        self._bytes = self._merges = 0
        self._began = self._shown = monotonic()

    @property
    def is_shown(self) -> bool:
        """Whether progress is shown at all."""
        return self._kind != "none"

    @staticmethod
    def kind_for(asked: str, *, quiet: bool) -> str:
        """Return the kind for --progress; `auto` is a bar, or lines, where a person sees it."""
        if asked != "auto":
            return asked
        if quiet or not sys.stderr.isatty():
            return "none"
        return "bar" if redraws() else "plain"

    def counted(self, more: int) -> None:
        """Add bytes that were counted, and show progress if it is time."""
        self._bytes += more
        if self._is_time():
            rate = self._bytes / max(monotonic() - self._began, 1e-9)
            done, speed = f"{self._bytes / 1e6:,.1f}", f"{rate / 1e6:,.1f} MB/s"
            if self._total_bytes:
                left = max(self._total_bytes - self._bytes, 0) / max(rate, 1)
                of = f"{self._total_bytes / 1e6:,.1f}"
                share = min(self._bytes / self._total_bytes, 1.0)
                self._show(share, f"counting {done} of {of} MB", speed, f"{_time(left)} left")
            else:
                self._show(None, f"counting {done} MB", speed)

    def begin_merging(self, merges: int) -> None:
        """Begin to show merges in place of bytes; `merges` is how many are to be made."""
        self._merges = merges
        self._began = monotonic()

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:  # noqa: ARG002
        """Show a merge if it is time (trainer.OnMerge)."""
        if self._is_time() or (index + 1 == self._merges and self._kind == "bar"):
            shown = visible(repr(token.decode("utf-8", "replace")))
            shown = f"{shown[:TOKEN]}..." if len(shown) > TOKEN else shown
            made = f"merge {grouped(index + 1)} of {grouped(self._merges)}"
            self._show((index + 1) / max(self._merges, 1), made, f"{shown} occurred {counted(count, 'time')}")

    def end(self) -> None:
        """Clear the line of the bar."""
        if self._is_redrawn:
            print_as_is("\r\x1b[K")

    def _is_time(self) -> bool:
        if self._kind == "none":
            return False
        now = monotonic()
        if now - self._shown < self._wait:
            return False
        self._shown = now
        return True

    def _show(self, share: float | None, *parts: str) -> None:
        if not self._is_redrawn:
            print_as_is(f"{', '.join(parts)}\n")
            return
        room = progress_cells()
        percent = "" if share is None or room < LEAST_ROOM else f"{share:4.0%} "
        line = percent + fitted(parts, room - len(percent))
        width = min(WIDTH, room - cells_at_most(line) - 3)
        bar = f"[{'#' * round((share or 0) * width):<{width}}] " if percent and width >= LEAST_WIDTH else ""
        print_as_is(f"\r{bar}{line}\x1b[K")


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
