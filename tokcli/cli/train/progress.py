"""`train`: progress, as a bar on a terminal or as lines for logs."""

from __future__ import annotations

import sys
from time import monotonic

from tokcli.cli.messages import print_as_is
from tokcli.render.visible import visible

BAR_SECONDS = 0.1  # between two drawings
PLAIN_SECONDS = 5.0
WIDTH = 24  # of the bar, in characters


class Progress:
    """Shows bytes as they are counted, then merges as they are made, on standard error. `kind`: bar, plain or none."""

    def __init__(self, kind: str, total_bytes: int | None) -> None:
        self._kind = kind
        self._is_redrawn = kind == "bar" and sys.stderr.isatty()  # elsewhere each drawing is a line
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
        """Return the kind for --progress; `auto` is a bar where a person sees it."""
        if asked != "auto":
            return asked
        return "bar" if sys.stderr.isatty() and not quiet else "none"

    def counted(self, more: int) -> None:
        """Add bytes that were counted, and show progress if it is time."""
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
        """Begin to show merges in place of bytes; `merges` is how many are to be made."""
        self._merges = merges
        self._began = monotonic()

    def merged(self, index: int, left: bytes, right: bytes, token: bytes, count: int) -> None:  # noqa: ARG002
        """Show a merge if it is time (trainer.OnMerge)."""
        if self._is_time() or (index + 1 == self._merges and self._kind == "bar"):
            shown = visible(repr(token.decode("utf-8", "replace")))[:WIDTH]
            self._show(
                (index + 1) / max(self._merges, 1),
                f"merge {index + 1} of {self._merges}, {shown} occurred {count} times",
            )

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

    def _show(self, share: float | None, text: str) -> None:
        if self._kind == "plain":
            print_as_is(f"{text}\n")
        else:
            bar = "" if share is None else f"[{'#' * round(share * WIDTH):<{WIDTH}}] {share:4.0%} "
            print_as_is(f"\r{bar}{text}\x1b[K" if self._is_redrawn else f"{bar}{text}\n")


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
