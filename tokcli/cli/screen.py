"""What people see: rich's tables and colours as bytes for an `Output`, which alone knows where they go."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from tokcli.cli.streams import Output
from tokcli.render import console

if TYPE_CHECKING:
    from rich.console import RenderableType


def wants_color(output: Output, color: console.Color) -> bool:
    """Whether to colour what goes to an output."""
    return console.wants_color(sys.stdout if output.is_terminal else io.StringIO(), color, os.environ)


def show(output: Output, color: console.Color, what: RenderableType, *, wrap: bool = False) -> None:
    """Writes a table (`wrap`: fitted into the width of the screen) or a line, which the terminal itself wraps."""
    colored: console.Color = "always" if wants_color(output, color) else "never"
    text = io.StringIO()
    made = console.make_console(text, colored, environment=os.environ)
    made.print(what, soft_wrap=not wrap)
    output.write(text.getvalue().encode())


def colours(output: Output, color: console.Color) -> str | None:
    """The name of the most colours that may be written to an output; None for none."""
    return console.color_system(os.environ) if wants_color(output, color) else None


def width() -> int:
    """The cells of a line: COLUMNS, else the terminal's, else 80."""
    return console.make_console(io.StringIO(), "never", environment=os.environ).width
