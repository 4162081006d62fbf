"""What people see: rich's tables and colours as bytes for an `Output`, which alone knows where they go."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from tokcli.cli.pager import Screen
from tokcli.cli.streams import Output
from tokcli.render import console

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

MIN_WIDTH = 20  # cells that a line has, however far in it begins


def wants_color(output: Output | Screen, color: console.Color) -> bool:
    """Whether to colour what goes to an output."""
    return console.wants_color(sys.stdout if output.is_terminal else io.StringIO(), color, os.environ)


def colours(output: Output | Screen, color: console.Color) -> console.ColorSystem | None:
    """The name of the most colours that may be written to an output; None for none."""
    return console.color_system(os.environ) if wants_color(output, color) else None


def width() -> int:
    """The cells of a line: COLUMNS, else the terminal's, else 80."""
    return console.make_console(io.StringIO(), "never", environment=os.environ).width


def show_hanging(output: Output | Screen, color: console.Color, line: Text) -> None:
    """Writes a line; on a terminal, what does not fit goes on below it, as far in as the line began."""
    if line.no_wrap or not output.is_terminal:
        show(output, color, line)
        return
    from rich.text import Text

    indent = len(line.plain) - len(line.plain.lstrip(" "))
    room = max(width() - indent, MIN_WIDTH)
    made = console.make_console(io.StringIO(), "never", environment=os.environ, width=room)
    for part in line[indent:].wrap(made, room):
        part.rstrip()
        show(output, color, Text(" " * indent).append_text(part))


def show(output: Output | Screen, color: console.Color, what: RenderableType, *, wrap: bool = False) -> None:
    """Writes a table (`wrap`: fitted into the width of the screen) or a line, which the terminal itself wraps."""
    from rich.text import Text

    system = colours(output, color)
    if system is not None and not wrap and isinstance(what, Text) and (quick := styled(what, system)) is not None:
        output.write(quick.encode())
        return
    colored: console.Color = "always" if system else "never"
    text = io.StringIO()
    made = console.make_console(text, colored, environment=os.environ)
    made.print(what, soft_wrap=not wrap)
    output.write(text.getvalue().encode())


def styled(line: Text, system: console.ColorSystem) -> str | None:
    """A line as rich writes it, in a third of the time; None where its styles lie over each other or have names."""
    from rich.color import ColorSystem

    known = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
    plain, at = line.plain, 0
    parts: list[str] = []
    for start, end, style in line.spans:
        if start < at or isinstance(style, str):
            return None
        parts += plain[at:start], style.render(plain[start:end], color_system=known[system])
        at = end
    return None if line.style else "".join(parts) + plain[at:] + "\n"
