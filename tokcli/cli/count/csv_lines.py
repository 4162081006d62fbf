"""Comma-separated values as in RFC 4180, but with lines that end with a newline alone."""

from __future__ import annotations

from collections.abc import Sequence

from tokcli.render.visible import visible


def csv_line(values: Sequence[str | int], *, is_terminal: bool) -> bytes:
    r"""Return values as a line; on a terminal, without a character that it would act on.

    >>> csv_line([12, "a.txt", 'b, "c" '], is_terminal=False)
    b'12,a.txt,"b, ""c"" "\n'
    """
    cells = (_cell(visible(str(value)) if is_terminal else str(value)) for value in values)
    return (",".join(cells) + "\n").encode("utf-8", "surrogateescape")


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"\r\n') else text
