"""A view as a picture: rich's own SVG, self-contained, with nothing in it that a browser would fetch or run."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from html import unescape
from typing import TYPE_CHECKING

from tokcli.errors import InputError
from tokcli.render.console import make_console
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.terminal_theme import TerminalTheme

MAX_LINES = 1000  # higher, browsers and editors show such a picture slowly or not at all
_CHAR_WIDTH = 12.2  # of rich's picture: 20 high, 0.61 as wide
_FONT_FACE = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)  # web fonts; without them the reader's own monospace
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ISOLATES = str.maketrans("", "", "\u2068\u2069")
_TEXT = re.compile(r'(<text class="[^"]*-r\d+"[^>]* textLength=")[^"]*("[^>]*>)([^<]*)(?=</text>)')


def make_svg(lines: Iterable[RenderableType], title: str, *, width: int, environment: Mapping[str, str]) -> str:
    """Return a picture of some lines, `width` cells wide; InputError where they are too many.

    What is in the lines was made `visible` before; rich escapes it for SVG.
    """
    from rich._export_format import CONSOLE_SVG_FORMAT

    console = make_console(io.StringIO(), "always", environment={**environment, "COLORTERM": "truecolor"}, width=width)
    console.record = True
    for number, line in enumerate(lines):
        if number == MAX_LINES:
            raise InputError(f"more than {MAX_LINES:,} lines are too many for a picture", "Cut the text, or use -n.")
        console.print(line)
    console.print()  # rich cuts off what is below the base of the last line
    template = _COMMENT.sub("", _FONT_FACE.sub("", CONSOLE_SVG_FORMAT))
    made = console.export_svg(title=visible(title), code_format=template, theme=_theme())
    return _TEXT.sub(_stretched, made).translate(_ISOLATES)


def _stretched(match: re.Match[str]) -> str:
    """A text as long as its cells are: rich counts characters, which presses wide ones together."""
    from rich.cells import cell_len

    return f"{match[1]}{cell_len(unescape(match[3])) * _CHAR_WIDTH:g}{match[2]}{match[3]}"


def _theme() -> TerminalTheme:
    """Black on white, which prints well; the colours of tokens are their own."""
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME

    return DEFAULT_TERMINAL_THEME
