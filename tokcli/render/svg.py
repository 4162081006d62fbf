"""A view as a picture: rich's SVG, self-contained, with nothing in it that a browser would fetch or run.

Rich's console draws it; making the console is left to `console.py`, and the lines to the views.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from html import unescape

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.cells import cell_len
from rich.console import RenderableType
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from tokcli.errors import InputError
from tokcli.render.console import make_console
from tokcli.render.numbers import counted
from tokcli.render.visible import visible

MAX_LINES = 1000  # browsers and editors show a higher picture slowly or not at all
_CHAR_WIDTH = 12.2  # units of rich's picture: a character is 20 high, and 0.61 times as wide
_FONT_FACE = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)  # web fonts; without them the reader's own monospace
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ISOLATES = str.maketrans("", "", "\u2068\u2069")
_TEXT = re.compile(r'(<text class="[^"]*-r\d+"[^>]* textLength=")[^"]*("[^>]*>)([^<]*)(?=</text>)')


def make_svg(lines: Iterable[RenderableType], title: str, *, width: int, environment: Mapping[str, str]) -> str:
    """Return a picture of some lines, `width` screen cells wide; raise InputError if there are more than MAX_LINES.

    The text of the lines must have passed through `visible`; rich escapes it for SVG.
    """
    console = make_console(io.StringIO(), "always", environment={**environment, "COLORTERM": "truecolor"}, width=width)
    console.record = True
    for number, line in enumerate(lines):
        if number == MAX_LINES:
            raise InputError(
                f"a picture has at most {counted(MAX_LINES, 'line')}, and this one needs more",
                "Cut the text, or use -n.",
            )
        console.print(line)
    console.print()  # an empty line, since rich cuts off what is below the base of the last one
    template = _COMMENT.sub("", _FONT_FACE.sub("", CONSOLE_SVG_FORMAT))
    theme = DEFAULT_TERMINAL_THEME  # black on white, which prints well
    made = console.export_svg(title=visible(title), code_format=template, theme=theme)
    return _TEXT.sub(_stretched, made).translate(_ISOLATES)


def _stretched(match: re.Match[str]) -> str:
    """Return a text as wide as its screen cells; rich counts characters instead, which squeezes wide ones."""
    return f"{match[1]}{cell_len(unescape(match[3])) * _CHAR_WIDTH:g}{match[2]}{match[3]}"
